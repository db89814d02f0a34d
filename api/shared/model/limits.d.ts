/**
 * Everything that could grow without bound has a default here; `Infinity` is a choice the user writes down.
 * Milliseconds end in `Ms`, counts and bytes in `Max`. They are recorded when a turn opens: a turn that is resumed
 * keeps the limits it began with.
 */
interface Limits {
  /** Model calls in a turn. */
  readonly roundsMax: number;
  /** Rounds in a row in which nothing the model asked for succeeded. */
  readonly noProgressMax: number;
  /** New frames in a turn. */
  readonly framesMax: number;
  /** Tool calls in one reply; the others are refused and the model is told. */
  readonly callsPerRoundMax: number;
  /** Tool calls that run at the same time. */
  readonly parallelCallsMax: number;
  /** How long running calls may still finish after a cancel. */
  readonly cancelGraceMs: number;
  /** Times a turn may be resumed after a crash. */
  readonly resumesMax: number;
  /** A turn that was left longer ago is not gone on with. */
  readonly turnAgeMs: number;
  /** One tool attempt, unless the tool has its own `timeoutMs`. */
  readonly toolMs: number;
  /** A model that sends nothing for this long has failed. */
  readonly modelIdleMs: number;
  /** Attempts at one model call. */
  readonly modelAttemptsMax: number;
  /** All the waiting for a rate limit in one model call. */
  readonly throttleMs: number;
  /** One user input. */
  readonly inputBytesMax: number;
  /** One tool result. */
  readonly resultBytesMax: number;
  /** One model reply. */
  readonly replyBytesMax: number;
  /** The state of one plugin. */
  readonly stateBytesMax: number;
  /** Inputs of one session that wait for their turn. */
  readonly pendingInputsMax: number;
  /** Events kept for one reader that does not keep up. */
  readonly unreadEventsMax: number;
}
declare const DEFAULT_LIMITS: Limits;
export { DEFAULT_LIMITS, Limits };
