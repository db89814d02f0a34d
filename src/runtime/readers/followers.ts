import type { TurnProgress } from "../../model/event.ts";
import type { NodeId, SessionId, TurnId } from "../../model/ids.ts";
import type { Committed } from "../../stores/store.ts";
import type { Validate } from "../../tools/validator.ts";
import type { TurnHandle, TurnResult } from "../live-turn/handle.ts";
import { cursorFor } from "./cursor.ts";

/** Those in this process who wait for turns of one session, wherever these run. */
export class Followers {
  #handles: Map<TurnId, TurnHandle[]> | undefined;
  /** The schemas of typed turns as their callers gave them: a schema may check more than its JSON document says. */
  #outputs: Map<TurnId, Validate> | undefined;

  get isEmpty(): boolean {
    return this.#handles === undefined || this.#handles.size === 0;
  }
  get turns(): readonly TurnId[] {
    return this.#handles === undefined ? [] : [...this.#handles.keys()];
  }

  /** `handles` are those of the turn if it runs here: the handle is one of them from now on. */
  join(turnId: TurnId, handle: TurnHandle, handles?: TurnHandle[]): void {
    this.#handles ??= new Map();
    const others = this.#handles.get(turnId) ?? handles;
    others?.push(handle);
    this.#handles.set(turnId, others ?? [handle]);
    handle.accepted(turnId);
  }
  /** The list itself: whoever joins later is in it too. */
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

  /** Everybody is given the fact, then the result. */
  done(sessionId: SessionId, committed: Committed, result: TurnResult, nodes: readonly NodeId[]): void {
    const { branch } = committed;
    const whole = branch === undefined ? result : { ...result, branch };
    const fact = committedFact(sessionId, whole, committed, nodes);
    for (const handle of this.#forget(result.turnId)) {
      handle.feed.push(fact);
      handle.done(whole);
    }
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

/** The fact that a turn is committed, as its readers are told. */
export const committedFact = (
  sessionId: SessionId,
  { turnId, outcome, usage, branch }: TurnResult,
  { cursor }: Committed,
  nodes: readonly NodeId[],
): Extract<TurnProgress, { readonly fact: true }> => ({
  fact: true,
  sessionId,
  cursor: cursorFor(sessionId, cursor),
  kind: "committed",
  by: "turn",
  turnId,
  nodes,
  outcome,
  usage,
  ...(branch === undefined ? {} : { branch }),
});
