import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { definePlugin, defineTool, type Runtime, type RuntimeOptions } from "bowline";
import type { Jobs, Monitors, Services } from "bowline/plugin";
import { calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aborted, follows, listener } from "../kit/models.ts";
import { codeOf, eventually, saidIn, signalOf, within } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { lifetimes, running } from "../kit/worlds.ts";

type Reaching = Pick<Services, "jobs" | "monitors" | "sessions">;
type Run = (context: Reaching) => unknown;

/** A plugin with a command that does what the test wants, and a task for jobs. */
function keeper() {
  let next: Run = () => {};
  const plugin = definePlugin({
    id: "test/keeper",
    setup: ({ command, query, task }) => ({
      operations: {
        use: command({ run: (context) => next(context) as never }),
        look: query({ run: ({ jobs, monitors }) => next({ jobs, monitors } as never) as never }),
        work: task({ input: z.any(), run: ({ input, job }) => (input === "wait" ? job!.receive("go") : input) }),
      },
    }),
  });
  /** Runs it in a session, and returns what it returned. */
  const inSession = async (runtime: Runtime, id: string, run: Run, name: "use" | "look" = "use"): Promise<unknown> => {
    next = run;
    const session = await runtime.session(id);
    return name === "use" ? (await session.command(plugin, "use")).output : session.query(plugin, "look");
  };
  return { plugin, inSession };
}

/** A chief with a child and a grandchild, and a session that has nothing to do with them. */
async function family(options: Parameters<typeof running>[0] = {}) {
  const { plugin, inSession } = keeper();
  const runtime = await running({ ...options, plugins: [plugin(), ...(options.plugins ?? [])] });
  await runtime.session("stranger");
  await inSession(runtime, "chief", ({ sessions }) => sessions.create({ id: "child", kind: "child" }).then(() => null));
  await inSession(runtime, "child", ({ sessions }) =>
    sessions.create({ id: "grandchild", kind: "child" }).then(() => null),
  );
  const use = <T>(id: string, run: (context: Reaching) => Promise<T>): Promise<T> =>
    inSession(runtime, id, run) as Promise<T>;
  return { runtime, use, inSession, [Symbol.asyncDispose]: () => runtime.close() };
}

const lives = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
};
const pidsIn = (path: string): readonly number[] =>
  existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean).map(Number) : [];
const FOREVER = { command: "sleep 60", wake: "none" } as const;

/** What `codeOf` returns for a call that succeeds. */
const NOTHING = "nothing was thrown";

/** One call of each method; `handle` is a job and a monitor of the session. Typed, so that none can be forgotten. */
const JOBS: { readonly [M in Exclude<keyof Jobs, "of">]: (jobs: Jobs, handle: string) => Promise<unknown> } = {
  spawn: (jobs) => jobs.spawn({ label: "x" }, () => 1),
  spawnHidden: (jobs) => jobs.spawnHidden("x", () => 1),
  register: (jobs) => jobs.register({ label: "x" }),
  list: (jobs) => jobs.list(),
  get: (jobs, id) => jobs.get(id),
  changes: (jobs) => jobs.changes(),
  validate: (jobs, id) => jobs.validate([id]),
  signal: (jobs, id) => jobs.signal(id, "go"),
  transition: (jobs, id) => jobs.transition(id, "idle"),
  await: (jobs, id) => jobs.await([id], { timeoutMs: 0 }),
  awaitHidden: (jobs) => jobs.awaitHidden({ timeoutMs: 0 }),
  complete: (jobs, id) => jobs.complete(id, "completed"),
  cancel: (jobs, id) => jobs.cancel(id),
  cancelAll: (jobs) => jobs.cancelAll(),
  cancelUnreferenced: (jobs) => jobs.cancelUnreferenced([]),
  transfer: (jobs, id) => jobs.transfer("stranger", "chief", [id]),
  unregister: (jobs, id) => jobs.unregister(id),
};
const MONITORS: { readonly [M in Exclude<keyof Monitors, "of">]: (monitors: Monitors) => Promise<unknown> } = {
  snapshot: (monitors) => monitors.snapshot(),
  takeUpdates: (monitors) => monitors.takeUpdates(),
  start: (monitors) => monitors.start({ ...FOREVER, id: "new" }),
  stop: (monitors) => monitors.stop("eye"),
};
/** The code of each call, by its method. */
async function codesOf({ jobs, monitors }: Reaching, session: string): Promise<readonly string[]> {
  const codes = new Set<string>();
  for (const use of Object.values(JOBS)) codes.add(await codeOf(async () => use(jobs.of(session), "theirs")));
  for (const use of Object.values(MONITORS)) codes.add(await codeOf(async () => use(monitors.of(session))));
  return [...codes];
}

describe.each(STORES)("on %s", (_, store) => {
  test("J1 J2 a plugin begins, lists, awaits and ends jobs of its session's child and grandchild", async () => {
    await using world = await family({ store: store() });
    for (const id of ["child", "grandchild"]) {
      const heard: string[] = [];
      await world.use("chief", async ({ jobs, sessions }) => {
        const theirs = jobs.of(id);
        const done = await theirs.spawn({ label: "Function" }, ({ sessionId }) => sessionId);
        const task = await theirs.spawn({ label: "Task", operation: "work", input: "wait", signals: { go: {} } });
        await theirs.signal(task.id, "go", 7);
        const hidden = await theirs.spawnHidden("Hidden", ({ graph }) =>
          graph.append([{ kind: "message", role: "user", text: `Noted for ${id}.` }]).then(() => null),
        );
        expect(await theirs.awaitHidden()).toMatchObject([{ id: hidden.id, state: "completed" }]);
        expect(await theirs.await([done.id, task.id])).toMatchObject([{ result: id }, { result: 7 }]);
        const far = await theirs.register({ label: "Build", kind: "task" }, (reason) => void heard.push(reason));
        await theirs.transition(far.id, "idle");
        expect(await theirs.get(far.id)).toMatchObject({ sessionId: id, state: "idle" });
        expect(await theirs.cancel(far.id, "Enough.")).toMatchObject({ state: "cancelled" });
        const near = await theirs.register({ label: "Batch" });
        await theirs.complete(near.id, { state: "completed", result: 12 });
        expect((await theirs.list()).map(({ label }) => label)).toEqual([
          "Function",
          "Task",
          "Hidden",
          "Build",
          "Batch",
        ]);
        expect((await theirs.changes()).jobs).toHaveLength(5);
        await theirs.unregister(near.id);
        expect(await codeOf(theirs.get(near.id))).toBe("job.unknown");
        await sessions.inject(id, "Psst.");
        return null;
      });
      expect(heard).toEqual(["Enough."]);
      expect((await (await world.runtime.session(id)).read()).messages.map(({ role }) => role)).toEqual(["user"]);
    }
    expect(await world.runtime.jobs.of("chief").list()).toEqual([]);
    expect(await world.runtime.jobs.of("stranger").list()).toEqual([]);
  });

  test("J2 J3 a plugin validates, hands over and cancels the jobs of a child, all or all but some", async () => {
    await using world = await family({ store: store() });
    const ids = await world.use("chief", async ({ jobs }) => {
      const theirs = jobs.of("child");
      const made: string[] = [];
      for (const label of ["a", "b", "c", "d"])
        made.push((await theirs.spawn({ label }, ({ signal }) => aborted(signal))).id);
      const [a, b] = made as [string, string];
      await theirs.validate(made);
      expect(await codeOf(jobs.validate(made))).toBe("job.foreign");
      await theirs.transfer("child", "chief", [a]);
      await jobs.transfer("child", "chief", [b]);
      await jobs.validate([a, b]);
      await jobs.transfer("chief", "grandchild", [b]);
      await jobs.of("grandchild").validate([b]);
      return made;
    });
    const [a, b, c, d] = ids as [string, string, string, string];
    await world.use("chief", async ({ jobs }) => {
      expect(await jobs.of("child").cancelUnreferenced([c])).toMatchObject([{ id: d, state: "cancelled" }]);
      expect(await jobs.of("child").cancelAll()).toMatchObject([{ id: c, state: "cancelled" }]);
      return null;
    });
    for (const id of [a, b]) expect(await world.runtime.jobs.get(id)).toMatchObject({ state: "running" });
  });

  test("J4 a plugin starts, reads and stops the monitors of a child", async () => {
    await using world = await family({ store: store() });
    await world.use("chief", async ({ monitors }) => {
      const theirs = monitors.of("child");
      const begun = await theirs.start({ id: "eye", command: "echo one; sleep 60", wake: "none" });
      expect(begun).toMatchObject({ id: "eye", state: "running" }); // It runs at once: it needs no answer.
      const lines: string[] = [];
      await eventually(async () => {
        lines.push(...(await theirs.takeUpdates()).map(({ text }) => text));
        return lines.length === 0 ? undefined : true;
      });
      expect(lines).toEqual(["one"]);
      expect(await theirs.snapshot()).toMatchObject({ active: 1, monitors: [{ id: "eye" }] });
      expect(await monitors.snapshot()).toMatchObject({ active: 0, monitors: [] });
      expect(await theirs.stop("eye", "Enough.")).toMatchObject({ state: "stopped" });
      return null;
    });
  });

  test("J2 J4 a query reads jobs and monitors of a child, and can change nothing", async () => {
    await using world = await family({ store: store() });
    await world.runtime.jobs.of("child").register({ label: "Build", id: "build" });
    const look: Run = async ({ jobs, monitors }) => {
      const [theirs, watched] = [jobs.of("child"), monitors.of("child")];
      expect(Object.keys(theirs).sort()).toEqual(["get", "list", "of"]);
      expect(Object.keys(watched).sort()).toEqual(["of", "snapshot"]);
      expect(await codeOf(jobs.of("stranger").list())).toBe("session.foreign");
      expect(await codeOf(monitors.of("stranger").snapshot())).toBe("session.foreign");
      return [(await theirs.list()).length, (await theirs.get("build")).label, (await watched.snapshot()).active];
    };
    expect(await world.inSession(world.runtime, "chief", look, "look")).toEqual([1, "Build", 0]);
  });

  test("J2 J4 a session that is neither the own one nor below it is refused by every method, and stays as it was", async () => {
    await using world = await family({ store: store() });
    const { runtime } = world;
    for (const id of ["stranger", "chief"])
      await runtime.jobs
        .of(id)
        .register({ label: "Theirs", id: id === "stranger" ? "theirs" : "up", signals: { go: {} } });
    await runtime.monitors.of("stranger").start({ ...FOREVER, id: "eye" });
    const before = await runtime.jobs.list();
    const codes = await world.use("child", async (context) => [
      ...(await codesOf(context, "stranger")),
      ...(await codesOf(context, "chief")), // It is above.
    ]);
    expect(new Set(codes)).toEqual(new Set(["session.foreign"]));
    await world.use("child", async ({ jobs }) => {
      const { id } = await jobs.of("grandchild").register({ label: "Ours" });
      for (const [from, to] of [
        ["grandchild", "stranger"],
        ["stranger", "grandchild"],
      ] as const)
        expect(await codeOf(jobs.of("grandchild").transfer(from, to, [id]))).toBe("session.foreign");
      expect(await codeOf(jobs.transfer("child", "stranger", []))).toBe("session.foreign");
      return null;
    });
    const after = (await runtime.jobs.list()).filter(({ label }) => label !== "Ours");
    expect(after).toEqual(before);
    expect(await runtime.monitors.of("stranger").snapshot()).toMatchObject({ active: 1 });
    expect(await runtime.jobs.of("grandchild").list({ isLive: true })).toHaveLength(1);
  });

  test("J2 J4 `sessionAccess` lets a plugin reach its tree, or every session, and no other plugin", async () => {
    const reached = async (sessionAccess: RuntimeOptions["sessionAccess"]) => {
      await using world = await family({ store: store(), sessionAccess });
      return await world.use("child", async ({ jobs, monitors }) => {
        const found: string[] = [];
        for (const id of ["grandchild", "chief", "stranger"]) {
          const codes = [await codeOf(jobs.of(id).list()), await codeOf(monitors.of(id).snapshot())];
          if (codes.every((code) => code === NOTHING)) found.push(id);
        }
        return found;
      });
    };
    expect(await reached({})).toEqual(["grandchild"]);
    expect(await reached({ all: ["test/other"], tree: ["app"] })).toEqual(["grandchild"]);
    expect(await reached({ tree: ["test/keeper"] })).toEqual(["grandchild", "chief"]);
    expect(await reached({ all: ["test/keeper"] })).toEqual(["grandchild", "chief", "stranger"]);
  });

  test("J1 J4 an unknown session, a deleted one and an id that is not a text are `session.unknown` in every method", async () => {
    await using world = await family({ store: store(), sessionAccess: { all: ["test/keeper"] } });
    await world.runtime.jobs.of("grandchild").register({ label: "Lost", id: "theirs" });
    await world.runtime.sessions.delete("grandchild");
    const codes = await world.use("chief", async (context) => {
      const found: string[] = [];
      for (const id of ["nobody", "grandchild", "", 7, null, undefined, {}, ["child"]])
        found.push(...(await codesOf(context, id as never)));
      return found;
    });
    expect(new Set(codes)).toEqual(new Set(["session.unknown"]));
    expect(await world.runtime.jobs.list()).toEqual([]);
  });

  test("J1 J2 the id of a job of another session is `job.foreign` in every method that takes one, and the job stays", async () => {
    await using world = await family({ store: store() });
    const theirs = await world.runtime.jobs.of("stranger").register({ label: "x", id: "theirs", signals: { go: {} } });
    await world.runtime.monitors.of("stranger").start({ ...FOREVER, id: "eye" });
    const before = await world.runtime.jobs.list();
    const ID = ["get", "validate", "signal", "transition", "await", "complete", "cancel", "unregister"] as const;
    await world.use("chief", async ({ jobs, monitors }) => {
      for (const own of [jobs, jobs.of("child")])
        for (const method of ID)
          expect([method, await codeOf(JOBS[method](own, theirs.id))]).toEqual([method, "job.foreign"]);
      expect(await codeOf(monitors.stop("eye"))).toBe("monitor.unknown");
      expect(await codeOf(monitors.of("child").stop("eye"))).toBe("monitor.unknown");
      return null;
    });
    expect(await world.runtime.jobs.list()).toEqual(before);
  });

  test("J1 J4 a tool of the app and a running job reach the children of their session, and no others", async () => {
    const found: string[] = [];
    const reach = defineTool({
      name: "reach",
      description: "Reaches.",
      input: z.object({}),
      execute: async (_, { jobs, monitors }) => {
        found.push(await codeOf(jobs.of("child").register({ label: "Of a tool" })));
        found.push(await codeOf(jobs.of("stranger").register({ label: "Never" })));
        found.push(await codeOf(monitors.of("stranger").start(FOREVER)));
        await jobs.spawn({ label: "Job", id: "job" }, async (job) => {
          found.push(await codeOf(job.jobs.of("child").register({ label: "Of a job" })));
          found.push(await codeOf(job.jobs.of("stranger").register({ label: "Never" })));
        });
        return "Done.";
      },
    });
    await using world = await family({ store: store(), model: recited(calls("reach"), says("Done.")), tools: [reach] });
    const session = await world.runtime.session("chief");
    await within(session.turn("Go").result());
    await session.jobs.await(["job"]);
    expect(found).toEqual([NOTHING, "session.foreign", "session.foreign", NOTHING, "session.foreign"]);
    expect((await world.runtime.jobs.of("child").list()).map(({ label }) => label)).toEqual(["Of a tool", "Of a job"]);
    expect(await world.runtime.jobs.of("stranger").list()).toEqual([]);
  });

  test("J2 a cancel ends what each kind of job is: all processes of a monitor, all below a subagent, a task, a function", async () => {
    const path = file();
    writeFileSync(path, "");
    const asked: string[] = [];
    const model = follows({});
    const silent = {
      ...model,
      async *stream(_: never, { signal }: { readonly signal: AbortSignal }) {
        asked.push("asked");
        await aborted(signal);
        signal.throwIfAborted();
        yield* [];
      },
    };
    await using world = await family({ store: store(), model: silent as never, limits: { cancelGraceMs: 200 } });
    const { runtime } = world;
    const chief = runtime.jobs.of("chief");

    const { jobId: monitor } = await runtime.monitors.of("chief").start({
      id: "tree",
      command: `echo $$ >> ${path}; (sleep 60 & echo $! >> ${path}; wait) & sh -c 'echo $$ >> ${path}; sleep 60' & wait`,
      wake: "none",
    });
    await eventually(() => (pidsIn(path).length === 3 ? true : undefined));
    expect(pidsIn(path).filter(lives)).toHaveLength(3);

    for (const id of ["child", "grandchild"]) void (await runtime.session(id)).turn("Work.").result();
    await eventually(() => (asked.length === 2 ? true : undefined));
    const below = await runtime.jobs.of("grandchild").spawn({ label: "Below" }, ({ signal }) => aborted(signal));
    const agent = await chief.register({ label: "Agent", kind: "subagent", childId: "child" });

    const task = await chief.spawn({ label: "T", operation: "test/keeper.work", input: "wait", signals: { go: {} } });
    const stopped = signalOf();
    const work = await chief.spawn({ label: "F" }, async ({ signal }) => {
      await aborted(signal);
      stopped.resolve();
    });

    await world.use("chief", async ({ jobs }) => {
      for (const id of [monitor as string, agent.id, task.id, work.id])
        expect(await jobs.cancel(id, "Enough.")).toMatchObject({
          id,
          state: "cancelled",
          cancel: { reason: "Enough." },
        });
      return null;
    });
    await eventually(() => (pidsIn(path).some(lives) ? undefined : true));
    for (const id of ["child", "grandchild"])
      await eventually(async () => ((await runtime.sessions.get(id)).openTurn === undefined ? true : undefined));
    expect(await runtime.jobs.get(below.id)).toMatchObject({ state: "cancelled" });
    await within(stopped.promise);
    expect(await runtime.jobs.list({ isLive: true })).toEqual([]);
  });
});

test("J1 J4 D2 what a turn began in a child before its process was killed is there once after the rerun", async () => {
  const path = file();
  writeFileSync(path, "");
  const processes = lifetimes();
  let runs = 0;
  const begins = defineTool({
    name: "work",
    description: "Begins work in a child.",
    input: z.object({}),
    retry: "safe",
    execute: async (_, { jobs, monitors }) => {
      const [theirs, watched] = [jobs.of("child"), monitors.of("child")];
      await watched.start({ id: "short", command: `echo ran >> ${path}`, wake: "none" });
      await theirs.register({ label: "Build" });
      await theirs.register({ label: "Batch" });
      await eventually(async () => ((await watched.snapshot()).monitors[0]?.state === "exited" ? true : undefined));
      if (++runs === 1) {
        processes.kill();
        await new Promise(() => {});
      }
      return "Done.";
    },
  });
  const { plugin, inSession } = keeper();
  const options = { model: listener(), tools: [begins], plugins: [plugin()] };
  const first = await processes.next(options);
  await inSession(first.runtime, "chief", ({ sessions }) =>
    sessions.create({ id: "child", kind: "child" }).then(() => null),
  );
  void (await first.runtime.session("chief"))
    .turn("Work.")
    .result()
    .catch(() => {});
  await eventually(() => (runs === 1 ? true : undefined));
  const { runtime } = await processes.next(options);
  await runtime.recover();
  expect(runs).toBe(2);
  const chief = await runtime.session("chief");
  expect(await saidIn(chief)).toEqual(["Work."]);
  expect((await chief.read()).turns).toBe(1);
  const kept = await runtime.jobs.of("child").list();
  expect(kept.map(({ label }) => label).sort()).toEqual(["Batch", "Build", expect.stringContaining("echo ran")]);
  expect(readFileSync(path, "utf8")).toBe("ran\n");
  await runtime.close();
}, 20_000);

test("J1 a `sessionAccess` that is none is refused before anything is opened", async () => {
  for (const [access, code] of [
    ["all", "options.invalid"],
    [null, "options.invalid"],
    [{ all: "test/keeper" }, "options.invalid"],
    [{ tree: [7] }, "options.invalid"],
    [{ any: ["test/keeper"] }, "options.unknown"],
  ] as const)
    expect(await codeOf(running({ sessionAccess: access as never }))).toBe(code);
});
