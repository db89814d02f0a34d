// Keeps a worker process alive, and handles the signals that stop it.
import { HOLD_MS } from "./poller.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * A process manager and the program that it started (`npm start`) often both send the signal. Within this time such a
 * repeat counts as the same signal. Otherwise it would end the process before its turns are parked or released.
 */
const SAME_MS = 1_000;

/**
 * Keeps the process alive and calls `stop` at the first signal. A later signal ends the process at once, because closing
 * may wait for a tool or a plugin. Returns a function that removes the handlers and lets the process end.
 */
export function attendSignals(stop: () => void): () => void {
  const hold = setInterval(() => {}, HOLD_MS);
  let stoppedAt: number | undefined;
  const leave = (): void => {
    clearInterval(hold);
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now();
      stop();
    } else if (performance.now() - stoppedAt >= SAME_MS) {
      leave();
      process.kill(process.pid, name);
    }
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return leave;
}
