/**
 * Everything that could grow without bound has a limit here; write `Infinity` to lift one.
 * `Ms` is milliseconds, `BytesMax` bytes of UTF-8, `Max` a count. Limits are recorded when a turn opens: a resumed turn
 * keeps those it began with.
 */
interface Limits {
  /** Model calls in a turn. Default: 50. */
  readonly roundsMax: number;
  /** Rounds in a row in which nothing that the model asked for succeeded. Default: 12. */
  readonly noProgressMax: number;
  /** New context windows (frames) in a turn. Default: 16. */
  readonly framesMax: number;
  /** Tool calls in one reply; further ones are refused, and the model is told. Default: 128. */
  readonly callsPerRoundMax: number;
  /** Tool calls that run at the same time. Default: 8. */
  readonly parallelCallsMax: number;
  /** How long running calls may still finish after a cancel. Default: 1 second. */
  readonly cancelGraceMs: number;
  /** Resumes in a row without an event recorded; one more ends the turn as `turn.crash-loop`. Default: 5. */
  readonly resumesMax: number;
  /** A turn that was left longer ago ends as `turn.expired` instead of being resumed. Default: 30 days. */
  readonly turnAgeMs: number;
  /** How long a turn that only waits stays in memory before it is parked; `Infinity` keeps it there. Default: 1 second. */
  readonly parkAfterMs: number;
  /** Time for one tool attempt, unless the tool has its own `timeoutMs`. Default: 10 minutes. */
  readonly toolMs: number;
  /** How long a model may send nothing before the attempt counts as failed. Default: 5 minutes. */
  readonly modelIdleMs: number;
  /** Attempts at one model call. Those refused for a rate limit or overload do not count. Default: 4. */
  readonly modelAttemptsMax: number;
  /** Total time that one model call may wait for rate limits and overload. Default: 2 minutes. */
  readonly throttleMs: number;
  /** How many times one model call may wait for rate limits and overload. Default: 10. */
  readonly throttlesMax: number;
  /** Size of one input, and of what is appended at once. Default: 8 MiB. */
  readonly inputBytesMax: number;
  /** Size of one tool result. Default: 8 MiB. */
  readonly resultBytesMax: number;
  /** Size of one model reply. Default: 8 MiB. */
  readonly replyBytesMax: number;
  /** Size of one plugin's state. Default: 64 KiB. */
  readonly stateBytesMax: number;
  /** Inputs that may wait in one session; a further one is refused with `input.full`. Default: 1,000. */
  readonly pendingInputsMax: number;
  /** Jobs of one session that are not over; a further one is refused with `job.full`. Default: 10,000. */
  readonly jobsMax: number;
  /** Jobs with a task that run in this process at the same time; those that only wait do not count. Default: 64. */
  readonly parallelJobsMax: number;
  /** Steps that one job may record. Default: 10,000. */
  readonly jobStepsMax: number;
  /** How often one job may tell its session something; more is lost, and its record says so. Default: 1,000. */
  readonly jobWakesMax: number;
  /** Subscriptions of one session; a further one is refused with `trigger.full`. Default: 1,000. */
  readonly subscriptionsMax: number;
  /** Occurrences that are kept of each event and each schedule, with the jobs that they started. Default: 1,000. */
  readonly occurrencesMax: number;
  /** Events kept for one reader that is behind; beyond that it gets a `gap`. Default: 10,000. */
  readonly unreadEventsMax: number;
}
/** The limits that hold unless `createRuntime({ limits })` says otherwise. */
declare const DEFAULT_LIMITS: Limits;
export { DEFAULT_LIMITS, Limits };
