import { definePlugin, type JobOptions } from "bowline/plugin";
import { recited } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aborted } from "../kit/models.ts";
import { codeOf } from "../kit/reading.ts";
import { STORES } from "../kit/stores.ts";
import { open, running } from "../kit/worlds.ts";

const circle: { self?: unknown } = {};
circle.self = circle;

/** Options that no job can have, and what is said of them. */
const WRONG: readonly (readonly [what: string, options: unknown, code: string])[] = [
  ["none", undefined, "options.invalid"],
  ["a text", "Count", "options.invalid"],
  ["no label", {}, "job.invalid"],
  ["an empty label", { label: " " }, "job.invalid"],
  ["a label that is not a text", { label: 7 }, "job.invalid"],
  ["a label that is too long", { label: "x".repeat(1_001) }, "job.invalid"],
  ["an unknown kind", { label: "x", kind: "dream" }, "job.invalid"],
  ["an unknown visibility", { label: "x", visibility: "secret" }, "job.invalid"],
  ["an unknown wake", { label: "x", wake: "shake" }, "job.invalid"],
  ["an unknown end of its parent", { label: "x", onParentEnd: "burn" }, "job.invalid"],
  ["an id that is not a text", { label: "x", id: 7 }, "options.invalid"],
  ["an id that is too long", { label: "x", id: "x".repeat(257) }, "options.invalid"],
  ["an unknown option", { label: "x", retries: 3 }, "options.unknown"],
  ["signals that are not an object", { label: "x", signals: ["go"] }, "job.invalid"],
  ["a signal without a name", { label: "x", signals: { "": {} } }, "job.invalid"],
  ["a signal without a schema", { label: "x", signals: { go: 7 } }, "schema.invalid"],
  ["a value that is not JSON", { label: "x", about: circle }, "job.invalid"],
  ["what is too large", { label: "x", about: "x".repeat(9_000_000) }, "limit.bytes"],
];

describe.each(STORES)("on %s", (where, store) => {
  test.each(WRONG)("J1 a job with %s is refused, and nothing begins", async (_what, options, code) => {
    let ran = 0;
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    expect(await codeOf(jobs.spawn(options as JobOptions, () => ran++))).toBe(code);
    expect(await codeOf(jobs.register(options as JobOptions))).toBe(code);
    expect(await jobs.list()).toEqual([]);
    expect(ran).toBe(0);
  });

  test("J1 invalid work, lists and times are refused: typed", async () => {
    await using world = await open(recited(), { store: store() });
    const { jobs } = world.session;
    const wrong = <T>(given: T): never => given as never;
    expect(await codeOf(jobs.spawn({ label: "x" }, wrong("work")))).toBe("job.invalid");
    expect(await codeOf(jobs.spawn({ label: "x" }, wrong(undefined)))).toBe("job.invalid");
    expect(await codeOf(jobs.spawnHidden("x", wrong(null)))).toBe("job.invalid");
    expect(await codeOf(jobs.spawnHidden(wrong(7), () => 1))).toBe("job.invalid");
    expect(await codeOf(jobs.register({ label: "x" }, wrong("cancel")))).toBe("job.invalid");
    for (const bad of ["a", 7, [7], null, undefined]) {
      expect(await codeOf(jobs.await(wrong(bad)))).toBe("job.invalid");
      expect(await codeOf(jobs.validate(wrong(bad)))).toBe("job.invalid");
      expect(await codeOf(jobs.cancelUnreferenced(wrong(bad)))).toBe("job.invalid");
      expect(await codeOf(jobs.transfer(world.session.id, "x", wrong(bad)))).toBe("job.invalid");
    }
    const { id } = await jobs.register({ label: "x", signals: { go: z.object({ n: z.number() }) } });
    expect(await codeOf(jobs.await([id], { need: wrong("most") }))).toBe("options.invalid");
    expect(await codeOf(jobs.await([id], { timeoutMs: wrong("soon") }))).toBe("options.invalid");
    expect(await codeOf(jobs.await([id], wrong({ timeout: 1 })))).toBe("options.unknown");
    for (const max of [0, -1, 1.5, "many"])
      expect(await codeOf(jobs.list({ max: wrong(max) }))).toBe("options.invalid");
    expect(await codeOf(jobs.list(wrong({ state: "running" })))).toBe("options.unknown");
    expect(await jobs.list({ after: "nobody" })).toEqual([]);
    for (const gone of ["nobody", wrong(7), wrong(undefined)]) {
      expect(await codeOf(jobs.get(gone))).toBe("job.unknown");
      expect(await codeOf(jobs.cancel(gone))).toBe("job.unknown");
      expect(await codeOf(jobs.signal(gone, "go"))).toBe("job.unknown");
      expect(await codeOf(world.runtime.jobs.get(gone))).toBe("job.unknown");
      expect(await codeOf(world.runtime.jobs.await(gone))).toBe("job.unknown");
    }
    expect(await codeOf(jobs.cancel(id, wrong(7)))).toBe("options.invalid");
    expect(await codeOf(jobs.signal(id, "go", { n: "one" }))).toBe("job.signal");
    expect(await codeOf(jobs.signal(id, "constructor"))).toBe("job.signal");
    expect(await codeOf(jobs.signal(id, "go", wrong(circle)))).toBe("job.signal");
    await jobs.signal(id, "go", { n: 1 });
  });

  test("J1 a session has no more live jobs than it may; what has ended makes room", async () => {
    const plugin = definePlugin({
      id: "test/many",
      setup: ({ command }) => ({
        operations: {
          many: command({
            run: async ({ jobs }) => {
              for (let n = 0; n < 5; n++) await jobs.register({ label: `${n}` });
            },
          }),
        },
      }),
    });
    await using runtime = await running({ store: store(), plugins: [plugin()], limits: { jobsMax: 3 } });
    const session = await runtime.session("s");
    expect(await codeOf(session.command(plugin, "many"))).toBe("job.full");
    expect(await session.jobs.list()).toEqual([]);
    for (let n = 0; n < 3; n++) await session.jobs.register({ label: `${n}`, id: `${n}` });
    expect(await codeOf(session.jobs.register({ label: "more" }))).toBe("job.full");
    expect(await codeOf(session.jobs.spawn({ label: "more" }, () => 1))).toBe("job.full");
    await session.jobs.complete("1", "completed");
    await session.jobs.register({ label: "more" });
    await (await runtime.session("other")).jobs.register({ label: "its own" });
  });

  test("J2 thousands of jobs are listed in pages, awaited and cancelled, up to the limit", async () => {
    const jobsMax = where === "memory" ? 10_000 : 1_500;
    await using runtime = await running({ store: store(), limits: { jobsMax } });
    const { jobs } = await runtime.session("s");
    const ids: string[] = [];
    for (let n = 0; n < jobsMax; n++) ids.push((await jobs.register({ label: `${n}` })).id);
    expect(await codeOf(jobs.register({ label: "one more" }))).toBe("job.full");
    expect(await jobs.list()).toHaveLength(1_000);
    const second = await jobs.list({ after: ids[999], max: 2 });
    expect(second.map(({ label }) => label)).toEqual(["1000", "1001"]);
    const waiting = jobs.await(ids, { need: "any", timeoutMs: 30_000 });
    await jobs.complete(ids[1_200] as string, "completed");
    expect((await waiting).filter(({ state }) => state === "completed")).toHaveLength(1);
    const kept = ids.slice(20);
    expect(await jobs.cancelUnreferenced(kept)).toHaveLength(20);
  }, 60_000);

  test("J2 what a job is given after its end never comes, and its services refuse to write", async () => {
    await using world = await open(recited(), { store: store(), limits: { cancelGraceMs: 5 } });
    const { jobs } = world.session;
    const told: string[] = [];
    const { id } = await jobs.spawn({ label: "Deaf" }, async ({ signal, wake, transition }) => {
      await aborted(signal);
      await new Promise((resolve) => setTimeout(resolve, 40));
      await Promise.race([wake("Late."), transition("idle")]).then(() => told.push("answered"));
    });
    expect(await jobs.cancel(id)).toMatchObject({ state: "cancelled" });
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(told).toEqual([]);
    expect(await world.session.inputs.list()).toEqual([]);
    expect((await jobs.get(id)).state).toBe("cancelled");
  });
});
