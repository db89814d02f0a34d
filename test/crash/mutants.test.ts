import { type CrashOptions, crashTest, type ViolationKind } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build, scenario } from "./build.ts";

const built = build();
afterAll(() => built[Symbol.dispose]());

/** A rule that is broken, what it is tried on, and what must be found. */
const MUTANTS: readonly (readonly [mutant: string, scenario: string, CrashOptions, ViolationKind])[] = [
  ["effect-before-flush", "pay-once", { kills: 12 }, "repeated"],
  ["effect-before-flush", "ten-tools", { kills: 12 }, "early"],
  ["state-not-folded", "plugin-state", { kills: 6 }, "different"],
  ["claim-not-written", "input-mid-turn", { kills: 6 }, "doubled"],
  ["resumed-not-journaled", "text-turn", { kills: 0, loops: 1 }, "stuck"],
  ["key-forgotten", "text-turn", { kills: 8 }, "different"],
  ["input-left-out", "text-turn", { kills: 8 }, "lost"],
  ["clock-not-read", "text-turn", { kills: 0, stops: "all", parallel: 4 }, "repeated"],
  ["lease-not-respected", "text-turn", { kills: 0, pairs: 2 }, "repeated"],
];

test.each(MUTANTS)(
  "D6 the crash kit catches %s on %s",
  async (mutant, name, options, kind) => {
    const around = new URL(`./mutants/${mutant}.ts`, import.meta.url);
    const report = await crashTest(scenario(name), { ...options, around, execArgv: built.execArgv, timeoutMs: 15_000 });
    expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]); // Only a kill shows it.
    expect(report.violations.map((violation) => violation.kind)).toContain(kind);
  },
  60_000,
);
