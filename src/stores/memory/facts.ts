import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor, type NodeId, nodeId } from "../../model/ids.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { Change } from "../store.ts";
import type { OperationRow, SegmentRow, SessionRow, TurnRow, WaitRow } from "./rows.ts";

type FactRow = TurnRow | OperationRow | WaitRow;

/** Facts are numbered from 1, in one order over all sessions; a cursor is such a number. */
export class Facts {
  /**
   * By their numbers. A turn is here twice, as accepted and as committed, and so is a wait that was answered. A deleted
   * session and an append that waits leave holes.
   */
  readonly #rows: (FactRow | undefined)[] = [];

  get next(): number {
    return this.#rows.length + 1;
  }

  add(row: FactRow): number {
    const fact = this.#rows.push(row);
    const { session } = row;
    // A list that is pushed to is given room for 16 more, which most sessions never use: short ones are made anew.
    if (session.facts === undefined) session.facts = [fact];
    else if (session.facts.length < 8) session.facts = session.facts.concat(fact);
    else session.facts.push(fact);
    return fact;
  }

  /** Leaves out a number, for something that is no fact but has a place in their order. */
  skip(): void {
    this.#rows.push(undefined);
  }

  /** Facts after a cursor, of all sessions or of the given ones. */
  after(cursor: Cursor | undefined, max: number, sessions?: readonly SessionRow[]): readonly Change[] {
    const last = cursor === undefined ? 0 : this.#require(cursor);
    const found: Change[] = [];
    if (sessions === undefined) {
      for (let fact = last + 1; fact < this.next && found.length < max; fact += 1) this.#show(fact, found);
    } else {
      const facts = sessions.flatMap(({ facts = [] }) => pageOf(facts, last, max));
      if (sessions.length > 1) facts.sort((a, b) => a - b);
      for (let at = 0; at < facts.length && found.length < max; at += 1) this.#show(facts[at]!, found);
    }
    return found;
  }

  /** Forgets the facts of a session, and answers its waits among them. */
  forget(session: SessionRow): readonly WaitRow[] {
    const waits: WaitRow[] = [];
    for (const fact of session.facts ?? []) {
      const row = this.#rows[fact - 1];
      if (row !== undefined && "about" in row) waits.push(row);
      this.#rows[fact - 1] = undefined;
    }
    return waits;
  }

  #show(fact: number, found: Change[]): void {
    const row = this.#rows[fact - 1];
    if (row !== undefined) found.push(shown(fact, row));
  }

  #require(cursor: Cursor): number {
    const fact = /^[1-9]\d*$/.test(cursor) ? Number(cursor) : 0;
    if (fact === 0 || fact >= this.next) throw new RuntimeError("cursor.unknown", { cursor });
    return fact;
  }
}

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

function shown(fact: number, row: FactRow): Change {
  if ("about" in row) return shownWait(fact, row);
  const common = { cursor: cursorOf(fact), sessionId: row.session.id };
  if ("operation" in row) {
    const { by, operation, segment } = row;
    return { ...common, kind: "committed", by, operation, ...nodesOf(segment) };
  }
  const { id: turnId, inputId, key, segment, isInjected } = row;
  if (row.acceptedAs === fact)
    return {
      ...common,
      kind: "accepted",
      ...(isInjected ? {} : { turnId }),
      inputId,
      ...(key === undefined ? {} : { key }),
    };
  const {
    outcome,
    usage,
    committed: { branch },
  } = row.end!;
  const turn = { by: "turn", turnId, outcome, usage, ...(branch === undefined ? {} : { branch }) } as const;
  return { ...common, kind: "committed", ...turn, ...nodesOf(segment) };
}

function shownWait(fact: number, row: WaitRow): Change {
  const { id: wait, session, turn, job, effect, about, until, asked, askedIn, answer } = row;
  if (about.kind === "turns") throw new Error("Turns that are waited for are no fact.");
  const isAsked = asked === fact;
  const one = {
    cursor: cursorOf(fact),
    sessionId: (isAsked ? askedIn! : session).id,
    ...(turn === undefined ? { jobId: job!.job.id } : { turnId: turn.id }),
    wait,
    effect,
  };
  if (isAsked) return { ...one, kind: "waiting", about, until };
  return { ...one, kind: "resolved", wants: about.kind, ...howOf(answer!) };
}

function howOf(answer: WaitAnswer): { readonly how: WaitAnswer["kind"]; readonly by?: string } {
  const by = answer.kind === "timeout" ? undefined : answer.by;
  return { how: answer.kind, ...(by === undefined ? {} : { by }) };
}

function nodesOf(segment: SegmentRow | undefined): {
  readonly nodes: readonly NodeId[];
  readonly frames?: readonly NodeId[];
} {
  if (segment === undefined) return { nodes: [] };
  const nodes = segment.entries.map((_, index) => nodeId(segment.commit, index));
  const frames = nodes.filter((_, index) => segment.entries[index]!.kind === "frame");
  return frames.length === 0 ? { nodes } : { nodes, frames };
}

function pageOf(facts: readonly number[], last: number, max: number): readonly number[] {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (facts[middle]! <= last) low = middle + 1;
    else high = middle;
  }
  return facts.slice(low, low + max);
}
