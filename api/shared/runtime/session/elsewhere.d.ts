interface Recovered {
  /** How many sessions were resumed: they had an open turn or waiting inputs, and no process had them. */
  readonly sessions: number;
}
export { Recovered };
