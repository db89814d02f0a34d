import { definePlugin, defineTool } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually, signalOf } from "../kit/reading.ts";
import { around, lives, STORES } from "../kit/stores.ts";
import { open, running } from "../kit/worlds.ts";

const mailing = (read: unknown[] = []) =>
  definePlugin({
    id: "acme/mail",
    setup: ({ task }) => ({
      triggers: [{ name: "mail.received" }],
      operations: { clean: task({ input: z.any(), run: ({ input }) => void read.push(input) }) },
    }),
  });
const DAILY = { cron: "0 0 1 1 *" } as const;
const CLEAN = { operation: "acme/mail.clean" } as const;

describe.each(STORES)("on %s", (_, store) => {
  test("J7 a schedule that is run now does its work once more, and keeps its planned times", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { triggers, jobs } = world.session;
    const before = await triggers.subscribe({ id: "yearly", on: DAILY, ...CLEAN });
    await triggers.subscribe({ id: "often", on: { everyMs: 3_600_000 }, send: "Look." });
    const from = Date.now();
    const now = await triggers.run("yearly");
    expect(now.at).toBeGreaterThanOrEqual(from);
    expect(now).toMatchObject({ source: `subscription:${before.incarnation}`, payload: { at: now.at } });
    await jobs.await(now.deliveries.map(({ jobId }) => jobId ?? ""));
    expect(read).toEqual([now.payload]);
    expect(await triggers.get("yearly")).toEqual(before);

    const [{ turnId = "" } = {}] = (await world.runtime.triggers.of(world.session.id).run("often")).deliveries;
    expect((await world.session.follow(turnId).result()).outcome.kind).toBe("answered");
    expect(await triggers.occurrences({ subscription: "yearly" })).toEqual([now]);
  });

  test("J7 each run is another occurrence; runs with one key are one, also at the same moment", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { triggers, jobs } = world.session;
    await triggers.subscribe({ id: "yearly", on: DAILY, ...CLEAN });
    const twice = await Promise.all([triggers.run("yearly"), triggers.run("yearly")]);
    const clicks = await Promise.all([
      triggers.run("yearly", { key: "click" }),
      triggers.run("yearly", { key: "click" }),
    ]);
    expect(new Set([...twice, ...clicks].map(({ id }) => id)).size).toBe(3);
    expect(await triggers.run("yearly", { key: "click" })).toEqual(clicks[0]);
    await jobs.await([...twice, ...clicks].flatMap(({ deliveries }) => deliveries.map(({ jobId }) => jobId ?? "")));
    expect(read).toHaveLength(3);
  });

  test("J7 a subscription that waits for no time, or is disabled, cannot be run", async () => {
    await using world = await open(listener(), { store: store(), plugins: [mailing()] });
    const { triggers } = world.session;
    await triggers.subscribe({ id: "mails", on: { event: "mail.received" }, send: "Read." });
    await triggers.subscribe({ id: "commits", on: { commits: true }, ...CLEAN });
    await triggers.subscribe({ id: "off", on: DAILY, ...CLEAN, isEnabled: false });
    expect(await codeOf(triggers.run("mails"))).toBe("trigger.no-schedule");
    expect(await codeOf(triggers.run("commits"))).toBe("trigger.no-schedule");
    expect(await codeOf(triggers.run("off"))).toBe("trigger.disabled");
    expect(await codeOf(triggers.run("none"))).toBe("trigger.missing");
    expect(await codeOf(triggers.run("off", { kye: "x" } as never))).toBe("options.unknown");
    expect(await triggers.occurrences()).toEqual([]);
  });
});

test("J7 a run sees the subscription as it is when the run is written", async () => {
  const read: unknown[] = [];
  let change: (() => Promise<unknown>) | undefined;
  const store = around(memory(), {
    "triggers.occur": async (act) => {
      const now = change;
      change = undefined;
      await now?.();
      return act();
    },
  });
  await using world = await open(listener(), { store, plugins: [mailing(read)] });
  const { triggers, jobs } = world.session;
  await triggers.subscribe({ id: "yearly", on: DAILY, ...CLEAN, input: "old" });
  change = () => triggers.update("yearly", { input: "new" });
  const { deliveries } = await triggers.run("yearly");
  expect(deliveries).toMatchObject([{ revision: 2 }]);
  await jobs.await(deliveries.map(({ jobId }) => jobId ?? ""));
  expect(read).toEqual(["new"]);
});

test("J7 K18 a tool that runs a schedule and is rerun after a crash has run it once", async () => {
  const kept = memory();
  const { next, kill } = lives(kept);
  const ran = signalOf();
  let lifes = 0;
  const go = defineTool({
    name: "go",
    description: "Goes.",
    input: z.object({}),
    execute: async (_, { triggers }) => {
      const { id } = await triggers.run("yearly");
      if (lifes++ > 0) return id;
      ran.resolve();
      return new Promise<string>(() => {});
    },
  });
  const model = recited(calls("go", {}, "1"), says("Gone."));
  const options = { model, tools: [go], plugins: [mailing()] };
  const first = await running({ ...options, store: next() });
  const session = await first.session("s");
  await session.triggers.subscribe({ id: "yearly", on: DAILY, ...CLEAN });
  const { turnId } = await session.send("Go.");
  await ran.promise;
  kill();
  await using second = await running({ ...options, store: next() });
  await second.recover();
  const { outcome } = await eventually(async () => second.sessions.follow(turnId).result());
  expect(outcome.kind).toBe("answered");
  expect(lifes).toBe(2);
  expect(await second.triggers.of("s").occurrences()).toHaveLength(1);
});
