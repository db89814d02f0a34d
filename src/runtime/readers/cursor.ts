import { RuntimeError } from "../../model/errors.ts";
import { asCursor, asSessionId, type Cursor, type SessionId } from "../../model/ids.ts";

/** A reader's cursor contains its session, because every session would accept a plain number. */
export const cursorFor = (session: SessionId, fact: Cursor): Cursor => asCursor(`${fact}@${session}`);

export interface ReadCursor {
  readonly fact: Cursor;
  /** How many of the fact's events were read, if not all of them. */
  readonly seen: number | undefined;
  readonly session: SessionId;
}

export function parsedCursor(cursor: string): ReadCursor {
  const [, fact, seen, session] =
    (typeof cursor === "string" && /^([1-9]\d{0,15})(?:\.([1-9]\d{0,8}))?@(.+)$/su.exec(cursor)) || [];
  if (fact === undefined || session === undefined)
    throw new RuntimeError("cursor.unknown", {
      cursor: typeof cursor === "string" ? cursor.slice(0, 80) : typeof cursor,
    });
  return { fact: asCursor(fact), seen: seen === undefined ? undefined : Number(seen), session: asSessionId(session) };
}
