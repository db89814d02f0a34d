// Where a command stores conversations, and how it makes the store.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RuntimeError, type Store } from "../index.ts";
import { sqlite } from "../stores/sqlite.ts";
import { addressOf, type DatabaseFile, databaseFileOf, MEMORY, shownPlace } from "./database-file.ts";
import type { Io } from "./io.ts";

/** A file, or a database. */
export interface Place {
  /** The path or the address, without a password. */
  readonly shown: string;
  readonly isFleeting: boolean;
  /** Opens the store, and creates it if it is missing. */
  open(): Store;
}

/** The place of `--db`, else of BOWLINE_DB, else the default file. */
export async function placeFor(io: Pick<Io, "cwd" | "env">, given?: string): Promise<Place> {
  const address = addressOf(io, given);
  if (address === undefined) {
    const place = databaseFileOf(io, given);
    return { shown: place.shown, isFleeting: place.path === MEMORY, open: () => openStore(place) };
  }
  const { postgres } = await import("../stores/postgres.ts");
  return { shown: await shownPlace(io, given), isFleeting: false, open: () => postgres(address) };
}

function openStore(place: DatabaseFile): Store {
  if (place.isDefault) makeFolder(dirname(place.path), place.path);
  return sqlite(place.path);
}

/**
 * Creates the folder with access for its owner only, and with a .gitignore, because conversations do not belong in a
 * repository.
 */
function makeFolder(folder: string, path: string): void {
  try {
    const created = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (created !== undefined) writeFileSync(join(folder, ".gitignore"), "*\n", { mode: 0o600 });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (["EACCES", "EPERM", "EROFS"].includes(code))
      throw new RuntimeError("store.readonly", { path }, { cause: error });
    const problem = code === "EEXIST" ? `${folder} is not a folder` : message;
    throw new RuntimeError("store.path", { path, problem }, { cause: error });
  }
}
