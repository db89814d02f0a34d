import { expect, test } from "vitest";
import { scaleOf } from "./scale.ts";

const HOUR = 3_600_000;

test("E6 without long idle times the axis is linear", () => {
  const scale = scaleOf({ from: 1_000, to: 5_000 }, [{ from: 1_000, to: 5_000 }], [1_000, 3_000, 5_000], 0.1);
  expect(scale.breaks).toEqual([]);
  expect([0, 1_000, 2_000, 3_000, 5_000, 9_000].map(scale.place)).toEqual([0, 0, 0.25, 0.5, 1, 1]);
});

test("E6 a night in which nothing happens is a break, and the work before and after it keeps its width", () => {
  const work = [
    { from: 0, to: 4_000 },
    { from: 9 * HOUR, to: 9 * HOUR + 6_000 },
  ];
  const scale = scaleOf({ from: 0, to: 9 * HOUR + 6_000 }, work, [0, 4_000, 9 * HOUR, 9 * HOUR + 6_000], 0.1);
  expect(scale.breaks).toMatchObject([{ from: 4_000, to: 9 * HOUR, width: 0.1 }]);
  expect(scale.place(4_000)).toBeCloseTo(0.36);
  expect(scale.place(9 * HOUR)).toBeCloseTo(0.46);
  expect(scaleOf({ from: 0, to: 9 * HOUR }, work, [0, 4_000, 9 * HOUR], undefined).breaks).toEqual([]);
});

test("E6 a long tool call does not become a break, unless it hides all other work", () => {
  const minutes = (n: number) => n * 60_000;
  const scale = (call: number) =>
    scaleOf({ from: 0, to: 5_000 + call }, [{ from: 0, to: 5_000 + call }], [0, 2_000, 5_000, 5_000 + call], 0.1);
  expect(scale(minutes(1)).breaks).toEqual([]);
  expect(scale(minutes(120)).breaks).toHaveLength(1);
});

test("E6 the order of times is their order on the axis, however many breaks it has", () => {
  const times = Array.from({ length: 200 }, (_, n) => n * 500 + Math.floor(n / 10) * HOUR);
  const work = times.map((from) => ({ from, to: from + 500 }));
  const scale = scaleOf(
    { from: 0, to: times.at(-1)! + 500 },
    work,
    times.flatMap((at) => [at, at + 500]),
    0.1,
  );
  expect(scale.breaks).toHaveLength(19);
  const places = times.map(scale.place);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(new Set(places).size).toBe(places.length);
  const ticks = scale.ticks(10);
  expect(ticks.every(({ at }) => at >= 0 && at <= 1)).toBe(true);
});

test("E6 a turn without a length has an axis", () => {
  const scale = scaleOf({ from: 7, to: 7 }, [], [7], 0.1);
  expect(scale.place(7)).toBe(0);
  expect(scale.ticks(5).length).toBeGreaterThan(0);
});
