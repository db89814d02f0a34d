import type { SessionOptions } from "../store.ts";
import { seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { countRows } from "./own-rows.ts";

/** The options of sessions, in a table of their own: most sessions have none. No revision moves with them. */

const seedOf = (session: number): number => sumOf([session, "options"]);

/** Joins the options of `session s` to a statement, whose column they are as `OPTIONS`. */
export const WITH_OPTIONS = "LEFT JOIN options o ON o.session = s.n";
export const OPTIONS = "o.body AS options";

/** Keeps options, or none for empty ones, and answers them as they are kept. */
export function keepOptions(db: Connection, session: number, options: SessionOptions): string | null {
  const before = db.run("DELETE FROM options WHERE session = ?", session);
  const body = Object.keys(options).length === 0 ? null : seal(options, seedOf(session));
  const added = body === null ? 0 : db.run("INSERT INTO options VALUES (?, ?)", session, body);
  countRows(db, session, added - before);
  return body;
}

export const optionsIn = (body: string | null, session: number): { readonly options?: SessionOptions } =>
  body === null ? {} : { options: unseal(body, seedOf(session), `The options of session ${session}`) };
