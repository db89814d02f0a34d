import { setTimeout as sleep } from "node:timers/promises";
import { type Json, type Runtime, RuntimeError, type Store } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import type { ModelPart } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { wordsOf } from "../kit/reading.ts";
import { file, lives, over } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import {
  after,
  agentsIn,
  answersIn,
  cast,
  counted,
  eventually,
  jsonOf,
  type Line,
  running,
  silent,
  within,
} from "./roles.ts";

const spawns = (task: string, more: { readonly [field: string]: Json } = {}) =>
  calls("spawn_agent", { task, ...more }, `spawn ${task}`);
const looks = (at: string) => calls("look", { at }, `look ${at}`);

/** Silent in the lives before this one. */
const inLife =
  (now: () => number, life: number, parts: readonly ModelPart[]): Line =>
  (request, signal) =>
    now() >= life ? parts : silent(request, signal);

const callsTwice = (seen: readonly string[]): readonly string[] => seen.filter((each, at) => seen.indexOf(each) !== at);

/** Two agents, one of which has an agent itself; all of them in the middle of their turns until the second life. */
function world() {
  let life = 1;
  const { tool, calls: seen } = counted();
  const second = (parts: readonly ModelPart[]): Line => inLife(() => life, 2, parts);
  const model = cast({
    Go: [both(spawns("One."), spawns("Two.")), looks("end"), says("Done.")],
    "One.": [looks("one"), spawns("Below."), says("1")],
    "Two.": [looks("two a"), looks("two b"), second(looks("two c")), says("2")],
    "Below.": [looks("below"), second(says("3"))],
  });
  return { model, tool, seen, next: () => life++ };
}
const areAtWork = ({ model }: ReturnType<typeof world>) =>
  eventually(() => (model.of("Two.").length === 3 && model.of("Below.").length === 2 ? true : undefined));

async function checkEnd(runtime: Runtime, seen: readonly string[]): Promise<void> {
  const session = await runtime.session("chief");
  const { messages } = await session.read();
  expect(
    answersIn(messages)
      .slice(0, 2)
      .map((each) => (jsonOf(each) as { result: Json }).result),
  ).toEqual(["1", "2"]);
  expect([...seen].sort()).toEqual(["below", "end", "one", "two a", "two b", "two c"]);
  const tree: string[] = [];
  for (const { id } of await runtime.sessions.list({ parent: "chief" }))
    tree.push(id, ...(await runtime.sessions.list({ parent: id })).map((child) => child.id));
  expect(tree).toHaveLength(3);
  for (const id of tree) expect((await runtime.sessions.get(id)).turns).toBe(1);
  expect((await session.query(subagents, "agents")).map(({ status }) => status)).toEqual(["finished", "finished"]);
}

test.concurrent("J8 D1 agents of a killed process continue in the next one, and no call is made twice", async () => {
  const here = world();
  const { next, kill } = lives(sqlite(file(), { durability: "process" }));
  const options = { tools: [here.tool] };
  const first = await running(here.model, { ...options, store: next() });
  void (await first.session("chief")).turn("Go", { key: "go" }).id;
  await areAtWork(here);
  kill();
  here.next();
  await using runtime = await running(here.model, { ...options, store: next() });
  const session = await runtime.session("chief");
  const { outcome } = await within(session.turn("Go", { key: "go" }).result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(callsTwice(here.seen)).toEqual([]);
  await checkEnd(runtime, here.seen);
});

test.concurrent("J8 D1 agents of a runtime that was closed continue in the next one, because closing is not cancelling", async () => {
  const here = world();
  const path = file();
  const first = await running(here.model, { tools: [here.tool], store: sqlite(path) });
  const turn = (await first.session("chief")).turn("Go", { key: "go" });
  turn.result().catch(() => {});
  await areAtWork(here);
  await first.close({ graceMs: 0 });
  here.next();
  await using runtime = await running(here.model, { tools: [here.tool], store: sqlite(path) });
  const session = await runtime.session("chief");
  const { outcome } = await within(session.turn("Go", { key: "go" }).result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  await checkEnd(runtime, here.seen);
}, 30_000);

test.concurrent("J8 I10 a turn that is cancelled while its process is dead stops its agents when it is resumed", async () => {
  const here = world();
  const kept = sqlite(file(), { durability: "process" });
  const { next, kill } = lives(kept);
  const first = await running(here.model, { tools: [here.tool], store: next() });
  const turnId = await (await first.session("chief")).turn("Go", { key: "go" }).id;
  await areAtWork(here);
  kill();
  await (kept as Store).cancel(turnId, { requestId: "enough", reason: "Enough.", at: Date.now() });
  await using runtime = await running(here.model, { tools: [here.tool], store: next() });
  const session = await runtime.session("chief");
  const { outcome } = await within(session.turn("Go", { key: "go" }).result(), 8_000);
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  const agents = await session.query(subagents, "agents");
  expect(agents.map(({ task, status }) => `${task} ${status}`).sort()).toEqual(["One. stopped", "Two. stopped"]);
  for (const { session: id } of agents) {
    expect((await runtime.sessions.get(id)).openTurn).toBeUndefined();
    for (const below of await runtime.sessions.list({ parent: id }))
      expect((await runtime.sessions.get(below.id)).openTurn).toBeUndefined();
  }
  const parts = (await session.read()).messages.flatMap((message) => message.parts);
  expect(parts.filter(({ kind }) => kind === "toolResult")).toHaveLength(2);
}, 20_000);

test.concurrent("J8 D1 what runs in the background when a process dies is there in the next, with what became of it", async () => {
  let life = 1;
  const model = cast({
    Go: [
      spawns("Slow.", { background: true }),
      says("Started."),
      ({ messages }) => calls("wait_agents", { agents: [...agentsIn(messages)] }, "wait"),
      says("Done."),
    ],
    "Slow.": [inLife(() => life, 2, says("At last."))],
  });
  const { next, kill } = lives(sqlite(file(), { durability: "process" }));
  const first = await running(model, { store: next() });
  await within((await first.session("chief")).turn("Go", { key: "go" }).result());
  await eventually(() => (model.of("Slow.").length === 1 ? true : undefined));
  kill();
  life++;
  await using runtime = await running(model, { store: next() });
  const session = await runtime.session("chief");
  await within(session.turn("And?", { key: "and" }).result());
  const [, waited] = answersIn((await session.read()).messages);
  const [agent] = agentsIn((await session.read()).messages) as [string];
  expect(jsonOf(waited!)).toMatchObject({ completed: { [agent]: { status: "finished", result: "At last." } } });
  expect((await runtime.sessions.get(agent)).turns).toBe(1);
}, 20_000);

test.concurrent("J8 D3 a worker that has lost its turn to another stops none of its agents", async () => {
  const gate = Promise.withResolvers<void>();
  const model = cast({ Go: [spawns("Slow."), says("Done.")], "Slow.": [after(gate.promise, says("At last."))] });
  const kept = sqlite(file(), { durability: "process" });
  let isLost = false;
  const store = over(kept, {
    renew: (lease, now) => {
      if (!isLost || lease.sessionId !== "chief") return kept.renew(lease, now);
      throw new RuntimeError("lease.lost", { sessionId: lease.sessionId, generation: lease.generation });
    },
  });
  const traced: string[] = [];
  await using runtime = await running(model, { store, telemetry: onEvent(({ name }) => void traced.push(name)) });
  const turn = (await runtime.session("chief")).turn("Go");
  turn.result().catch(() => {});
  await eventually(() => (model.of("Slow.").length === 1 ? true : undefined));
  isLost = true;
  await eventually(() => (traced.includes("host.lost") ? true : undefined));
  isLost = false;
  await sleep(50); // Time enough to do the wrong thing.
  gate.resolve();
  const [child] = await runtime.sessions.list({ parent: "chief" });
  const { messages } = await eventually(async () => {
    const found = await runtime.sessions.get(child!.id);
    return found.turns === 1 ? found : undefined;
  });
  expect(wordsOf(messages.at(-1))).toBe("At last.");
}, 20_000);
