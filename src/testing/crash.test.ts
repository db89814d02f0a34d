import { expect, test } from "vitest";
import { planned } from "./crash/plan.ts";
import { CrashReport } from "./crash/report.ts";
import { crashTest } from "./crash.ts";

const places = ["before accept", "after accept", "before append", "after append", "before r1.ask", "after r1.ask"];
const none = { kills: 0, doubles: 0, triples: 0, loops: 0, stops: 0, pairs: 0 } as const;

test("D6 crash kit: the same seed plans the same trials, another one others", () => {
  const amounts = { kills: 3, doubles: 4, triples: 4, loops: 1, stops: 2, pairs: 1 };
  expect(planned(places, amounts, 5)).toEqual(planned(places, amounts, 5));
  expect(planned(places, amounts, 5)).not.toEqual(planned(places, amounts, 6));
  expect(planned(places, amounts, 5).length).toBe(15);
});

test("D6 crash kit: all means each boundary once, and a number is spread over them", () => {
  const single = (at: number) => ({ kind: "kills", at: [at] });
  expect(planned(places, { ...none, kills: "all" }, 1)).toEqual([1, 2, 3, 4, 5, 6].map(single));
  for (let seed = 0; seed < 20; seed++) {
    const halves = planned(places, { ...none, kills: 2 }, seed).map((trial) => trial.kind === "kills" && trial.at[0]);
    expect([1, 2, 3]).toContain(halves[0]);
    expect([4, 5, 6]).toContain(halves[1]);
  }
});

test("D6 crash kit: no process is stopped between the check of the clock and the start", () => {
  const stops = planned(places, { ...none, stops: "all" }, 1);
  expect(stops).toEqual([3, 4, 6].map((at) => ({ kind: "stop", at })));
});

test("D6 crash kit: the report is a table, what was wrong, and a sum", () => {
  const row = { boundaries: 6, trials: 6, stops: 0, ms: 1 };
  const report = new CrashReport(
    [
      { ...row, scenario: "a", kills: 6 },
      { ...row, scenario: "longer", kills: 12 },
    ],
    [
      {
        scenario: "longer",
        kind: "lost",
        problem: "It is nowhere.",
        trial: { kind: "kills", at: [2] },
        places: ["2 after accept"],
      },
    ],
  );
  expect(String(report).split("\n")).toEqual([
    "scenario  boundaries  kills  stops  lost  repeated  other",
    "a                  6      6      0     0         0      0",
    "longer             6     12      0     1         0      0",
    'longer: lost: It is nowhere. [{"kind":"kills","at":[2]}: 2 after accept]',
    "crash kit: 18 kills, 1 lost, 0 repeated",
  ]);
});

test("D6 crash kit: a module without a scenario is refused by name", async () => {
  await expect(crashTest(new URL("./world.ts", import.meta.url))).rejects.toThrow(/world\.ts has no scenario/);
});
