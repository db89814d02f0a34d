interface Recovered {
  /** How many sessions were resumed: they had a turn to go on with, or waiting inputs, and no process had them. */
  readonly sessions: number;
}
export { Recovered };
