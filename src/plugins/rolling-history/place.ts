import type { Message, Part } from "../../index.ts";
import type { Settings } from "./options.ts";
import { isSaid } from "./prune.ts";
import { tokensOf } from "./tokens.ts";

export type Reason = "overflow" | "room" | "asked";

/** The most, in tokens, that is carried over as it is. */
export interface Room {
  readonly tail: number;
  /** Of the turn at work: with more it is cut too. */
  readonly turn: number;
  /** Of one message or exchange that the model may not have seen yet. */
  readonly last: number;
  readonly summary: number;
}

/** Attempts that it knows how to make smaller than the one before. */
export const ATTEMPTS = 3;
const SUMMARY_TOKENS = 2_000;

/** By what there is too: a provider that calls it too long may have a smaller window than we were told of. */
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
  /** The first message that is carried over; past the end when none is. */
  readonly at: number;
  /** What the work under way is about, where that is before the cut. */
  readonly request: readonly Part[];
}

/**
 * Where to cut: before a message that is no result, so that none is parted from its call. The turn at work is carried
 * whole; one that is too long for that is cut too, and what it is about is handed on beside the summary.
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

/** Then nothing is under way. */
function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && last.origin?.kind !== "partial" && !last.parts.some(isCall);
}
const isCall = ({ kind }: Part): boolean => kind === "toolCall";

/** Where the turn at work begins. In a frame that was opened for a task nobody speaks but the runtime. */
function turnAt(messages: readonly Message[], from: number, isFirst: boolean): number {
  const said = messages.findLastIndex((message, index) => index >= from && isSaid(message));
  return said >= 0 || !isFirst ? said : messages.findIndex(({ role }) => role === "user");
}

/** Tokens from each message on, and 0 for the end. */
function restsOf(messages: readonly Message[]): readonly number[] {
  const rest = new Array<number>(messages.length + 1).fill(0);
  for (let index = messages.length - 1; index >= 0; index--)
    rest[index] = (rest[index + 1] as number) + tokensOf(messages[index] as Message);
  return rest;
}

/** As much as there is room for, from where the user speaks if that leaves at least half of it; else the last exchange. */
function tailAt(messages: readonly Message[], rest: readonly number[], from: number, room: Room): number {
  const size = (index: number): number => rest[index] as number;
  const find = (is: (message: Message, index: number) => boolean): number | undefined => {
    const found = messages.findIndex((message, index) => index >= from && is(message, index));
    return found < 0 ? undefined : found;
  };
  const fits = (index: number): boolean => size(index) <= room.tail;
  const speaks = find((message, index) => isSaid(message) && fits(index) && size(index) >= room.tail / 2);
  const first = speaks ?? find(({ role }, index) => role !== "tool" && fits(index));
  if (first !== undefined) return first;
  const last = messages.findLastIndex(({ role }) => role !== "tool");
  return room.tail > 0 && last >= from && size(last) <= room.last ? last : messages.length;
}
