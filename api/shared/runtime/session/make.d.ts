interface ForkOptions {
  /** The last node that it has; the head unless given. */
  readonly at?: string;
  /** Instead of `at`: the first node that it has not. Before the first of all there is nothing: it begins empty. */
  readonly before?: string;
  readonly id?: string;
  /** For people, in lists of branches. */
  readonly label?: string;
}
export { ForkOptions };
