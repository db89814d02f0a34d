// Decides where a conversation is cut: which messages the summary replaces, and which the new frame keeps unchanged.
// Pure.
import type { Message, Part } from "../../plugin.ts";
import type { Settings } from "./options.ts";
import { isResult, isSaid } from "./prune.ts";
import { tokensOf } from "./tokens.ts";

export type Reason = "overflow" | "room" | "asked";

/** Limits for the messages that the new frame keeps, in tokens. */
export interface Room {
  /** The latest messages. */
  readonly tail: number;
  /** The messages of the running turn. A longer turn is cut too. */
  readonly turn: number;
  /** One message or exchange that is possibly new to the model. */
  readonly last: number;
  readonly summary: number;
}

/** Each attempt leaves less room than the previous one; the last leaves no tail. */
export const ATTEMPTS = 3;
const SUMMARY_TOKENS = 2_000;

/**
 * Bounded by the conversation too: a provider that reports an overflow may have a smaller window than the options say.
 */
export function roomFor(
  settings: Settings,
  { conversation, around }: { readonly conversation: number; readonly around: number },
  reason: Reason,
  attempt: number,
): Room {
  const { window, reserve, tail } = settings;
  const free = Math.max(0, window - reserve - Math.max(0, around));
  const share = attempt >= ATTEMPTS ? 0 : 1 / 2 ** (attempt - 1);
  const summary = Math.min(SUMMARY_TOKENS, (window - reserve) / 8, conversation / 4) / 2 ** (attempt - 1);
  return {
    tail: Math.min(tail, conversation / 2) * share,
    turn: (Math.min(free, conversation) / 2) * share,
    last: Math.min(free + reserve / 2 - summary, reason === "overflow" ? conversation * 0.75 : Infinity),
    summary,
  };
}

export interface Cut {
  /** The index of the first kept message; the number of messages if none is kept. */
  readonly at: number;
  /** The request of the running turn, if it is before the cut: the new frame has it next to the summary. */
  readonly request: readonly Part[];
}

/**
 * Never cuts before a tool result, so that no result is separated from its call. The running turn is kept whole if it
 * fits. Otherwise it is cut too, and the new frame has its request next to the summary.
 */
export function cutOf(
  messages: readonly Message[],
  from: number,
  room: Room,
  earlier: readonly Part[] | undefined,
): Cut {
  const rest = restsOf(messages);
  const turn = turnAt(messages, from, earlier === undefined);
  const tail = tailAt(messages, rest, from, room);
  if (turn < 0) return { at: tail, request: isAnswered(messages) ? [] : (earlier ?? []) };
  const { parts } = messages[turn] as Message;
  const size = rest[turn] as number;
  if (size <= room.turn) return { at: Math.min(tail, turn), request: [] };
  if (turn === messages.length - 1 && size <= room.last) return { at: turn, request: [] };
  return { at: Math.max(tail, turn + 1), request: isAnswered(messages) ? [] : parts };
}

/** Whether the conversation ends with an answer, so that no turn is running. */
function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && last.origin?.kind !== "partial" && !last.parts.some(isCall);
}
const isCall = ({ kind }: Part): boolean => kind === "toolCall";

/** The start of the running turn: the last message of the user or, in a frame for a new task, of the runtime. */
function turnAt(messages: readonly Message[], from: number, isFirst: boolean): number {
  const said = messages.findLastIndex((message, index) => index >= from && isSaid(message));
  return said >= 0 || !isFirst ? said : messages.findIndex(({ role }) => role === "user");
}

/** For each index, the number of tokens from there to the end. The last entry is 0. */
function restsOf(messages: readonly Message[]): readonly number[] {
  const rest = new Array<number>(messages.length + 1).fill(0);
  for (let index = messages.length - 1; index >= 0; index--)
    rest[index] = (rest[index + 1] as number) + tokensOf(messages[index] as Message);
  return rest;
}

/**
 * The start of the tail: as early as the room allows, preferably at a user message, if the tail then uses at least half
 * of the room. If nothing fits, the tail is the last exchange, if that is short enough.
 */
function tailAt(messages: readonly Message[], rest: readonly number[], from: number, room: Room): number {
  const size = (index: number): number => rest[index] as number;
  const find = (is: (message: Message, index: number) => boolean): number | undefined => {
    const found = messages.findIndex((message, index) => index >= from && is(message, index));
    return found < 0 ? undefined : found;
  };
  const fits = (index: number): boolean => size(index) <= room.tail;
  const speaks = find((message, index) => isSaid(message) && fits(index) && size(index) >= room.tail / 2);
  const first = speaks ?? find((message, index) => !isResult(message) && fits(index));
  if (first !== undefined) return first;
  const last = messages.findLastIndex((message) => !isResult(message));
  return room.tail > 0 && last >= from && size(last) <= room.last ? last : messages.length;
}
