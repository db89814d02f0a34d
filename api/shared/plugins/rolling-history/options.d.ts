interface RollingHistoryOptions {
  /** The size of the model's window, in tokens. Default 128,000. */
  readonly window?: number | undefined;
  /** The share of the window above which the request has only the names of older attachments. Default 0.6. */
  readonly pruneAt?: number | undefined;
  /**
   * How many tokens stay free. A request that leaves less starts a compaction. Default 20,000, or a quarter of a small
   * window.
   */
  readonly reserve?: number | undefined;
  /**
   * How many tokens of the latest messages a compaction keeps unchanged. Default 20,000, or a quarter of the tokens
   * that are not reserved.
   */
  readonly tail?: number | undefined;
  /** How many of the user's latest turns keep their attachments. Default 2. */
  readonly keepTurns?: number | undefined;
  /** The name of the model that writes summaries. Default: the session's model. */
  readonly model?: string | undefined;
  /**
   * Whether to compact when little room is left. Default true. With false only `session.compact()` and an overflow
   * start a compaction.
   */
  readonly auto?: boolean | undefined;
  /** A text for the model that writes summaries, added to its prompt. */
  readonly instructions?: string | undefined;
}
export { RollingHistoryOptions };
