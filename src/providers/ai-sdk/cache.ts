import { isObject, type JsonObject } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";

/** How a provider's package is told to cache the prompt up to some place. */
export interface CacheStyle {
  /** Where the package looks among the provider options. */
  readonly namespace: string;
  /** The option, and how else a user may write it. */
  readonly names: readonly [string, ...string[]];
  readonly value: JsonObject;
  /** It is said of a message, and means the end of it. */
  readonly isOnMessage: boolean;
  /** It may be said of what the model wrote. */
  readonly isOnReplies: boolean;
}

const EPHEMERAL = { names: ["cacheControl", "cache_control"], value: { type: "ephemeral" } } as const;
const ANTHROPIC: CacheStyle = { ...EPHEMERAL, namespace: "anthropic", isOnMessage: false, isOnReplies: true };
/** On a reply its package passes over the parts; on a message it would mark each of the results. */
const OPENROUTER: CacheStyle = { ...EPHEMERAL, namespace: "openrouter", isOnMessage: false, isOnReplies: false };
/** The package for v2 passes over the parts; the API refuses a breakpoint after reasoning. */
const BEDROCK: CacheStyle = {
  namespace: "bedrock",
  names: ["cachePoint"],
  value: { type: "default" },
  isOnMessage: true,
  isOnReplies: false,
};

/** Undefined where prompts are cached without a word, and where the package does not say how to ask for it. */
export function cacheStyleOf(api: string, modelId: string): CacheStyle | undefined {
  // Bedrock refuses breakpoints for models that cannot cache, and the name of an inference profile hides the model.
  if (/bedrock/i.test(api) && !CACHING_ON_BEDROCK.test(modelId)) return undefined;
  if (/anthropic/i.test(api)) return ANTHROPIC;
  if (api === "amazon-bedrock") return BEDROCK;
  return /^openrouter\b/.test(api) && /^~?anthropic\//.test(modelId) ? OPENROUTER : undefined;
}

const CACHING_ON_BEDROCK = /\banthropic\.claude-(?!v\d|instant|3-(opus|sonnet|haiku)|3-5-sonnet)/;

/** A part of a prompt, in the role it is sent in. */
export interface Block {
  readonly role: "user" | "assistant" | "tool";
  readonly part: { readonly [key: string]: unknown };
  /** The index of the message it is from. */
  readonly at: number;
}
/** A prompt in its order, before it takes its form for the SDK. */
export interface Draft {
  readonly system: readonly { readonly words: string; readonly at: number }[];
  readonly body: readonly { readonly role: Block["role"]; readonly blocks: readonly Block[] }[];
}

export interface Breakpoints {
  /** The system prompts and blocks of the draft to cache up to. */
  readonly after: ReadonlySet<object>;
  readonly isOnMessage: boolean;
  /** What the SDK is told there, among the options of this namespace. */
  readonly namespace: string;
  readonly option: JsonObject;
}

const BREAKPOINTS_MAX = 4;
/** From a breakpoint a provider looks back over 20 blocks for one that an earlier call has left; some to spare. */
const LOOK_BACK = 15;

/**
 * The prompt is cached up to the system prompt, which the tools come before, and up to the last block that stays. Where
 * that is too far from the breakpoints of earlier calls, these stand again: the last call ended where the last reply
 * begins, and the first of the turn with the user's message.
 */
export function breakpointsIn(draft: Draft, request: ModelRequest, style: CacheStyle): Breakpoints {
  const { messages, stable = messages.length, settings } = request;
  // A breakpoint for the whole request counts as one, and none may live shorter than a later one.
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

/** The blocks to cache up to, the most useful first. */
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

/** Nothing is cached up to a block without content, nor up to reasoning. */
function canEnd({ role, part }: Block, style: CacheStyle): boolean {
  if (role === "assistant" && !style.isOnReplies) return false;
  switch (part.type) {
    case "text":
      return hasContent(part.text);
    case "tool-result":
      return isObject(part.output) && hasContent(part.output.value);
    case "file":
      // Bedrock refuses it after a document.
      return !style.isOnMessage || String(part.mediaType).startsWith("image/");
    default:
      return part.type !== "reasoning";
  }
}

const hasContent = (value: unknown): boolean =>
  typeof value === "string" ? value.trim() !== "" : Array.isArray(value) && value.length > 0;
