import type { EffectName } from "../../model/ids.ts";
import type { Lease, PendingAppend, PendingInput } from "../store.ts";
import { APPEND, type InputContent, TAKEN, TURN, type TurnRow } from "../tables.ts";
import { toPendingAppend, toPendingInput } from "./inputs.ts";
import { requireHeld } from "./leases.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

type Pending = PendingInput | PendingAppend;

/** Claims inputs for a boundary of the open turn. A repeated call returns the same inputs. */
export function* claim(
  db: Port,
  lease: Lease,
  boundary: EffectName,
  max: number,
  takes: true | "appends" | undefined,
): Rule<readonly Pending[]> {
  const { session, turn } = yield* requireHeld(db, lease);
  const index = takes === true ? "free" : takes === "appends" ? "append" : "aside";
  const [before, free] = yield* all([
    db.scan(TURN, "boundary", [turn.n, boundary], { isWhole: true }),
    db.scan(TURN, index, [session.n], { max, isWhole: true }),
  ]);
  const shownAny = (row: TurnRow): Pending =>
    row.aside === APPEND ? toPendingAppend(row) : toPendingInput(row, session.id);
  if (before.length > 0) return before.map(shownAny);
  const taken = takes === true ? withoutWants(free) : free;
  for (const row of taken) db.update(TURN, row, { state: TAKEN, claim: turn.n, boundary });
  return taken.map(shownAny);
}

/**
 * Returns the rows before the first input that has wishes (`wants`) for the turn that it opens: such an input needs a
 * separate turn.
 */
function withoutWants(rows: readonly TurnRow[]): readonly TurnRow[] {
  const end = rows.findIndex(
    ({ aside, input }) => aside !== APPEND && (input as InputContent | null)?.wants !== undefined,
  );
  return end < 0 ? rows : rows.slice(0, end);
}
