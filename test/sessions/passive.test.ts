// `recover: "never"`: a process that sends, reads and answers, and leaves all work to others on the same store.
import { createRuntime, definePlugin, defineTool, type Runtime, type RuntimeOptions, type Store } from "bowline";
import { ask } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { postgres } from "bowline/stores/postgres";
import { sqlite } from "bowline/stores/sqlite";
import { type SimulatedWorld, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually, within } from "../kit/reading.ts";
import { describePostgres, freshSchema } from "../kit/shared-postgres.ts";
import { around, file } from "../kit/stores.ts";
import { HOUR, held } from "../kit/worlds.ts";

const MS = 5_000;

/** Work that both processes could do, and which of them did it. */
function work(by: string, did: string[]) {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    execute: () => {
      did.push(by);
      return "worked";
    },
  });
  const plugin = definePlugin({
    id: "acme/desk",
    state: z.object({ notes: z.number().default(0) }),
    setup: ({ command, task }) => ({
      beforeToolCall: () => ask("It is dangerous."),
      operations: {
        note: command({ run: ({ state }) => state.update(({ notes }) => ({ notes: notes + 1 })) }),
        report: task({ run: () => void did.push(`${by}: report`) }),
      },
    }),
  });
  return { tool, plugin };
}

const onFile = (path: string): Store => sqlite(path, { durability: "process" });

interface Passive extends AsyncDisposable {
  readonly runtime: Runtime;
  /** Whatever the process asked of the store in order to run something. */
  readonly took: readonly string[];
}

/** A process that runs nothing. What would give it a turn or a job in the store is noted. */
async function passive(store: Store, options: Partial<RuntimeOptions> = {}): Promise<Passive> {
  const took: string[] = [];
  const noted = (name: string) => (act: () => unknown) => {
    took.push(name);
    return act();
  };
  const watched = around(store, {
    open: noted("open"),
    "jobs.claim": noted("jobs.claim"),
    "triggers.occur": noted("triggers.occur"),
    "triggers.move": noted("triggers.move"),
    accept: (act, ...[, , opening]) => {
      if (opening !== undefined) took.push("accept with an opening");
      return act();
    },
  });
  const runtime = await createRuntime({
    model: listener(),
    ...(options as object),
    store: watched,
    recover: "never",
  });
  return { runtime, took, [Symbol.asyncDispose]: () => runtime.close() };
}

const aheadBy = (ms: number): SimulatedWorld => simulatedWorld({ now: Date.now() + ms, name: ".passive" });

/** Lets the process look until it has seen what another one did. */
async function looking<T>(world: SimulatedWorld, settled: Promise<T>): Promise<T> {
  let isSettled = false;
  const done = settled.finally(() => (isSettled = true));
  await eventually(async () => {
    await world.advance(1_000);
    return isSettled || undefined;
  }, MS);
  return done;
}

test('D3 S3 with `recover: "never"` an input waits for another process, and the handle of its turn gets the result', async () => {
  const path = file();
  const did: string[] = [];
  await using web = await passive(onFile(path), { tools: [work("web", did).tool] });
  const session = await web.runtime.session("s");
  const turn = session.turn("Work.");
  const { turnId } = await session.send("And then?", { at: "next-turn" });
  expect(await session.read()).toMatchObject({ turns: 0 });
  expect(await session.inputs.list()).toMatchObject([{ text: "Work." }, { text: "And then?" }]);
  expect(did).toEqual([]);
  await using _worker = await createRuntime({
    store: onFile(path),
    model: listener(),
    tools: [work("worker", did).tool],
  });
  expect((await within(turn.result(), MS)).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect((await within(session.follow(turnId).result(), MS)).outcome).toMatchObject({ text: "re: And then?" });
  expect(did).toEqual(["worker"]);
  expect(web.took).toEqual([]);
});

test('D3 with `recover: "never"` a turn whose lease has expired is not resumed, on opening its session or later', async () => {
  const path = file();
  const did: string[] = [];
  const slow = held();
  await using worker = await createRuntime({ store: onFile(path), model: listener(), tools: [slow.tool] });
  const { turnId } = await (await worker.session("s")).send("Work.");
  await slow.began();

  const world = aheadBy(HOUR); // By this clock the lease of the worker has expired.
  await using web = await passive(onFile(path), { tools: [work("web", did).tool], world });
  const session = await web.runtime.session("s");
  const followed = session.follow(turnId).result();
  const queued = session.turn("More.").result();
  await world.advance(60_000);
  expect(await session.read()).toMatchObject({ turns: 0, openTurn: { id: turnId } });
  expect(web.took).toEqual([]);
  slow.release();
  expect((await looking(world, followed)).outcome).toMatchObject({ kind: "answered" });
  expect((await looking(world, queued)).outcome).toMatchObject({ kind: "answered" });
  expect(did).toEqual([]);
  expect(web.took).toEqual([]);
});

test('D3 K13 with `recover: "never"` an operation behind an orphaned turn throws, and one behind a running turn ends when the runtime closes', async () => {
  const path = file();
  const slow = held();
  await using worker = await createRuntime({ store: onFile(path), model: listener(), tools: [slow.tool] });
  await (await worker.session("s")).send("Work.");
  await slow.began();
  const { plugin } = work("web", []);

  const world = aheadBy(HOUR); // By this clock the lease of the worker has expired.
  await using web = await passive(onFile(path), { plugins: [plugin], world });
  const noted = codeOf((await web.runtime.session("s")).command(plugin, "note"));
  expect(await looking(world, noted)).toBe("runtime.passive");

  const still = aheadBy(0); // No time passes here: a grace would not end.
  const asked = Promise.withResolvers<void>();
  const agenda = async (act: () => unknown): Promise<unknown> => {
    setImmediate(asked.resolve);
    return act();
  };
  await using closing = await passive(around(onFile(path), { agenda }), { plugins: [plugin], world: still });
  const waiting = codeOf((await closing.runtime.session("s")).command(plugin, "note"));
  await asked.promise;
  await within(closing.runtime.close(), MS);
  expect(await waiting).toBe("runtime.closed");
  expect([...web.took, ...closing.took]).toEqual([]);
  slow.release();
});

test('D4 T9 with `recover: "never"` a process answers a parked wait, and another one runs the approved tool', async () => {
  const path = file();
  const did: string[] = [];
  const parts = (by: string) => {
    const { tool, plugin } = work(by, did);
    return { model: listener(), tools: [tool], plugins: [plugin], limits: { parkAfterMs: 1 } };
  };
  const first = await createRuntime({ store: onFile(path), ...parts("first") });
  const { turnId } = await (await first.session("s")).send("Work.");
  await eventually(async () => (await first.waits.list())[0], MS);
  await first.close();

  const world = aheadBy(0);
  await using web = await passive(onFile(path), { ...parts("web"), world });
  const session = await web.runtime.session("s");
  const followed = session.follow(turnId).result();
  const [wait] = await web.runtime.waits.list({ session: "s" });
  // An operation would have to resume the parked turn to run inside it.
  const { plugin } = work("web", did);
  await expect(session.command(plugin, "note")).rejects.toMatchObject({
    code: "runtime.passive",
    message: expect.stringContaining(`refuses acme/desk.note while turn ${turnId} is parked.`),
    hint: "Call it in a process whose runtime has another `recover`, or after the turn has ended.",
  });
  expect(await session.complete.text("Sum it up.")).toBe("re: Sum it up.");
  expect(await web.runtime.waits.resolve(wait!, { approved: true })).toBe("accepted");
  await world.advance(60_000);
  expect(await session.read()).toMatchObject({ turns: 0, openTurn: { id: turnId } });
  expect(web.took).toEqual([]);

  await using _second = await createRuntime({ store: onFile(path), ...parts("second") });
  expect((await looking(world, followed)).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(did).toEqual(["second"]);
  const { ledger } = await web.runtime.sessions.usage("s");
  expect(ledger.map(({ source }) => source).toSorted()).toEqual(["direct", "turn"]);
  await session.command(plugin, "note"); // Between turns it runs where it is called.
  expect(web.took).toEqual([]);
});

test('D8 with `recover: "never"` a cancel ends the turn in the process that runs it', async () => {
  const path = file();
  const slow = held();
  await using worker = await createRuntime({ store: onFile(path), model: listener(), tools: [slow.tool] });
  const { turnId } = await (await worker.session("s")).send("Work.");
  await slow.began();
  await using web = await passive(onFile(path), { tools: [slow.tool] });
  const session = await web.runtime.session("s");
  const followed = session.follow(turnId).result();
  expect(await session.cancel(turnId, { reason: "Not wanted." })).toMatchObject({ kind: "requested" });
  expect((await within(followed, MS)).outcome).toMatchObject({ kind: "stopped", code: "turn.cancelled" });
  expect(web.took).toEqual([]);
});

test('J2 J6 J7 with `recover: "never"` jobs, inputs for later and schedules are stored, and run in another process', async () => {
  const path = file();
  const did: string[] = [];
  const { plugin } = work("web", did);
  const world = aheadBy(0);
  await using web = await passive(onFile(path), { plugins: [plugin], world });
  const session = await web.runtime.session("s");
  const { id } = await session.jobs.spawn({ label: "Report", operation: "acme/desk.report" });
  await session.triggers.subscribe({ id: "tick", on: { everyMs: 1_000 }, send: "Tick." });
  await session.sendAfter(0, "Later.");
  await expect(session.jobs.spawn({ label: "Here" }, () => did.push("web: function"))).rejects.toMatchObject({
    code: "runtime.passive",
    message: expect.stringContaining("refuses jobs.spawn with a function."),
    hint: expect.stringContaining("`operation`"),
  });
  await world.advance(60_000);
  expect(await session.jobs.get(id)).toMatchObject({ state: "running", starts: 0 });
  expect(await session.triggers.occurrences()).toEqual([]);
  expect({ did, took: web.took }).toEqual({ did: [], took: [] });

  const later = simulatedWorld({ now: world.now(), name: ".worker" });
  await using worker = await createRuntime({
    store: onFile(path),
    model: listener(),
    plugins: [work("worker", did).plugin],
    world: later,
  });
  await later.advance(5_000);
  expect(await looking(world, session.jobs.await([id]))).toMatchObject([{ state: "completed" }]);
  expect(did).toEqual(["worker: report"]);
  expect((await worker.triggers.occurrences()).length).toBeGreaterThan(0);
  expect(JSON.stringify((await session.read()).messages)).toContain("re: Later.");
  expect(web.took).toEqual([]);
});

test("`recover` takes auto, manual or never; never needs a shared store, and refuses recover()", async () => {
  const model = listener();
  const wrong = { store: memory(), model, recover: "sometimes" as "auto" };
  await expect(createRuntime(wrong)).rejects.toMatchObject({ code: "options.invalid", details: { option: "recover" } });
  const alone = createRuntime({ store: memory(), model, recover: "never" });
  await expect(alone).rejects.toMatchObject({ code: "options.invalid", details: { option: "recover" } });
  await using web = await passive(onFile(file()));
  await expect(web.runtime.recover()).rejects.toMatchObject({
    code: "runtime.passive",
    message: expect.stringContaining("refuses recover()."),
    hint: expect.stringContaining("another `recover`"),
  });
});

describePostgres("on Postgres", () => {
  test('D3 with `recover: "never"` the handle of a turn gets the result from the process that runs it', async () => {
    const { url, schema } = await freshSchema();
    const did: string[] = [];
    await using web = await passive(postgres(url, { schema }), { tools: [work("web", did).tool] });
    await using _worker = await createRuntime({
      store: postgres(url, { schema }),
      model: listener(),
      tools: [work("worker", did).tool],
    });
    const turn = (await web.runtime.session("s")).turn("Work.");
    expect((await within(turn.result(), MS)).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(did).toEqual(["worker"]);
    expect(web.took).toEqual([]);
  });
});
