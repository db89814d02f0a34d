import type { TurnId, WaitKey } from "../../model/ids.ts";
import type { WaitAnswer } from "../../turn/event.ts";
import type { NewWait } from "../store.ts";
import type { Run, WaitRow } from "./rows.ts";

/** The waits of all open turns. */
export class Waits {
  readonly #rows = new Map<WaitKey, WaitRow>();
  readonly #unanswered = new Set<WaitRow>();

  add(run: Run, waits: readonly NewWait[]): void {
    for (const { key, until } of waits) {
      if (this.#rows.has(key)) continue; // A retried append.
      const row: WaitRow = { key, run, until, answer: undefined };
      this.#rows.set(key, row);
      this.#unanswered.add(row);
      run.waits ??= [];
      run.waits.push(row);
    }
  }

  resolve(key: WaitKey, answer: WaitAnswer): "accepted" | "already-resolved" | "unknown" {
    const row = this.#rows.get(key);
    if (row === undefined || row.answer?.kind === "revoked") return "unknown";
    if (row.answer !== undefined) return "already-resolved";
    this.#answer(row, answer);
    return "accepted";
  }

  peek(key: WaitKey): WaitAnswer | undefined {
    return this.#rows.get(key)?.answer;
  }

  due(now: number, max: number): readonly { readonly key: WaitKey; readonly turnId: TurnId }[] {
    return [...this.#unanswered]
      .filter((row) => row.until <= now)
      .sort((a, b) => a.until - b.until)
      .slice(0, max)
      .map(({ key, run }) => ({ key, turnId: run.turn.id }));
  }

  /** Answers what a turn waits for with `revoked`; the turn goes on and is told. */
  revoke(run: Run): void {
    for (const row of run.waits ?? []) if (row.answer === undefined) this.#answer(row, { kind: "revoked" });
  }

  /** Forgets the waits of a turn that is over. */
  drop(run: Run): void {
    for (const row of run.waits ?? []) {
      this.#rows.delete(row.key);
      this.#unanswered.delete(row);
    }
  }

  #answer(row: WaitRow, answer: WaitAnswer): void {
    row.answer = answer;
    this.#unanswered.delete(row);
    row.run.resolved = [...(row.run.resolved ?? []), { key: row.key, answer }];
  }
}
