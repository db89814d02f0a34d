import { expect, test } from "vitest";
import type { UsageReport } from "../../types.ts";
import { OTHERS, piled, stacked, ticksOf, totalOf } from "./data.ts";

const HOUR = 3_600_000;
const UNUSED = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, unknownCalls: 0 };
const row = (at: number, model: string, turns: number, more = {}) => ({
  at,
  model,
  turns,
  failed: 0,
  usage: { ...UNUSED, input: turns * 10 },
  cost: turns / 100,
  ...more,
});
const report = (rows: UsageReport["rows"], more = {}): UsageReport => ({
  since: 0,
  until: 4 * HOUR,
  stepMs: HOUR,
  rows,
  sessions: [],
  tools: [],
  toolTurns: 0,
  isPartial: false,
  ...more,
});

test("E6: usage has a step for each hour, the largest model first, and values on top of each other", () => {
  const { steps, series } = stacked(
    report([row(HOUR, "small", 2), row(HOUR, "large", 3), row(3 * HOUR, "large", 1)]),
    "turns",
  );
  expect(steps).toEqual([0, HOUR, 2 * HOUR, 3 * HOUR]);
  expect(series.map(({ model, values }) => [model, values])).toEqual([
    ["large", [0, 3, 0, 1]],
    ["small", [0, 2, 0, 0]],
  ]);
  expect(piled(series)).toEqual([
    [0, 3, 0, 1],
    [0, 5, 0, 1],
  ]);
});

test("E6: usage begins with the step that the time begins in", () => {
  const { steps } = stacked(report([row(HOUR, "small", 1)], { since: HOUR + 5, until: 2 * HOUR + 5 }), "turns");
  expect(steps).toEqual([HOUR, 2 * HOUR]);
});

test("E6: usage of a time that is too long for a chart has only the steps with turns", () => {
  const until = 253_402_300_799_999;
  const rows = [row(HOUR, "small", 1), row(90 * HOUR, "small", 2), row(90 * HOUR, "large", 3)];
  const { steps, series } = stacked(report(rows, { since: 1, until }), "turns");
  expect(steps).toEqual([HOUR, 90 * HOUR]);
  expect(series.map(({ values }) => values)).toEqual([
    [0, 3],
    [1, 2],
  ]);
});

test("E6: usage joins the smallest of many models, so that each has a colour", () => {
  const rows = Array.from({ length: 9 }, (_, nth) => row(0, `model-${nth}`, 10 - nth));
  const { series } = stacked(report(rows), "turns");
  expect(series.map(({ model }) => model).slice(-2)).toEqual(["model-4", OTHERS]);
  expect(series.at(-1)).toMatchObject({ colour: "other", turns: 5 + 4 + 3 + 2 });
  expect(new Set(series.map(({ colour }) => colour)).size).toBe(series.length);
});

test("E6: a sum of costs is unknown if one price is unknown", () => {
  expect(totalOf([row(0, "small", 1), row(0, "free", 1, { cost: undefined })])).toMatchObject({
    turns: 2,
    cost: undefined,
  });
  expect(totalOf([row(0, "small", 1, { failed: 1 })])).toEqual({ turns: 1, failed: 1, tokens: 10, cost: 0.01 });
});

test.each([
  [5, true, [0, 2, 4]],
  [2, true, [0, 1, 2]],
  [46_000, true, [0, 20_000, 40_000]],
  [0.15, false, [0, 0.05, 0.1, 0.15]],
  [0.0009, false, [0, 0.00025, 0.0005, 0.00075]],
  [0, true, [0]],
])("E6: the axis of a chart up to %s has round numbers", (most, isWhole, ticks) => {
  expect(ticksOf(most, isWhole)).toEqual(ticks);
});
