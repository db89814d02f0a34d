import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { journal } from "../../../hosts/journal.ts";
import { sqlite } from "../../../stores/sqlite.ts";
import type { CrashBackend } from "./backend.ts";

const FILE = "agent.db";

/** An SQLite file and the journal host. */
export const sqliteBackend: CrashBackend = {
  open: ({ folder }) => ({ store: sqlite(join(folder, FILE)), host: journal() }),
  async look({ folder }, read, during) {
    // Opening the file would repair it, which is the job of the next process. But a copy of a file that others write to
    // would be inconsistent.
    const copy = during === "still" ? copyOf(folder) : undefined;
    const store = sqlite(join(copy ?? folder, FILE), { durability: "process" });
    try {
      return await read(store);
    } finally {
      await store.close();
      if (copy !== undefined) rmSync(copy, { recursive: true, force: true });
    }
  },
};

function copyOf(folder: string): string {
  const copy = mkdtempSync(join(folder, "copy-"));
  for (const file of [FILE, `${FILE}-wal`])
    if (existsSync(join(folder, file))) copyFileSync(join(folder, file), join(copy, file));
  return copy;
}
