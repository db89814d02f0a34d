interface RollingHistoryOptions {
  /** The size of the model's window, in tokens. Default 128,000. */
  readonly window?: number | undefined;
  /** The share of the window above which older attachments are named instead of sent. Default 0.6. */
  readonly pruneAt?: number | undefined;
  /** Tokens to keep free; a request that leaves less is compacted. Default 20,000, or a quarter of a small window. */
  readonly reserve?: number | undefined;
  /**
   * Tokens of the latest messages that a compaction leaves as they are. Default 20,000, or a quarter of what is not
   * reserved.
   */
  readonly tail?: number | undefined;
  /** How many of the user's latest turns keep their attachments. Default 2. */
  readonly keepTurns?: number | undefined;
  /** The name of the model that writes summaries. Default: the session's model. */
  readonly model?: string | undefined;
  /** Whether to compact when room gets short. Default true. With false only `session.compact()` and an overflow do. */
  readonly auto?: boolean | undefined;
  /** Words for the model that writes summaries, added to the prompt. */
  readonly instructions?: string | undefined;
}
export { RollingHistoryOptions };
