/**
 * The limits of everything that could otherwise grow for ever. `Infinity` removes a limit.
 * `Ms` is milliseconds, `BytesMax` bytes of UTF-8, `Max` a count. Limits are recorded when a turn opens: a resumed turn
 * keeps the limits with which it began.
 */
export interface Limits {
  /** Model calls in a turn. Default: 50. */
  readonly roundsMax: number;
  /** Rounds in a row in which nothing that the model asked for succeeded. Default: 12. */
  readonly noProgressMax: number;
  /** New context windows (frames) in a turn. Default: 16. */
  readonly framesMax: number;
  /** Tool calls in one reply. Further calls fail, and the model reads why. Default: 128. */
  readonly callsPerRoundMax: number;
  /** Tool calls that run at the same time. Default: 8. */
  readonly parallelCallsMax: number;
  /** How long running calls can still finish after a cancel. Default: 1 second. */
  readonly cancelGraceMs: number;
  /** Resumes in a row without a recorded event. One more ends the turn as `turn.crash-loop`. Default: 5. */
  readonly resumesMax: number;
  /** An orphaned turn that is older ends as `turn.expired` and is not resumed. Default: 30 days. */
  readonly turnAgeMs: number;
  /**
   * How long a turn that only waits stays in memory before it is parked. `Infinity` never parks it. Default: 1 second.
   */
  readonly parkAfterMs: number;
  /** Time for one tool attempt. `timeoutMs` of a tool replaces it. Default: 10 minutes. */
  readonly toolMs: number;
  /** How long a model can send nothing before the attempt fails. Default: 5 minutes. */
  readonly modelIdleMs: number;
  /** Attempts at one model call. Attempts that a rate limit or overload refuses do not count. Default: 4. */
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
  /** Inputs that can wait in one session. A further input throws `input.full`. Default: 1,000. */
  readonly pendingInputsMax: number;
  /** Live jobs of one session. A further job throws `job.full`. Default: 10,000. */
  readonly jobsMax: number;
  /** Jobs with a task that run in this process at the same time. A parked job does not count. Default: 64. */
  readonly parallelJobsMax: number;
  /** Steps that one job may record. Default: 10,000. */
  readonly jobStepsMax: number;
  /**
   * Messages that one job can send to its session. Further messages are lost, and its events record that. Default:
   * 1,000.
   */
  readonly jobWakesMax: number;
  /** Subscriptions of one session. A further subscription throws `trigger.full`. Default: 1,000. */
  readonly subscriptionsMax: number;
  /** Occurrences that the store keeps of each event and each schedule, with their jobs. Default: 1,000. */
  readonly occurrencesMax: number;
  /** Events that wait for one slow reader. Beyond that the reader gets a `gap`. Default: 10,000. */
  readonly unreadEventsMax: number;
}

/** The default limits. `createRuntime({ limits })` changes them. */
export const DEFAULT_LIMITS: Limits = {
  roundsMax: 50,
  noProgressMax: 12,
  framesMax: 16,
  callsPerRoundMax: 128,
  parallelCallsMax: 8,
  cancelGraceMs: 1_000,
  resumesMax: 5,
  turnAgeMs: 2_592_000_000,
  parkAfterMs: 1_000,
  toolMs: 600_000,
  modelIdleMs: 300_000,
  modelAttemptsMax: 4,
  throttleMs: 120_000,
  throttlesMax: 10,
  inputBytesMax: 8_388_608,
  resultBytesMax: 8_388_608,
  replyBytesMax: 8_388_608,
  stateBytesMax: 65_536,
  pendingInputsMax: 1_000,
  jobsMax: 10_000,
  parallelJobsMax: 64,
  jobStepsMax: 10_000,
  jobWakesMax: 1_000,
  subscriptionsMax: 1_000,
  occurrencesMax: 1_000,
  unreadEventsMax: 10_000,
};
