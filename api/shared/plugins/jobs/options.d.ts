interface JobsOptions {
  /** How long `jobs_wait` waits at most, in milliseconds. Default 7 days: a job may wait for a person. */
  readonly timeoutMs?: number | undefined;
}
export { JobsOptions };
