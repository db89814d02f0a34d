import { defineTool, retryable } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import type { World } from "../../src/model/world.ts";
import { eventually, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { deployed, HOUR } from "../kit/worlds.ts";

/** A world whose clock can be set, while what is waited for goes on. */
function skewed(name: string) {
  const world = simulatedWorld({ name });
  let skew = 0;
  const sleeps: number[] = [];
  const own: World = {
    now: () => world.now() + skew,
    id: world.id,
    secret: world.secret,
    sleep: (ms, signal) => {
      sleeps.push(ms);
      return world.sleep(ms, signal);
    },
    rest: world.rest,
  };
  return { world: own, sleeps, set: (ms: number) => void (skew = ms), pass: world.advance };
}

/** Fails once, then works; its retry waits for ten seconds. */
function flaky() {
  let ran = 0;
  const tool = defineTool({
    name: "work",
    description: "Works at the second try.",
    input: { type: "object" },
    retry: { policy: "safe", attempts: 2, baseMs: 10_000, maxMs: 10_000 },
    execute: () => {
      if (++ran === 1) throw retryable(new Error("Not yet."));
      return "worked";
    },
  });
  return { tool, times: () => ran };
}
const asleep = (clock: ReturnType<typeof skewed>) => eventually(() => clock.sleeps.includes(10_000));

test.each([
  ["back", -HOUR],
  ["forward", HOUR],
])("D2 a retry waits for its pause and no longer when the clock is set %s by an hour meanwhile", async (_, by) => {
  const clock = skewed("a");
  const { tool, times } = flaky();
  const model = scripted(calls("work"), says("Done."));
  const store = sqlite(file(), { durability: "process", now: clock.world.now });
  const { runtime } = await deployed(store, clock.world, { model, tools: [tool] });
  const turn = (await runtime.session("s")).turn("Go.");
  await asleep(clock);
  clock.set(by);
  await clock.pass(9_000);
  expect(times()).toBe(1);
  await clock.pass(1_000);
  expect((await within(turn.result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
  await runtime.close();
});

test.each([
  ["back", -HOUR, 10_000],
  ["forward", HOUR, undefined],
])(
  "D2 after a restart with the clock set %s by an hour, a retry waits at most for its whole pause",
  async (_, by, waits) => {
    const path = file();
    const { tool, times } = flaky();
    const before = skewed("a");
    const first = await deployed(sqlite(path, { durability: "process", now: before.world.now }), before.world, {
      model: scripted(calls("work")),
      tools: [tool],
    });
    (await first.runtime.session("s")).turn("Go.", { key: "k" });
    await asleep(before);
    const closing = first.runtime.close();
    await eventually(() => before.sleeps.includes(5_000)); // What a running turn has to end in.
    await before.pass(5_000);
    await within(closing);

    const after = skewed("b");
    after.set(by);
    const second = await deployed(sqlite(path, { durability: "process", now: after.world.now }), after.world, {
      model: scripted(says("Done.")),
      tools: [tool],
    });
    const turn = (await second.runtime.session("s")).turn("Go.", { key: "k" });
    if (waits !== undefined) {
      await eventually(() => after.sleeps.length > 0);
      expect(Math.max(...after.sleeps)).toBe(waits);
      await after.pass(waits);
    }
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(times()).toBe(2);
    await second.runtime.close();
  },
  15_000,
);
