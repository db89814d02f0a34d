interface ShellResult {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly stopped?: string;
  readonly stdout: string;
  readonly stderr: string;
}
export { ShellResult };
