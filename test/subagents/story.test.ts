import { readFileSync } from "node:fs";
import { createRuntime } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { asSessionId } from "../../src/model/ids.ts";
import { wordsOf } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { type Elsewhere, elsewhere } from "../sessions/elsewhere.ts";

const src = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** What a process of the app has: who says what, by the words that its conversation begins with, and who is asked. */
const APP = `
import { appendFileSync } from "node:fs";
import { ask, definePlugin } from ${src("plugin.ts")};
import { subagents } from ${src("plugins/subagents/index.ts")};
import { recited } from ${src("testing/index.ts")};
const [diary, days] = args;
const { now } = Date;
Date.now = () => now() + Number(days) * 86_400_000;
const note = (what) => appendFileSync(diary, what + "\\n");
const spawns = (task) => calls("spawn_agent", { task }, "spawn");
const roles = {
  "Travel.": recited(spawns("Book."), says("Travelled.")),
  "Book.": recited(spawns("Pay."), says("Booked.")),
  "Pay.": recited(calls("pay", { amount: 900 }, "pay"), says("Paid.")),
};
const model = { id: "app", modelId: "test", stream(request, options) {
  const [{ text }] = request.messages[0].parts;
  note("asks " + text);
  return roles[text].stream(request, options);
} };
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object", properties: { amount: { type: "number" } } },
  execute: ({ amount }) => {
    note("pays " + amount);
    return "paid";
  },
});
const careful = definePlugin({
  id: "app/careful",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});
const app = () => createRuntime({
  store,
  model,
  tools: [pay],
  plugins: [careful, subagents({ capabilities: { clerk: { description: "Does things." } }, timeoutMs: 3 * 86_400_000 })],
});
const travel = async (runtime) => (await runtime.session("root")).turn("Travel.", { key: "go" }).result();
`;

const ASKS = `${APP}
const runtime = await app();
travel(runtime).catch(() => {});
while ((await runtime.waits.list({ tree: "root" })).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
await runtime.close();
say("closed");
`;

/** It has neither the plugins nor the tool, and runs no turn. */
const ANSWERS = `
const [, days] = args;
const { now } = Date;
Date.now = () => now() + Number(days) * 86_400_000;
const runtime = await createRuntime({ store, model: plays(), recover: "manual" });
const [wait, ...more] = await runtime.waits.list({ tree: "root" });
say({ more: more.length, depth: wait.path.length, tool: wait.tool, args: wait.arguments, hours: Math.round(wait.ageMs / 3_600_000) });
say(await runtime.waits.resolve(wait, { approved: true }, { by: "ada" }));
say(await runtime.waits.resolve(wait, { approved: false }));
await runtime.close();
`;

const WORKS = `${APP}
const runtime = await app();
const { outcome } = await travel(runtime);
say(outcome.text);
await runtime.close();
`;

const lines = async (process: Elsewhere): Promise<readonly string[]> => {
  const said: string[] = [];
  for (let line = await process.next(); line !== undefined; line = await process.next()) said.push(line);
  await process.ended;
  return said;
};

const OTHER = { id: "other", process: "elsewhere" };

test("T8 T9 D4 J8 an agent of an agent asks, all processes exit, somebody answers the next day, and all three turns end once", async () => {
  const [path, diary] = [file(), file()];
  expect(await lines(elsewhere(ASKS, path, diary, "0"))).toEqual(["closed"]);

  // Nothing runs, and nothing is to be done: not now, and not the next day.
  const store = sqlite(path, { durability: "process" });
  const ids = (await store.list()).map(({ id }) => id);
  expect(ids).toHaveLength(3);
  const tomorrow = Date.now() + 86_400_000;
  expect((await store.agenda(tomorrow, 10)).sessions).toEqual([]);
  for (const id of ids) {
    const found = await store.open(asSessionId(id), OTHER, tomorrow, () => {
      throw new Error("Nothing is to be begun.");
    });
    expect(found.kind).toBe("parked");
  }
  const before = readFileSync(diary, "utf8").trim().split("\n");
  expect(before).toEqual(["asks Travel.", "asks Book.", "asks Pay."]);

  const [asked, first, second] = await lines(elsewhere(ANSWERS, path, diary, "1"));
  expect(JSON.parse(asked ?? "")).toEqual({ more: 0, depth: 3, tool: "pay", args: { amount: 900 }, hours: 24 });
  expect([first, second]).toEqual(["accepted", "already-resolved"]);
  expect(readFileSync(diary, "utf8").trim().split("\n")).toEqual(before);

  expect(await lines(elsewhere(WORKS, path, diary, "1"))).toEqual(["Travelled."]);
  expect(readFileSync(diary, "utf8").trim().split("\n")).toEqual([
    ...before,
    "pays 900",
    "asks Pay.",
    "asks Book.",
    "asks Travel.",
  ]);
  await using runtime = await createRuntime({ store, model: scripted(says("Nothing.")), recover: "manual" });
  for (const id of ids) {
    const { turns, openTurn, messages } = await runtime.sessions.get(id);
    expect([turns, openTurn, messages.length]).toEqual([1, undefined, 4]);
  }
  expect(wordsOf((await runtime.sessions.get("root")).messages.at(-1))).toBe("Travelled.");
  expect(await runtime.waits.list()).toEqual([]);
}, 30_000);
