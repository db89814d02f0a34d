import type { EffectHost } from "./host.ts";
import { LocalRun } from "./local/local-run.ts";
import { Runs } from "./local/runs.ts";

/**
 * A host that runs effects in this process and keeps events in memory only. For tests, and for stores that are not
 * durable.
 */
export function inline(): EffectHost {
  const runs = new Runs();
  return {
    kind: "inline",
    parks: false,
    open: (turn, perform, context) => new LocalRun(turn, perform, context, runs),
  };
}
