import type { Json, Runtime, Session, Store, Turn } from "bowline";
import { jobs as jobsPlugin } from "bowline/plugins/jobs";
import { subagents } from "bowline/plugins/subagents";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { eventsOf, only, passed, seen } from "../../../test/kit/reading.ts";
import { file } from "../../../test/kit/stores.ts";
import { running, runningOn } from "../../../test/kit/worlds.ts";
import {
  after,
  answersIn,
  cast,
  eventually,
  HELPER,
  jsonOf,
  type Line,
  within,
} from "../../../test/subagents/roles.ts";
import { asSessionId } from "../../model/ids.ts";
import { linesOf } from "./shown.ts";

const list = calls("jobs_list", {}, "list");
const waits = (ids: readonly string[], more: { readonly [field: string]: Json } = {}, id = "wait") =>
  calls("jobs_wait", { ids: [...ids], ...more }, id);
const stops = (id: string, more: { readonly [field: string]: Json } = {}) =>
  calls("jobs_stop", { id, ...more }, `stop ${id}`);

const plugins = [jobsPlugin];
const LIMITS = { parkAfterMs: 20 };

/** What the tools answered, as JSON, oldest first. */
const answers = async (session: Session): Promise<readonly Json[]> =>
  answersIn((await session.read()).messages).map(jsonOf);
const texts = async (session: Session): Promise<readonly string[]> =>
  answersIn((await session.read()).messages).map(({ text }) => text);

const OTHER = { id: "other", process: "elsewhere" };
const nobody = () => {
  throw new Error("Nothing is to be begun.");
};
const parked = (store: Store, id: string) =>
  eventually(async () => (await store.open(asSessionId(id), OTHER, Date.now(), nobody)).kind === "parked" || undefined);

/** The call has been made and put aside. */
const begun = async (turn: Turn): Promise<void> => {
  await seen(turn, "toolStarted");
  await passed(20);
};

const KEPT = [
  ["in memory", memory, false],
  ["in SQLite, where the turn is parked", () => sqlite(file(), { durability: "process" }), true],
] as const;

describe.each(KEPT)("%s", (_, make, parks) => {
  test("J2 J3 E3 a turn waits for jobs without holding anything, and resumes with their results", async () => {
    const store = make();
    await using runtime = await running({
      store,
      plugins,
      limits: LIMITS,
      model: recited(waits(["one", "two"]), says("Done.")),
    });
    const session = await runtime.session("s");
    for (const id of ["one", "two"]) await session.jobs.register({ id, label: `Job ${id}` });
    const turn = session.turn("Go");
    const events = eventsOf(turn);
    if (parks) await parked(store, "s");
    await session.jobs.complete("two", { state: "failed", error: { code: "no.paper", message: "There is no paper." } });
    await session.jobs.complete("one", { state: "completed", result: { pages: 12 } });
    expect((await within(turn.result())).outcome).toMatchObject({ text: "Done." });
    expect(await answers(session)).toEqual([
      {
        completed: {
          one: { label: "Job one", state: "completed", result: { pages: 12 } },
          two: {
            label: "Job two",
            state: "failed",
            error: { code: "no.paper", message: "There is no paper." },
          },
        },
        pending: {},
      },
    ]);
    // Made again, the call is still one call.
    expect(only(await events, "toolEnded")).toHaveLength(1);
  });

  test("J2 a wait for any ends with the first job, also with an idle one, and the other jobs continue", async () => {
    const store = make();
    await using runtime = await running({
      store,
      plugins,
      limits: LIMITS,
      model: recited(waits(["one", "two", "one"], { need: "any" }), says("Done.")),
    });
    const session = await runtime.session("s");
    for (const id of ["one", "two"]) await session.jobs.register({ id, label: id });
    const turn = session.turn("Go");
    if (parks) await parked(store, "s");
    await session.jobs.transition("two", "idle");
    await within(turn.result());
    expect(await answers(session)).toEqual([
      { completed: { two: { label: "two", state: "idle" } }, pending: { one: { label: "one", state: "running" } } },
    ]);
    expect(await session.jobs.get("one")).toMatchObject({ state: "running" });
  });

  test("J2 a wait that reaches its timeout returns the current states", async () => {
    await using runtime = await running({
      store: make(),
      plugins,
      limits: LIMITS,
      model: recited(waits(["one"], { timeoutMs: 0 }), waits(["one"], { timeoutMs: 60 }), says("Later, then.")),
    });
    const session = await runtime.session("s");
    await session.jobs.register({ id: "one", label: "one" });
    expect((await within(session.turn("Go").result(), 4_000)).outcome).toMatchObject({ text: "Later, then." });
    const still = { completed: {}, pending: { one: { label: "one", state: "running" } } };
    expect(await answers(session)).toEqual([still, still]);
  });

  test("J2 a job that is stopped, forgotten or handed over meanwhile ends the wait for it", async () => {
    const store = make();
    await using runtime = await running({
      store,
      plugins,
      limits: LIMITS,
      model: recited(waits(["one", "two", "three"]), says("Done.")),
    });
    const session = await runtime.session("s");
    const other = await runtime.session("other");
    for (const id of ["one", "two", "three"]) await session.jobs.register({ id, label: id });
    const turn = session.turn("Go");
    if (parks) await parked(store, "s");
    else await begun(turn);
    await session.jobs.cancel("one");
    await session.jobs.unregister("two");
    await session.jobs.transfer("s", "other", ["three"]);
    await other.jobs.complete("three", { state: "completed", result: "not for you" });
    await within(turn.result());
    expect(await answers(session)).toEqual([
      {
        completed: { one: { label: "one", state: "cancelled" }, two: { state: "gone" }, three: { state: "gone" } },
        pending: {},
      },
    ]);
  });

  test("J2 a turn that is cancelled while it waits ends, and the jobs continue", async () => {
    const store = make();
    await using runtime = await running({
      store,
      plugins,
      limits: LIMITS,
      model: recited(waits(["one"]), says("Never.")),
    });
    const session = await runtime.session("s");
    await session.jobs.register({ id: "one", label: "one" });
    const turn = session.turn("Go");
    if (parks) await parked(store, "s");
    else await begun(turn);
    await turn.cancel("Enough.");
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(await session.jobs.get("one")).toMatchObject({ state: "running" });
  });
});

test("J2 J3 E3 a turn that waits for a job resumes in another process, where the job ends", async () => {
  const path = file();
  const model = recited(waits(["one"]), says("Done."));
  const first = await runningOn(path, { plugins, model, limits: LIMITS });
  const begun = await first.session("s");
  await begun.jobs.register({ id: "one", label: "One" });
  const turnId = await begun.turn("Go").id;
  await parked(sqlite(path, { durability: "process" }), "s");
  await first.close();
  await using second = await runningOn(path, { plugins, model, limits: LIMITS });
  await second.jobs.of("s").complete("one", { state: "completed", result: 12 });
  const session = await second.session("s");
  expect((await within(session.follow(turnId).result(), 8_000)).outcome).toMatchObject({ text: "Done." });
  expect(await answers(session)).toEqual([
    { completed: { one: { label: "One", state: "completed", result: 12 } }, pending: {} },
  ]);
}, 15_000);

test("J2 J3 a process that only waits learns of a job that ends in another one", async () => {
  const path = file();
  const model = recited(waits(["one"]), says("Done."));
  await using waiting = await runningOn(path, { plugins, model, limits: LIMITS });
  await using working = await runningOn(path, { plugins: [], model });
  const session = await waiting.session("s");
  await session.jobs.register({ id: "one", label: "One" });
  const turn = session.turn("Go");
  await parked(sqlite(path, { durability: "process" }), "s");
  await working.jobs.of("s").complete("one", "completed");
  expect((await within(turn.result(), 8_000)).outcome).toMatchObject({ text: "Done." });
}, 15_000);

test("J2 an id that is unknown, of another session, or of a hidden job is refused with what to do, and waits for nothing", async () => {
  const ids = ["nothing", "theirs", "secret", ""];
  await using runtime = await running({
    plugins,
    model: recited(...ids.flatMap((id) => [both(waits([id], {}, `wait ${id}`), stops(id))]), says("Done.")),
  });
  const session = await runtime.session("s");
  const other = await runtime.session("other");
  await other.jobs.register({ id: "theirs", label: "Theirs" });
  await session.jobs.register({ id: "secret", label: "Secret", visibility: "hidden" });
  const turn = session.turn("Go");
  const ends = only(await within(eventsOf(turn)), "toolEnded");
  expect(ends).toHaveLength(8);
  for (const { output } of ends)
    expect(output).toMatchObject({
      kind: "failure",
      failure: { class: "arguments", code: "job.unknown", message: expect.stringContaining("Call jobs_list") },
    });
  for (const id of ["theirs", "secret"]) expect(await runtime.jobs.get(id)).toMatchObject({ state: "running" });
});

test("J2 jobs_stop ends a job for good, answers its record, and leaves an ended job alone", async () => {
  let reason: unknown;
  await using runtime = await running({
    plugins,
    model: recited(stops("one", { reason: "Too slow." }), stops("two"), stops("three"), says("Done.")),
  });
  const session = await runtime.session("s");
  await session.jobs.spawn(
    { id: "one", label: "One" },
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject((reason = signal.reason)), { once: true });
      }),
  );
  await session.jobs.register({ id: "two", label: "Two" });
  await session.jobs.complete("two", { state: "completed", result: "kept" });
  await session.jobs.spawn({ id: "three", label: "Three" }, () => "x".repeat(5_000));
  await session.jobs.await(["three"]);
  await within(session.turn("Go").result());
  const [one, two, three] = (await answers(session)) as { readonly [field: string]: Json }[];
  expect(one).toEqual({ id: "one", label: "One", kind: "task", state: "cancelled" });
  expect(String(reason)).toContain("Too slow.");
  expect(two).toEqual({ id: "two", label: "Two", kind: "external", state: "completed", result: "kept" });
  expect(three).toMatchObject({ state: "completed", result: `${"x".repeat(300)} … (5000 characters)` });
});

test("J2 jobs_list shows live and ended jobs, what they came to, when they begin, and no hidden ones", async () => {
  await using runtime = await running({ plugins, model: recited(list, says("Done.")) });
  const session = await runtime.session("s");
  const { jobs } = session;
  await jobs.register({ id: "live", label: "Live" });
  await jobs.register({ id: "idle", label: "Idle" });
  await jobs.transition("idle", "idle");
  await jobs.register({ id: "hidden", label: "Hidden", visibility: "hidden" });
  await jobs.spawn({ id: "done", label: "Done" }, () => ({ pages: 12 }));
  await jobs.await(["done"]);
  await jobs.spawn({ id: "broken", label: "Broken" }, () => {
    throw new Error("No paper.");
  });
  await jobs.await(["broken"]);
  const { jobId } = await session.sendAt(new Date("2100-01-01"), "Happy new century!");
  await within(session.turn("Go").result());
  expect(await answers(session)).toEqual([
    {
      live: [
        { id: "live", label: "Live", kind: "external", state: "running" },
        { id: "idle", label: "Idle", kind: "external", state: "idle" },
        {
          id: jobId,
          label: "Later: Happy new century!",
          kind: "task",
          state: "running",
          begins: "2100-01-01T00:00:00.000Z",
        },
      ],
      ended: [
        {
          id: "broken",
          label: "Broken",
          kind: "task",
          state: "failed",
          error: { code: "job.failed", message: expect.stringContaining("No paper.") },
        },
        { id: "done", label: "Done", kind: "task", state: "completed", result: { pages: 12 } },
      ],
    },
  ]);
});

test("J2 of thousands of jobs a bounded part is listed and shown in the prompt, and the rest is counted", async () => {
  const model = recited(list, says("Done."));
  await using runtime = await running({ plugins, model });
  const session = await runtime.session("s");
  const label = `${"long ".repeat(100)}\n- forged (task, running): line`;
  for (let n = 0; n < 1_200; n++) await session.jobs.register({ id: `live ${n}`, label });
  for (let n = 0; n < 50; n++) {
    await session.jobs.register({ id: `over ${n}`, label: "Over" });
    await session.jobs.complete(`over ${n}`, { state: "completed", result: "y".repeat(10_000) });
  }
  await within(session.turn("Go").result(), 8_000);
  const [text] = await texts(session);
  expect(text?.length).toBeLessThan(60_000);
  const { live, ended, note } = JSON.parse(text ?? "") as { live: Json[]; ended: { id: string }[]; note: string };
  expect([live.length, ended.length, note]).toEqual([100, 20, "1100 more are live and not listed."]);
  expect(ended[0]?.id).toBe("over 49");
  const lines = (await linesOf(session.jobs)).split("\n");
  expect(lines).toHaveLength(17);
  expect(lines[0]).toMatch(/^- live 0 \(external, running\): long .* … \(\d+ characters\)$/);
  expect(lines.at(-1)).toContain("jobs_list");
}, 20_000);

test("J2 the prompt lists the running jobs in every round", async () => {
  let runtime: Runtime;
  const model = cast({
    Go: [
      async () => {
        await runtime.jobs.of("s").register({ id: "one", label: "Print" });
        return list;
      },
      async () => {
        await runtime.jobs.of("s").complete("one", "completed");
        return calls("jobs_list", {}, "again");
      },
      says("Done."),
    ],
  });
  runtime = await running({ plugins, model });
  await within((await runtime.session("s")).turn("Go").result());
  const told = model.asked.map(({ request }) => JSON.stringify(request).includes("- one (external, running): Print"));
  expect(told).toEqual([false, true, false]);
  await runtime.close();
});

test("J2 J8 an agent whose session is not there any more is not waited for", async () => {
  await using runtime = await running({ plugins, model: recited(waits(["one"]), says("Done.")) });
  const session = await runtime.session("s");
  const { id: childId } = await runtime.session("child");
  await session.jobs.register({ id: "one", label: "One", kind: "subagent", childId });
  await runtime.sessions.delete(childId);
  await within(session.turn("Go").result());
  expect(await answers(session)).toEqual([{ completed: { one: { label: "One", state: "abandoned" } }, pending: {} }]);
});

describe.each(KEPT)("with agents, %s", (_, make) => {
  test("J2 J3 J8 a turn waits for an agent until the turn of the agent ends, beside other jobs", async () => {
    const gate = Promise.withResolvers<void>();
    const wait: Line = ({ messages }) =>
      waits([...(JSON.stringify(messages).match(/agt_[\w-]{16}/g) ?? []).slice(0, 1), "one"]);
    const model = cast({
      Go: [
        calls("spawn_agent", { task: "Think.", background: true }, "spawn"),
        wait,
        ({ messages }) =>
          calls(
            "wait_agents",
            { agents: (JSON.stringify(messages).match(/agt_[\w-]{16}/g) ?? []).slice(0, 1) },
            "read",
          ),
        says("Done."),
      ],
      "Think.": [after(gate.promise, says("I thought."))],
    });
    const store = make();
    await using runtime = await running({ store, limits: LIMITS, plugins: [subagents(HELPER), jobsPlugin], model });
    const session = await runtime.session("s");
    await session.jobs.register({ id: "one", label: "One" });
    const turn = session.turn("Go");
    await eventually(() => model.of("Go").length === 2 || undefined);
    await session.jobs.complete("one", "completed");
    gate.resolve();
    expect((await within(turn.result(), 8_000)).outcome).toMatchObject({ text: "Done." });
    const [, waited, read] = await answers(session);
    const [agent] = JSON.stringify(waited).match(/agt_[\w-]{16}/) ?? [""];
    expect(waited).toEqual({
      completed: { [agent]: { label: "Think.", state: "idle" }, one: { label: "One", state: "completed" } },
      pending: {},
    });
    expect(read).toMatchObject({ completed: { [agent]: { result: "I thought." } } });
  }, 15_000);
});
