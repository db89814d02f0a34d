interface RollingHistoryOptions {
  /** Tokens that the model can be sent; 128,000 unless given. */
  readonly window?: number;
  /** The share of the window from which on older attachments are only named; 0.6 unless given. */
  readonly pruneAt?: number;
  /** Tokens to keep free for what comes next: above the rest of the window it compacts. 20,000 unless given, or a quarter. */
  readonly reserve?: number;
  /** Tokens of the latest conversation that are carried over as they are; 20,000 unless given, or a quarter of the rest. */
  readonly tail?: number;
  /** The latest turns of the user that keep their attachments; 2 unless given. */
  readonly keepTurns?: number;
  /** The name of the model that summarises; the session's unless given. */
  readonly model?: string;
  /** False leaves it to `session.compact()`, and to a provider that refuses a request because it is too long. */
  readonly auto?: boolean;
  /** What a summary is to heed besides. */
  readonly instructions?: string;
}
export { RollingHistoryOptions };
