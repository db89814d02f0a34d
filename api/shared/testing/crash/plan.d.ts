/** What is done to a scenario: a process for each kill, and one more to finish. */
type Trial =
/** Killed at these boundaries, one life after the other. */
{
  readonly kind: "kills";
  readonly at: readonly number[];
} |
/** Killed whenever it comes to this place, until the runtime gives the turn up. */
{
  readonly kind: "loop";
  readonly place: string;
} |
/** Stopped there until its lease has lapsed and another has done the work, then continued. */
{
  readonly kind: "stop";
  readonly at: number;
} |
/** Two processes beside each other, the first of which is killed there and started again. */
{
  readonly kind: "pair";
  readonly at: number;
};
interface Amounts {
  readonly kills: "all" | number;
  readonly doubles: number;
  readonly triples: number;
  readonly loops: "all" | number;
  readonly stops: "all" | number;
  readonly pairs: "all" | number;
}
export { Amounts, Trial };
