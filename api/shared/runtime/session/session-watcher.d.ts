interface Recovered {
  /** How many sessions were resumed. Each had an orphaned or answered turn, or waiting inputs. */
  readonly sessions: number;
}
export { Recovered };
