import type { Store } from "../index.ts";
import { addressOf, databaseFileOf, isThere, openExisting } from "./database-file.ts";
import type { Io } from "./io.ts";

/** Opens the store of `--db` for a command that only reads. Undefined if the default file does not exist yet. */
export async function existingStore(io: Pick<Io, "cwd" | "env">, db?: string): Promise<Store | undefined> {
  const address = addressOf(io, db);
  if (address !== undefined) return (await (await import("./patients.ts")).databaseAt(address)).store;
  const place = databaseFileOf(io, db);
  return place.isDefault && !isThere(place) ? undefined : openExisting(place);
}
