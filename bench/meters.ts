import { createHook } from "node:async_hooks";
import { GCProfiler } from "node:v8";
import { calledDuring } from "./coverage.ts";

/** Runs `run(0)`, `run(1)`, …, first to warm up and then to measure. Returns the figure for one run. */
export type Meter = (warmUps: number, runs: number, run: (index: number) => Promise<void>) => Promise<number>;

const SLICES = 5;

/** Measures in slices and takes their median, so that a disturbed slice does not count. */
const sliced =
  (microseconds: () => number): Meter =>
  async (warmUps, runs, run) => {
    for (let index = 0; index < warmUps; index++) await run(index);
    const perSlice = Math.max(1, Math.floor(runs / SLICES));
    const slices: number[] = [];
    for (let index = warmUps; slices.length < SLICES; ) {
      const before = microseconds();
      for (let count = 0; count < perSlice; count++) await run(index++);
      slices.push((microseconds() - before) / perSlice);
    }
    return median(slices);
  };

/** Wall-clock time, for work that waits for the disk. */
export const wall = sliced(() => performance.now() * 1_000);

export const METERS = {
  /** Microseconds of processor time in all threads, so that garbage collection counts. */
  cpu: sliced(() => {
    const { user, system } = process.cpuUsage();
    return user + system;
  }),

  /** Function calls outside of Node itself. Like the counts below, it does not depend on how busy the machine is. */
  async calls(warmUps, runs, run) {
    const called = await calledDuring(warmUps, runs, run);
    return called.reduce((sum, { calls }) => sum + calls, 0) / runs;
  },

  async promises(warmUps, runs, run) {
    for (let index = 0; index < warmUps; index++) await run(index);
    let promises = 0;
    const hook = createHook({ init: (_id, type) => void (type === "PROMISE" && promises++) }).enable();
    for (let index = 0; index < runs; index++) await run(warmUps + index);
    hook.disable();
    return promises / runs;
  },

  /** Kilobytes allocated: the growth of the heap plus what was collected meanwhile. */
  async kb(warmUps, runs, run) {
    for (let index = 0; index < warmUps; index++) await run(index);
    globalThis.gc?.();
    const profiler = new GCProfiler();
    profiler.start();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < runs; index++) await run(warmUps + index);
    const grown = process.memoryUsage().heapUsed - before;
    const collected = profiler
      .stop()
      .statistics.reduce(
        (sum, { beforeGC, afterGC }) =>
          sum + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
        0,
      );
    return (grown + collected) / 1024 / runs;
  },
} as const satisfies { readonly [name: string]: Meter };

export type MeterName = keyof typeof METERS;

/** What the heap holds after a full collection. */
export function heapBytes(): number {
  for (let times = 0; times < 4; times++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
