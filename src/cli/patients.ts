import { statSync } from "node:fs";
import type { Store } from "../index.ts";
import type { PostgresOptions } from "../stores/postgres.ts";
import type { Finding, SqliteStore } from "../stores/sqlite.ts";
import { type DatabaseFile, openExisting } from "./database-file.ts";

/** A store that the doctor checks. */
export interface Patient {
  readonly store: Store & { check(options: { readonly deep: boolean }): ReturnType<SqliteStore["check"]> };
  /** Reads what the store's contract does not offer. */
  describe(): Promise<Described>;
  /** The command that continues a session. */
  chat(session: string): string;
}

export interface Described {
  /** Its path or its address, without a password. */
  readonly db: string;
  readonly schema: number;
  readonly bytes: number;
  /** The size of the write-ahead log beside the file, in bytes. */
  readonly logBytes: number;
}

export type { Finding };

// ── A file ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export function fileAt(place: DatabaseFile): Patient {
  const { path } = place;
  return {
    store: openExisting(place),
    describe: async () => ({
      db: path,
      schema: schemaOf(path),
      bytes: bytesOf(path),
      logBytes: bytesOf(`${path}-wal`),
    }),
    chat: (session) => `bowline chat --db ${path} --session ${session}, or with --app`,
  };
}

/** The driver has already migrated the file when it opened it. */
function schemaOf(path: string): number {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
  } finally {
    db.close();
  }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

// ── A database ──────────────────────────────────────────────────────────────────────────────────────────────────────

const SCHEMA = "bowline";

/** What a command needs that reads the store once. Default of the store: more connections, and news of other processes. */
const BRIEFLY: Connecting = { connections: 2, listen: false };
export type Connecting = Pick<PostgresOptions, "connections" | "listen">;

/** Throws when there is no store: only looking must not make one. */
export async function databaseAt(url: string, connecting = BRIEFLY): Promise<Patient> {
  const [{ postgres }, { inspectDatabase }, { nameOf }] = await Promise.all([
    import("../stores/postgres.ts"),
    import("../stores/postgres/inspect.ts"),
    import("../stores/postgres/url.ts"),
  ]);
  const db = nameOf(url);
  if ((await inspectDatabase(url, SCHEMA)) === undefined)
    throw Object.assign(new Error(`${db} has no schema ${SCHEMA}.`), {
      hint: "Use the address of a database that has a store.",
    });
  return {
    store: postgres(url, { schema: SCHEMA, ...connecting }),
    describe: async () => {
      const { version = 0, bytes = 0 } = (await inspectDatabase(url, SCHEMA)) ?? {};
      return { db, schema: version, bytes, logBytes: 0 };
    },
    chat: (session) => `bowline chat --db ${db} --session ${session}, or with --app`,
  };
}
