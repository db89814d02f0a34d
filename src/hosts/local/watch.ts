import type { TurnRun } from "../host.ts";

/** How often a turn looks for mail that nobody told it of: a cancel, an answer from another process. Its lease is renewed with it. */
export const LOOK_MS = 500;

/** One timer for all turns of a host, which runs only while there are any. */
export function watched(): <Run extends TurnRun>(make: (left: () => void) => Run) => Run {
  const runs = new Set<TurnRun>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    if (runs.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    for (const each of runs) void each.poke();
  };
  return (make) => {
    const run = make(() => runs.delete(run));
    runs.add(run);
    timer ??= setInterval(look, LOOK_MS).unref();
    return run;
  };
}
