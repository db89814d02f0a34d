import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "vitest";
import { edited, editFile } from "./write.ts";

const edit = (text: string, oldText: string, newText: string, all = false) =>
  edited(text, { path: "a", oldText, newText, all });

test("E3: a text that occurs once is replaced, and the result has the line", () => {
  assert.deepEqual(edit("one\ntwo\nthree\n", "two", "2"), { text: "one\n2\nthree\n", replaced: 1, line: 2 });
  assert.equal(edit("a $& b", "$&", "$1 $$").text, "a $1 $$ b");
  assert.equal(edit("a.b", ".", "").text, "ab");
});

test("E3: a text that occurs twice is not replaced, and the model reads how often it occurs", () => {
  assert.throws(() => edit("a b a c a", "a", "x"), {
    code: "workspace.edit",
    message: /^oldText is 3 times in "a", so nothing was changed\. Add lines/,
  });
  assert.throws(() => edit("aaa", "aa", "x"), /is 2 times/);
  assert.throws(() => edit("a".repeat(1_000_000), "a".repeat(1_000), "x"), /at least 100 times/);
  assert.deepEqual(edit("a b a c a", "a", "x", true), { text: "x b x c x", replaced: 3, line: 1 });
  assert.equal(edit("aaa", "aa", "x", true).text, "xa");
});

test("E3: text that is not there, nothing, and no change are refused", () => {
  assert.throws(() => edit("abc", "d", "e"), /oldText is not in "a"/);
  assert.throws(() => edit("abc", "", "e"), /oldText is empty/);
  assert.throws(() => edit("abc", "b", "b"), /nothing would change/);
});

test("E3: line ends stay what they are in the file, whichever the model writes", () => {
  assert.equal(edit("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n").text, "x\r\ny\r\nz\r\nc\r\n");
  assert.equal(edit("a\r\nb\r\n", "a\r\nb", "x\r\ny").text, "x\r\ny\r\n");
  assert.equal(edit("a\nb\n", "a\r\nb", "x\r\ny").text, "x\ny\n");
  assert.equal(edit("a\r\nb\r\n", "b", "b\nc").text, "a\r\nb\r\nc\r\n");
  assert.equal(edit("a\nb\r\nc\nd\n", "b\nc", "b\nx\nc").text, "a\nb\r\nx\r\nc\nd\n");
  assert.equal(edit("a\r\nb", "\n", " ").text, "a b");
  assert.equal(edit("a\rb\r\n", "a\rb", "c").text, "c\r\n");
});

test("E3: what is not touched comes out byte for byte", () => {
  const piece = fc.constantFrom("a", "b", "\n", "\r\n", "\r", "é", "🪢", "\ufeff");
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const whole = `${before}<old>${after}`;
      const { text: result, line } = edit(whole, "<old>", "<new>");
      assert.equal(result, `${before}<new>${after}`);
      assert.equal(line, before.split("\n").length);
      assert.equal(edit(`${whole}<old>${before}`, "<old>", "!", true).text, `${before}!${after}!${before}`);
    }),
  );
});

test("E3: an edit on disk keeps the byte order mark, and answers the new hash", async () => {
  const root = await mkdtemp(join(tmpdir(), "bowline-edit-"));
  await writeFile(join(root, "a"), "\ufeffone\r\ntwo\r\n");
  const options = { root, fileBytesMax: 100 };
  const { hash, ...rest } = await editFile({ path: "a", oldText: "two\n", newText: "2\n3\n" }, options);
  assert.deepEqual(rest, { path: "a", replaced: 1, line: 2 });
  assert.equal(await readFile(join(root, "a"), "utf8"), "\ufeffone\r\n2\r\n3\r\n");
  await editFile({ path: "a", oldText: "one", newText: "1", ifMatch: hash }, options);
  await assert.rejects(editFile({ path: "a", oldText: "1", newText: "1".repeat(100) }, options), {
    code: "workspace.limit",
  });
  await assert.rejects(editFile({ path: "b", oldText: "1", newText: "2" }, options), { code: "workspace.missing" });
  await rm(root, { recursive: true });
});
