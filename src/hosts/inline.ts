import type { EffectHost } from "./host.ts";
import { LocalRun } from "./local/run.ts";
import { Runs } from "./local/runs.ts";

/** Effects run here and now, and events live in memory only: for tests, and for stores that keep nothing anyway. */
export function inline(): EffectHost {
  const runs = new Runs();
  return {
    kind: "inline",
    open: (turn, perform, context) => new LocalRun(turn, perform, context, runs),
  };
}
