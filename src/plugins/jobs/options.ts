import { optionsSchema } from "../../index.ts";

export interface JobsOptions {
  /** How long `jobs_wait` waits at most, in milliseconds. Default 7 days: a job may wait for a person. */
  readonly timeoutMs?: number | undefined;
}

export interface Settings {
  readonly timeoutMs: number;
}

const WEEK_MS = 7 * 86_400_000;

export const OPTIONS = optionsSchema<JobsOptions, Settings>((given) => {
  given.only("timeoutMs");
  return { timeoutMs: given.whole("timeoutMs", { min: 1, max: WEEK_MS }, WEEK_MS) };
});
