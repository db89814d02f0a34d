import { definePlugin, type Store } from "bowline";
import { calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { aborted } from "../kit/models.ts";
import { codeOf, eventually, signalOf, unheard, within } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { open, ping, running, runningOn } from "../kit/worlds.ts";

describe.concurrent.each(STORES)("on %s", (_, store) => {
  test("J1 a job with a function runs beside turns, and its record has the result", async () => {
    const free = signalOf();
    await using world = await open(recited(says("Hello.")), { store: store() });
    const { jobs } = world.session;
    const { id } = await jobs.spawn({ label: "Count", about: { of: "pages" } }, async () => {
      await free.promise;
      return { pages: 12 };
    });
    const begun = await jobs.get(id);
    expect(begun).toMatchObject({ state: "running", kind: "task", label: "Count", recovery: "owner-bound", starts: 1 });
    expect(begun.about).toEqual({ of: "pages" });
    expect((await world.session.turn("Hi").result()).outcome).toMatchObject({ kind: "answered" });
    free.resolve();
    const [record] = await jobs.await([id]);
    expect(record).toMatchObject({ state: "completed", result: { pages: 12 } });
    expect(record?.endedAt).toBeGreaterThanOrEqual(record?.createdAt ?? Infinity);
  });

  test("J1 hidden jobs are awaited together; managed ones are not among them", async () => {
    const free = signalOf();
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const done: string[] = [];
    for (const label of ["one", "two"]) await jobs.spawnHidden(label, () => free.promise.then(() => done.push(label)));
    const managed = await jobs.spawn({ label: "managed" }, ({ signal }) => aborted(signal));
    const late = await jobs.awaitHidden({ timeoutMs: 20 });
    expect(late.map(({ label, state }) => [label, state])).toEqual([
      ["one", "running"],
      ["two", "running"],
    ]);
    free.resolve();
    const records = await jobs.awaitHidden();
    expect(records.map(({ state }) => state)).toEqual(["completed", "completed"]);
    expect(done).toEqual(["one", "two"]);
    expect(await jobs.awaitHidden()).toEqual([]);
    expect((await jobs.list({ isLive: true })).map(({ label }) => label)).toEqual(["managed"]);
    await jobs.cancel(managed.id);
  });

  test("J2 a cancelled job receives the cancel, and a job that ignores it ends after a grace", async () => {
    await using world = await open(recited(), { store: store(), limits: { cancelGraceMs: 30 } });
    const { jobs } = world.session;
    const heeds = await jobs.spawn({ label: "heeds" }, ({ signal }) => aborted(signal));
    const returns = await jobs.spawn({ label: "returns" }, async ({ signal }) => {
      await aborted(signal);
      return "what there was";
    });
    const deaf = await jobs.spawn({ label: "deaf" }, () => new Promise(() => {}));
    expect(await jobs.cancel(heeds.id, "Enough.")).toMatchObject({ state: "cancelled", cancel: { reason: "Enough." } });
    expect(await jobs.cancel(returns.id)).toMatchObject({ state: "cancelled", result: "what there was" });
    expect(await within(jobs.cancel(deaf.id))).toMatchObject({ state: "cancelled" });
    expect(await jobs.cancel(deaf.id)).toMatchObject({ state: "cancelled" }); // It stays as it is.
  });

  test("J2 what a job throws is its error, whatever it throws", async () => {
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const traps = new Proxy(
      {},
      {
        get: () => {
          throw new Error("get");
        },
        getPrototypeOf: () => {
          throw new Error("prototype");
        },
      },
    );
    const thrown: unknown[] = [new Error("No luck."), "words", undefined, null, traps, Symbol("s")];
    const escaped = await unheard(async () => {
      for (const each of thrown) {
        const { id } = await jobs.spawn({ label: "throws" }, () => {
          throw each;
        });
        expect((await jobs.await([id]))[0]).toMatchObject({ state: "failed", error: { code: "job.failed" } });
      }
      for (const bad of [
        () => 1n,
        () => () => {},
        () => ({ a: undefined, b: Symbol("x") }),
        () => "x".repeat(9_000_000),
      ]) {
        const { id } = await jobs.spawn({ label: "returns" }, bad);
        expect((await jobs.await([id]))[0]).toMatchObject({ state: "failed", error: { code: "job.failed" } });
      }
    });
    expect(escaped).toEqual([]);
  });

  test("J2 a job is idle when it declares it, which awaiting counts as done, and works again", async () => {
    const [more, end] = [signalOf(), signalOf()];
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const { id } = await jobs.spawn({ label: "Agent" }, async ({ transition }) => {
      await transition("idle");
      await more.promise;
      await transition("running");
      await end.promise;
    });
    expect((await jobs.await([id]))[0]?.state).toBe("idle");
    more.resolve();
    await eventually(async () => ((await jobs.get(id)).state === "running" ? true : undefined));
    end.resolve();
    expect((await jobs.await([id]))[0]?.state).toBe("completed");
  });

  test("J5 signals are received in the order in which they were sent, also before anybody asks for them", async () => {
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const signals = { page: { type: "number" }, stop: {} } as const;
    const asked = signalOf();
    const { id } = await jobs.spawn({ label: "Reads", signals }, async ({ receive }) => {
      await asked.promise;
      const pages = [await receive("page"), await receive("page"), await receive("page")];
      await receive("stop");
      return pages;
    });
    await jobs.signal(id, "page", 1, { key: "a" });
    await jobs.signal(id, "page", 1, { key: "a" });
    await jobs.signal(id, "page", 2);
    asked.resolve();
    await jobs.signal(id, "page", 3);
    expect(await codeOf(jobs.signal(id, "page", "three"))).toBe("job.signal");
    expect(await codeOf(jobs.signal(id, "nobody"))).toBe("job.signal");
    await jobs.signal(id, "stop");
    expect((await jobs.await([id]))[0]).toMatchObject({ state: "completed", result: [1, 2, 3] });
    expect(await codeOf(jobs.signal(id, "stop"))).toBe("job.over");
  });

  test("J1 work that is done elsewhere is registered, and its end is reported", async () => {
    const cancelled: string[] = [];
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const far = await jobs.register({ label: "Build 7", about: { url: "ci/7" } });
    await jobs.transition(far.id, "idle");
    expect(await jobs.get(far.id)).toMatchObject({ state: "idle", kind: "external", recovery: "external" });
    await jobs.transition(far.id, "running");
    await jobs.complete(far.id, { state: "failed", error: { code: "build.red", message: "3 tests failed." } });
    expect(await jobs.get(far.id)).toMatchObject({ state: "failed", error: { code: "build.red" } });
    await jobs.complete(far.id, "completed");
    expect((await jobs.get(far.id)).state).toBe("failed");
    const near = await jobs.register({ label: "Here", kind: "monitor" }, (reason) => void cancelled.push(reason));
    expect(await jobs.cancel(near.id, "Stop it.")).toMatchObject({ state: "cancelled", kind: "monitor" });
    expect(cancelled).toEqual(["Stop it."]);
    await jobs.unregister(near.id);
    expect(await codeOf(jobs.get(near.id))).toBe("job.unknown");
    expect((await jobs.list()).map(({ id }) => id)).toEqual([far.id]);
    await jobs.unregister(near.id); // It is forgotten already: a rerun repeats the call.
    expect(await codeOf(jobs.complete(far.id, "done" as never))).toBe("job.invalid");
    expect(await codeOf(jobs.transition(far.id, "asleep" as never))).toBe("job.invalid");
    for (const id of [7 as never, undefined as never]) expect(await codeOf(jobs.unregister(id))).toBe("job.unknown");
    for (const id of ["nobody", 7 as never, undefined as never]) {
      expect(await codeOf(jobs.complete(id, "completed"))).toBe("job.unknown");
      expect(await codeOf(jobs.transition(id, "idle"))).toBe("job.unknown");
    }
    const bound = await jobs.spawn({ label: "Works" }, ({ signal }) => aborted(signal));
    expect(await codeOf(jobs.complete(bound.id, "completed"))).toBe("job.bound");
    expect(await jobs.get(bound.id)).toMatchObject({ state: "running" });
  });

  test("J3 handles are validated, handed over and cancelled but for those that are kept", async () => {
    await using runtime = await running({ store: store(), limits: { cancelGraceMs: 10 } });
    const [one, two] = [await runtime.session("one"), await runtime.session("two")];
    const forever = ({ signal }: { readonly signal: AbortSignal }) => aborted(signal);
    const ids: string[] = [];
    for (const label of ["a", "b", "c", "d"]) ids.push((await one.jobs.spawn({ label }, forever)).id);
    const [a, b, c, d] = ids as [string, string, string, string];
    const hidden = await one.jobs.spawnHidden("hidden", forever);
    await one.jobs.validate(ids);
    expect(await codeOf(one.jobs.validate([a, "nobody"]))).toBe("job.unknown");
    expect(await codeOf(two.jobs.validate([a]))).toBe("job.foreign");
    await one.jobs.cancel(d);
    expect(await codeOf(one.jobs.validate([d]))).toBe("job.over");

    await one.jobs.transfer("one", "two", [a, b]);
    await two.jobs.validate([a, b]);
    expect(await codeOf(one.jobs.get(a))).toBe("job.foreign");
    expect(await codeOf(one.jobs.transfer("one", "two", [c, d]))).toBe("job.over");
    expect(await codeOf(one.jobs.transfer("one", "two", [c, "nobody"]))).toBe("job.unknown");
    expect(await codeOf(two.jobs.transfer("two", "nowhere", [a]))).toBe("session.unknown");
    await runtime.session("gone");
    await runtime.sessions.delete("gone");
    expect(["session.deleted", "session.unknown"]).toContain(await codeOf(two.jobs.transfer("two", "gone", [a])));
    expect(await codeOf(runtime.jobs.of("one").transfer("x", "y", [c]))).toBe("job.foreign");
    await one.jobs.validate([c]); // Nothing of what was refused was handed over.

    const left = await two.jobs.cancelUnreferenced([b]);
    expect(left.map(({ id, state }) => [id, state])).toEqual([[a, "cancelled"]]);
    expect((await two.jobs.get(b)).state).toBe("running");
    expect((await one.jobs.cancelUnreferenced([c])).map(({ id }) => id)).toEqual([]);
    expect((await one.jobs.get(hidden.id)).state).toBe("running"); // Hidden ones are nobody's handles.
  });

  test("J3 a running job that is handed over works for the session that has it now", async () => {
    const moved = signalOf();
    await using runtime = await running({ store: store() });
    const [one, two] = [await runtime.session("one"), await runtime.session("two")];
    const job = await one.jobs.spawn({ label: "Note" }, async (context) => {
      await moved.promise;
      await eventually(() => (context.session.read().id === "two" ? true : undefined));
      await context.graph.append([{ kind: "message", role: "user", text: "Noted." }]);
      return context.sessionId;
    });
    await one.jobs.transfer("one", "two", [job.id]);
    moved.resolve();
    expect((await two.jobs.await([job.id]))[0]).toMatchObject({ state: "completed", result: "two" });
    expect((await two.read()).messages).toHaveLength(1);
    expect((await one.read()).messages).toHaveLength(0);
  });

  test("J2 cancelAll follows the order of the list, skips ended jobs, and its error carries the cancelled records", async () => {
    const kept = store();
    let fails = "";
    const jobs = new Proxy(kept.jobs, {
      get: (target, key) =>
        key !== "send"
          ? Reflect.get(target, key)
          : (id: string, ...rest: never[]) => {
              if (id === fails) throw new Error("The disk is on fire.");
              return (target.send as (...given: unknown[]) => unknown)(id, ...rest);
            },
    });
    const broken = new Proxy(kept, {
      get: (target, key) => {
        const found: unknown = key === "jobs" ? jobs : Reflect.get(target, key);
        return typeof found === "function" ? found.bind(target) : found;
      },
    }) as Store;
    await using runtime = await running({ store: broken, limits: { cancelGraceMs: 10 } });
    const session = await runtime.session("s");
    const ids: string[] = [];
    for (const label of ["a", "b", "c", "d"])
      ids.push((await session.jobs.spawn({ label }, ({ signal }) => aborted(signal))).id);
    await session.jobs.cancel(ids[1] as string);
    fails = ids[3] as string;
    const error = await session.jobs.cancelAll({}, "All of it.").catch((thrown) => thrown as { cancelled: unknown[] });
    expect(error).toMatchObject({ message: "The disk is on fire.", cancelled: [{ label: "a" }, { label: "c" }] });
    fails = "";
    expect((await session.jobs.cancelAll()).map(({ label }) => label)).toEqual(["d"]);
    expect(await session.jobs.cancelAll()).toEqual([]);
  });

  test("J2 jobs are awaited any or all, for a time, and until a signal aborts", async () => {
    const [first, second] = [signalOf(), signalOf()];
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const a = await jobs.spawn({ label: "a" }, () => first.promise);
    const b = await jobs.spawn({ label: "b" }, () => second.promise);
    const any = jobs.await([a.id, b.id], { need: "any" });
    const all = jobs.await([a.id, b.id]);
    first.resolve();
    expect((await any).map(({ state }) => state)).toEqual(["completed", "running"]);
    expect((await jobs.await([b.id], { timeoutMs: 10 })).map(({ state }) => state)).toEqual(["running"]);
    expect(await codeOf(jobs.await([b.id, "nobody"]))).toBe("job.unknown");
    const stop = new AbortController();
    const stopped = jobs.await([b.id], { signal: stop.signal });
    stop.abort(new Error("Never mind."));
    await expect(stopped).rejects.toThrow("Never mind.");
    second.resolve();
    expect((await all).map(({ state }) => state)).toEqual(["completed", "completed"]);
    expect(await jobs.await([])).toEqual([]);
  });

  test("J5 the feed returns each changed job once, in its current state, after a cursor", async () => {
    const free = signalOf();
    await using runtime = await running({ store: store() });
    const session = await runtime.session("s");
    expect(await runtime.jobs.changes()).toEqual({ jobs: [] });
    const a = await session.jobs.spawn({ label: "a" }, () => free.promise);
    await session.jobs.register({ label: "b" });
    const first = await session.jobs.changes();
    expect(first.jobs.map(({ label, state }) => [label, state])).toEqual([
      ["a", "running"],
      ["b", "running"],
    ]);
    expect(await session.jobs.changes(first.cursor)).toEqual({ jobs: [], cursor: first.cursor });
    free.resolve();
    await session.jobs.await([a.id]);
    const second = await runtime.jobs.changes(first.cursor);
    expect(second.jobs.map(({ label, state }) => [label, state])).toEqual([["a", "completed"]]);
    expect(await codeOf(runtime.jobs.changes("nonsense"))).toBe("cursor.unknown");
  });

  test("J2 the jobs of a deleted session are gone, and their work is stopped", async () => {
    const stopped = signalOf();
    await using runtime = await running({ store: store() });
    const session = await runtime.session("s");
    const { id } = await session.jobs.spawn({ label: "a" }, ({ signal }) => aborted(signal).then(stopped.resolve));
    await runtime.sessions.delete("s");
    await within(stopped.promise);
    expect(await codeOf(runtime.jobs.get(id))).toBe("job.unknown");
    expect(await codeOf(runtime.jobs.of("s").list())).toBe("session.unknown");
    expect(await codeOf(runtime.jobs.of("s").spawn({ label: "b" }, () => 1))).toBe("session.unknown");
  });
});

test.concurrent("J1 a function that its process could not end is abandoned, once, and its session is notified", async () => {
  const path = file();
  const first = await runningOn(path, { model: recited(says("What a pity.")), limits: { cancelGraceMs: 10 } });
  const session = await first.session("s");
  const { id } = await session.jobs.spawn({ label: "Long", wake: "wake" }, () => new Promise(() => {}));
  const closing = first.close({ graceMs: 10 });
  await using second = await runningOn(path, { model: recited(says("What a pity.")) });
  await closing;
  const record = await second.jobs.await(id);
  expect(record).toMatchObject({ state: "abandoned", error: { code: "job.abandoned" }, starts: 1 });
  const again = await second.session("s");
  await eventually(async () => ((await again.read()).turns === 1 ? true : undefined), 5_000);
}, 20_000);

test.concurrent("J1 what a hook begins in a turn begins with its answer; a tool that fails begins nothing", async () => {
  const begun: string[] = [];
  const plugin = definePlugin({
    id: "test/begins",
    setup: () => ({
      beforeTurn: async ({ jobs }) => void (await jobs.spawnHidden("before", () => void begun.push("before"))),
      afterToolCall: async ({ jobs, call }) =>
        void (await jobs.spawn({ label: `after ${call.name}` }, () => void begun.push("after"))),
      checkpoint: async ({ jobs, at }) => void (await jobs.spawn({ label: at }, () => void begun.push(at))),
      afterTurn: async ({ jobs }) => void (await jobs.spawn({ label: "end" }, () => void begun.push("end"))),
      lifecycle: async ({ jobs, event }) => {
        if (event.kind === "turnFinalized" || event.kind === "turnPersisted")
          await jobs.spawn({ label: event.kind }, () => void begun.push(event.kind));
      },
    }),
  });
  await using world = await open(recited(calls("ping"), says("Done.")), { plugins: [plugin], tools: [ping] });
  await world.session.turn("Go").result();
  const records = await world.session.jobs.list();
  await world.session.jobs.await(records.map(({ id }) => id));
  const expected = ["before", "after ping", "after-work", "before-completion", "end", "turnFinalized", "turnPersisted"];
  expect(records.map(({ label }) => label)).toEqual(expected);
  expect([...begun].sort()).toEqual(
    ["after", "after-work", "before", "before-completion", "end", "turnFinalized", "turnPersisted"].sort(),
  );
  const { turnId } = await world.session.turn("Again").result();
  const [parent] = (await world.session.jobs.list()).slice(7);
  expect(parent?.parent).toEqual({ turnId });
});

test.concurrent("J2 a function that two processes begin under one id runs in one of them", async () => {
  const path = file();
  const ran: string[] = [];
  const worlds = await Promise.all(["a", "b"].map(() => runningOn(path, {})));
  await Promise.all(
    worlds.map(async (runtime, nth) => {
      const { jobs } = await runtime.session("s");
      await jobs.spawn({ id: "one", label: "One" }, () => void ran.push(String(nth)));
      await jobs.await(["one"]);
    }),
  );
  for (const runtime of worlds) await runtime.close();
  expect(ran).toHaveLength(1);
});

test.concurrent("J1 a function that heeds the close of its process is abandoned, and did not fail", async () => {
  const path = file();
  const first = await runningOn(path, {});
  const { jobs } = await first.session("s");
  const heeds = await jobs.spawn({ label: "heeds" }, async ({ signal }) => {
    await aborted(signal);
    signal.throwIfAborted();
  });
  const returns = await jobs.spawn({ label: "returns" }, ({ signal }) => aborted(signal).then(() => "in time"));
  await first.close();
  await using second = await runningOn(path, {});
  expect(await second.jobs.get(heeds.id)).toMatchObject({ state: "abandoned", error: { code: "job.abandoned" } });
  expect(await second.jobs.get(returns.id)).toMatchObject({ state: "completed", result: "in time" });
});
