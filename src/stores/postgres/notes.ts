import { hash } from "node:crypto";
import type { EffectName, TurnId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { keyText } from "../rows/codec.ts";
import type { Database } from "./database.ts";
import { parsed } from "./text.ts";

/**
 * What an open turn keeps besides its events: notes of nested work, and the effects that were begun. Both go with its
 * end, so each is written by a statement that holds the session's row and finds the turn open.
 */

const OPEN = `UPDATE @session s SET has_more = true FROM @turn t
  WHERE t.id = $1 AND s.n = t.session AND s.turn = t.n RETURNING t.n AS turn`;
const NOTE = `WITH open AS (${OPEN})
  INSERT INTO @note SELECT turn, $2, $3, $4 FROM open ON CONFLICT DO NOTHING RETURNING value`;
const NOTED = `SELECT o.value FROM @note o JOIN @turn t ON t.n = o.turn JOIN @session s ON s.turn = t.n AND s.n = t.session
  WHERE t.id = $1 AND o.effect = $2 AND o.key = $3`;
const ATTEMPT = `WITH open AS (${OPEN})
  INSERT INTO @attempt SELECT turn, $2 FROM open ON CONFLICT DO NOTHING RETURNING turn`;

/** A key as it is kept: an index takes no more than some 2,700 bytes. */
const shortText = (key: string): string =>
  key.length <= 600 ? keyText(key) : `${keyText(key.slice(0, 64).toWellFormed())}…${hash("sha256", key, "base64url")}`;

/** Keeps a note unless it is there, and answers the one that is kept. A turn that is not open keeps none. */
export async function note(
  db: Database,
  turn: TurnId,
  effect: EffectName,
  key: string,
  value: Json | undefined,
): Promise<Json | undefined> {
  const kept = shortText(key);
  if (value !== undefined) {
    const [added] = await db.heldRows(NOTE, turn, effect, kept, JSON.stringify(value));
    if (added !== undefined) return value;
  }
  const [first] = await db.heldRows<{ value: string }>(NOTED, turn, effect, kept);
  return first === undefined ? value : parsed(first.value, `The note ${key} of turn ${turn}`);
}

export async function attempt(db: Database, turn: TurnId, effect: EffectName): Promise<"first" | "again"> {
  // When the answer to an attempt is lost with its connection, it is asked again and answered `again`: it may have run.
  const [begun] = await db.heldRows(ATTEMPT, turn, effect);
  return begun === undefined ? "again" : "first";
}
