import { asInputId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { PendingAppend, SessionChange } from "../store.ts";
import { seal, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import {
  APPEND,
  type Changing,
  type Identity,
  requireWhole,
  TURN_COLUMNS,
  type TurnColumns,
  UNCLAIMED,
  WAITING,
  WHOLE_TURN_COLUMNS,
} from "./turn-row.ts";

/**
 * Appends that wait for the open turn. They stand among its inputs, as rows of `turn` that open none and tell no fact:
 * so they are claimed, settled and given back like inputs. One that was settled stays, as what its operation was.
 */

/** The id of its row. No turn has one like it, and no name is kept like it. */
const rowId = (operation: string): string => `\u0001append/${keyText(operation)}`;

const BY_ID = `SELECT ${TURN_COLUMNS} FROM turn t WHERE t.id = ?`;

/** The append of an operation, in whichever session, that waits or was settled. */
export function appendRow(db: Connection, operation: string): TurnColumns | undefined {
  const row = db.row<TurnColumns>(BY_ID, rowId(operation));
  return row && requireWhole(row);
}

export function newAppend(n: number, session: number, change: SessionChange, hash: string): Identity & Changing {
  const { operation } = change;
  return {
    n,
    session,
    id: rowId(operation),
    input_id: `append/${keyText(operation)}`,
    state: WAITING,
    is_aside: APPEND,
    key: null,
    hash,
    ...UNCLAIMED,
    cancel: null,
    input: seal(change, n),
  };
}

export function shownAppend(row: TurnColumns): PendingAppend {
  const { operation, entries = [], spent } = changeIn(row);
  return { id: asInputId(row.input_id), operation, entries, ...(spent === undefined ? {} : { spent }), seq: row.n };
}

function changeIn({ n, input_id, input }: TurnColumns): SessionChange {
  const item = `The append ${input_id}`;
  if (input === null) throw corrupt(item, "its nodes are missing");
  return unseal(input, n, item);
}

const OF_SESSION = `SELECT ${WHOLE_TURN_COLUMNS} FROM turn t
  WHERE t.session = ? AND t.state = 0 AND t.is_aside = ${APPEND} ORDER BY t.n`;

/** The appends that wait, in their order. */
export const waitingAppends = (
  db: Connection,
  session: number,
): readonly (TurnColumns & { readonly change: SessionChange })[] =>
  db.rows<TurnColumns>(OF_SESSION, session).map((row) => ({ ...row, change: changeIn(requireWhole(row)) }));
