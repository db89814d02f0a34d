interface MonitorsOptions {
  /** The directory in which commands run. Default: the directory of the process. */
  readonly cwd?: string | undefined;
  /** Added to the environment of every command. Put no secrets here, because it is stored with the session. */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /** The default for what lines do: `notify` waits until the model next acts, `wake` opens a turn. Default `notify`. */
  readonly wake?: "notify" | "wake" | undefined;
  /** Whether the model may start commands without a time limit. Default true. */
  readonly allowsPersistent?: boolean | undefined;
  /** The longest time limit that the model may give, in milliseconds. Default and maximum: an hour. */
  readonly timeoutMaxMs?: number | undefined;
}
export { MonitorsOptions };
