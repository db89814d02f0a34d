import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { canMount, smallDisk } from "../../../test/kit/disk.ts";
import { file } from "../../../test/kit/files.ts";
import { type Database, sqlite } from "../sqlite.ts";

/** What callers without types write. */
const open = sqlite as (path: unknown, options?: unknown) => unknown;

test("D8 sqlite: a value that is neither a path nor a database is refused with a hint", () => {
  for (const path of [undefined, null, 7, {}, { exec() {} }])
    expect(() => open(path)).toThrow(
      expect.objectContaining({ code: "store.path", message: expect.stringContaining(`sqlite("agent.db")`) }),
    );
});

test("D8 sqlite: an unknown durability is refused", () => {
  for (const durability of ["typo", "Power", "", 1, null])
    expect(() => open(":memory:", { durability })).toThrow(
      expect.objectContaining({
        code: "options.invalid",
        message: expect.stringContaining(`"process", "power" or "power-all"`),
      }),
    );
  for (const options of [null, 7, { busyTimeoutMs: "5" }, { leaseMs: 0 }, { leaseMs: Number.NaN }, { now: 5 }])
    expect(() => open(":memory:", options), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: "options.invalid" }),
    );
});

test("D8 sqlite: an unknown option is refused, and the error suggests the closest one", () => {
  const unknown = (details: object) => expect.objectContaining({ code: "options.unknown", details });
  expect(() => open(":memory:", { durabilty: "power-all" })).toThrow(
    unknown({ where: "sqlite()", name: "durabilty", nearest: "durability" }),
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

test.skipIf(!canMount())(
  "D8 sqlite: on a disk that is full, or has no room for more files, opening throws an error with the reason",
  () => {
    for (const options of [
      "size=4k",
      "size=8k",
      "size=16k",
      "size=40k",
      "size=1m,nr_inodes=2",
      "size=1m,nr_inodes=1",
    ]) {
      using disk = smallDisk(options);
      const path = join(disk.folder, "agent.db");
      expect(() => sqlite(path), options).toThrow(expect.objectContaining({ code: "store.full" }));
    }
  },
);

describe.skipIf(process.platform === "win32")("the mode of files", () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  /** A new folder with these symbolic links, each from its name to its target. */
  const folderWith = (links: { readonly [name: string]: string }): string => {
    const folder = file();
    mkdirSync(join(folder, "real", "inner"), { recursive: true });
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, name));
    return folder;
  };

  test.each([
    ["a path", "a.db", "a.db", {}],
    ["a link", "link", "real/a.db", { link: "real/a.db" }],
    ["a link to a link", "first", "real/a.db", { first: "second", second: "real/a.db" }],
    ["a relative link in a linked folder", "up/link", "a.db", { up: "real/", "real/link": "../a.db" }],
    ["the folder above a linked folder", "deep/../a.db", "real/a.db", { deep: "real/inner" }],
    ["a missing folder before `..`", "missing/../a.db", "a.db", {}],
  ])(
    "D8 sqlite: a new file, its log and its index are readable by their owner alone, by %s and by its URI",
    (_, path, created, links) => {
      for (const uri of [
        (name: string) => name,
        (name: string) => `file:${name}`,
        (name: string) => `file://${name}`,
      ]) {
        const folder = folderWith(links);
        const store = sqlite(uri(`${folder}/${path}`));
        const file = join(folder, created);
        expect([file, `${file}-wal`, `${file}-shm`].map(modeOf)).toEqual(["600", "600", "600"]);
        store.close();
        const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
        expect(files.map((each) => join(each.parentPath, each.name))).toEqual([file]);
      }
    },
  );

  test("D8 sqlite: a relative `file:` URI creates a private file, and `mode=rw` creates none", () => {
    const path = file();
    const uri = `file:${relative(process.cwd(), path).replace(/db$/, "d%62")}`;
    expect(() => sqlite(`${uri}?mode=rw`)).toThrow(expect.objectContaining({ code: "store.path" }));
    expect(existsSync(path)).toBe(false);
    sqlite(`${uri}?cache=private&mode=rwc#top`).close();
    expect(modeOf(path)).toBe("600");
    sqlite("file::memory:").close();
    sqlite(`file:${file()}?mode=memory`).close();
  });

  test("D8 sqlite: a path that names no file is refused with `store.path`", () => {
    const folder = folderWith({ one: "two", two: "one", lost: "missing/a.db" });
    writeFileSync(join(folder, "text"), "");
    for (const [path, problem] of [
      [`${folder}/one`, "links form a loop"],
      [`${folder}/lost`, "there is no folder"],
      [`${folder}/text/a.db`, "there is no folder"],
      [`file:${folder}/real`, "it is a folder"],
      [`file:${folder}/%ff.db`, "its URI is malformed"],
      ["file:?mode=rwc", "the path is empty"],
      [`${folder}/a\0.db`, "NUL"],
    ] as const)
      expect(() => sqlite(path), path).toThrow(
        expect.objectContaining({ code: "store.path", message: expect.stringContaining(problem) }),
      );
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
