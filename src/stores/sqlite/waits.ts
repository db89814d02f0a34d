import type { EffectName, TurnId, WaitKey } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { WaitAnswer } from "../../turn/event.ts";
import { seal, sumOf, unseal } from "./checksum.ts";
import { keyText } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";
import type { Journals } from "./journal.ts";
import { countRows } from "./own-rows.ts";
import { answerIn, requireWait, sealOfWait, type WaitRow } from "./wait-row.ts";

/** What an open turn has besides its journal: waits, notes of nested work, and the effects that were begun. */

const BY_KEY = "SELECT * FROM wait WHERE key = ?";

export function resolve(db: Connection, key: WaitKey, answer: WaitAnswer): "accepted" | "already-resolved" | "unknown" {
  const row = db.row<WaitRow>(BY_KEY, key);
  if (row === undefined) return "unknown";
  const before = answerIn(row);
  if (before !== undefined) return before.kind === "revoked" ? "unknown" : "already-resolved";
  const next = "SELECT coalesce(max(nth), 0) + 1 AS nth FROM wait WHERE turn = ?";
  const { nth } = db.row<{ nth: number }>(next, row.turn)!;
  const text = seal(answer, row.turn);
  const sum = sealOfWait({ ...row, nth, answer: text });
  db.run("UPDATE wait SET answer = ?, nth = ?, seal = ? WHERE key = ?", text, nth, sum, key);
  return "accepted";
}

export function peek(db: Connection, key: WaitKey): WaitAnswer | undefined {
  const row = db.row<WaitRow>(BY_KEY, key);
  return row && answerIn(row);
}

export const due = (db: Connection, now: number, max: number): readonly { key: WaitKey; turnId: TurnId }[] =>
  db
    .rows<WaitRow & { readonly turnId: TurnId }>(
      `SELECT w.*, t.id AS turnId FROM wait w JOIN turn t ON t.n = w.turn
         WHERE w.answer IS NULL AND w.until <= ? ORDER BY w.until LIMIT ?`,
      now,
      limit(max),
    )
    .map((row) => {
      requireWait(row);
      return { key: row.key, turnId: row.turnId };
    });

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
  const kept = keyText(key);
  const found = "SELECT * FROM note WHERE turn = ? AND effect = ? AND key = ?";
  const first = db.row<NoteRow>(found, run.turn, effect, kept);
  if (first !== undefined) return noteIn(first);
  if (value === undefined) return undefined;
  const text = seal(value, sumOf([run.turn, effect, kept]));
  countRows(db, run.session, db.run("INSERT INTO note VALUES (?, ?, ?, ?)", run.turn, effect, kept, text));
  return value;
}

export interface NoteRow {
  readonly turn: number;
  readonly effect: string;
  readonly key: string;
  readonly value: string;
}
export const noteIn = ({ turn, effect, key, value }: NoteRow): Json =>
  unseal(value, sumOf([turn, effect, key]), `The note ${key} of turn ${turn}`, turn);

export function attempt(db: Connection, journals: Journals, turn: TurnId, effect: EffectName): "first" | "again" {
  const run = journals.openRun(turn);
  if (run === undefined) return "again";
  const sum = sumOf([run.turn, effect]);
  const begun = db.run("INSERT INTO attempt VALUES (?, ?, ?) ON CONFLICT DO NOTHING", run.turn, effect, sum);
  countRows(db, run.session, begun);
  return begun === 0 ? "again" : "first";
}
