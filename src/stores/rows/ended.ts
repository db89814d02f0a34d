import { isDeepStrictEqual } from "node:util";
import { asCursor, type InputId, type NodeId, nodeId, type TurnId } from "../../model/ids.ts";
import { type Message, textOf } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Usage } from "../../model/usage.ts";
import type { Committed, EndedTurn, PluginSnapshots } from "../store.ts";
import { decodeUsage, type EncodedUsage, encodeUsage } from "./codec.ts";
import { corrupt } from "./faults.ts";

/** How a turn ended, without what its segment and the plugins' states say already. */
export interface Ended {
  readonly at: number;
  readonly outcome: TurnOutcome | Told;
  readonly usage: Usage;
  readonly revision: number;
  readonly size: number;
  /** Left out when they are the turn's own input alone. */
  readonly inputs?: readonly InputId[];
  /** Left out when it is the last of the turn's own nodes. */
  readonly head?: NodeId | null;
  readonly branch?: NodeId;
  /** Only for a turn kept beside the path: its states never were the session's. */
  readonly plugins?: PluginSnapshots;
}
/** An answer that one of the turn's own nodes says: its text is not kept twice. */
interface Told {
  readonly kind: "told";
  readonly node: number;
}

/** An array stands for the plain end: an answer that is one of the nodes, on the path, to the turn's own input. */
export type EncodedEnded =
  | readonly [at: number, node: number, usage: EncodedUsage, size: number, revision: number]
  | (Omit<Ended, "usage"> & { readonly usage: EncodedUsage });

/** An end as it is written. */
export function encodeEnded(ended: Ended): EncodedEnded {
  const { at, outcome, size, revision } = ended;
  const usage = encodeUsage(ended.usage);
  const isPlain = outcome.kind === "told" && Object.keys(ended).length === 5;
  return isPlain ? [at, outcome.node, usage, size, revision] : { ...ended, usage };
}

export function decodeEnded(encoded: EncodedEnded): Ended {
  if (!Array.isArray(encoded)) {
    const ended = encoded as Exclude<EncodedEnded, readonly unknown[]>;
    return { ...ended, usage: decodeUsage(ended.usage) };
  }
  const [at, node, usage, size, revision] = encoded as Extract<EncodedEnded, readonly unknown[]>;
  return { at, outcome: { kind: "told", node }, usage: decodeUsage(usage), size, revision };
}

export function outcomeIn(row: { readonly id: string }, { outcome }: Ended, entries: readonly Entry[]): TurnOutcome {
  if (outcome.kind !== "told") return outcome;
  const entry = entries[outcome.node];
  if (entry?.kind !== "message") throw corrupt(`The end of turn ${row.id}`, "its answer is no message");
  return { kind: "answered", message: entry.message, text: textOf(entry.message.parts, "shown") };
}

/** The outcome as it is kept. An answer is most often the last node: the receipt names it. */
export function told(outcome: TurnOutcome, entries: readonly Entry[]): TurnOutcome | Told {
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

/** What a repeated commit is compared by. `at` is not: a retry has another clock. */
export type Content = Pick<EndedTurn, "outcome" | "entries" | "plugins" | "usage" | "inputs">;

/** Whether a commit that is sent says what was kept. */
export function isSameEnd(kept: Content, { outcome, entries, plugins, usage, inputs }: EndedTurn): boolean {
  return isDeepStrictEqual(kept, JSON.parse(JSON.stringify({ outcome, entries, plugins, usage, inputs })));
}
