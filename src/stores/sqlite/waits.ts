import type { EffectName, TurnId, WaitKey } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { WaitAnswer } from "../../turn/event.ts";
import { seal, unseal } from "./checksum.ts";
import { keyText } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";
import type { Journals } from "./journal.ts";

/** What an open turn has besides its journal: waits, notes of nested work, and the effects that were begun. */

export function resolve(db: Connection, key: WaitKey, answer: WaitAnswer): "accepted" | "already-resolved" | "unknown" {
  const row = db.row<{ turn: number; answer: string | null }>("SELECT turn, answer FROM wait WHERE key = ?", key);
  if (row === undefined) return "unknown";
  if (row.answer !== null) return answerOf(row.turn, row.answer).kind === "revoked" ? "unknown" : "already-resolved";
  db.run(
    "UPDATE wait SET answer = ?, nth = (SELECT coalesce(max(nth), 0) + 1 FROM wait WHERE turn = ?) WHERE key = ?",
    seal(answer, row.turn),
    row.turn,
    key,
  );
  return "accepted";
}

export function peek(db: Connection, key: WaitKey): WaitAnswer | undefined {
  const row = db.row<{ turn: number; answer: string | null }>("SELECT turn, answer FROM wait WHERE key = ?", key);
  return row === undefined || row.answer === null ? undefined : answerOf(row.turn, row.answer);
}

const answerOf = (turn: number, answer: string): WaitAnswer => unseal(answer, turn, "The answer to a wait");

export const due = (db: Connection, now: number, max: number): readonly { key: WaitKey; turnId: TurnId }[] =>
  db
    .rows<{ key: WaitKey; turnId: TurnId }>(
      `SELECT w.key, t.id AS turnId FROM wait w JOIN turn t ON t.n = w.turn
         WHERE w.answer IS NULL AND w.until <= ? ORDER BY w.until LIMIT ?`,
      now,
      limit(max),
    )
    .map(({ key, turnId }) => ({ key, turnId }));

/** Answers what a turn waits for with `revoked`; the turn goes on and is told. */
export function revoke(db: Connection, journals: Journals, turn: TurnId): void {
  const run = journals.openRun(turn);
  if (run === undefined) return;
  const open = db.rows<{ key: WaitKey }>("SELECT key FROM wait WHERE turn = ? AND answer IS NULL", run.turn);
  for (const { key } of open) resolve(db, key, { kind: "revoked" });
}

/** Keeps a note unless it is there, and answers the one that is kept. A turn that is not open keeps none. */
export function note(
  db: Connection,
  journals: Journals,
  turn: TurnId,
  effect: EffectName,
  key: string,
  value: Json | undefined,
): Json | undefined {
  const run = journals.openRun(turn);
  if (run === undefined) return value;
  const first = db.row<{ value: string }>(
    "SELECT value FROM note WHERE turn = ? AND effect = ? AND key = ?",
    run.turn,
    effect,
    keyText(key),
  );
  if (first !== undefined) return unseal<Json>(first.value, run.turn, `The note ${key} of turn ${turn}`);
  if (value === undefined) return undefined;
  db.run("INSERT INTO note VALUES (?, ?, ?, ?)", run.turn, effect, keyText(key), seal(value, run.turn));
  return value;
}

export function attempt(db: Connection, journals: Journals, turn: TurnId, effect: EffectName): "first" | "again" {
  const run = journals.openRun(turn);
  if (run === undefined) return "again";
  const begun = db.run("INSERT INTO attempt VALUES (?, ?) ON CONFLICT DO NOTHING", run.turn, effect);
  return begun === 0 ? "again" : "first";
}
