import type { EffectName, TurnId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { ATTEMPT, NOTE } from "../tables.ts";
import { openTurn } from "./leases.ts";
import type { Port } from "./port.ts";
import type { Rule } from "./rule.ts";

/** Rows that an open turn has besides its events: notes of nested work, and the effects that were started. */

/** Stores a note unless one exists, and returns the stored one. A turn that is not open stores none. */
export function* note(
  db: Port,
  id: TurnId,
  effect: EffectName,
  key: string,
  value: Json | undefined,
): Rule<Json | undefined> {
  const open = yield* openTurn(db, id);
  if (open === undefined) return value;
  const turn = open.turn.n;
  const first = yield* db.get(NOTE, "key", turn, effect, key);
  if (first !== undefined) return first.value;
  if (value !== undefined) db.insert(NOTE, { turn, effect, key, value });
  return value;
}

/** Records that an effect starts. */
export function* attempt(db: Port, id: TurnId, effect: EffectName): Rule<"first" | "again"> {
  const open = yield* openTurn(db, id);
  if (open === undefined) return "again";
  const turn = open.turn.n;
  if ((yield* db.get(ATTEMPT, "key", turn, effect)) !== undefined) return "again";
  db.insert(ATTEMPT, { turn, effect });
  return "first";
}
