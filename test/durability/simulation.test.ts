import { expect, test } from "vitest";
import { sample } from "../kit/size.ts";
import { stories, story } from "./simulation.ts";

const COUNT = sample(24, 200);

test("D1 D2 I1 I2 I4 random stories of clients, faults and crashes: nothing is lost, nothing on record is done twice", async () => {
  const { broken, totals } = await stories(1, COUNT);
  expect(broken).toEqual([]);
  // They were about something.
  expect(totals.processes).toBeGreaterThan(2 * COUNT);
  const happened = [
    "kills",
    "closes",
    "store failures",
    "lost answers",
    "model faults",
    "tool calls",
    "reruns",
    "parks",
  ];
  for (const what of happened) expect(totals[what], what).toBeGreaterThan(0);
  expect(totals["ended answered"]).toBeGreaterThan(COUNT);
}, 60_000);

test("D1 the same number makes the same story", async () => {
  for (const seed of [3]) {
    const [first, second] = [await story(seed), await story(seed)];
    expect(second.log).toEqual(first.log);
    expect(second.counts).toEqual(first.counts);
  }
}, 60_000);
