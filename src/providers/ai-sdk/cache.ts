// Places cache breakpoints in a prompt, for providers that cache only at explicit breakpoints. Pure.
import { isObject, type JsonObject } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";

/** The option of a provider's package that caches a prompt up to a certain place. */
export interface CacheStyle {
  /** The package's key in the provider options. */
  readonly namespace: string;
  /** The option's name, and other spellings that users can use. */
  readonly names: readonly [string, ...string[]];
  readonly value: JsonObject;
  /** Whether the option belongs to a message and marks its end, and not to a part. */
  readonly isOnMessage: boolean;
  /** Whether messages of the model can have the option. */
  readonly isOnReplies: boolean;
}

const EPHEMERAL = { names: ["cacheControl", "cache_control"], value: { type: "ephemeral" } } as const;
const ANTHROPIC: CacheStyle = { ...EPHEMERAL, namespace: "anthropic", isOnMessage: false, isOnReplies: true };
/** OpenRouter's package ignores the option on parts of a reply. On a message with results it would mark each result. */
const OPENROUTER: CacheStyle = { ...EPHEMERAL, namespace: "openrouter", isOnMessage: false, isOnReplies: false };
/** Bedrock's package for v2 ignores the option on parts, and the API refuses a breakpoint after reasoning. */
const BEDROCK: CacheStyle = {
  namespace: "bedrock",
  names: ["cachePoint"],
  value: { type: "default" },
  isOnMessage: true,
  isOnReplies: false,
};

/** Undefined for providers that cache automatically, and for packages without such an option. */
export function cacheStyleOf(api: string, modelId: string): CacheStyle | undefined {
  // Bedrock refuses breakpoints for models that cannot cache. The name of an inference profile hides which model it is.
  if (/bedrock/i.test(api) && !CACHING_ON_BEDROCK.test(modelId)) return undefined;
  if (/anthropic/i.test(api)) return ANTHROPIC;
  if (api === "amazon-bedrock") return BEDROCK;
  return /^openrouter\b/.test(api) && /^~?anthropic\//.test(modelId) ? OPENROUTER : undefined;
}

const CACHING_ON_BEDROCK = /\banthropic\.claude-(?!v\d|instant|3-(opus|sonnet|haiku)|3-5-sonnet)/;

/** A part of a prompt, with the role in which it is sent. */
export interface Block {
  readonly role: "user" | "assistant" | "tool";
  readonly part: { readonly [key: string]: unknown };
  /** The index of the message that the part is from. */
  readonly at: number;
}
/** A prompt in order, before it is written in the SDK's form. */
export interface Draft {
  readonly system: readonly { readonly words: string; readonly at: number }[];
  readonly body: readonly { readonly role: Block["role"]; readonly blocks: readonly Block[] }[];
}

export interface Breakpoints {
  /** The system prompts and blocks that have a breakpoint after them. */
  readonly after: ReadonlySet<object>;
  readonly isOnMessage: boolean;
  /** The key in the provider options, and the option under it. */
  readonly namespace: string;
  readonly option: JsonObject;
}

const BREAKPOINTS_MAX = 4;
/**
 * A provider searches 20 blocks before a breakpoint for a breakpoint of an earlier call. This number leaves a margin.
 */
const LOOK_BACK = 15;

/**
 * Puts one breakpoint after the system prompt, which covers the tools too, and one after the last block that the next
 * request will repeat. If the breakpoint of an earlier call is too far back for the provider, this repeats two earlier
 * ones: at the end of the last call (before the last reply), and at the beginning of the turn (at the user's message).
 */
export function breakpointsIn(draft: Draft, request: ModelRequest, style: CacheStyle): Breakpoints {
  const { messages, stable = messages.length, settings } = request;
  // A breakpoint that the user set for the whole request counts against the maximum. All breakpoints get its value,
  // because providers refuse a breakpoint with a shorter lifetime than a later one.
  const own = Object.values(settings?.providerOptions ?? {})
    .flatMap((options) => style.names.map((name) => options[name]))
    .find((value) => isObject(value));
  const system = draft.system.findLast(({ words, at }) => at < stable && words.trim() !== "");
  const after = [...(system === undefined ? [] : [system]), ...endsIn(draft, messages, stable, style)];
  return {
    after: new Set(after.slice(0, own === undefined ? BREAKPOINTS_MAX : BREAKPOINTS_MAX - 1)),
    isOnMessage: style.isOnMessage,
    namespace: style.namespace,
    option: { [style.names[0]]: own ?? style.value },
  };
}

/** The blocks to set breakpoints after, the most useful first. */
function endsIn({ body }: Draft, messages: readonly Message[], stable: number, style: CacheStyle): readonly Block[] {
  const all = body.flatMap(({ blocks }) => blocks);
  const changing = all.findIndex(({ at }) => at >= stable);
  const blocks = changing < 0 ? all : all.slice(0, changing);
  const isEnd = style.isOnMessage ? new Set(body.map((message) => message.blocks.at(-1))) : undefined;
  const endBefore = (index: number): number =>
    blocks.findLastIndex((block, each) => each < index && isEnd?.has(block) !== false && canEnd(block, style));
  const lastFrom = (role: Message["role"]): number => blocks.findLastIndex(({ at }) => messages[at]!.role === role);

  const reply = blocks[lastFrom("assistant")];
  const last = endBefore(blocks.length);
  const lastCall = endBefore(reply === undefined ? 0 : blocks.findIndex(({ at }) => at === reply.at));
  const turn = endBefore(lastFrom("user") + 1);
  const ends = [last, ...[lastCall, turn].filter((index) => last - index > LOOK_BACK)];
  return [...new Set(ends)].filter((index) => index >= 0).map((index) => blocks[index]!);
}

/** Whether a breakpoint may follow the block: providers refuse one after an empty block and after reasoning. */
function canEnd({ role, part }: Block, style: CacheStyle): boolean {
  if (role === "assistant" && !style.isOnReplies) return false;
  switch (part.type) {
    case "text":
      return hasContent(part.text);
    case "tool-result":
      return isObject(part.output) && hasContent(part.output.value);
    case "file":
      // Bedrock refuses a breakpoint after a document.
      return !style.isOnMessage || String(part.mediaType).startsWith("image/");
    default:
      return part.type !== "reasoning";
  }
}

const hasContent = (value: unknown): boolean =>
  typeof value === "string" ? value.trim() !== "" : Array.isArray(value) && value.length > 0;
