import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { createRuntime, definePlugin, hasCode, type Plugin, type SessionEvent } from "../../index.ts";
import { deny } from "../../plugin.ts";
import { memory } from "../../stores/memory.ts";
import { both, calls, says, scripted } from "../../testing/index.ts";
import { type WorkspaceOptions, workspace } from "./index.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bowline-workspace-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

type Reply = Parameters<typeof scripted>[number];

/** Runs one turn. Returns the results of its calls and the requests to the model. */
async function turn(options: Partial<WorkspaceOptions>, replies: readonly Reply[], plugins: readonly Plugin[] = []) {
  const model = scripted(...replies, says("Done."));
  const runtime = await createRuntime({
    store: memory(),
    model,
    plugins: [workspace({ root, ...options }), ...plugins],
  });
  try {
    const session = await runtime.session();
    const events: SessionEvent[] = [];
    const turn = session.turn("Go.");
    for await (const event of turn) events.push(event);
    const { outcome } = await turn.result();
    const ended = events.filter((event) => event.kind === "toolEnded");
    return { outcome, model, ended, events, said: (index: number) => textOf(ended[index]) };
  } finally {
    await runtime.close();
  }
}
const textOf = (event: Extract<SessionEvent, { kind: "toolEnded" }> | undefined): string => {
  if (event?.output.kind === "value")
    return typeof event.output.value === "string" ? event.output.value : JSON.stringify(event.output.value);
  return event?.output.kind === "failure" ? event.output.failure.message : JSON.stringify(event?.output);
};

test("E3: a model writes, reads, edits, lists, searches and runs", async () => {
  const { outcome, ended, said, model } = await turn({ shell: true }, [
    calls("write_file", { path: "src/add.js", content: "console.log(1 + 2);\n" }),
    calls("read_file", { path: "src/add.js" }),
    calls("edit_file", { path: "src/add.js", oldText: "1 + 2", newText: "40 + 2" }),
    calls("list_files"),
    calls("search_files", { pattern: "\\d+ \\+" }),
    calls("shell", { command: `"${process.execPath}" add.js; exit 3`, cwd: "src" }),
  ]);
  assert.equal(outcome.kind, "answered");
  assert.deepEqual(
    ended.map(({ status }) => status),
    Array(6).fill("ok"),
  );
  assert.match(said(1), /^1\tconsole\.log\(1 \+ 2\);\n\[lines 1-1 of 1; hash \w{16}\]$/);
  assert.match(said(2), /"replaced":1,"line":1/);
  assert.equal(said(3), "src/\nsrc/add.js");
  assert.equal(said(4), "src/add.js:1: console.log(40 + 2);");
  assert.equal(said(5), '{"exitCode":3,"stdout":"42\\n","stderr":""}');
  assert.equal(
    model.requests[0]?.system,
    `The workspace is the folder ${root}. File tools take and return paths relative to it.\n\nShell commands start in ${root}.`,
  );
});

test("E3: without a shell there is none, and read-only there is nothing that writes", async () => {
  const tools = async (options: Partial<WorkspaceOptions>) => {
    const { model } = await turn(options, []);
    return model.requests[0]?.tools.map(({ name }) => name).sort();
  };
  const reading = ["list_files", "read_file", "search_files"];
  assert.deepEqual(await tools({ readonly: true }), reading);
  assert.deepEqual(await tools({}), [...reading, "edit_file", "write_file"].sort());
  const { model, said } = await turn({ readonly: true }, [calls("write_file", { path: "a", content: "" })]);
  assert.match(model.requests[0]?.system ?? "", /You can read these files, not change them\.$/);
  assert.match(said(0), /no tool write_file/);
});

test("E3: the prompt does not mention hidden tools", async () => {
  const hides = definePlugin({
    id: "test/hides",
    setup: () => ({
      toolCatalog: ({ tools }) => tools.map(({ name: tool }) => ({ tool, hide: true as const })),
    }),
  });
  const { model } = await turn({ shell: true }, [], [hides]);
  assert.equal(model.requests[0]?.system ?? "", "");
});

test("T5: a refusal reaches the model in words, and the turn continues", async () => {
  await symlink("/etc", join(root, "link"));
  const { outcome, ended, said } = await turn({}, [
    both(
      calls("read_file", { path: "../x" }),
      calls("read_file", { path: "link/passwd" }),
      calls("read_file", { path: 7 }),
      calls("read_file", { path: "a", depth: 1 }),
      calls("edit_file", { path: "none", oldText: "a", newText: "b" }),
    ),
  ]);
  assert.equal(outcome.kind, "answered");
  assert.deepEqual(new Set(ended.map(({ status }) => status === "ok")), new Set([false]));
  assert.match(said(0), /"..\/x" is outside of the workspace\./);
  assert.match(said(1), /"link\/passwd" is outside of the workspace\./);
  assert.match(said(2), /\/path must be string/);
  assert.match(said(3), /must NOT have additional properties/);
  assert.match(said(4), /There is no file "none"\./);
});

test("T6: reads of one reply come back in the order they were asked for", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `${n}.txt`);
  for (const [n, name] of names.entries())
    await writeFile(join(root, name), `${"x".repeat((20 - n) * 10_000)}\n${name}\n`);
  const { model } = await turn({}, [both(...names.map((path) => calls("read_file", { path, offset: 2 })))]);
  const results = (model.requests[1]?.messages ?? [])
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.kind === "toolResult" ? part.parts : []))
    .map((part) => (part.kind === "text" ? part.text.split("\n")[0] : ""));
  assert.deepEqual(
    results,
    names.map((name) => `2\t${name}`),
  );
});

test("T6: writes, edits and commands of one reply follow each other", async () => {
  const { ended } = await turn({ shell: true }, [
    both(
      calls("write_file", { path: "a", content: "0" }),
      calls("edit_file", { path: "a", oldText: "0", newText: "01" }),
      calls("shell", { command: "sleep 0.1; printf 2 >> a" }),
      calls("edit_file", { path: "a", oldText: "012", newText: "0123" }),
    ),
  ]);
  assert.deepEqual(
    ended.map(({ status }) => status),
    ["ok", "ok", "ok", "ok"],
  );
  assert.equal(await readFile(join(root, "a"), "utf8"), "0123");
});

test("T5: a gate can deny the shell, and nothing runs", async () => {
  const guard = definePlugin({
    id: "test/guard",
    setup: () => ({ beforeToolCall: ({ call }) => (call.name === "shell" ? deny("No commands today.") : undefined) }),
  });
  const { ended, said } = await turn({ shell: true }, [calls("shell", { command: "touch ran" })], [guard]);
  assert.equal(ended[0]?.status, "denied");
  assert.match(said(0), /No commands today\./);
  assert.equal(existsSync(join(root, "ran")), false);
});

test("T7: a cancelled turn ends its command, and the call has a result", async () => {
  const model = scripted(calls("shell", { command: "touch begun; sleep 1000" }), says("Never said."));
  await using runtime = await createRuntime({ store: memory(), model, plugins: [workspace({ root, shell: true })] });
  const session = await runtime.session();
  const turn = session.turn("Go.");
  for await (const event of turn) if (event.kind === "toolStarted") break;
  while (!existsSync(join(root, "begun"))) await new Promise((resolve) => setImmediate(resolve));
  await turn.cancel();
  const { outcome } = await turn.result();
  assert.ok(outcome.kind === "stopped" && outcome.by === "cancel");
  assert.match(JSON.stringify((await session.read()).messages), /The call was cancelled\./);
});

test("T10: an image that is read is an attachment of the result", async () => {
  const png = Buffer.from("89504e470d0a1a0a0000", "hex");
  await writeFile(join(root, "dot.png"), png);
  const { model, ended } = await turn({}, [calls("read_file", { path: "dot.png" })]);
  const [output] = ended.map((event) => event.output);
  assert.ok(output?.kind === "value");
  assert.deepEqual(
    output.attachments?.map(({ mediaType, name, bytes }) => [mediaType, name, bytes]),
    [["image/png", "dot.png", 10]],
  );
  const parts = (model.requests[1]?.messages ?? []).flatMap((message) => message.parts);
  assert.ok(parts.some((part) => part.kind === "toolResult" && part.parts.some(({ kind }) => kind === "attachment")));
});

test("E3: one session may have another root", async () => {
  await mkdir(join(root, "a"));
  await mkdir(join(root, "b"));
  const model = scripted(calls("write_file", { path: "x", content: "b" }), says("Done."));
  await using runtime = await createRuntime({
    store: memory(),
    model,
    plugins: [workspace({ root: join(root, "a") })],
  });
  const session = await runtime.session("b", { plugins: [workspace.options({ root: join(root, "b") })] });
  await session.turn("Go.").result();
  assert.deepEqual([existsSync(join(root, "a/x")), existsSync(join(root, "b/x"))], [false, true]);
});

test("E3: K16: a session's own options can say what its shell allows, as JSON", async () => {
  const model = scripted(
    calls("shell", { command: "echo hi" }, "a"),
    calls("shell", { command: "ls" }, "b"),
    says("Done."),
  );
  await using runtime = await createRuntime({ store: memory(), model, plugins: [workspace({ root })] });
  const shell = { allow: [{ pattern: "echo \\w+" }] };
  const session = await runtime.session("s", { plugins: [workspace.options({ root, shell })] });
  await session.turn("Go.").result();
  const results = (await session.read()).messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "toolResult" ? [part.status] : [])),
  );
  assert.deepEqual(results, ["ok", "denied"]);
});

test.each([
  [{}, /root must be the path of a folder/],
  [{ root: "" }, /root must be/],
  [{ root: ".", rooot: 1 }, /there is no field rooot; there are root, shell/],
  [{ root: ".", readonly: true, shell: true }, /shell must not be given with readonly/],
  [{ root: ".", bytesMax: 10 }, /bytesMax must be a whole number from 1024/],
  [{ root: ".", fileBytesMax: Number.POSITIVE_INFINITY }, /fileBytesMax must be/],
  [{ root: ".", ignore: "x" }, /ignore must be a list/],
  [{ root: ".", shell: { timeout: 1 } }, /there is no field shell\.timeout; there are timeoutMs/],
  [{ root: ".", shell: { timeoutMs: 0 } }, /shell\.timeoutMs must be/],
  [
    { root: ".", shell: { timeoutMs: 2_000, timeoutMsMax: 1_000 } },
    /shell\.timeoutMs must be a whole number from 1 to 1000/,
  ],
  [{ root: ".", shell: { env: { A: 1 } } }, /shell\.env\.A must be a text/],
  [{ root: ".", shell: { allow: ["ls"] } }, /shell\.allow must be/],
  [{ root: ".", shell: { allow: [{ pattern: "(" }] } }, /shell\.allow must be/],
])("E3: the options %j are refused where they are given", (options, problem) => {
  assert.throws(
    () => workspace(options as WorkspaceOptions),
    (error) => hasCode(error, "plugin.options") && problem.test(error.message),
  );
});

test("E3: the runtime refuses a root that is not a folder when it opens", async () => {
  await writeFile(join(root, "file"), "");
  for (const name of ["file", "none"])
    await assert.rejects(
      createRuntime({ store: memory(), model: scripted(), plugins: [workspace({ root: join(root, name) })] }),
      (error) => hasCode(error, "plugin.open"),
    );
});

test("E3: observers of the turn see what the shell prints before the call has ended; the model sees only the result", async () => {
  const { events, model, said } = await turn({ shell: true }, [
    calls("shell", { command: "echo first; echo then >&2" }),
  ]);
  const printed = events.flatMap((event) => (event.kind === "toolOutput" ? [event.delta] : [])).join("");
  assert.deepEqual(printed.trim().split("\n").sort(), ["first", "then"]);
  const kinds = events.map(({ kind }) => kind);
  assert.ok(kinds.indexOf("toolOutput") < kinds.indexOf("toolEnded"));
  assert.equal(said(0), '{"exitCode":0,"stdout":"first\\n","stderr":"then\\n"}');
  assert.equal(model.requests.length, 2);
});
