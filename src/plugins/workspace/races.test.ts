import assert from "node:assert/strict";
import type * as fs from "node:fs/promises";
import { mkdir, mkdtemp, readFile as read, readdir, rename, rm, symlink, writeFile as write } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, test, vi } from "vitest";
import { listFiles } from "./list.ts";
import { readFile } from "./read.ts";
import { searchFiles } from "./search.ts";
import { editFile, writeFile } from "./write.ts";

/** Runs at the worst moment: a name was checked, and is opened next. */
let beforeOpening: { readonly name: string; run(): Promise<void> } | undefined;
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof fs>();
  return {
    ...real,
    open: async (...given: Parameters<typeof real.open>) => {
      const due = beforeOpening;
      if (due !== undefined && String(given[0]).endsWith(`/${due.name}`)) {
        beforeOpening = undefined;
        await due.run();
      }
      return real.open(...given);
    },
  };
});

const { signal } = new AbortController();
let base: string;
let root: string;
const options = () => ({ root, bytesMax: 262_144, fileBytesMax: 1_048_576, ignore: [] });

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "bowline-race-"));
  root = join(base, "root");
  await mkdir(join(root, "sub"), { recursive: true });
  await mkdir(join(base, "outside"));
  await write(join(base, "outside", "a.txt"), "secret\n");
  await write(join(root, "sub", "a.txt"), "inside\n");
});
afterEach(async () => {
  beforeOpening = undefined;
  await rm(base, { recursive: true, force: true });
});

const swapFolder = async () => {
  await rename(join(root, "sub"), join(root, "moved"));
  await symlink(join(base, "outside"), join(root, "sub"));
};
const swapFile = async () => {
  await rm(join(root, "sub", "a.txt"));
  await symlink(join(base, "outside", "a.txt"), join(root, "sub", "a.txt"));
};
const nothingHappenedOutside = async () => {
  assert.equal(beforeOpening, undefined, "The swap took place.");
  assert.deepEqual(await readdir(join(base, "outside")), ["a.txt"]);
  assert.equal(await read(join(base, "outside", "a.txt"), "utf8"), "secret\n");
};

const tools: Record<string, () => Promise<unknown>> = {
  read_file: async () => readFile({ path: "sub/a.txt" }, options(), signal),
  write_file: async () => writeFile({ path: "sub/a.txt", content: "new\n", ifMatch: "0" }, options()),
  edit_file: async () => editFile({ path: "sub/a.txt", oldText: "secret", newText: "new" }, options()),
  list_files: async () => listFiles({ path: "." }, options(), signal),
  search_files: async () => searchFiles({ pattern: "secret" }, options(), signal),
};

test.each(Object.entries(tools))(
  "E3: %s is not led out by a folder swapped for a link after the check",
  async (_, run) => {
    beforeOpening = { name: "sub", run: swapFolder };
    const answer = await run().catch((error: Error) => error.message);
    assert.doesNotMatch(String(answer), /secret/);
    await nothingHappenedOutside();
  },
);

const { list_files: _, ...openers } = tools;
test.each(Object.entries(openers))(
  "E3: %s is not led out by a file swapped for a link after the check",
  async (name, run) => {
    beforeOpening = { name: "a.txt", run: swapFile };
    const answer = await run().catch((error: Error) => error.message);
    assert.match(String(answer), name === "search_files" ? /1 unreadable/ : /replaced by a link just now/);
    await nothingHappenedOutside();
  },
);

test("E3: a write goes to the folder that was checked, even when its path comes to mean another", async () => {
  beforeOpening = { name: "new", run: swapFolder };
  await writeFile({ path: "sub/new/b.txt", content: "new\n" }, options());
  await nothingHappenedOutside();
  assert.equal(await read(join(root, "moved", "new", "b.txt"), "utf8"), "new\n");
});

test("E3: hundreds of reads and edits while a folder flips to a link and back never leave", async () => {
  await mkdir(join(base, "spare"));
  const flipping = new Worker(
    `const { renameSync: mv, symlinkSync: ln, unlinkSync: rm } = require("node:fs");
     const { workerData: { sub, spare, outside }, parentPort } = require("node:worker_threads");
     let isOn = true;
     parentPort.on("message", () => (isOn = false));
     (function flip() {
       for (let i = 0; i < 20; i++) { mv(sub, spare); ln(outside, sub); rm(sub); mv(spare, sub); }
       if (isOn) setImmediate(flip); else parentPort.close();
     })();`,
    {
      eval: true,
      workerData: { sub: join(root, "sub"), spare: join(base, "spare", "sub"), outside: join(base, "outside") },
    },
  );
  await new Promise((resolve) => flipping.once("online", resolve));
  let edits = 0;
  for (let round = 0; round < 200; round++) {
    const shown = await readFile({ path: "sub/a.txt" }, options(), signal).catch(() => "");
    assert.doesNotMatch(String(shown), /secret/);
    // The last letter is in the file inside, which grows, and in the one outside, which must not.
    const isDone = await editFile({ path: "sub/a.txt", oldText: "e\n", newText: "ee\n" }, options()).then(
      () => true,
      () => false,
    );
    await editFile({ path: "sub/a.txt", oldText: "t\n", newText: "tt\n" }, options()).catch(() => {});
    if (isDone) edits++;
  }
  flipping.postMessage("stop");
  await new Promise((resolve) => flipping.once("exit", resolve));
  await nothingHappenedOutside();
  assert.equal(await read(join(root, "sub", "a.txt"), "utf8"), `insid${"e".repeat(edits + 1)}\n`);
}, 30_000);
