import type { EffectName, TurnId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { keyText } from "../rows/codec.ts";
import { seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import type { Journals } from "./journal.ts";
import { countRows } from "./own-rows.ts";

/** What an open turn keeps besides its events: notes of nested work, and the effects that were begun. */

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
