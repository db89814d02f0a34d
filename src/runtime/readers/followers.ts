import { RuntimeError } from "../../model/errors.ts";
import type { TurnProgress } from "../../model/event.ts";
import type { Cursor, NodeId, SessionId, TurnId } from "../../model/ids.ts";
import type { TurnSummary } from "../../stores/store.ts";
import type { Validate } from "../../tools/validator.ts";
import type { TurnHandle, TurnResult } from "../live-turn/handle.ts";
import { cursorFor } from "./cursor.ts";

/** The handles in this process that wait for turns of one session. The session need not be open here. */
export class Followers {
  #handles: Map<TurnId, TurnHandle[]> | undefined;
  /** The schemas of typed turns, as their callers gave them. A schema may check more than its JSON document contains. */
  #outputs: Map<TurnId, Validate> | undefined;

  get isEmpty(): boolean {
    return this.#handles === undefined || this.#handles.size === 0;
  }
  get turns(): readonly TurnId[] {
    return this.#handles === undefined ? [] : [...this.#handles.keys()];
  }

  /** `handles`: the list of a turn that runs here. The turn shows its previews to this list. */
  join(turnId: TurnId, handle: TurnHandle, handles?: TurnHandle[]): void {
    this.#handles ??= new Map();
    const others = this.#handles.get(turnId) ?? handles;
    others?.push(handle);
    this.#handles.set(turnId, others ?? [handle]);
    handle.accepted(turnId);
  }
  /** The live list: a handle that joins later is added to it. */
  of(turnId: TurnId): TurnHandle[] {
    return this.#handles?.get(turnId) ?? [];
  }

  expect(turnId: TurnId, output: Validate): void {
    (this.#outputs ??= new Map()).set(turnId, output);
  }
  output(turnId: TurnId): Validate | undefined {
    return this.#outputs?.get(turnId);
  }
  expectNot(turnId: TurnId): void {
    this.#outputs?.delete(turnId);
  }

  /** Gives each handle the fact, then the result. */
  done(sessionId: SessionId, result: TurnResult, end: TurnEnd): void {
    const { branch } = end;
    const whole = branch === undefined ? result : { ...result, branch };
    const fact = committedFact(sessionId, whole, end);
    for (const handle of this.#forget(result.turnId)) {
      handle.feed.push(fact);
      handle.done(whole);
    }
  }
  /** The runtime closes: other processes continue the turns, or the turns wait for an answer. */
  left(): void {
    for (const turnId of this.turns) this.failed(turnId, new RuntimeError("turn.left", { turnId }));
  }
  failed(turnId: TurnId, error: unknown): void {
    for (const handle of this.#forget(turnId)) handle.failed(error);
  }

  #forget(turnId: TurnId): readonly TurnHandle[] {
    const handles = this.#handles?.get(turnId);
    if (handles === undefined) return [];
    if (this.#handles?.size === 1)
      this.#handles = undefined; // Cheaper than a map that shrinks.
    else this.#handles?.delete(turnId);
    this.#outputs?.delete(turnId);
    return handles;
  }
}

/** The stored data about the end of a turn, besides its result. */
export interface TurnEnd {
  readonly at: number;
  readonly cursor: Cursor;
  readonly nodes: readonly NodeId[];
  readonly branch: NodeId | undefined;
  /** Omitted for a turn that an early version ended. */
  readonly summary: TurnSummary | undefined;
}

/** The `committed` fact of a turn, for its handles and for the parent's turn. */
export const committedFact = (
  sessionId: SessionId,
  { turnId, outcome, usage, branch }: TurnResult,
  { at, cursor, nodes, summary }: TurnEnd,
): Extract<TurnProgress, { readonly fact: true }> => ({
  fact: true,
  sessionId,
  cursor: cursorFor(sessionId, cursor),
  kind: "committed",
  by: "turn",
  turnId,
  nodes,
  at,
  outcome,
  usage,
  ...(summary === undefined ? {} : { model: summary.model, rounds: summary.rounds }),
  ...(branch === undefined ? {} : { branch }),
});
