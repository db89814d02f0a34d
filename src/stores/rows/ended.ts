import { isDeepStrictEqual } from "node:util";
import { asCursor, type InputId, type NodeId, nodeId, type TurnId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { type Message, textOf } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Usage } from "../../model/usage.ts";
import type { Committed, EndedTurn, PluginSnapshots, TurnSummary } from "../store.ts";
import { decodeUsage, type EncodedUsage, encodeUsage } from "./codec.ts";
import { corrupt } from "./faults.ts";

/** The end of a turn, without the fields that its segment and the plugin states already contain. */
export interface Ended {
  readonly at: number;
  readonly outcome: TurnOutcome | AnswerByNode;
  readonly usage: Usage;
  readonly revision: number;
  readonly size: number;
  /** Omitted if it is only the turn's own input. */
  readonly inputs?: readonly InputId[];
  /** Omitted if it is the last of the turn's own nodes. */
  readonly head?: NodeId | null;
  readonly branch?: NodeId;
  /** Only for a turn that became a branch, because its states never were the session's. */
  readonly plugins?: PluginSnapshots;
  readonly summary?: TurnSummary;
  /** The size of the kept journal, if one is kept. */
  readonly journal?: number;
}
/** An answer whose text is that of one of the turn's own nodes, so that it is stored once. */
interface AnswerByNode {
  readonly kind: "told";
  readonly node: number;
}

/**
 * An array is the common end: an answer that is one of the nodes, on the path, to only the turn's own input. An early
 * version stored no summary.
 */
export type EncodedEnded =
  | readonly [at: number, node: number, usage: EncodedUsage, size: number, revision: number]
  | readonly [
      ...[at: number, node: number, usage: EncodedUsage, size: number, revision: number],
      ...[ms: number, rounds: number, model: string, journal: number, waitedMs?: number],
    ]
  | (Omit<Ended, "usage"> & { readonly usage: EncodedUsage });

export function encodeEnded(ended: Ended): EncodedEnded {
  const { at, outcome, size, revision, summary, journal } = ended;
  const usage = encodeUsage(ended.usage);
  const fields = Object.keys(ended).length;
  if (outcome.kind === "told" && fields === 5) return [at, outcome.node, usage, size, revision];
  const isPlain = outcome.kind === "told" && fields === 7 && summary !== undefined && journal !== undefined;
  if (!isPlain) return { ...ended, usage };
  const { startedAt, acceptedAt, rounds, model } = summary;
  const isShort = Object.keys(summary).length === (acceptedAt === undefined ? 3 : 4);
  // Only the differences of whole numbers give the same times again.
  if (!isShort || ![at, startedAt, acceptedAt ?? 0].every(Number.isSafeInteger)) return { ...ended, usage };
  const encoded = [at, outcome.node, usage, size, revision, at - startedAt, rounds, model, journal] as const;
  return acceptedAt === undefined ? encoded : [...encoded, startedAt - acceptedAt];
}

export function decodeEnded(encoded: EncodedEnded): Ended {
  if (!Array.isArray(encoded)) {
    const ended = encoded as Exclude<EncodedEnded, readonly unknown[]>;
    return { ...ended, usage: decodeUsage(ended.usage) };
  }
  const [at, node, usage, size, revision, ...about] = encoded as Extract<EncodedEnded, readonly unknown[]>;
  const ended: Ended = { at, outcome: { kind: "told", node }, usage: decodeUsage(usage), size, revision };
  if (about.length === 0) return ended;
  const [ms, rounds, model, journal, waitedMs] = about;
  const startedAt = at - ms;
  const summary: TurnSummary = { startedAt, model, rounds };
  return {
    ...ended,
    summary: waitedMs === undefined ? summary : { ...summary, acceptedAt: startedAt - waitedMs },
    journal,
  };
}

export function outcomeIn(row: { readonly id: string }, { outcome }: Ended, entries: readonly Entry[]): TurnOutcome {
  if (outcome.kind !== "told") return outcome;
  const entry = entries[outcome.node];
  if (entry?.kind !== "message") throw corrupt(`The end of turn ${row.id}`, "its answer is not a message");
  return { kind: "answered", message: entry.message, text: textOf(entry.message.parts, "shown") };
}

/** Returns the outcome in its stored form. An answer is usually the last node. */
export function storedOutcome(outcome: TurnOutcome, entries: readonly Entry[]): TurnOutcome | AnswerByNode {
  if (outcome.kind !== "answered") return outcome;
  const { message, text } = outcome;
  let node = entries.length - 1;
  for (; node >= 0; node--) {
    const entry = entries[node] as Entry;
    if (entry.kind === "message" && isSameMessage(entry.message, message)) break;
  }
  const isTold = node >= 0 && textOf(message.parts, "shown") === text && Object.keys(outcome).length === 3;
  return isTold ? { kind: "told", node } : outcome;
}

const isSameMessage = (a: Message, b: Message): boolean =>
  a === b || (a.id === b.id && JSON.stringify(a) === JSON.stringify(b));

const WORDS_MAX = 160;

/** Returns the beginning of the last words of a turn, for lists of sessions. */
export function wordsOf(outcome: TurnOutcome): string {
  const text = "text" in outcome ? outcome.text : wordsIn(outcome.value);
  if (text.length <= WORDS_MAX) return text;
  const cut = text.slice(0, WORDS_MAX);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

const wordsIn = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

export function committedOf({ id, done }: { readonly id: TurnId; readonly done: number }, ended: Ended): Committed {
  const head = ended.head === undefined ? nodeId(id, ended.size - 1) : (ended.head ?? undefined);
  return {
    kind: "committed",
    revision: ended.revision,
    ...(head === undefined ? {} : { head }),
    cursor: asCursor(String(done)),
    ...(ended.branch === undefined ? {} : { branch: ended.branch }),
  };
}

/** The fields that identify a repeated commit. `at` is not one, because a retry has a later time. */
export type Content = Pick<EndedTurn, "outcome" | "entries" | "plugins" | "usage" | "inputs">;

/** Returns whether a sent commit equals the stored one. */
export function isSameEnd(stored: Content, { outcome, entries, plugins, usage, inputs }: EndedTurn): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify({ outcome, entries, plugins, usage, inputs })));
}
