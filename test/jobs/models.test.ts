// Models that start jobs and signal them, by calls and from code.
import { definePlugin, type Json, type JsonSchema, type Runtime, type Session } from "bowline";
import { code } from "bowline/plugins/code";
import { type JobsOptions, jobs } from "bowline/plugins/jobs";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { asJobId, asSessionId } from "../../src/model/ids.ts";
import { cells } from "../code/cells.ts";
import { codeOf, eventsOf, eventually, only, saidIn, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { lifetimes, running, runningOn } from "../kit/worlds.ts";

const TASK = "test/reports.write";

/** A report needs a signature, and one that is to be printed also word of that. */
const reports = (searches: string[] = []) =>
  definePlugin({
    id: "test/reports",
    setup: ({ task }) => ({
      operations: {
        write: task({
          input: z.object({ topic: z.string(), isPrinted: z.boolean().default(false) }),
          run: async ({ input: { topic, isPrinted }, once, job }) => {
            await once("search", () => searches.push(topic));
            const { by } = (await job?.receive<{ by: string }>("signed")) ?? { by: "nobody" };
            if (isPrinted) await job?.receive("printed");
            return `${topic}, signed by ${by}`;
          },
        }),
        tick: task({ run: () => "tock" }),
      },
    }),
  })();

const SIGNED: JsonSchema = { type: "object", properties: { by: { type: "string" } }, required: ["by"] };
const OFFER = {
  description: "Writes a report, which somebody has to sign.",
  input: z.object({ topic: z.string().max(10), isPrinted: z.boolean().optional() }),
  signals: { signed: SIGNED, printed: {} },
};
const OFFERED: JobsOptions = { tasks: { [TASK]: OFFER } };

const starts = (input: Json, more: { readonly [field: string]: Json } = {}, id = "start") =>
  calls("jobs_start", { task: TASK, input, ...more }, id);

type Failure = { readonly class: string; readonly code: string; readonly message: string };
/** What the calls of one turn came to, oldest first: values, and failures. */
async function outputs(session: Session): Promise<readonly unknown[]> {
  const ends = only(await within(eventsOf(session.turn("Go.")), 5_000), "toolEnded");
  return ends.map(({ output }) =>
    output.kind === "value" ? output.value : output.kind === "failure" ? (output.failure as Failure) : output,
  );
}

const JOB_ID = /job_[\w-]+/;
const idIn = (request: unknown): string => JOB_ID.exec(JSON.stringify(request))?.[0] ?? "none";

describe("from calls", () => {
  test("J1 a model has no tool to start jobs unless it is offered tasks", async () => {
    for (const [options, isThere] of [
      [{}, false],
      [{ tasks: [] }, false],
      [{ tasks: [TASK] }, true],
    ] as const) {
      const model = scripted(says("Hi."));
      await using runtime = await running({ plugins: [jobs(options)], model });
      await (await runtime.session("s")).turn("Go.").result();
      const names = model.requests[0]?.tools?.map(({ name }) => name) ?? [];
      expect(names).toEqual(expect.arrayContaining(["jobs_list", "jobs_wait"]));
      expect([names.includes("jobs_start"), names.includes("jobs_signal")]).toEqual([isThere, isThere]);
    }
  });

  test("J1 tasks can be offered to one session alone, as JSON", async () => {
    const model = scripted(says("Hi."), says("Hi."));
    await using runtime = await running({ plugins: [reports(), jobs], model });
    const offer = { input: { type: "object" }, signals: { signed: SIGNED } };
    const given = { plugins: [jobs.options({ tasks: { [TASK]: offer } })] };
    await (await runtime.session("one", given)).turn("Go.").result();
    await (await runtime.session("two")).turn("Go.").result();
    const has = model.requests.map(({ tools = [] }) => tools.some(({ name }) => name === "jobs_start"));
    expect(has).toEqual([true, false]);
  });

  test("J1 J5 the model reads the offered tasks, starts a task, signals it and gets its result, only once with wake none", async () => {
    const model = recited(
      starts({ topic: "knots" }, { label: "On knots", wake: "none" }),
      ({ messages }) => calls("jobs_signal", { id: idIn(messages), name: "signed", payload: { by: "ada" } }, "signal"),
      ({ messages }) => calls("jobs_wait", { ids: [idIn(messages)] }, "wait"),
      (request) => {
        const { description = "" } = request.tools?.find(({ name }) => name === "jobs_start") ?? {};
        return says(description.slice(description.indexOf("- ")));
      },
    );
    await using runtime = await running({ plugins: [reports(), jobs(OFFERED)], model });
    const session = await runtime.session("s");
    const [started, sent, waited] = (await outputs(session)) as readonly [{ id: string }, unknown, unknown];
    const { id } = started;
    expect(started).toEqual({ id: expect.stringMatching(JOB_ID), label: "On knots", note: expect.any(String) });
    expect(sent).toEqual({ id, sent: "signed" });
    expect(waited).toEqual({
      completed: { [id]: { label: "On knots", state: "completed", result: "knots, signed by ada" } },
      pending: {},
    });
    expect(await session.jobs.get(id)).toMatchObject({ operation: TASK, wakes: 0, visibility: "managed" });
    const told = (await session.read()).messages.at(-1);
    expect(JSON.stringify(told)).toContain(`${TASK}: Writes a report, which somebody has to sign.`);
    expect(JSON.stringify(told)).toContain(JSON.stringify(JSON.stringify(SIGNED)).slice(1, -1));
    expect(JSON.stringify(told)).not.toContain("$schema");
  });

  test.each([
    [undefined, "waits for the next turn"],
    ["notify", "waits for the next turn"],
    ["wake", "opens a turn"],
    ["none", "is not reported"],
  ] as const)("J1 J6 with the option wake %s the end of a job that outlives the turn %s", async (wake, then) => {
    const model = recited(starts({ topic: "knots" }), says("Started."), says("I see."));
    await using runtime = await running({ plugins: [reports(), jobs({ ...OFFERED, wake })], model });
    const session = await runtime.session("s");
    const [{ id }] = (await outputs(session)) as readonly [{ id: string }];
    await runtime.jobs.signal(id, "signed", { by: "ada" });
    expect(await runtime.jobs.await(id)).toMatchObject({
      state: "completed",
      wakes: then === "is not reported" ? 0 : 1,
    });
    if (then !== "opens a turn") await session.turn("And now?").result();
    await eventually(async () => (await session.read()).turns === 2 || undefined);
    const told = expect.stringContaining(`"${TASK}" (${id}) is done`);
    const said = {
      "waits for the next turn": ["And now?", told],
      "opens a turn": [told],
      "is not reported": ["And now?"],
    };
    expect((await saidIn(session)).slice(1)).toEqual(said[then]);
  });

  test("J1 J5 an input that does not fit the task, or the offer, starts nothing, and the model reads the reason", async () => {
    const model = recited(
      starts({ topic: 7 }, {}, "a"),
      starts({ topic: "far too long a topic" }, {}, "b"),
      starts({}, {}, "c"),
      calls("jobs_start", { task: "test/reports.burn" }, "d"),
      calls("jobs_start", { task: "test/reports.tick", input: { loud: true } }, "e"),
      calls("jobs_start", { task: "test/reports.gone" }, "f"),
      says("Well."),
    );
    const tasks = { [TASK]: OFFER, "test/reports.tick": {}, "test/reports.gone": {} };
    await using runtime = await running({ plugins: [reports(), jobs({ tasks })], model });
    const session = await runtime.session("s");
    const wrong = (code: string, words: string, as = "arguments") => ({
      class: as,
      code,
      message: expect.stringContaining(words),
    });
    expect(await outputs(session)).toMatchObject([
      wrong("operation.input", "topic"),
      wrong("operation.input", "topic"),
      wrong("operation.input", "topic"),
      wrong("tool.arguments", "task"),
      wrong("operation.input", "it takes none"),
      wrong("operation.unknown", "test/reports.gone", "unavailable"),
    ]);
    expect(await session.jobs.list()).toEqual([]);
  });

  test("J1 J5 a task of a plugin that is not installed is started only where its offer has `isElsewhere`", async () => {
    const model = recited(
      calls("jobs_start", { task: "test/absent.work" }, "a"),
      calls("jobs_start", { task: "test/distant.work" }, "b"),
      says("Well."),
    );
    const tasks = { "test/absent.work": {}, "test/distant.work": { isElsewhere: true } };
    await using runtime = await running({ plugins: [jobs({ tasks })], model });
    const session = await runtime.session("s");
    expect(await outputs(session)).toMatchObject([{ class: "unavailable", code: "operation.unknown" }, {}]);
    expect(await session.jobs.list()).toMatchObject([{ operation: "test/distant.work", isElsewhere: true }]);
  });

  test("J1 J5 the task's own schema counts where nothing but its name is offered", async () => {
    const model = recited(starts({ topic: 7 }), says("Well."));
    await using runtime = await running({ plugins: [reports(), jobs({ tasks: [TASK] })], model });
    const session = await runtime.session("s");
    expect(await outputs(session)).toMatchObject([{ class: "arguments", code: "operation.input" }]);
    expect(await session.jobs.list()).toEqual([]);
  });

  test("J1 a session that is full of jobs starts no more jobs, and the model reads what to do", async () => {
    const model = recited(both(starts({ topic: "a" }, {}, "a"), starts({ topic: "b" }, {}, "b")), says("Well."));
    await using runtime = await running({ plugins: [reports(), jobs(OFFERED)], model, limits: { jobsMax: 1 } });
    const session = await runtime.session("s");
    await session.jobs.register({ label: "One" });
    const full = { class: "limit", code: "job.full", message: expect.stringContaining("jobs_stop") };
    expect(await outputs(session)).toMatchObject([full, full]);
  });

  test("J2 J5 a signal to a job that is unknown, foreign, hidden or over, or does not take it, is refused", async () => {
    const signals = (id: string, name = "signed", payload: Json = { by: "ada" }) =>
      calls("jobs_signal", { id, name, payload }, `${id} ${name} ${JSON.stringify(payload)}`);
    const model = recited(
      ...["nothing", "theirs", "secret"].map((id) => signals(id)),
      signals("over"),
      signals("plain"),
      signals("open", "stamped"),
      signals("open", "signed", { by: 7 }),
      signals("open"),
      says("Done."),
    );
    await using runtime = await running({ plugins: [jobs(OFFERED)], model });
    const session = await runtime.session("s");
    const declared = { signals: { signed: SIGNED } };
    await (await runtime.session("other")).jobs.register({ id: "theirs", label: "x", ...declared });
    await session.jobs.register({ id: "secret", label: "x", visibility: "hidden", ...declared });
    await session.jobs.register({ id: "over", label: "x", ...declared });
    await session.jobs.complete("over", "completed");
    await session.jobs.register({ id: "plain", label: "x" });
    const taken: Json[] = [];
    await session.jobs.spawn({ id: "open", label: "x", ...declared }, async ({ receive }) => {
      taken.push(await receive("signed"));
    });
    const unknown = { class: "arguments", code: "job.unknown", message: expect.stringContaining("jobs_list") };
    const wrong = (code: string, words: string) => ({
      class: "arguments",
      code,
      message: expect.stringContaining(words),
    });
    expect(await outputs(session)).toMatchObject([
      unknown,
      unknown,
      unknown,
      wrong("job.over", "completed"),
      wrong("job.signal", "declares none"),
      wrong("job.signal", "declares signed"),
      wrong("job.signal", "by"),
      { id: "open", sent: "signed" },
    ]);
    await session.jobs.await(["open"]);
    expect(taken).toEqual([{ by: "ada" }]);
  });

  test("J5 D2 a process that is killed once it has signalled leaves the job with one signal, not two", async () => {
    const { next, kill } = lifetimes();
    const model = recited(calls("jobs_signal", { id: "one", name: "signed", payload: { by: "ada" } }), says("Done."));
    const options = { plugins: [jobs(OFFERED)], model };
    const sent = Promise.withResolvers<void>();
    const first = await next(options, {
      "jobs.send": async (act) => {
        await act();
        kill();
        sent.resolve();
      },
    });
    const session = await first.runtime.session("s");
    await session.jobs.register({ id: "one", label: "One", signals: { signed: SIGNED } });
    const turnId = await session.turn("Go.").id;
    await within(sent.promise, 3_000);
    const second = await next(options);
    const again = await second.runtime.session("s");
    await second.runtime.recover();
    expect((await within(again.follow(turnId).result(), 3_000)).outcome).toMatchObject({ text: "Done." });
    const events = await second.store.jobs.events(asJobId("one"), 0);
    expect(events.filter(({ event }) => event.kind === "signalled")).toHaveLength(1);
    await second.runtime.close();
  });

  test.each<[string, unknown]>([
    ["a name without its plugin", { tasks: ["write"] }],
    ["no list and no object", { tasks: "test/reports.write" }],
    ["an unknown field", { tasks: { [TASK]: { inputs: {} } } }],
    ["an input that is not an object", { tasks: { [TASK]: { input: z.string() } } }],
    [
      "a schema that cannot describe itself",
      { tasks: { [TASK]: { input: { "~standard": { validate: () => ({}) } } } } },
    ],
    ["a signal without a schema", { tasks: { [TASK]: { signals: { signed: true } } } }],
    ["a signal that cannot be named so", { tasks: { [TASK]: { signals: { "is signed": {} } } } }],
    ["a function that is not a schema", { tasks: { [TASK]: { input: () => ({}) } } }],
    ["a wake that is none", { tasks: [TASK], wake: "loud" }],
  ])("J1 options with %s are refused", async (_, options) => {
    expect(await codeOf(() => jobs(options as JobsOptions))).toBe("plugin.options");
  });
});

/** The turn waits, and no process has it in memory. */
async function parked(path: string, id: string): Promise<void> {
  const store = sqlite(path, { durability: "process" });
  const nobody = (): never => {
    throw new Error("Nothing is to be begun.");
  };
  const open = () => store.open(asSessionId(id), { id: "other", process: "elsewhere" }, Date.now(), nobody);
  await eventually(async () => (await open()).kind === "parked" || undefined, 5_000);
  await store.close();
}

describe("from code", () => {
  const CELL = `
const { id } = await tools.jobs_start({ task: "${TASK}", input: { topic: "knots", isPrinted: true }, wake: "none" });
await tools.jobs_signal({ id, name: "signed", payload: { by: "ada" } });
const { completed } = await tools.jobs_wait({ ids: [id] });
finish(completed[id].result);`;

  test("J1 J5 P9 one cell starts, signals and awaits a job; it continues in another process, and nothing is done twice", async () => {
    const path = file();
    const searches: string[] = [];
    const open = (): Promise<Runtime> =>
      runningOn(path, {
        plugins: [cells, code, reports(searches), jobs(OFFERED)],
        model: recited(says(CELL)),
        limits: { parkAfterMs: 20 },
      });
    const first = await open();
    const turnId = await (await first.session("s")).turn("Go.").id;
    await parked(path, "s");
    await first.close();
    await using second = await open();
    const session = await second.session("s");
    const [job, ...more] = await session.jobs.list();
    expect(more).toEqual([]);
    expect(job).toMatchObject({ operation: TASK, state: "running" });
    await session.jobs.signal(job?.id ?? "", "printed");
    expect((await within(session.follow(turnId).result(), 8_000)).outcome).toMatchObject({
      kind: "finished",
      value: "knots, signed by ada",
    });
    expect(searches).toEqual(["knots"]);
    expect(await session.jobs.list()).toHaveLength(1);
  }, 15_000);

  test("J1 J5 P9 a start that is refused throws in the cell, with its code, and another works", async () => {
    const cell = `
let problem;
try { await tools.jobs_start({ task: "${TASK}", input: { topic: 7 } }); } catch (error) { problem = error.code; }
const started = await Promise.all(["a", "b"].map((topic) => tools.jobs_start({ task: "${TASK}", input: { topic } })));
await Promise.all(started.map(({ id }, n) => tools.jobs_signal({ id, name: "signed", payload: { by: String(n) } })));
const { completed } = await tools.jobs_wait({ ids: started.map(({ id }) => id) });
finish([problem, ...started.map(({ id }) => completed[id].result)]);`;
    await using runtime = await running({
      plugins: [cells, code, reports(), jobs(OFFERED)],
      model: scripted(says(cell)),
    });
    const { outcome } = await within((await runtime.session("s")).turn("Go.").result(), 5_000);
    expect(outcome).toMatchObject({ value: ["operation.input", "a, signed by 0", "b, signed by 1"] });
  });
});
