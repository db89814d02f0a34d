import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor } from "../../model/ids.ts";
import type { Change } from "../store.ts";
import type { SessionRow, TurnRow } from "./rows.ts";

/** What happened, in one order over all sessions, from 1. A cursor is a number in that order. */
export class Facts {
  /** A turn stands here when it was accepted and when it was committed; nothing does after its session was deleted. */
  readonly #turns: (TurnRow | undefined)[] = [];

  get next(): number {
    return this.#turns.length + 1;
  }

  add(turn: TurnRow): number {
    const fact = this.#turns.push(turn);
    const { session } = turn;
    if (session.facts === undefined) session.facts = [fact];
    else session.facts.push(fact);
    return fact;
  }

  /** Of all sessions, or those with these numbers. */
  after(cursor: Cursor | undefined, max: number, facts?: readonly number[]): readonly Change[] {
    const last = cursor === undefined ? 0 : this.#require(cursor);
    const found: Change[] = [];
    if (facts === undefined) {
      for (let fact = last + 1; fact < this.next && found.length < max; fact += 1) this.#show(fact, found);
    } else {
      for (let at = firstAfter(facts, last); at < facts.length && found.length < max; at += 1)
        this.#show(facts[at]!, found);
    }
    return found;
  }

  forget(session: SessionRow): void {
    for (const fact of session.facts ?? []) this.#turns[fact - 1] = undefined;
  }

  #show(fact: number, found: Change[]): void {
    const turn = this.#turns[fact - 1];
    if (turn === undefined) return;
    const kind = turn.acceptedAs === fact ? "accepted" : "committed";
    found.push({ cursor: cursorOf(fact), sessionId: turn.session.id, kind, turnId: turn.id });
  }

  #require(cursor: Cursor): number {
    const fact = /^[1-9]\d*$/.test(cursor) ? Number(cursor) : 0;
    if (fact === 0 || fact >= this.next) throw new RuntimeError("cursor.unknown", { cursor });
    return fact;
  }
}

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

function firstAfter(facts: readonly number[], last: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (facts[middle]! <= last) low = middle + 1;
    else high = middle;
  }
  return low;
}
