import { crashTest } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build, scenario } from "./kit.ts";
const built = build();
afterAll(() => built[Symbol.dispose]());
test("mine", async () => {
  const report = await crashTest(["steering", "merged-inputs"].map(scenario), { execArgv: built.execArgv, kills: "all", doubles: 25, triples: 15, loops: 2, stops: 6, pairs: 6, seed: 3, parallel: 3 });
  console.log(String(report), report.rows.map((r) => [r.scenario, r.ms, r.trials]));
  expect(report.violations).toEqual([]);
}, 600_000);
