import type { EffectHost } from "./host.ts";
import { LocalRun } from "./local/run.ts";
import { watched } from "./local/watch.ts";

/** Effects run here and now, and events live in memory only: for tests, and for stores that keep nothing anyway. */
export function inline(): EffectHost {
  const watch = watched();
  return {
    kind: "inline",
    open: (turn, perform, context) => watch((left) => new LocalRun(turn, perform, context, left)),
  };
}
