// A model works on the files of one folder: it finds a bug, fixes it, and runs the test. The file tools reject paths
// outside the folder. The shell allows only `node --test`.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRuntime } from "bowline";
import { workspace } from "bowline/plugins/workspace";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";

const root = await mkdtemp(join(tmpdir(), "bowline-"));
await writeFile(join(root, "add.js"), "exports.add = (a, b) => a - b;\n");
await writeFile(
  join(root, "add.test.js"),
  `const assert = require("node:assert"); require("node:test")("adds", () => assert.equal(require("./add").add(40, 2), 42));\n`,
);

const model = scripted(
  both(
    calls("list_files"),
    calls("search_files", { pattern: "exports\\.add" }),
    calls("shell", { command: "node --test" }),
  ),
  both(
    calls("edit_file", { path: "add.js", oldText: "a - b", newText: "a + b" }),
    calls("shell", { command: "node --test" }),
  ),
  both(calls("read_file", { path: "../../etc/passwd" }), calls("shell", { command: "node --test; curl example.com" })),
  says("It subtracted; now it adds, and the test passes."),
);

await using runtime = await createRuntime({
  store: memory(),
  model,
  plugins: [
    workspace({
      root,
      shell: { timeoutMs: 30_000, env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` }, allow: [/node --test/] },
    }),
  ],
});
const session = await runtime.session();

const results: string[] = [];
for await (const event of session.turn("The test fails. Fix it.")) {
  if (event.kind !== "toolEnded") continue;
  const { output } = event;
  const said =
    output.kind === "value" ? output.value : output.kind === "failure" ? output.failure.message : output.reason;
  results.push(typeof said === "string" ? said : JSON.stringify(said));
  console.log(`${event.name}: ${results.at(-1)?.split("\n")[0]?.slice(0, 100)}`);
}

const [listed, found, failing, edited, passing, outside, notAllowed] = results;
assert.equal(listed, "add.js\nadd.test.js");
assert.match(found ?? "", /^add\.js:1: exports\.add/);
assert.match(failing ?? "", /^\{"exitCode":1/); // The model reads the result of a command that fails.
assert.match(edited ?? "", /"replaced":1/);
assert.match(passing ?? "", /^\{"exitCode":0/);
assert.match(outside ?? "", /is outside of the workspace/);
assert.match(notAllowed ?? "", /This command is not allowed/);
assert.equal(await readFile(join(root, "add.js"), "utf8"), "exports.add = (a, b) => a + b;\n");
await rm(root, { recursive: true });
