import { appendFileSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { journal } from "bowline/hosts/journal";
import { sqlite } from "bowline/stores/sqlite";
import type { CrashBackend, TrialResources } from "bowline/testing";

/** Where the test wants it, as a place on a server would have it by the server's address. */
const root = process.env.ELSEWHERE ?? "";
const folderOf = ({ name }: TrialResources): string => join(root, name);
const note = (...words: readonly string[]): void => appendFileSync(join(root, "notes"), `${words.join(" ")}\n`);

/** A folder outside of the trial's own, found by the name alone. It keeps notes of what it was asked for. */
export default {
  open(at) {
    note("open", at.name);
    mkdirSync(folderOf(at), { recursive: true });
    return { store: sqlite(join(folderOf(at), "own.db"), { durability: "process" }), host: journal() };
  },
  async look(at, read, during) {
    note("look", at.name, during);
    const folder = during === "still" ? `${folderOf(at)}-copy` : folderOf(at);
    if (during === "still") cpSync(folderOf(at), folder, { recursive: true });
    const store = sqlite(join(folder, "own.db"));
    try {
      return await read(store);
    } finally {
      await store.close();
      if (during === "still") rmSync(folder, { recursive: true });
    }
  },
  drop(at) {
    note("drop", at.name);
    rmSync(folderOf(at), { recursive: true, force: true });
  },
} satisfies CrashBackend;
