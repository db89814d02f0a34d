import { Session } from "node:inspector/promises";

export interface Called {
  readonly url: string;
  readonly name: string;
  /** Where the function begins in the file. */
  readonly offset: number;
  /** The number of calls in all runs together. */
  readonly calls: number;
}

/** Counts the calls of all functions outside of Node itself during `runs` runs, after a warm-up. */
export async function calledDuring(
  warmUps: number,
  runs: number,
  run: (index: number) => Promise<void>,
): Promise<readonly Called[]> {
  const inspector = new Session();
  inspector.connect();
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  for (let index = 0; index < warmUps; index++) await run(index);
  // Discards the warm-up: taking the counts resets them.
  await inspector.post("Profiler.takePreciseCoverage");
  for (let index = 0; index < runs; index++) await run(warmUps + index);
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  inspector.disconnect();
  return result
    .filter(({ url }) => url.startsWith("file:"))
    .flatMap(({ url, functions }) =>
      functions.map(({ functionName, ranges }) => {
        const { startOffset, count } = ranges[0]!;
        return { url, name: functionName, offset: startOffset, calls: count };
      }),
    );
}
