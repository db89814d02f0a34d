import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readFile as read,
  readdir,
  rm,
  stat,
  symlink,
  writeFile as write,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { listFiles } from "./list.ts";
import { hashOf, readFile } from "./read.ts";
import { editFile, writeFile } from "./write.ts";

const { signal } = new AbortController();
let root: string;
const options = () => ({ root, bytesMax: 262_144, fileBytesMax: 1_048_576, ignore: [".git", "node_modules"] });
const shown = async (path: string, more: { offset?: number; limit?: number; bytesMax?: number } = {}) => {
  const { bytesMax = 262_144, ...input } = more;
  return String(await readFile({ path, ...input }, { ...options(), bytesMax }, signal));
};
const put = (path: string, content: string | Uint8Array) => write(join(root, path), content);
const got = (path: string) => read(join(root, path), "utf8");

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bowline-files-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E3: a file is read with line numbers, and the last line states which part was shown", async () => {
  await put("a.txt", "one\ntwo\nthree\n");
  const hash = hashOf("one\ntwo\nthree\n");
  assert.equal(await shown("a.txt"), `1\tone\n2\ttwo\n3\tthree\n[lines 1-3 of 3; hash ${hash}]`);
  assert.equal(
    await shown("a.txt", { offset: 2, limit: 1 }),
    `2\ttwo\n[lines 2-2 of 3; go on with offset 3; hash ${hash}]`,
  );
  assert.equal(await shown("a.txt", { offset: 9 }), `[no lines from 9 on, of 3; hash ${hash}]`);
});

test("E3: an empty file, one without a last line end, and one with CRLF", async () => {
  await put("empty", "");
  await put("open", "one\ntwo");
  await put("crlf", "one\r\ntwo\r\n\r\n");
  assert.match(await shown("empty"), /^\[no lines from 1 on, of 0; hash \w{16}\]$/);
  assert.match(await shown("open"), /^1\tone\n2\ttwo\n\[lines 1-2 of 2;/);
  assert.match(await shown("crlf"), /^1\tone\n2\ttwo\n3\t\n\[lines 1-3 of 3; lines end in CRLF;/);
});

test("E3: letters that are cut by the edge of a chunk stay whole", async () => {
  const line = "名前é🪢".repeat(40);
  await put("wide", `${`${line}\n`.repeat(500)}`);
  const lines = (await shown("wide")).split("\n").slice(0, -1);
  assert.equal(lines.length, 500);
  for (const [index, each] of lines.entries()) assert.equal(each, `${index + 1}\t${line}`);
});

test("E3: one read returns a bounded part, and states how to continue", async () => {
  await put("long", `${"x".repeat(99)}\n`.repeat(5_000));
  const first = await shown("long", { bytesMax: 10_000, limit: 5_000 });
  assert.ok(first.length < 10_200);
  const next = Number(/go on with offset (\d+)/.exec(first)?.[1]);
  assert.equal(next, 98);
  assert.match(await shown("long", { offset: next, limit: 1 }), /^98\tx{99}\n/);
});

test("E3: a line of a megabyte is cut, and the result states the cut", async () => {
  await put("wide", `${"x".repeat(1_000_000)}\nshort\n`);
  const text = await shown("wide");
  assert.ok(text.length < 3_000);
  assert.match(text, /x\[… 998000 more characters\]\n2\tshort\n/);
});

test("E3: a text of 100 MB is read at its beginning only, in bounded memory", async () => {
  execFileSync("sh", ["-c", `yes "a line of some length, again and again" | head -c 100000000 > "${root}/big"`]);
  const before = process.memoryUsage().rss;
  const text = await shown("big", { limit: 3 });
  assert.match(text, /^1\ta line.*\n2\ta line.*\n3\ta line.*\n\[lines 1-3 of many; go on with offset 4\]$/);
  assert.match(await shown("big", { offset: 1_000_000, limit: 1 }), /^1000000\ta line/);
  assert.ok(process.memoryUsage().rss - before < 64_000_000);
});

test("E3: a sparse file of 100 MB is refused as binary at once; an edit of one as too large", async () => {
  const file = await open(join(root, "sparse"), "w");
  await file.truncate(100_000_000);
  await file.close();
  await assert.rejects(shown("sparse"), {
    code: "workspace.kind",
    message: /^"sparse" is a binary file/,
  });
  await assert.rejects(editFile({ path: "sparse", oldText: "a", newText: "b" }, options()), {
    code: "workspace.limit",
  });
});

test("E3: what is not UTF-8 can be read, and is not edited, which would damage it", async () => {
  await put("latin", Buffer.from("caf\xe9\n", "latin1"));
  assert.match(await shown("latin"), /^1\tcaf\ufffd\n/);
  await assert.rejects(editFile({ path: "latin", oldText: "caf", newText: "tea" }, options()), {
    code: "workspace.kind",
  });
});

test.each([
  ["a.png", "image/png", "89504e470d0a1a0a00000000"],
  ["a.jpg", "image/jpeg", "ffd8ffe000104a46"],
  ["gif-without-a-suffix", "image/gif", "474946383961"],
  ["a.webp", "image/webp", "52494646000000005745425056503820"],
])("E3, T10: the image %s is attached as %s, whatever its name", async (name, mediaType, hex) => {
  await put(name, Buffer.from(hex, "hex"));
  const image = await readFile({ path: name }, options(), signal);
  assert.ok(typeof image !== "string");
  assert.deepEqual([image.mediaType, image.name, Buffer.from(image.data).toString("hex")], [mediaType, name, hex]);
  await assert.rejects(readFile({ path: name }, { ...options(), fileBytesMax: 4 }, signal), {
    code: "workspace.limit",
  });
});

test("E3: a missing file, a folder, and a file without permission have different errors", async () => {
  await mkdir(join(root, "folder"));
  await assert.rejects(shown("none"), { code: "workspace.missing", message: /^There is no file "none"\./ });
  await assert.rejects(shown("no/such/file"), { code: "workspace.missing" });
  await assert.rejects(shown("folder"), { code: "workspace.kind", message: /^"folder" is a folder, not a file\./ });
  await assert.rejects(shown("."), { code: "workspace.kind" });
});

test("E3: what the system permits nobody else is not read, replaced or listed", async () => {
  await mkdir(join(root, "private"));
  await put("private/a", "a\n");
  await put("mine", "mine\n");
  await chmod(join(root, "mine"), 0o600);
  await chmod(join(root, "private"), 0o700);
  await chmod(root, 0o777);
  const asNobody = process.getuid?.() === 0;
  if (asNobody) process.seteuid?.(65_534);
  else for (const name of ["mine", "private"]) await chmod(join(root, name), 0);
  try {
    await assert.rejects(shown("mine"), { code: "workspace.permission" });
    await assert.rejects(shown("private/a"), { code: "workspace.permission" });
    await assert.rejects(writeFile({ path: "mine", content: "yours\n" }, options()), { code: "workspace.permission" });
    assert.equal(await listFiles({}, options(), signal), "mine\nprivate/");
  } finally {
    if (asNobody) process.seteuid?.(0);
    else for (const name of ["mine", "private"]) await chmod(join(root, name), 0o700);
  }
  assert.equal(await got("mine"), "mine\n");
});

test("T7: a read that is cancelled ends", async () => {
  await put("a", "a\n");
  const cancelled = AbortSignal.abort(new Error("Enough."));
  await assert.rejects(readFile({ path: "a" }, options(), cancelled), { message: "Enough." });
  await assert.rejects(listFiles({}, options(), cancelled), { message: "Enough." });
});

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E3: a file is written with its folders, and nothing else is left behind", async () => {
  assert.deepEqual(await writeFile({ path: "a/b/c.txt", content: "hä\n" }, options()), {
    path: "a/b/c.txt",
    bytes: 4,
    hash: hashOf("hä\n"),
    isNew: true,
  });
  assert.equal(await got("a/b/c.txt"), "hä\n");
  assert.deepEqual(await readdir(join(root, "a/b")), ["c.txt"]);
});

test("E3: a file that is replaced keeps its mode; readers that have it open keep the old one", async () => {
  await put("run.sh", "old");
  await chmod(join(root, "run.sh"), 0o750);
  const reader = await open(join(root, "run.sh"));
  assert.equal((await writeFile({ path: "run.sh", content: "new" }, options())).isNew, false);
  assert.equal(await reader.readFile("utf8"), "old");
  await reader.close();
  assert.equal(await got("run.sh"), "new");
  assert.equal((await stat(join(root, "run.sh"))).mode & 0o777, 0o750);
});

test("E3: ifMatch keeps what somebody else wrote", async () => {
  await put("a", "one");
  const { hash } = await writeFile({ path: "a", content: "two", ifMatch: hashOf("one") }, options());
  await assert.rejects(writeFile({ path: "a", content: "three", ifMatch: hashOf("one") }, options()), {
    code: "workspace.changed",
    message: `"a" has changed: its hash is now ${hash}, not the one in ifMatch. Nothing was written. Read it again first.`,
  });
  await assert.rejects(editFile({ path: "a", oldText: "two", newText: "2", ifMatch: hashOf("one") }, options()), {
    code: "workspace.changed",
  });
  await assert.rejects(writeFile({ path: "a", content: "new", ifMatch: "none" }, options()), {
    code: "workspace.changed",
  });
  await assert.rejects(writeFile({ path: "b", content: "new", ifMatch: hash }, options()), {
    code: "workspace.changed",
  });
  assert.equal((await writeFile({ path: "b", content: "new", ifMatch: "none" }, options())).isNew, true);
  assert.deepEqual([await got("a"), await got("b")], ["two", "new"]);
  assert.deepEqual((await readdir(root)).sort(), ["a", "b"]);
});

test("T7: a write that is repeated after a crash is not a conflict with itself", async () => {
  await put("a", "one");
  const write = { path: "a", content: "two", ifMatch: hashOf("one") };
  const first = await writeFile(write, options());
  assert.deepEqual(await writeFile(write, options()), first);
});

test("E3: of twenty that create the same file, one does", async () => {
  const tries = Array.from({ length: 20 }, (_, n) =>
    writeFile({ path: "a", content: `${n}`, ifMatch: "none" }, options()),
  );
  const done = (await Promise.allSettled(tries)).filter(({ status }) => status === "fulfilled");
  assert.equal(done.length, 1);
  assert.deepEqual(await readdir(root), ["a"]);
});

test("E3: what is too large is not written, and a folder is not replaced", async () => {
  await mkdir(join(root, "folder"));
  assert.throws(() => writeFile({ path: "a", content: "x".repeat(1_048_577) }, options()), { code: "workspace.limit" });
  await assert.rejects(writeFile({ path: "folder", content: "x" }, options()), { code: "workspace.kind" });
  await assert.rejects(writeFile({ path: ".", content: "x" }, options()), { code: "workspace.kind" });
  assert.deepEqual(await readdir(root), ["folder"]);
});

test("E3: a name of 255 bytes can be written", async () => {
  const name = "n".repeat(255);
  await writeFile({ path: name, content: "x" }, options());
  assert.deepEqual(await readdir(root), [name]);
});

// ── Listing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E3: a listing has folders, links and odd things, and leaves out .git and node_modules", async () => {
  for (const folder of ["src/deep/deeper/deepest", ".git", "node_modules/x", "src/node_modules"])
    await mkdir(join(root, folder), { recursive: true });
  for (const file of ["src/b.ts", "src/a.ts", "src/deep/deeper/deepest/c.ts", ".git/config", "README.md"])
    await put(file, "");
  await symlink("src/a.ts", join(root, "link"));
  await symlink("..", join(root, "src", "up"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  assert.deepEqual((await listFiles({}, options(), signal)).split("\n"), [
    "README.md",
    "link -> src/a.ts",
    "pipe (no regular file)",
    "src/",
    "src/a.ts",
    "src/b.ts",
    "src/deep/",
    "src/deep/deeper/",
    "src/up -> ..",
  ]);
  assert.equal(
    await listFiles({ path: "src", depth: 1 }, options(), signal),
    "src/a.ts\nsrc/b.ts\nsrc/deep/\nsrc/up -> ..",
  );
  assert.equal(
    await listFiles({ glob: "*.ts" }, options(), signal),
    "src/a.ts\nsrc/b.ts\nsrc/deep/deeper/deepest/c.ts",
  );
  assert.equal(
    await listFiles({ path: "src", glob: "deep/**/*.ts" }, options(), signal),
    "src/deep/deeper/deepest/c.ts",
  );
  assert.equal(await listFiles({ path: ".git" }, options(), signal), ".git/config");
  assert.equal(await listFiles({ glob: "*.none" }, options(), signal), "[nothing there]");
  await assert.rejects(listFiles({ path: "README.md" }, options(), signal), { code: "workspace.kind" });
});

test("E3: a list of a hundred thousand files has a bound, and the result states the bound", async () => {
  // In memory where possible: a disk takes half a minute to make this many files.
  const many = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "bowline-many-"));
  try {
    execFileSync("sh", ["-c", "seq 100001 | xargs touch"], { cwd: many });
    const listed = await listFiles({}, { ...options(), root: many }, signal);
    assert.equal(listed.split("\n").length, 501);
    assert.match(listed, /\[only the first 100000 names were looked at: narrow it with path or depth\]$/);
    const small = await listFiles({ limit: 5_000 }, { ...options(), root: many, bytesMax: 1_024 }, signal);
    assert.ok(small.length < 1_200);
  } finally {
    execFileSync("rm", ["-r", many]);
  }
}, 60_000);
