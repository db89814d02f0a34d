import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { globMatcher } from "./glob.ts";
import { type SearchInput, searchFiles } from "./search.ts";

const { signal } = new AbortController();
let root: string;
const search = (input: SearchInput, bytesMax = 262_144) =>
  searchFiles(input, { root, bytesMax, ignore: [".git", "node_modules"] }, signal);
const put = async (path: string, content: string | Uint8Array) => {
  await mkdir(join(root, path, ".."), { recursive: true });
  await writeFile(join(root, path), content);
};

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bowline-search-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("E3: matches are file, line and text, in order of the paths", async () => {
  await put("b.ts", "let b = 1;\r\nlet B = 2;\r\n");
  await put("a/deep.ts", "// nothing\nlet b;");
  await put("a/deep.md", "let b");
  await put("node_modules/x.ts", "let b");
  assert.equal(
    await search({ pattern: "let \\w" }),
    "a/deep.md:1: let b\na/deep.ts:2: let b;\nb.ts:1: let b = 1;\nb.ts:2: let B = 2;",
  );
  assert.equal(await search({ pattern: "LET B;$", ignoreCase: true, glob: "*.ts" }), "a/deep.ts:2: let b;");
  assert.equal(await search({ pattern: "b", path: "a", glob: "*.md" }), "a/deep.md:1: let b");
  assert.equal(await search({ pattern: "= 1", path: "b.ts" }), "b.ts:1: let b = 1;");
  assert.equal(await search({ pattern: "nowhere" }), "[no match in 3 files]");
});

test("E3: a literal is not a pattern, and a broken pattern is reported", async () => {
  await put("a", "f(x) [0] a.b* \\d\nfx\n");
  assert.equal(await search({ pattern: "f(x) [0] a.b* \\d", isLiteral: true }), "a:1: f(x) [0] a.b* \\d");
  assert.throws(() => search({ pattern: "f(x" }), {
    code: "workspace.pattern",
    message: /Unterminated group\. Correct the pattern, or set isLiteral/,
  });
});

test("E3: binaries and huge files are skipped and counted", async () => {
  await put("binary", Buffer.from("needle\0needle"));
  await put("huge", "needle\n".repeat(400_000));
  await put("text", "needle\n");
  assert.equal(await search({ pattern: "needle" }), "text:1: needle\n[not searched: 1 binary, 1 over 2097152 bytes]");
});

test("E3: the number of matches and the size of the answer are bounded, and say so", async () => {
  await put("many", "needle\n".repeat(1_000));
  const few = await search({ pattern: "needle", limit: 3 });
  assert.equal(
    few,
    "many:1: needle\nmany:2: needle\nmany:3: needle\n[3 matches shown, there are more: narrow it with path or glob]",
  );
  assert.equal(await search({ pattern: "needle", limit: 1_000 }).then((text) => text.split("\n").length), 1_000);
  const small = await search({ pattern: "needle", limit: 1_000 }, 1_024);
  assert.ok(small.length < 1_200);
  assert.match(small, /there are more/);
});

test("E3: of a long line only what is around the match is shown", async () => {
  await put("min.js", `${"x".repeat(100_000)}needle${"y".repeat(100_000)}`);
  assert.equal(await search({ pattern: "needle" }), `min.js:1: …${"x".repeat(200)}needle${"y".repeat(200)}…`);
});

test("E3: a slow pattern is stopped, what it found is returned, and the process stays awake meanwhile", async () => {
  const slow = `${"a".repeat(60)}b\n`;
  await put("none/a", slow);
  await put("some/1", "aaa\n");
  await put("some/2", slow);
  await put("some/3", "aaa\n");
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 20);
  const some = search({ pattern: "^(a+)+$", path: "some" });
  await assert.rejects(search({ pattern: "^(a+)+$", path: "none" }), {
    code: "workspace.pattern",
    message: /^Stopped: the pattern took more than 2000 ms on "none\/a"/,
  });
  clearInterval(ticking);
  assert.ok(ticks > 20);
  assert.match(await some, /^some\/1:1: aaa\n\[stopped: the pattern took more than 2000 ms on "some\/2"/);
});

test("T7: a cancelled search ends at once, also in the middle of a pattern", async () => {
  await put("a", `${"a".repeat(60)}b\n`);
  const controller = new AbortController();
  const searching = searchFiles({ pattern: "^(a+)+$" }, { root, bytesMax: 1_024, ignore: [] }, controller.signal);
  setImmediate(() => controller.abort(new Error("Enough.")));
  await assert.rejects(searching, { message: "Enough." });
});

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "src/deep/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/b/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/b/c/a.ts", true],
  ["**/test/**", "a/test/b/c", true],
  ["**/test/**", "a/tests/b", false],
  ["./src/*", "src/a", true],
  ["*.{ts,tsx}", "a.tsx", true],
  ["{src,test}/**/{a,b}.ts", "test/x/b.ts", true],
  ["{src,test}/**/{a,b}.ts", "docs/x/b.ts", false],
  ["{a{b,c}}", "ac", true],
  ["file-[0-9].txt", "file-7.txt", true],
  ["file-[!0-9].txt", "file-7.txt", false],
  ["?.ts", "é.ts", true],
  ["?.ts", "🪢.ts", true],
  ["[", "[", true],
  ["a+(b)", "a+(b)", true],
])("E3: the glob %s on %s: %s", (pattern, path, isMatch) => {
  assert.equal(globMatcher(pattern)(path), isMatch);
});

test("E3: no glob is slow, and none grows without bound", () => {
  const started = performance.now();
  assert.equal(globMatcher(`${"*a".repeat(200)}b`)("a".repeat(255)), false);
  assert.equal(globMatcher(`${"**/a/".repeat(200)}b`)("a/".repeat(1_000)), false);
  assert.ok(performance.now() - started < 1_000);
  assert.throws(() => globMatcher("{a,b}".repeat(20)), { code: "workspace.pattern" });
});
