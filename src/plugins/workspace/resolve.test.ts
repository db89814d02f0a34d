import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readFile as read,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile as write,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listFiles } from "./list.ts";
import { readFile } from "./read.ts";
import { Folder, withResolved } from "./resolve.ts";
import { searchFiles } from "./search.ts";
import { Commands, shell } from "./shell.ts";
import { editFile, writeFile } from "./write.ts";

const limits = { bytesMax: 262_144, fileBytesMax: 1_048_576, ignore: [".git", "node_modules"] };
const { signal } = new AbortController();
let base: string;
let root: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "bowline-place-"));
  root = join(base, "root");
  await mkdir(join(root, "sub"), { recursive: true });
  await mkdir(join(base, "outside"));
  await write(join(base, "outside", "secret.txt"), "secret\n");
  await write(join(root, "sub", "a.txt"), "inside\n");
});
afterEach(() => rm(base, { recursive: true, force: true }));

const options = () => ({ root, ...limits });
const shellOptions = () => ({ ...options(), shell: { timeoutMs: 5_000, timeoutMsMax: 5_000, graceMs: 100, env: {} } });

/** Every tool that takes a path. */
const tools: Record<string, (path: string) => Promise<unknown>> = {
  read_file: async (path) => readFile({ path }, options(), signal),
  write_file: async (path) => writeFile({ path, content: "x" }, options()),
  edit_file: async (path) => editFile({ path, oldText: "secret", newText: "x" }, options()),
  list_files: async (path) => listFiles({ path }, options(), signal),
  search_files: async (path) => searchFiles({ pattern: "secret", path }, options(), signal),
  shell: async (cwd) => shell({ command: "pwd", cwd }, shellOptions(), new Commands(), { signal, output: () => {} }),
};
const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => assert.fail(`It answered ${JSON.stringify(value)}`),
    (error: { code?: unknown }) => error.code,
  );

const unchanged = async () => {
  assert.deepEqual(await readdir(join(base, "outside")), ["secret.txt"]);
  assert.equal(await read(join(base, "outside", "secret.txt"), "utf8"), "secret\n");
  assert.deepEqual((await readdir(base)).sort(), ["outside", "root"]);
};

describe.each(Object.entries(tools))("E3: %s stays inside", (name, run) => {
  test.each([
    "../outside/secret.txt",
    "..",
    "../",
    "../root-not",
    "sub/../../outside/secret.txt",
    "./../outside",
    "sub/./.././../outside/secret.txt",
    "/etc/passwd",
    "/",
    "//etc/passwd",
    "/proc/self/environ",
  ])("of %s", async (path) => {
    assert.equal(await codeOf(run(path)), "workspace.outside");
    await unchanged();
  });

  test("of an absolute path beside the root that begins with the same letters", async () => {
    assert.equal(await codeOf(run(`${root}-not/x`)), "workspace.outside");
  });

  test.each([
    ["a file", "../outside/secret.txt"],
    ["a folder", "../outside"],
    ["nothing", "../outside/none"],
  ])("of a relative link to %s outside", async (_, target) => {
    await symlink(target, join(root, "link"));
    assert.equal(await codeOf(run("link")), "workspace.outside");
    await unchanged();
  });

  test("of an absolute link, and of one that leads through two others", async () => {
    await symlink(join(base, "outside"), join(root, "one"));
    await symlink("one", join(root, "two"));
    await symlink("../two", join(root, "sub", "three"));
    for (const path of ["one/secret.txt", "two/secret.txt", "sub/three/secret.txt", "sub/three/none"])
      assert.equal(await codeOf(run(path)), "workspace.outside");
    await unchanged();
  });

  test("whether or not a file exists outside: both errors are equal", async () => {
    await symlink(join(base, "outside"), join(root, "link"));
    const messages = await Promise.all(
      ["link/secret.txt", "link/missing"].map((path) => run(path).catch((error: Error) => error.message)),
    );
    assert.equal(String(messages[0]).replace("secret.txt", "missing"), messages[1]);
  });

  test("of a loop of links, which ends", async () => {
    await symlink("b", join(root, "a"));
    await symlink("a", join(root, "b"));
    assert.equal(await codeOf(run("a")), "workspace.path");
    assert.equal(await codeOf(run("a/x")), "workspace.path");
  });

  test("of NUL, of 10 000 names, and of a name of 10 000 letters", async () => {
    assert.equal(await codeOf(run("a\0b")), "workspace.path");
    assert.equal(await codeOf(run("a/".repeat(10_000))), "workspace.path");
    assert.equal(await codeOf(run("a".repeat(10_000))), "workspace.path");
    assert.equal(await codeOf(run("a".repeat(1_000))), "workspace.path");
  });

  test("of a pipe, which does not make it wait", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    if (name === "search_files") assert.equal(await run("pipe"), "[no match in 0 files]");
    else assert.equal(await codeOf(run("pipe")), "workspace.kind");
  });

  test("of a file taken for a folder", async () => {
    assert.equal(await codeOf(run("sub/a.txt/b")), "workspace.kind");
  });
});

test("E3: links that stay inside are followed, and what is written through them lands where they lead", async () => {
  await symlink("sub", join(root, "folder"));
  await symlink(join(root, "sub", "a.txt"), join(root, "file"));
  await symlink("../sub/../sub/./a.txt", join(root, "sub", "again"));
  for (const path of ["folder/a.txt", "file", "folder/again", join(root, "file")])
    assert.match(String(await readFile({ path }, options(), signal)), /^1\tinside\n/);
  await writeFile({ path: "file", content: "new\n" }, options());
  await writeFile({ path: "folder/b/c.txt", content: "c\n" }, options());
  assert.equal(await read(join(root, "sub", "a.txt"), "utf8"), "new\n");
  assert.equal(await read(join(root, "sub", "b", "c.txt"), "utf8"), "c\n");
  assert.equal(await readlink(join(root, "file")), join(root, "sub", "a.txt"));
});

test("E3: a root that is itself a link may be named either way", async () => {
  await symlink(root, join(base, "alias"));
  const aliased = { ...options(), root: join(base, "alias") };
  for (const path of ["sub/a.txt", join(root, "sub/a.txt"), join(base, "alias", "sub/a.txt")])
    assert.match(String(await readFile({ path }, aliased, signal)), /^1\tinside\n/);
});

test.each(["a\nb", "tab\there", "ünï¢ödé 名前", "..hidden", "...", " ", "-rf", "~", "$HOME", "%2e%2e", "..\\x", "a:b"])(
  "E3: the name %j is a name like any other",
  async (name) => {
    await writeFile({ path: `sub/${name}/${name}`, content: "odd\n" }, options());
    assert.match(String(await readFile({ path: `sub/${name}/${name}` }, options(), signal)), /^1\todd\n/);
    assert.equal(await read(join(root, "sub", name, name), "utf8"), "odd\n");
    const listed = await listFiles({ path: "sub", glob: "**" }, options(), signal);
    assert.equal(listed.split("\n").length, 3);
    await unchanged();
  },
);

test("E3: a device is not opened", async () => {
  if (process.getuid?.() !== 0) return;
  execFileSync("mknod", [join(root, "zero"), "c", "1", "5"]);
  assert.equal(await codeOf(readFile({ path: "zero" }, options(), signal)), "workspace.kind");
  assert.equal(await codeOf(writeFile({ path: "zero", content: "x" }, options())), "workspace.kind");
});

describe.each([true, false])("E3: names are looked up in an open folder (with /proc: %s)", (holds) => {
  test("a folder that becomes a link on the way leads nowhere else", async () => {
    await withResolved(
      root,
      "sub/a.txt",
      async ({ folder, name = "" }) => {
        await rename(join(root, "sub"), join(root, "moved"));
        await symlink(join(base, "outside"), join(root, "sub"));
        await write(join(base, "outside", "a.txt"), "secret\n");
        const opened = await folder.open(name, constants.O_RDONLY).catch((error: Error) => error);
        if (opened instanceof Error) return expect(opened.message).toMatch(/was replaced meanwhile/);
        expect(await opened.readFile("utf8")).toBe("inside\n");
        await opened.close();
      },
      { holds },
    );
  });

  test("a file that becomes a link is not opened", async () => {
    const folder = await Folder.root(root, holds);
    await symlink(join(base, "outside", "secret.txt"), join(root, "link"));
    await assert.rejects(folder.open("link", constants.O_RDONLY), { code: "ELOOP" });
    await assert.rejects(folder.enter("link"), { code: /ELOOP|ENOTDIR/ });
    await folder.close();
  });
});
