/** What a recovery did. */
interface Recovered {
  /** Sessions with a turn that was left, or with inputs that waited, and nobody at them. */
  readonly sessions: number;
}
export { Recovered };
