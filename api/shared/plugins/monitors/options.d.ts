interface MonitorsOptions {
  /** The directory in which commands run. Default: that of the process. */
  readonly cwd?: string | undefined;
  /** Added to the environment of every command. It is stored with the session: give no secrets. */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /** What lines do where the model does not say: `notify` waits until it next acts, `wake` opens a turn. Default `notify`. */
  readonly wake?: "notify" | "wake" | undefined;
  /** Whether the model may start commands without a time limit. Default true. */
  readonly allowsPersistent?: boolean | undefined;
  /** The longest time limit that the model may give, in milliseconds. Default and maximum: an hour. */
  readonly timeoutMaxMs?: number | undefined;
}
export { MonitorsOptions };
