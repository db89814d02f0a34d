import { chmodSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { canMount, smallDisk } from "../../../test/kit/disk.ts";
import { file } from "../../../test/kit/files.ts";
import { type Database, sqlite } from "../sqlite.ts";

/** What callers without types write. */
const open = sqlite as (path: unknown, options?: unknown) => unknown;

test("D8 sqlite: what is no path and no database is refused, and the error says what to write", () => {
  for (const path of [undefined, null, 7, {}, { exec() {} }])
    expect(() => open(path)).toThrow(
      expect.objectContaining({ code: "store.path", message: expect.stringContaining(`sqlite("agent.db")`) }),
    );
});

test("D8 sqlite: a strength that there is not is refused, and not taken for the weakest", () => {
  for (const strength of ["typo", "Power", "", 1, null])
    expect(() => open(":memory:", { strength })).toThrow(
      expect.objectContaining({
        code: "options.invalid",
        message: expect.stringContaining(`"process", "power" or "power-all"`),
      }),
    );
  for (const options of [null, 7, { lockedMs: "5" }, { leaseMs: 0 }, { leaseMs: Number.NaN }, { now: 5 }])
    expect(() => open(":memory:", options), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: "options.invalid" }),
    );
});

test("D8 sqlite: an option that there is not is refused, naming the one that was probably meant", () => {
  const unknown = (details: object) => expect.objectContaining({ code: "options.unknown", details });
  expect(() => open(":memory:", { strenght: "power-all" })).toThrow(
    unknown({ where: "sqlite()", name: "strenght", nearest: "strength" }),
  );
  expect(() => open(":memory:", { wal: true })).toThrow(unknown({ where: "sqlite()", name: "wal" }));
});

test("D8 sqlite: a full disk has one code, when a file is opened and when it is written", () => {
  // What SQLite says when the file of its shared memory cannot be made as large as it must be.
  const failing = (fault: object): Database => ({
    exec: () => {
      throw Object.assign(new Error("disk I/O error"), fault);
    },
    prepare: () => expect.fail("nothing can be prepared"),
    close() {},
  });
  for (const fault of [{ errcode: 4874 }, { code: "SQLITE_IOERR_SHMSIZE" }, { errcode: 13 }])
    expect(() => sqlite(failing(fault))).toThrow(expect.objectContaining({ code: "store.full" }));
});

test.skipIf(!canMount())("D8 sqlite: on a disk that is full, or has no room for more files, opening says so", () => {
  for (const options of ["size=4k", "size=8k", "size=16k", "size=40k", "size=1m,nr_inodes=2", "size=1m,nr_inodes=1"]) {
    using disk = smallDisk(options);
    const path = join(disk.folder, "agent.db");
    expect(() => sqlite(path), options).toThrow(expect.objectContaining({ code: "store.full" }));
  }
});

describe.skipIf(process.platform === "win32")("the mode of files", () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  test("D8 sqlite: a new file, its log and its index are readable by their owner alone, also behind a link", () => {
    const [plain, target, link] = [file(), file(), file()];
    symlinkSync(target, link);
    for (const [path, created] of [
      [plain, plain],
      [link, target],
    ] as const) {
      const store = sqlite(path);
      expect([created, `${created}-wal`, `${created}-shm`].map(modeOf)).toEqual(["600", "600", "600"]);
      store.close();
    }
  });

  test("D8 sqlite: a file that exists keeps its mode, and so do the files beside it", () => {
    const path = file();
    writeFileSync(path, "", { mode: 0o644 });
    chmodSync(path, 0o644);
    const store = sqlite(path);
    expect([path, `${path}-wal`].map(modeOf)).toEqual(["644", "644"]);
    store.close();
  });
});
