import { expect, test } from "vitest";
import { simulatedWorld } from "./world.ts";

test("E8 a simulated clock stands still until it is moved", async () => {
  const world = simulatedWorld({ now: 1_000 });
  let isAwake = false;
  world.sleep(50).then(() => {
    isAwake = true;
  });
  await world.advance(49);
  expect([world.now(), isAwake, world.asleep]).toEqual([1_049, false, 1]);
  await world.advance(1);
  expect([world.now(), isAwake, world.asleep]).toEqual([1_050, true, 0]);
});

test("E8 sleepers wake in the order of their times, and each sees its own", async () => {
  const world = simulatedWorld({ now: 0 });
  const woken: string[] = [];
  const nap = async (who: string, ...naps: readonly number[]): Promise<void> => {
    for (const ms of naps) {
      await world.sleep(ms);
      woken.push(`${who} at ${world.now()}`);
    }
  };
  void nap("late", 30);
  void nap("twice", 10, 10);
  void nap("early", 10);
  await world.advance(100);
  expect(woken).toEqual(["twice at 10", "early at 10", "twice at 20", "late at 30"]);
  expect(world.now()).toBe(100);
});

test("E8 a sleep that has ended, was cut short or was cancelled ends without an error", async () => {
  const world = simulatedWorld();
  const [before, during] = [AbortSignal.abort(), new AbortController()];
  const sleeps = [world.sleep(0), world.sleep(-5), world.sleep(50, before), world.sleep(50, during.signal)];
  expect(world.asleep).toBe(1);
  during.abort();
  await Promise.all(sleeps);
  expect(world.asleep).toBe(0);
});

test("E8 two moves at once are made one after the other, and time never goes back", async () => {
  const world = simulatedWorld({ now: 0 });
  const seen: number[] = [];
  void world.sleep(5).then(() => world.advance(10).then(() => seen.push(world.now())));
  await Promise.all([world.advance(10), world.advance(10)]);
  expect(world.now()).toBe(20);
  await world.advance(0);
  expect(seen).toEqual([30]);
  expect(() => world.advance(-1)).toThrow(RangeError);
});

test("E8 ids and secrets are the same in every run, differ by name, and sort by time", () => {
  const told = ({ name }: { name: string }) => {
    const world = simulatedWorld({ name });
    return [...Array.from({ length: 12 }, () => world.id("trn")), world.secret(), world.secret()];
  };
  const all = [...told({ name: "a" }), ...told({ name: "b" })];
  expect(told({ name: "a" })).toEqual(all.slice(0, 14));
  expect(new Set(all).size).toBe(28);
  expect(all.slice(0, 12)).toEqual(all.slice(0, 12).toSorted());
  expect(all[12]).toMatch(/^[\w-]{22}$/);
});
