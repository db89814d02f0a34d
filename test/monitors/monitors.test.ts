import { readFileSync, writeFileSync } from "node:fs";
import { definePlugin, defineTool, RuntimeError, type Session } from "bowline";
import type { MonitorStatus } from "bowline/plugin";
import { both, calls, recited, says, simulatedWorld } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually as comes, saidIn, signalOf } from "../kit/reading.ts";
import { file, over, STORES } from "../kit/stores.ts";
import { open, runningOn } from "../kit/worlds.ts";

const eventually: typeof comes = (look, ms = 8_000) => comes(look, ms);

const ENDED = ["stopped", "exited", "failed", "abandoned"];
const statusOf = async (session: Session, id: string): Promise<MonitorStatus | undefined> =>
  (await session.monitors.snapshot()).monitors.find((each) => each.id === id);
const ended = (session: Session, id: string): Promise<MonitorStatus> =>
  eventually(async () => {
    const status = await statusOf(session, id);
    return status !== undefined && ENDED.includes(status.state) ? status : undefined;
  });
const prints = (session: Session, id: string, lines: number): Promise<MonitorStatus> =>
  eventually(async () => {
    const status = await statusOf(session, id);
    return (status?.lines ?? 0) >= lines ? status : undefined;
  });
/** Whether a process runs. */
const lives = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
};
const gone = (pid: number): Promise<true> => eventually(() => (lives(pid) ? undefined : true));
const pidsIn = (path: string): readonly number[] =>
  readFileSync(path, "utf8").trim().split("\n").filter(Boolean).map(Number);
/** Prints its lines, each when the file with its number is there. */
const onDemand = (path: string, lines: readonly string[]): string =>
  lines.map((line, at) => `while [ ! -e ${path}.${at} ]; do sleep 0.01; done; echo '${line}'`).join("; ");
const demand = (path: string, at: number): void => writeFileSync(`${path}.${at}`, "");

describe.concurrent.each(STORES)("on %s", (_, store) => {
  test("J4 a command is watched line by line, and its end is reported with its exit", async () => {
    await using world = await open(listener(), { store: store() });
    const { monitors } = world.session;
    const begun = await monitors.start({
      id: "count",
      command: "echo one; echo; printf 'two\\r\\n'; echo oops >&2; printf three; exit 3",
      wake: "none",
    });
    expect(begun).toMatchObject({ id: "count", state: "running", wake: "none", isPersistent: false });
    const status = await ended(world.session, "count");
    expect(status).toMatchObject({ state: "failed", exitCode: 3, lines: 4, error: { code: "monitor.failed" } });
    const updates = await monitors.takeUpdates();
    expect(updates.filter(({ channel }) => channel === "out").map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(updates.filter(({ channel }) => channel === "err").map(({ text }) => text)).toEqual(["oops"]);
    expect(updates.at(-1)).toMatchObject({ monitor: "count", n: 5, channel: "note" });
    expect(updates.at(-1)?.text).toContain("exit code 3");
    expect(await monitors.takeUpdates()).toEqual([]);
    expect(await saidIn(world.session)).toEqual([]);
  });

  test("J4 a snapshot has its revision, the number of running monitors, and all by id; an exit of 0 is not a failure", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    const { monitors } = session;
    expect(await monitors.snapshot()).toMatchObject({ active: 0, monitors: [] });
    await monitors.start({ id: "b", command: "sleep 60", wake: "none", label: "Sleeps" });
    await monitors.start({ id: "a", command: "true", wake: "none" });
    expect(await ended(session, "a")).toMatchObject({ state: "exited", exitCode: 0, lines: 0 });
    const first = await monitors.snapshot();
    expect(first).toMatchObject({ active: 1, monitors: [{ id: "a" }, { id: "b", label: "Sleeps" }] });
    expect((await monitors.snapshot()).revision).toBe(first.revision);
    expect(await monitors.stop("b", "Enough.")).toMatchObject({ state: "stopped" });
    const second = await monitors.snapshot();
    expect(second.active).toBe(0);
    expect(second.revision).not.toBe(first.revision);
    expect(await monitors.stop("b")).toMatchObject({ state: "stopped" });
  });

  test("J4 a line wakes one turn until its commit; lines that come meanwhile are reported together then", async () => {
    const path = file();
    const free = signalOf();
    let asked = 0;
    const model = listener(async () => {
      if (++asked === 1) await free.promise;
    });
    await using world = await open(model, { store: store() });
    const { session } = world;
    const command = `${onDemand(path, ["a", "b", "c"])}; while [ ! -e ${path}.3 ]; do sleep 0.01; done`;
    await session.monitors.start({ id: "log", command, wake: "wake" });
    demand(path, 0);
    await eventually(() => asked === 1 || undefined);
    demand(path, 1);
    demand(path, 2);
    await prints(session, "log", 3);
    expect(asked).toBe(1); // The turn that was woken is not committed.
    free.resolve();
    await eventually(() => asked === 2 || undefined);
    expect(model.told.map(([words]) => words?.split("\n").slice(1))).toEqual([["a"], ["b", "c"]]);
    expect(model.told[0]?.[0]).toContain("(log) has printed:");
    demand(path, 3);
    await eventually(() => asked === 3 || undefined);
    expect(model.told[2]?.[0]).toContain("is over. The command has ended.");
  });

  test("J4 taking the lines acknowledges a wake; what was taken is not told again", async () => {
    const path = file();
    const free = signalOf();
    const model = listener(() => free.promise);
    await using world = await open(model, { store: store() });
    const { session } = world;
    await session.monitors.start({ id: "log", command: `${onDemand(path, ["a", "b", "c"])}; sleep 60`, wake: "wake" });
    demand(path, 0);
    await eventually(() => model.told.length === 1 || undefined);
    demand(path, 1);
    await prints(session, "log", 2);
    expect((await session.monitors.takeUpdates()).map(({ text }) => text)).toEqual(["a", "b"]);
    demand(path, 2);
    await eventually(async () => ((await session.inputs.list()).length > 0 ? true : undefined)); // A turn of its own waits.
    free.resolve();
    await eventually(() => model.told.length === 2 || undefined);
    expect(model.told[1]?.[0]).toMatch(/has printed:\nc$/);
  });

  test("J4 taking lines many times while no turn runs leaves one notice behind, not a hundred", async () => {
    await using world = await open(listener(), { store: store() });
    const { session, runtime } = world;
    const command = "for i in $(seq 1 20); do echo $i; sleep 0.01; done; sleep 60";
    await session.monitors.start({ id: "noisy", command });
    const taken: string[] = [];
    const all = async () => {
      taken.push(...(await runtime.monitors.of(session.id).takeUpdates()).map(({ text }) => text));
      return taken.length === 20 ? true : undefined;
    };
    await eventually(all);
    expect(await session.inputs.list()).toHaveLength(1);
  });

  test("J4 a command that is soon over opens one turn, with its lines and its end", async () => {
    const model = listener();
    // Time stands still: on a busy machine the command may take longer than lines wait for others.
    await using world = await open(model, { store: store(), world: simulatedWorld() });
    await world.session.monitors.start({ id: "short", command: "echo one; echo two", wake: "wake" });
    await eventually(() => (model.told.length > 0 ? true : undefined));
    expect(model.told[0]?.[0]).toMatch(/\(short\) is over\. The command has ended\.\nIts last lines:\none\ntwo$/);
    expect(await world.session.inputs.list()).toEqual([]);
  });

  test("J4 output on the standard error opens no turn, and `notify` opens none: the next turn receives it", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    await session.monitors.start({ id: "errors", command: "echo bad >&2; sleep 60", wake: "wake" });
    await session.monitors.start({ id: "quiet", command: "echo good; sleep 60" });
    const waiting = async () => ((await session.inputs.list()).length === 2 ? true : undefined);
    await eventually(waiting);
    expect((await session.read()).turns).toBe(0);
    await session.turn("Hello.").result();
    const said = (await saidIn(session)).join("\n");
    expect(said).toContain("(error output) bad");
    expect(said).toContain("has printed:\ngood");
    expect((await session.read()).turns).toBe(1);
  });

  test("J4 a command ends after its timeout, and has failed; default 5 minutes, an hour at most", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    await session.monitors.start({ id: "slow", command: "echo begun; sleep 60", timeoutMs: 300, wake: "none" });
    const status = await ended(session, "slow");
    expect(status).toMatchObject({ state: "failed", error: { code: "monitor.timeout" }, lines: 1 });
    const { input } = await session.jobs.get(
      (await session.monitors.start({ id: "plain", command: "sleep 60" })).jobId ?? "",
    );
    expect(input).toMatchObject({ timeoutMs: 300_000, isPersistent: false, wake: "notify", restarts: false });
    expect(await codeOf(session.monitors.start({ command: "true", timeoutMs: 3_600_001 }))).toBe("monitor.invalid");
  });

  test("J4 the newest 128 lines are kept, and a flood is one wake", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    await session.monitors.start({ id: "flood", command: "seq 1 5000", wake: "notify" });
    expect(await ended(session, "flood")).toMatchObject({ lines: 5000, lastLine: "5000" });
    const updates = await session.monitors.takeUpdates();
    expect(updates).toHaveLength(128);
    expect(updates.slice(-2).map(({ text }) => text)).toEqual(["5000", "The command has ended."]);
    expect((await session.inputs.list()).length).toBeLessThanOrEqual(2);
  });

  test("J4 the whole group ends: TERM, then KILL for what ignores it, with children that outlive their parent", async () => {
    const path = file();
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    const deaf = `trap '' TERM; echo $$ >> ${path}; (trap '' TERM; sh -c 'echo $$ >> ${path}; while :; do sleep 1; done') & echo ready; while :; do sleep 1; done`;
    await session.monitors.start({ id: "deaf", command: deaf, wake: "none" });
    await prints(session, "deaf", 1);
    await eventually(() => (pidsIn(path).length === 2 ? true : undefined));
    expect(await session.monitors.stop("deaf")).toMatchObject({ state: "stopped" });
    for (const pid of pidsIn(path)) await gone(pid);

    const orphans = file();
    const leaves = `sh -c 'echo $$ > ${orphans}; sleep 60; :' & while [ ! -s ${orphans} ]; do sleep 0.01; done; echo left`;
    await session.monitors.start({ id: "leaves", command: leaves, wake: "none" });
    expect(await ended(session, "leaves")).toMatchObject({ state: "exited", exitCode: 0, lastLine: "left" });
    for (const pid of pidsIn(orphans)) await gone(pid);
  });

  test.runIf(process.platform === "linux")(
    "J4 what has left the group, or has another environment, ends with the command too",
    async () => {
      const path = file();
      await using world = await open(listener(), { store: store() });
      const { session } = world;
      const inner = `sh -c 'echo $$ >> ${path}; exec sleep 60'`;
      const command = `timeout 60 ${inner} & env -i PATH="$PATH" ${inner} & echo up; exec sleep 60`;
      await session.monitors.start({ id: "strays", command, wake: "none" });
      await eventually(() => {
        try {
          return pidsIn(path).length === 2 ? true : undefined;
        } catch {
          return undefined;
        }
      });
      await session.monitors.stop("strays");
      for (const pid of pidsIn(path)) await gone(pid);
    },
  );

  test("J4 J3 a monitor that is handed over keeps its name, which must be free there, and is free here then", async () => {
    await using world = await open(listener(), { store: store() });
    const { session, runtime } = world;
    const other = await runtime.session("other");
    const watch = { id: "log", command: "sleep 60", wake: "none" } as const;
    const first = await session.monitors.start(watch);
    await other.monitors.start(watch);
    expect(await codeOf(session.jobs.transfer(session.id, "other", [first.jobId ?? ""]))).toBe("monitor.conflict");
    await other.monitors.stop("log");
    await session.jobs.transfer(session.id, "other", [first.jobId ?? ""]);
    const second = await session.monitors.start(watch);
    expect(second.jobId).not.toBe(first.jobId);
    await eventually(async () => ((await session.monitors.snapshot()).active === 1 ? true : undefined));
    expect((await other.monitors.stop("log")).jobId).toBe(first.jobId);
  });

  test("J4 one that is started while it is being stopped is started again", async () => {
    await using world = await open(listener(), { store: store() });
    const { monitors } = world.session;
    const watch = { id: "log", command: "trap '' TERM; while :; do sleep 1; done", wake: "none" } as const;
    const first = await monitors.start(watch);
    const stopping = monitors.stop("log");
    await eventually(async () => (await world.session.jobs.get(first.jobId ?? "")).cancel && true);
    const second = await monitors.start(watch);
    expect(second).toMatchObject({ state: "running" });
    expect(second.jobId).not.toBe(first.jobId);
    expect((await stopping).state).toBe("stopped");
  });

  test("J4 a fault of the store at the last write does not change how a command ended", async () => {
    let faults = 0;
    const real = store();
    const failing = over(real, {
      jobs: {
        ...real.jobs,
        append: (...given) => {
          if (given[1].some(({ event }) => event.kind === "ended") && faults++ === 0)
            throw new RuntimeError("store.locked", { path: "agent.db", ms: 5 });
          return real.jobs.append(...given);
        },
      },
    });
    await using world = await open(listener(), { store: failing });
    await world.session.monitors.start({ id: "log", command: "echo done", wake: "none", restarts: true });
    expect(await ended(world.session, "log")).toMatchObject({ state: "exited", exitCode: 0, starts: 1, lines: 1 });
    expect(faults).toBe(2);
    const updates = await world.session.monitors.takeUpdates();
    expect(updates.map(({ text }) => text)).toEqual(["done", "The command has ended."]);
  });

  test("J4 a command that does not exist, a directory that is not there, and lines without end are bounded and told", async () => {
    await using world = await open(listener(), { store: store() });
    const { session } = world;
    const { monitors } = session;
    await monitors.start({ id: "none", command: "no-such-command-at-all", wake: "none" });
    expect(await ended(session, "none")).toMatchObject({ state: "failed", exitCode: 127 });
    await monitors.start({ id: "nowhere", command: "true", cwd: "/no/such/place", wake: "none" });
    expect((await ended(session, "nowhere")).error?.message).toContain("/no/such/place");
    await monitors.start({
      id: "endless",
      command: "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after",
      wake: "none",
    });
    const status = await eventually(async () => {
      const found = await statusOf(session, "endless");
      return found?.state === "exited" ? found : undefined;
    }, 20_000);
    expect(status).toMatchObject({ lines: 2, lastLine: "after" });
    const [line] = (await monitors.takeUpdates()).filter(({ monitor }) => monitor === "endless");
    expect(line?.text).toHaveLength(4_000 + " … (cut)".length);
  });

  test("J4 an id names one monitor: the same call again returns it, another command is refused, and it can be started again", async () => {
    await using world = await open(listener(), { store: store() });
    const { monitors } = world.session;
    const spec = { id: "one", command: "sleep 60", wake: "none" } as const;
    const [first, second] = await Promise.all([monitors.start(spec), monitors.start(spec)]);
    expect(second.jobId).toBe(first.jobId);
    expect(await codeOf(monitors.start({ ...spec, command: "sleep 61" }))).toBe("monitor.conflict");
    await monitors.stop("one");
    const again = await monitors.start("one");
    expect(again).toMatchObject({ id: "one", state: "running" });
    expect(again.jobId).not.toBe(first.jobId);
    expect((await monitors.snapshot()).monitors).toHaveLength(1);
    expect((await world.session.jobs.list({ kind: "monitor" })).map(({ id }) => id)).toEqual([again.jobId]);
  });

  test("J4 reading starts what plugins have armed, once; a query only looks", async () => {
    const watching = definePlugin({
      id: "acme/watch",
      setup: ({ query, command }) => ({
        monitors: [
          { id: "armed", command: "sleep 60", wake: "none" },
          { id: "manual", command: "sleep 60", wake: "none", isArmed: false },
        ],
        operations: {
          look: query({ run: async ({ monitors }) => (await monitors.snapshot()).monitors.map(({ state }) => state) }),
          read: command({
            run: async ({ monitors }) => (await monitors.snapshot()).monitors.map(({ state }) => state),
          }),
        },
      }),
    });
    await using world = await open(listener(), { store: store(), plugins: [watching] });
    const { session } = world;
    expect(await session.query(watching, "look")).toEqual(["idle", "idle"]);
    await session.command(watching, "read");
    await eventually(async () => ((await session.monitors.snapshot()).active === 1 ? true : undefined));
    const states = (await session.monitors.snapshot()).monitors.map(({ id, state }) => [id, state]);
    expect(states).toEqual([
      ["acme/watch/armed", "running"],
      ["acme/watch/manual", "idle"],
    ]);
    expect(await session.monitors.start("acme/watch/manual")).toMatchObject({ state: "running" });
    expect(await session.monitors.stop("acme/watch/armed")).toMatchObject({ state: "stopped" });
    expect((await session.monitors.snapshot()).active).toBe(1); // What was stopped is not armed any more.
    expect(await codeOf(session.monitors.start("acme/watch/none"))).toBe("monitor.unknown");
    expect(await codeOf(session.monitors.start({ id: "acme/watch/armed", command: "true" }))).toBe("monitor.conflict");
  });

  test("J4 K18 in a turn a monitor begins with the answer of its tool, and not at all when that fails", async () => {
    const path = file();
    const seen: unknown[] = [];
    const watch = defineTool({
      name: "watch",
      description: "Watches.",
      input: z.object({ id: z.string(), fails: z.boolean() }),
      execute: async ({ id, fails }, { monitors, jobs }) => {
        const status = await monitors.start({ id, command: `echo ${id} >> ${path}; echo seen`, wake: "none" });
        seen.push(status.state, await codeOf(monitors.stop(id)), await codeOf(jobs.get(status.jobId ?? "")));
        seen.push((await monitors.snapshot()).monitors.find((each) => each.id === id)?.state);
        if (fails) throw new Error("No.");
        return "It has begun.";
      },
    });
    const model = recited(
      calls("watch", { id: "kept", fails: false }, "1"),
      calls("watch", { id: "lost", fails: true }, "2"),
      says("Done."),
    );
    await using world = await open(model, { store: store(), tools: [watch] });
    const { session } = world;
    await session.turn("Watch.").result();
    const once = ["starting", "job.unstarted", "job.unstarted", "starting"];
    expect(seen).toEqual([...once, ...once]);
    expect(await ended(session, "kept")).toMatchObject({ state: "exited", lastLine: "seen" });
    expect((await session.monitors.snapshot()).monitors.map(({ id }) => id)).toEqual(["kept"]);
    expect(readFileSync(path, "utf8")).toBe("kept\n");
  });

  test("J4 of two calls of one reply that start one id with two commands, one starts it and the other gets an error", async () => {
    const watch = defineTool({
      name: "watch",
      description: "Watches.",
      input: z.object({ command: z.string() }),
      execute: async ({ command }, { monitors }) =>
        monitors.start({ id: "one", command, wake: "none" }).then(
          ({ state }) => state,
          (error: { readonly code: string }) => error.code,
        ),
    });
    const model = recited(
      both(calls("watch", { command: "sleep 60" }, "1"), calls("watch", { command: "sleep 61" }, "2")),
      says("Done."),
    );
    await using world = await open(model, { store: store(), tools: [watch] });
    await world.session.turn("Watch.").result();
    const { messages } = await world.session.read();
    const answers = JSON.stringify(messages);
    expect([answers.includes("starting"), answers.includes("monitor.conflict")]).toEqual([true, true]);
    await eventually(async () => ((await world.session.monitors.snapshot()).active === 1 ? true : undefined));
  });

  test("J4 cancelling its job stops a monitor, and deleting its session ends the command", async () => {
    const path = file();
    await using world = await open(listener(), { store: store() });
    const { session, runtime } = world;
    const watch = (id: string) =>
      session.monitors.start({ id, command: `echo $$ >> ${path}; echo up; exec sleep 60`, wake: "none" });
    const { jobId } = await watch("cancelled");
    await prints(session, "cancelled", 1);
    expect(await session.jobs.cancel(jobId ?? "")).toMatchObject({ state: "cancelled", kind: "monitor" });
    await watch("deleted");
    await prints(session, "deleted", 1);
    const other = await runtime.session("other");
    await other.close();
    await runtime.sessions.delete(session.id);
    for (const pid of pidsIn(path)) await gone(pid);
    expect(pidsIn(path)).toHaveLength(2);
  });
});

test.each([
  ["no command", {}],
  ["an empty one", { command: "  " }],
  ["a NUL in it", { command: "echo \0" }],
  ["an unknown wake", { command: "true", wake: "shout" }],
  ["no time", { command: "true", timeoutMs: 0 }],
  ["an environment of numbers", { command: "true", env: { A: 1 } }],
  ["an id that is not a text", { command: "true", id: 7 }],
  ["a persistence that is not a boolean", { command: "true", isPersistent: "yes" }],
])("J4 a monitor with %s is refused, and nothing starts", async (_, spec) => {
  await using world = await open(listener());
  expect(await codeOf(world.session.monitors.start(spec as never))).toBe("monitor.invalid");
  expect((await world.session.monitors.snapshot()).monitors).toEqual([]);
});

test("J4 unknown monitors, unknown options and too many are typed errors with a hint", async () => {
  const codes: string[] = [];
  // What a call starts counts at once and begins with its result, so that no process is needed for 63 of the 64.
  const watch = defineTool({
    name: "watch",
    description: "Watches.",
    input: z.object({}),
    execute: async (_, { monitors: own }) => {
      for (let at = 0; at < 64; at++)
        codes.push(await codeOf(own.start({ id: `m${at}`, command: "sleep 60", wake: "none" })));
      throw new Error("No.");
    },
  });
  await using world = await open(recited(calls("watch", {}), says("Done.")), { tools: [watch] });
  const { monitors } = world.session;
  expect(await codeOf(monitors.stop("none"))).toBe("monitor.unknown");
  expect(await codeOf(monitors.start("none"))).toBe("monitor.unknown");
  expect(await codeOf(monitors.start({ command: "true", timeout: 5 } as never))).toBe("options.unknown");
  await monitors.start({ id: "live", command: "sleep 60", wake: "none" });
  await world.session.turn("Watch.").result();
  expect(codes).toEqual([...Array(63).fill("nothing was thrown"), "monitor.full"]);
});

test("J4 D2 another process reads, takes and stops what this one watches", async () => {
  const path = file();
  await using here = await runningOn(path, {});
  await using there = await runningOn(path, { recover: "manual" });
  const session = await here.session("s");
  await session.monitors.start({ id: "log", command: "echo one; sleep 60", wake: "none", isPersistent: true });
  await prints(session, "log", 1);
  const other = await there.session("s");
  expect(await statusOf(other, "log")).toMatchObject({ state: "running", lines: 1, lastLine: "one" });
  const taken = await Promise.all([other.monitors.takeUpdates(), session.monitors.takeUpdates()]);
  expect(taken.flat().map(({ text }) => text)).toEqual(["one"]);
  expect(await other.monitors.stop("log")).toMatchObject({ state: "stopped" });
  expect((await session.monitors.snapshot()).active).toBe(0);
});

test.each([
  ["ends when its runtime closes", false, "abandoned"],
  ["is started again by the next one when that is asked for", true, "running"],
])("J4 D2 a monitor %s", async (_, restarts, state) => {
  const path = file();
  const pids = file();
  const first = await runningOn(path, {});
  const session = await first.session("s");
  const command = `echo $$ >> ${pids}; echo up; exec sleep 60`;
  await session.monitors.start({ id: "log", command, wake: "none", isPersistent: true, restarts });
  await prints(session, "log", 1);
  await first.close();
  const [pid] = pidsIn(pids);
  expect(lives(pid as number)).toBe(false);
  await using second = await runningOn(path, {});
  const again = await second.session("s");
  await eventually(async () => ((await statusOf(again, "log"))?.state === state ? true : undefined));
  if (restarts) {
    const status = await prints(again, "log", 3);
    expect(status.starts).toBe(2);
    expect((await again.monitors.takeUpdates()).map(({ channel }) => channel)).toEqual(["out", "note", "out"]);
  }
  expect(pidsIn(pids).filter(lives)).toHaveLength(restarts ? 1 : 0);
});
