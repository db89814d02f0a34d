/** The kills of one run of a scenario. It has one process for each kill, and a last one that finishes. */
type Trial =
/** Kills the process at these boundaries, one life after the other. */
{
  readonly kind: "kills";
  readonly at: readonly number[];
} |
/** Kills the process each time it reaches this boundary, until the runtime abandons the turn. */
{
  readonly kind: "loop";
  readonly place: string;
} |
/** Suspends the process until its lease has expired and another process has done the work, then continues it. */
{
  readonly kind: "stop";
  readonly at: number;
} |
/** Runs two processes concurrently, kills the first at this boundary and starts it again. */
{
  readonly kind: "pair";
  readonly at: number;
};
/** The number of trials of each kind. */
interface Amounts {
  /** Trials with one kill, each at another boundary. Default: `all` boundaries. */
  readonly kills: "all" | number;
  /** Trials with a second kill in the process after the first. Default: 0. */
  readonly doubles: number;
  /** Trials with three kills. Default: 0. */
  readonly triples: number;
  /** Trials that kill every process at the same outward effect. Default: 0. */
  readonly loops: "all" | number;
  /** Trials that suspend a process until its lease has expired. Default: 0. */
  readonly stops: "all" | number;
  /** Trials with two concurrent processes. Default: 0. */
  readonly pairs: "all" | number;
}
export { Amounts, Trial };
