import { optionsSchema } from "../../plugin.ts";
import type { CellBounds } from "../../sandbox/quickjs/index.ts";

/** What a cell may use. Code cannot catch these: a cell that passes one is stopped, and what it did is undone. */
export interface CodeOptions {
  /** Computing in one cell, in steps of about ten thousand operations. Default 20,000: about ten seconds. */
  readonly stepsMax?: number | undefined;
  /** How long the code may compute before it waits for something, in milliseconds. Default 10,000. */
  readonly segmentMs?: number | undefined;
  /** How much longer native code may take, which cannot be interrupted, before its worker is ended. Default 2,000. */
  readonly graceMs?: number | undefined;
  /** Size of the heap. Default 64 MiB, at most 128 MiB. */
  readonly memoryBytesMax?: number | undefined;
  /** What one cell may print, hand to tools and finish with, together. Default 1 MiB. */
  readonly outputBytesMax?: number | undefined;
  /** Calls, sleeps and reads of one cell. Default 1,000. `callsPerRoundMax` counts too: what is more is refused, not stopped. */
  readonly callsMax?: number | undefined;
  /** How much of what a cell printed the model is shown: the middle of more is left out. Default 32,000 characters. */
  readonly shownCharsMax?: number | undefined;
  /** Threads that the code of all sessions runs in. Given where the plugin is installed. Default: one a core, at most 4. */
  readonly workers?: number | undefined;
}

export interface Settings extends CellBounds {
  readonly shownCharsMax: number;
  readonly workers: number | undefined;
}

const MIB = 1_048_576;

export const OPTIONS = optionsSchema<CodeOptions, Settings>((given) => {
  given.only(
    "stepsMax",
    "segmentMs",
    "graceMs",
    "memoryBytesMax",
    "outputBytesMax",
    "callsMax",
    "shownCharsMax",
    "workers",
  );
  return {
    stepsMax: given.whole("stepsMax", { min: 1 }, 20_000),
    segmentMs: given.whole("segmentMs", { min: 1, max: 250_000 }, 10_000),
    graceMs: given.whole("graceMs", { min: 1, max: 60_000 }, 2_000),
    memoryBytesMax: given.whole("memoryBytesMax", { min: 2 * MIB, max: 128 * MIB }, 64 * MIB),
    outputBytesMax: given.whole("outputBytesMax", { min: 1 }, MIB),
    callsMax: given.whole("callsMax", {}, 1_000),
    shownCharsMax: given.whole("shownCharsMax", { min: 100 }, 32_000),
    workers: given.whole("workers", { min: 1, max: 64 }, undefined),
  };
});

export const boundsOf = ({ workers: _, shownCharsMax: __, ...bounds }: Settings): CellBounds => bounds;
