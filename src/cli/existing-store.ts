import type { Store } from "../index.ts";
import { addressOf, databaseFileOf, isThere, openExisting } from "./database-file.ts";
import type { Io } from "./io.ts";
import type { Connecting } from "./patients.ts";

/**
 * Opens the store of `--db` only to look at it. Undefined if the default file does not exist yet. `connecting` is how it
 * connects to a Postgres database: `{}` to follow what other processes do.
 */
export async function existingStore(
  io: Pick<Io, "cwd" | "env">,
  db?: string,
  connecting?: Connecting,
): Promise<Store | undefined> {
  const address = addressOf(io, db);
  if (address !== undefined) return (await (await import("./patients.ts")).databaseAt(address, connecting)).store;
  const place = databaseFileOf(io, db);
  return place.isDefault && !isThere(place) ? undefined : openExisting(place);
}
