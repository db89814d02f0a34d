import type { Store } from "../index.ts";
import { addressOf, databaseFileOf, openExisting } from "./database-file.ts";
import type { Io } from "./io.ts";
import type { Connecting } from "./patients.ts";

/**
 * Opens the store of `--db` only to look at it: it must exist. `connecting` is how it connects to a Postgres database: `{}`
 * to follow what other processes do.
 */
export async function existingStore(io: Pick<Io, "cwd" | "env">, db?: string, connecting?: Connecting): Promise<Store> {
  const address = addressOf(io, db);
  if (address !== undefined) return (await (await import("./patients.ts")).databaseAt(address, connecting)).store;
  return openExisting(databaseFileOf(io, db));
}
