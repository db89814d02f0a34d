// Memory of VMs that were closed. V8 sees a few small objects and is in no hurry, though megabytes hang on each of them:
// dozens of dead VMs would be kept. So it is told to collect them, in a moment when the thread has nothing to do: that
// takes as long as several guests take to open.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Not worth collecting below this. */
const GARBAGE_BYTES_MIN = 8 * 1024 * 1024;
/** Collected at once, however busy the thread is. */
const GARBAGE_BYTES_MAX = 64 * 1024 * 1024;
const IDLE_MS = 50;

let garbageBytes = 0;
let timer: NodeJS.Timeout | undefined;
let gc: (() => void) | undefined;

/** Nothing holds on to this much memory any more. */
export function discarded(bytes: number): void {
  garbageBytes += bytes;
  postponeCollecting();
}

/** The thread has something to do. */
export function postponeCollecting(): void {
  if (garbageBytes < GARBAGE_BYTES_MIN) return;
  clearTimeout(timer);
  timer = setTimeout(collect, garbageBytes < GARBAGE_BYTES_MAX ? IDLE_MS : 0);
}

function collect(): void {
  garbageBytes = 0;
  gc ??= collector();
  gc();
}

/** The flag is the process's: it is on for a moment only. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collector = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  return () => collector();
}
