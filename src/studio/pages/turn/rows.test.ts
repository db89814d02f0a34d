import { expect, test } from "vitest";
import type { TimelineItem } from "../../types.ts";
import { keyed, nameOf, noteOf, processIn, roundsOf, rowsOf, toneOf, whyResumed } from "./rows.ts";

const at = (effect: string, startedAt: number, endedAt?: number, round = 1) => ({
  ...{ effect, round, startedAt },
  ...(endedAt === undefined ? {} : { endedAt }),
});
const item = (common: object, kind: object): TimelineItem => ({ ...common, ...kind }) as TimelineItem;

const hooks = (effect: string, start: number, more: object = {}) =>
  item(at(effect, start, start), { kind: "hooks", stage: "gate", ...more });
const call = { id: "c1", name: "pay", input: {} };

test("E6 rows are rounds with their items, and quiet hooks are one row until it is opened", () => {
  const items = [
    hooks("r1.prepare", 0),
    item(at("r1.ask", 0, 100), { kind: "model", model: "m/x", attempt: 1, failure: "overloaded: No.", waitedMs: 50 }),
    item(at("r1.ask", 150, 300), { kind: "model", model: "m/x", attempt: 2 }),
    hooks("r1.gate", 300, { verdicts: [{ name: "pay", verdict: "wait" }] }),
    item(at("r1.call.0", 300), { kind: "tool", call, attempt: 1 }),
    item(at("r2.ask", 400, 500, 2), { kind: "model", model: "m/x", attempt: 1 }),
  ];
  const rounds = roundsOf(keyed(items), 1_000);
  expect(rounds.map(({ round, from, to }) => [round, from, to])).toEqual([
    [1, 0, 1_000],
    [2, 400, 500],
  ]);
  const keys = (closed: readonly number[], opened: readonly number[]) =>
    rowsOf(rounds, new Set(closed), new Set(opened)).map(({ key }) => key);
  const first = ["round 1", "r1.ask.1", "r1.ask.2", "r1.gate", "r1.call.0", "hooks 1"];
  expect(keys([], [])).toEqual([...first, "round 2", "r2.ask.1"]);
  expect(keys([2], [1])).toEqual([first[0], "r1.prepare", ...first.slice(1), "round 2"]);
});

test("E6 items that have no effect have different names", () => {
  const resumed = item(at("", 5, 5), { kind: "resumed" });
  expect(keyed([resumed, resumed]).map(({ key }) => key)).toEqual(["resumed", "resumed~1"]);
});

test("E6 a row names its item, how it ended, and who answered", () => {
  const failed = item(at("r1.ask", 0, 9), { kind: "model", model: "m/x", attempt: 2, failure: "rate-limit: Slow." });
  expect([nameOf(failed), noteOf(failed), toneOf(failed)]).toEqual(["x", "attempt 2 · rate-limit", "bad"]);
  const cancelled = item(at("r1.ask", 0, 9), { kind: "model", model: "m/x", attempt: 1, failure: "cancelled: Stop." });
  expect(toneOf(cancelled)).toBe("off");
  const wait = item(at("r1.call.0.w", 0, 9), { kind: "wait", wants: "approval", call, how: "answered", by: "ann" });
  expect([nameOf(wait), noteOf(wait)]).toEqual(["Approval of pay", "answered by ann"]);
  expect(processIn("vm/67d3@4026/14471/146748")).toBe("process 14471 on vm");
  expect(processIn("worker one")).toBe("worker one");
});

test("E6 a resume in the middle of work follows a crash, and a resume of a turn that only waited does not", () => {
  const resumed = item(at("", 50, 50), { kind: "resumed" }) as Parameters<typeof whyResumed>[0];
  const tool = (end?: number) => item(at("r1.call.0", 0, end), { kind: "tool", call, attempt: 1 });
  const wait = item(at("r1.call.1.w", 0, 90), { kind: "wait", wants: "approval", call });
  expect(whyResumed(resumed, keyed([tool(80), wait]))).toBe("crash");
  expect(whyResumed(resumed, keyed([tool(), wait]))).toBe("crash");
  expect(whyResumed(resumed, keyed([tool(40), wait]))).toBe("wait");
  expect(whyResumed({ ...resumed, isFault: true }, keyed([tool(80)]))).toBe("fault");
});
