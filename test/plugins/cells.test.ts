import { definePlugin } from "bowline";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { outline } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

/** Every reply is a cell of code; what the cell finishes with is the value of the turn. */
const cells = definePlugin({
  id: "test/cells",
  setup: () => ({
    protocolSession: {},
    protocolDriver: {
      preamble: () => ({ tools: [], prompt: [] }),
      driver: {
        id: "test/cells",
        version: 1,
        request: ({ system, messages, tools }) => ({ system, messages, tools }),
        onReply: (_view, { parts }) => {
          const code = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
          return { kind: "cell", cell: { language: "ts", code, acceptFinish: code.startsWith("finish") } };
        },
        onResults: () => ({ kind: "ask" }),
        onExec: (_view, _reply, { finish, parts }) =>
          finish === undefined ? { kind: "ask", add: [{ role: "user", parts }] } : { kind: "finish", value: finish },
      },
    },
  }),
});

test("P5 a cell is run by the executor in its slot: given language, code and acceptFinish, it shows and finishes", async () => {
  const given: unknown[] = [];
  const executor = definePlugin({
    id: "test/executor",
    setup: () => ({
      codeExecutor: {
        execute: (cell, { sessionId, signal }) => {
          given.push([sessionId, signal.aborted, cell]);
          const parts = [{ kind: "text" as const, text: `Ran ${cell.code}.` }];
          return { state: "done", parts, ...(cell.acceptFinish ? { finish: 4 } : {}) };
        },
      },
    }),
  });
  const model = scripted(says("2 + 2"), says("finish(4)"));
  await using world = await open(model, { plugins: [cells, executor] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toEqual({ kind: "finished", by: "model", value: 4 });
  expect(outline(model.requests[1]?.messages ?? []).at(-1)).toBe("user: Ran 2 + 2.");
  expect(given).toEqual([
    [world.session.id, false, { language: "ts", code: "2 + 2", acceptFinish: false }],
    [world.session.id, false, { language: "ts", code: "finish(4)", acceptFinish: true }],
  ]);
});

test("P5 J1 an executor begins jobs: they start with the output of the cell, and not when it broke down", async () => {
  const begun: string[] = [];
  const executor = definePlugin({
    id: "test/executor",
    setup: () => ({
      codeExecutor: {
        execute: async ({ code, acceptFinish }, { jobs }) => {
          await jobs.spawn({ label: code }, () => void begun.push(code));
          if (code === "break") throw new Error("It exited.");
          return { state: "done", parts: [], ...(acceptFinish ? { finish: 4 } : {}) };
        },
      },
    }),
  });
  await using world = await open(scripted(says("2 + 2"), says("finish(4)"), says("break")), {
    plugins: [cells, executor],
  });
  await world.session.turn("Go.").result();
  await world.session.turn("Again.").result();
  const records = await world.session.jobs.list();
  expect(records.map(({ label }) => label)).toEqual(["2 + 2", "finish(4)"]);
  await world.session.jobs.await(records.map(({ id }) => id));
  expect(begun).toEqual(["2 + 2", "finish(4)"]);
});

test("P5 a cell without an executor ends the turn as code.unavailable, and what was said stays", async () => {
  await using world = await open(scripted(says("2 + 2")), { plugins: [cells] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.unavailable", text: "2 + 2" });
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: 2 + 2"]);
});

test("P5 a cell whose executor broke down ends the turn as code.stopped, with what went wrong", async () => {
  for (const execute of [() => Promise.reject(new Error("It exited.")), () => thrown(new Error("It exited."))]) {
    const executor = definePlugin({ id: "test/executor", setup: () => ({ codeExecutor: { execute } }) });
    await using world = await open(scripted(says("2 + 2"), says("Hi.")), { plugins: [cells, executor] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "code.stopped", text: "2 + 2" });
    expect((outcome as { reason: string }).reason).toContain("It exited.");
  }
});

function thrown(error: Error): never {
  throw error;
}
