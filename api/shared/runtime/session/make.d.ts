interface ForkOptions {
  /** The last node that the fork has. Default: the head. */
  readonly at?: string;
  /** Instead of `at`: the first node that the fork does not have. Before the very first one, it begins empty. */
  readonly before?: string;
  readonly id?: string;
  /** A name for people to read. */
  readonly label?: string;
}
export { ForkOptions };
