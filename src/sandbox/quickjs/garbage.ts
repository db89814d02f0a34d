// Collects the memory of closed VMs. V8 does not collect a few small objects soon, although each of them keeps
// megabytes alive. So dozens of dead VMs would stay. An explicit collection when the thread is idle frees them. It
// takes as long as opening several guests.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Less garbage is not worth a collection. */
const GARBAGE_BYTES_MIN = 8 * 1024 * 1024;
/** More garbage is collected at once, even in a busy thread. */
const GARBAGE_BYTES_MAX = 64 * 1024 * 1024;
const IDLE_MS = 50;

let garbageBytes = 0;
let timer: NodeJS.Timeout | undefined;
let gc: (() => void) | undefined;

/** Reports memory that was released. */
export function discarded(bytes: number): void {
  garbageBytes += bytes;
  postponeCollecting();
}

/** Delays the collection, because the thread has work. */
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

/** Sets the flag only for a moment, because it is process-wide. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collector = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  return () => collector();
}
