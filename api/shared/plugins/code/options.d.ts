import "../../sandbox/quickjs/index.js";
/**
 * The limits of a cell. Code cannot catch them: a cell that exceeds one is stopped, and its changes of the heap are
 * undone.
 */
interface CodeOptions {
  /**
   * The computing time of one cell, in steps of about ten thousand operations. Default 20,000, which is about ten
   * seconds.
   */
  readonly stepsMax?: number | undefined;
  /** How long the code may compute before it waits for something, in milliseconds. Default 10,000. */
  readonly segmentMs?: number | undefined;
  /** How much longer native code may take, which cannot be interrupted, before its worker is ended. Default 2,000. */
  readonly graceMs?: number | undefined;
  /** Size of the heap. Default 64 MiB, at most 128 MiB. */
  readonly memoryBytesMax?: number | undefined;
  /** The size of all that one cell prints, passes to tools and returns, in bytes. Default 1 MiB. */
  readonly outputBytesMax?: number | undefined;
  /**
   * Calls, sleeps and reads of one cell. Default 1,000. `callsPerRoundMax` applies too: calls above it are refused and
   * do not stop the cell.
   */
  readonly callsMax?: number | undefined;
  /** How many printed characters of a cell the model reads. The middle of a longer text is left out. Default 32,000. */
  readonly shownCharsMax?: number | undefined;
  /**
   * How many threads run the code of all sessions. Only an option of the installed plugin. Default: one per core, at
   * most 4.
   */
  readonly workers?: number | undefined;
}
export { CodeOptions };
