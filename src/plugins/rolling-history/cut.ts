// Decides where a conversation is cut: what a summary replaces, and what is carried over as it is. Pure.
import type { Message, Part } from "../../plugin.ts";
import type { Settings } from "./options.ts";
import { isResult, isSaid } from "./prune.ts";
import { tokensOf } from "./tokens.ts";

export type Reason = "overflow" | "room" | "asked";

/** Bounds on what the new frame begins with, in tokens. */
export interface Room {
  /** The latest messages. */
  readonly tail: number;
  /** The turn that is under way: a longer one is cut too. */
  readonly turn: number;
  /** One message or exchange that is possibly new to the model. */
  readonly last: number;
  readonly summary: number;
}

/** Each attempt leaves less room than the one before; the last leaves no tail. */
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
  /** The index of the first message that is carried over; the number of messages when none is. */
  readonly at: number;
  /** The request that is being worked on, where it is before the cut: it is handed on beside the summary. */
  readonly request: readonly Part[];
}

/**
 * Never cuts before a tool result, so that no result is separated from its call. The turn under way is
 * carried over whole where it fits; otherwise it is cut too, and its request is handed on beside the summary.
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

/** Whether the conversation ends with an answer, so that nothing is under way. */
function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && last.origin?.kind !== "partial" && !last.parts.some(isCall);
}
const isCall = ({ kind }: Part): boolean => kind === "toolCall";

/**
 * Where the turn under way begins: where the user last spoke or, in a frame opened for a task, where the runtime did.
 */
function turnAt(messages: readonly Message[], from: number, isFirst: boolean): number {
  const said = messages.findLastIndex((message, index) => index >= from && isSaid(message));
  return said >= 0 || !isFirst ? said : messages.findIndex(({ role }) => role === "user");
}

/** For each index, the tokens from there to the end; 0 for the end itself. */
function restsOf(messages: readonly Message[]): readonly number[] {
  const rest = new Array<number>(messages.length + 1).fill(0);
  for (let index = messages.length - 1; index >= 0; index--)
    rest[index] = (rest[index + 1] as number) + tokensOf(messages[index] as Message);
  return rest;
}

/**
 * Where the tail begins: as early as there is room for, but where the user speaks if that uses at least half of the
 * room. When nothing fits, the last exchange alone, if it is short enough.
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
