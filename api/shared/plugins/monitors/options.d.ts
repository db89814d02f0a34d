interface MonitorsOptions {
  /** The directory in which commands run. Default: the directory of the process. */
  readonly cwd?: string | undefined;
  /**
   * Variables that every command gets in its environment. Put no secrets here, because they are stored with the
   * session.
   */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /** The default for what lines do: `notify` waits until the model next acts, `wake` opens a turn. Default `notify`. */
  readonly wake?: "notify" | "wake" | undefined;
  /** Whether the model may start commands without a time limit. Default true. */
  readonly allowsPersistent?: boolean | undefined;
  /** The longest time limit that the model can set, in milliseconds. Default and maximum: an hour. */
  readonly timeoutMaxMs?: number | undefined;
}
export { MonitorsOptions };
