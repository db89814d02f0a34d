import { type BlobHash, type CallId, type EffectName, type InputId, nodeId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type {
  Draft,
  Message,
  Origin,
  Part,
  Role,
  ToolCallPart,
  ToolResultPart,
  ToolStatus,
} from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { Reply } from "../../model/request.ts";
import type { Usage } from "../../model/usage.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import type { NewInput } from "../store.ts";
import { corrupt } from "./faults.ts";

/**
 * Encodes the frequent shapes of rows compactly: as plain JSON, a journal is mostly field names. An array stands for an
 * object of exactly one shape; everything else is stored unchanged. Checksums are in `checksum.ts`.
 *
 * codec-1: A decoder reads what its encoder writes, and also plain objects, because old rows contain those.
 * codec-2: The meaning of an array never changes, because files are kept for years.
 */

/** Returns whether an object has only this many fields. An array would lose others. */
const has = (value: object, fields: number): boolean => Object.keys(value).length === fields;
const isEncoded = <S extends readonly unknown[]>(value: object): value is S => Array.isArray(value);

// ── Usage: the first two counts, and the others if one of them is not zero ───────────────────────────────────────────

export type EncodedUsage = readonly number[] | Usage;

export function encodeUsage(usage: Usage): EncodedUsage {
  const { input, output, cacheRead, cacheWrite, reasoning, unknownCalls } = usage;
  const isWhole = Number.isFinite(input + output + cacheRead + cacheWrite + reasoning + unknownCalls);
  if (!isWhole || !has(usage, 6)) return usage;
  if (cacheRead === 0 && cacheWrite === 0 && reasoning === 0 && unknownCalls === 0) return [input, output];
  return [input, output, cacheRead, cacheWrite, reasoning, unknownCalls];
}

export function decodeUsage(encoded: EncodedUsage): Usage {
  if (!isEncoded<readonly number[]>(encoded)) return encoded;
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0, reasoning = 0, unknownCalls = 0] = encoded;
  return { input, cacheRead, cacheWrite, output, reasoning, unknownCalls };
}

// ── Parts: a text is a string; a result refers to its call by the position in the message before ─────────────────────

const [CALL, RESULT, OTHER_RESULT] = [0, 1, 2];
type EncodedPart =
  | string
  | readonly [tag: number, callId: CallId, name: string, input: Json]
  | readonly [tag: number, call: number, parts: readonly EncodedPart[], status?: ToolStatus]
  | readonly [tag: number, callId: CallId, name: string, parts: readonly EncodedPart[], status?: ToolStatus]
  | Part;
/** The parts of an assistant message, whose calls the next message answers. Empty after other messages. */
type Asked = readonly Part[];
const NOTHING_ASKED: Asked = [];
const callsIn = (asked: Asked): readonly ToolCallPart[] => asked.filter((part) => part.kind === "toolCall");

function encodeParts(parts: readonly Part[], asked: Asked): readonly EncodedPart[] {
  const encoded: EncodedPart[] = [];
  let calls: readonly ToolCallPart[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (part.kind === "text") encoded.push(has(part, 2) && typeof part.text === "string" ? part.text : part);
    else if (part.kind === "toolCall" && has(part, 4) && part.input !== undefined)
      encoded.push([CALL, part.callId, part.name, part.input]);
    else if (part.kind === "toolResult" && has(part, 5)) {
      calls ??= callsIn(asked);
      encoded.push(encodeResult(part, calls[index], index));
    } else encoded.push(part);
  }
  return encoded;
}

function encodeResult(part: ToolResultPart, call: ToolCallPart | undefined, index: number): EncodedPart {
  const { callId, name, status } = part;
  const parts = encodeParts(part.parts, NOTHING_ASKED);
  if (call?.callId === callId && call.name === name)
    return status === "ok" ? [RESULT, index, parts] : [RESULT, index, parts, status];
  return status === "ok" ? [OTHER_RESULT, callId, name, parts] : [OTHER_RESULT, callId, name, parts, status];
}

/** A single loop with few calls: opening a long session runs it thousands of times before the code is compiled. */
function decodeParts(encoded: readonly EncodedPart[], asked: Asked): readonly Part[] {
  const parts: Part[] = [];
  let calls: readonly ToolCallPart[] | undefined;
  for (let index = 0; index < encoded.length; index++) {
    const part = encoded[index] as EncodedPart;
    if (typeof part === "string") parts.push({ kind: "text", text: part });
    else if (!Array.isArray(part)) parts.push(part as Part);
    else if (part[0] === CALL) parts.push({ kind: "toolCall", callId: part[1], name: part[2], input: part[3] });
    else if (part[0] === RESULT) {
      calls ??= callsIn(asked);
      const { callId, name } = calls[part[1]] as ToolCallPart;
      parts.push(resultOf(callId, name, part[2], part[3] ?? "ok"));
    } else parts.push(resultOf(part[1], part[2], part[3], part[4] ?? "ok"));
  }
  return parts;
}

const resultOf = (callId: CallId, name: string, parts: readonly EncodedPart[], status: ToolStatus): ToolResultPart => ({
  kind: "toolResult",
  callId,
  name,
  status,
  parts: decodeParts(parts, NOTHING_ASKED) as ToolResultPart["parts"],
});

// ── Nodes: the id of a message is its position, and its time is a difference from the one before ─────────────────────

const ROLES: readonly Role[] = ["user", "assistant", "tool", "system"];
export type EncodedEntry =
  | readonly [passed: number, role: number, parts: readonly EncodedPart[], origin?: InputId | Origin]
  | Entry;

export function encodeEntries(entries: readonly Entry[], commit: string): readonly EncodedEntry[] {
  const encoded: EncodedEntry[] = [];
  let before = 0;
  let asked = NOTHING_ASKED;
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index] as Entry;
    if (entry.kind !== "message") {
      encoded.push(entry);
      continue;
    }
    const { at, message } = entry;
    const { role, parts, origin } = message;
    const nth = ROLES.indexOf(role);
    const isPlain = has(entry, 3) && has(message, origin === undefined ? 3 : 4) && nth >= 0 && Number.isSafeInteger(at);
    if (!isPlain || message.id !== nodeId(commit, index)) encoded.push(entry);
    else {
      const short = encodeParts(parts, asked);
      if (origin === undefined) encoded.push([at - before, nth, short]);
      else if (origin.kind === "input" && has(origin, 2))
        encoded.push([at - before, nth, short, origin.inputId as InputId]);
      else encoded.push([at - before, nth, short, origin]);
      before = at;
    }
    asked = role === "assistant" ? parts : NOTHING_ASKED;
  }
  return encoded;
}

export function decodeEntries(encoded: readonly EncodedEntry[], commit: string): readonly Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  let asked = NOTHING_ASKED;
  for (let index = 0; index < encoded.length; index++) {
    const each = encoded[index] as EncodedEntry;
    if (!isEncoded<Exclude<EncodedEntry, Entry>>(each)) {
      if (each.kind === "message") asked = each.message.role === "assistant" ? each.message.parts : NOTHING_ASKED;
      entries.push(each);
      continue;
    }
    at += each[0];
    const role = ROLES[each[1]] as Role;
    const parts = decodeParts(each[2], asked);
    const by = each[3];
    const id = nodeId(commit, index);
    const message: Message =
      by === undefined
        ? { id, role, parts }
        : { id, role, parts, origin: typeof by === "string" ? { kind: "input", inputId: by } : by };
    entries.push({ at, kind: "message", message });
    asked = role === "assistant" ? parts : NOTHING_ASKED;
  }
  return entries;
}

// ── Events: three kinds make up nearly all of a journal; times are differences as above ──────────────────────────────

const [REPLIED, RETURNED, BOUNDED] = [0, 1, 2];
type EncodedEvent =
  | readonly [
      tag: number,
      passed: number,
      effect: EffectName,
      parts: readonly EncodedPart[],
      finish: Reply["finish"],
      usage: EncodedUsage,
      route: string,
      firstMs?: number,
    ]
  | readonly [tag: number, passed: number, effect: EffectName, value: Json]
  | readonly [tag: number, passed: number, effect: EffectName]
  | TurnEvent;

export function encodeEvents(events: readonly TurnEvent[]): readonly EncodedEvent[] {
  const list: EncodedEvent[] = [];
  let before = 0;
  for (const event of events) {
    const encoded = encodeEvent(event, event.at - before);
    if (encoded !== event) before = event.at;
    list.push(encoded);
  }
  return list;
}

function encodeEvent(event: TurnEvent, passed: number): EncodedEvent {
  if (!Number.isSafeInteger(passed)) return event;
  if (event.kind === "replied" && has(event, event.firstMs === undefined ? 4 : 5) && has(event.reply, 4)) {
    const { parts, finish, usage, route } = event.reply;
    const { effect, firstMs } = event;
    const [said, spent] = [encodeParts(parts, NOTHING_ASKED), encodeUsage(usage)];
    if (firstMs === undefined) return [REPLIED, passed, effect, said, finish, spent, route];
    return [REPLIED, passed, effect, said, finish, spent, route, firstMs];
  }
  if (event.kind === "returned" && has(event, 4)) {
    const { output } = event;
    if (output.kind === "value" && has(output, 2) && output.value !== undefined)
      return [RETURNED, passed, event.effect, output.value];
  }
  return event.kind === "bounded" && has(event, 3) ? [BOUNDED, passed, event.effect] : event;
}

export function decodeEvents(encoded: readonly EncodedEvent[]): TurnEvent[] {
  let at = 0;
  return encoded.map((each) => {
    if (!isEncoded<Exclude<EncodedEvent, TurnEvent>>(each)) return each;
    const [tag, passed, effect] = each;
    at += passed;
    if (tag === BOUNDED) return { kind: "bounded", at, effect };
    if (tag === RETURNED) return { kind: "returned", output: { kind: "value", value: each[3] as Json }, at, effect };
    const [, , , parts, finish, usage, route, firstMs] = each as Extract<EncodedEvent, { readonly length: 7 | 8 }>;
    const reply = { parts: decodeParts(parts, NOTHING_ASKED), finish, usage: decodeUsage(usage), route };
    return firstMs === undefined
      ? { kind: "replied", reply, at, effect }
      : { kind: "replied", reply, at, effect, firstMs };
  });
}

/**
 * The journal of an ended turn as a row contains it. Most of its text is also in the nodes of the turn, and such a text
 * is stored as its position there.
 *
 * In `packed` a text that begins with `~` stands for something else: `~~` for a text that itself begins with `~`; `~` and
 * a number for a text of the nodes, `~=` and a number for a value whose JSON is such a text; `~@` and a number for the
 * parts of a message; `~#` or `~=#` and two numbers for the result in a part of a message; `~` alone, instead of a route,
 * for the route of the reply before.
 */
export type KeptJournal =
  | { readonly setting?: BlobHash; readonly packed: Json }
  /** A store that keeps values by reference shares them anyway. */
  | { readonly setting?: BlobHash; readonly events: readonly TurnEvent[] };

// ── Inputs and first events: without the fields that other columns of their row contain ──────────────────────────────

/** The part of an input that its row contains. */
export type InputContent = Pick<NewInput, "message" | "at" | "wants" | "metadata">;
/** The content of the row of an ended turn or of a settled input, instead of the input. */
type RemainingInput = KeptJournal | Pick<NewInput, "at" | "metadata">;
export type EncodedInput = readonly [at: number, parts: readonly EncodedPart[]] | InputContent | RemainingInput;

/** Returns the part of an input that its row contains. */
export function contentOf({ message, at, wants, metadata }: NewInput): InputContent {
  if (wants === undefined && metadata === undefined) return { message, at };
  return { message, at, ...(wants === undefined ? {} : { wants }), ...(metadata === undefined ? {} : { metadata }) };
}

export function encodeInput(input: InputContent | RemainingInput): EncodedInput {
  if (!("message" in input)) return input;
  const { message, at } = input;
  const isPlain = has(input, 2) && message.role === "user" && has(message, 2);
  return isPlain ? [at, encodeParts(message.parts, NOTHING_ASKED)] : input;
}

export function decodeInput(encoded: EncodedInput): InputContent | RemainingInput {
  if (!isEncoded<Exclude<EncodedInput, InputContent | RemainingInput>>(encoded)) return encoded;
  const [at, parts] = encoded;
  return { message: { role: "user", parts: decodeParts(parts, NOTHING_ASKED) }, at };
}

/**
 * The default limits at the introduction of this format. Rows store only differences (codec-2). A later limit has the
 * value here that older turns must get.
 */
const LIMITS: Limits = {
  roundsMax: 50,
  noProgressMax: 12,
  framesMax: 16,
  callsPerRoundMax: 128,
  parallelCallsMax: 8,
  cancelGraceMs: 1_000,
  resumesMax: 5,
  turnAgeMs: 2_592_000_000,
  parkAfterMs: 1_000,
  toolMs: 600_000,
  modelIdleMs: 300_000,
  modelAttemptsMax: 4,
  throttleMs: 120_000,
  throttlesMax: 10,
  inputBytesMax: 8_388_608,
  resultBytesMax: 8_388_608,
  replyBytesMax: 8_388_608,
  stateBytesMax: 65_536,
  pendingInputsMax: 1_000,
  jobsMax: 10_000,
  parallelJobsMax: 64,
  jobStepsMax: 10_000,
  jobWakesMax: 1_000,
  subscriptionsMax: 1_000,
  occurrencesMax: 1_000,
  unreadEventsMax: 10_000,
};

const LIMIT_NAMES = Object.keys(LIMITS) as readonly (keyof Limits)[];

type Known = "kind" | "sessionId" | "turnId" | "inputId" | "limits";
/** A first event without its kind. The missing kind distinguishes it from a plain object. */
export type EncodedOpened = Omit<Opened, Known | "input"> & {
  readonly input?: Draft;
  readonly limits?: Partial<Limits>;
  readonly kind?: never;
};

export function encodeOpened(opened: Opened, { id, turnId, sessionId, message }: NewInput): EncodedOpened | Opened {
  const { kind: _, sessionId: session, turnId: turn, inputId, input, limits, ...rest } = opened;
  const over = limits === undefined ? undefined : overLimits(limits);
  if (over === undefined || session !== sessionId || turn !== turnId || inputId !== id) return opened;
  return {
    ...rest,
    ...(input === message ? {} : { input }),
    ...(Object.keys(over).length === 0 ? {} : { limits: over }),
  };
}

/** Returns the limits that differ; undefined if the fields are not the same. */
function overLimits(limits: Limits): Partial<Limits> | undefined {
  if (!has(limits, LIMIT_NAMES.length)) return undefined;
  const over: { [name: string]: number } = {};
  for (const name of LIMIT_NAMES) {
    if (!Object.hasOwn(limits, name)) return undefined;
    if (limits[name] !== LIMITS[name]) over[name] = limits[name];
  }
  return over;
}

export function decodeOpened(encoded: EncodedOpened, { id: inputId, turnId, sessionId, message }: NewInput): Opened {
  const { at, input = message, limits, ...rest } = encoded;
  return { ...rest, kind: "opened", at, sessionId, turnId, inputId, input, limits: { ...LIMITS, ...limits } };
}

// ── Names: texts that SQLite would change ────────────────────────────────────────────────────────────────────────────

/**
 * Returns a text in a form that SQLite stores unchanged. SQLite ends texts at NUL and replaces lone surrogates, so two
 * keys could become one. Such texts are stored as JSON after a mark that no other stored text begins with.
 */
export function keyText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.isWellFormed() && !/\u0000|^\u0001/.test(text) ? text : `\u0001${JSON.stringify(text)}`;
}

export function fromKeyText(stored: string): string {
  if (typeof stored !== "string") throw corrupt("A name", "it is not a text"); // A damaged page may contain any value.
  if (!stored.startsWith("\u0001")) return stored;
  try {
    return JSON.parse(stored.slice(1)) as string;
  } catch (error) {
    throw corrupt(`The name ${stored.slice(1)}`, "it is not JSON", error);
  }
}
