interface ShellResult {
  /** Null when a signal ended the command. */
  readonly exitCode: number | null;
  /** The signal that ended the command. */
  readonly signal?: string;
  /** Why the command was stopped: its time limit has passed, or the call was cancelled. */
  readonly stopped?: string;
  readonly stdout: string;
  readonly stderr: string;
}
export { ShellResult };
