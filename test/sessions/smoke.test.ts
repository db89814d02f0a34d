import { createRuntime, definePlugin, defineTool, type SessionEvent } from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";

const wait = (ms: number) => new Promise((r) => setTimeout(r, ms));
test.each([
  ["memory", () => memory()],
  ["sqlite", () => sqlite(":memory:")],
] as const)("smoke %s", async (_n, make) => {
  let release!: () => void;
  const gate = new Promise<void>((r) => (release = r));
  const slow = defineTool({
    name: "slow",
    description: "s",
    input: { type: "object" },
    execute: async () => {
      await gate;
      return "ok";
    },
  });
  const compactor = definePlugin({
    id: "t/c",
    setup: () => ({
      compact: ({ messages }) => ({
        seed: [{ role: "user" as const, parts: [{ kind: "text" as const, text: "S" }] }],
        tail: messages.at(-2)?.id,
      }),
    }),
  });
  const model = scripted(calls("slow"), says("One."), says("Two."), says("Three."), says("Four."));
  await using runtime = await createRuntime({
    store: make(),
    model,
    tools: [slow],
    plugins: [compactor],
    prices: { "scripted/test": { input: 1, output: 2 } },
  });
  const session = await runtime.session("a");
  const seen: SessionEvent[] = [];
  const all = (async () => {
    for await (const e of session.observe()) seen.push(e);
  })();
  const turn = session.turn("Go.");
  await wait(30);
  expect(await session.current()?.id).toBe(await turn.id);
  const sent = await session.send("Steer.");
  const next = await session.send("Next.", { at: "next-turn", key: "k" });
  const third = await session.send("Third.", { at: "next-turn" });
  expect((await session.inputs.list()).map((i) => i.text)).toEqual(["Steer.", "Next.", "Third."]);
  const followed = session.follow(third.turnId).result();
  followed.catch(() => {});
  expect(await session.inputs.cancel({ from: third.turnId as never })).toEqual([]);
  const ids = (await session.inputs.list()).map((i) => i.id);
  expect((await session.inputs.cancel({ from: ids[2]! })).map((x) => x.kind)).toEqual(["cancelled"]);
  await expect(followed).rejects.toMatchObject({ code: "input.withdrawn" });
  const late: SessionEvent[] = [];
  const ac = new AbortController();
  (async () => {
    for await (const e of session.observe({ signal: ac.signal })) late.push(e);
  })();
  release();
  expect((await turn.result()).outcome).toMatchObject({ text: "One." });
  expect((await session.follow(next.turnId).result()).outcome).toMatchObject({ text: "Two." });
  expect((await session.follow(sent.turnId).result()).outcome).toMatchObject({ text: "One." });
  await wait(20);
  const view = await session.read();
  expect(view.cursor).toBeDefined();
  const c = await session.compact();
  expect(c.kind).toBe("compacted");
  const after = await session.read();
  console.log(
    after.messages.map((m) => JSON.stringify(m.parts)),
    after.frame,
    after.cost,
    after.head,
  );
  expect((await session.history({ max: 100 })).length).toBeGreaterThan(6);
  const fork = await session.fork({ label: "b" });
  await fork.turn("More").result();
  const cmp = await runtime.sessions.compare("a", fork.id);
  console.log(cmp.common, cmp.ours.length, cmp.theirs.length);
  console.log(await runtime.sessions.list({ origin: "a" }), await runtime.sessions.usage("a"));
  await wait(20);
  const facts = (es: SessionEvent[]) =>
    es.filter((e) => e.fact).map((e) => `${e.kind}${"by" in e ? e.by : ""} ${e.cursor}`);
  console.log(facts(seen));
  expect(facts(late)).toEqual(facts(seen));
  const again: SessionEvent[] = [];
  for await (const e of session.observe({ after: view.cursor })) {
    again.push(e);
    if (again.length === 2) break;
  }
  console.log(facts(again));
  expect(() => fork.observe({ after: view.cursor })).toThrow();
  await session.close();
  await runtime.close();
  await all;
});
