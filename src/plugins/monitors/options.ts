import { optionsSchema } from "../../plugin.ts";

export interface MonitorsOptions {
  /** The directory in which commands run. Default: the directory of the process. */
  readonly cwd?: string | undefined;
  /**
   * Variables that every command gets in its environment. Put no secrets here, because they are stored with the
   * session.
   */
  readonly env?: { readonly [name: string]: string } | undefined;
  /** The default for what lines do: `notify` waits until the model next acts, `wake` opens a turn. Default `notify`. */
  readonly wake?: "notify" | "wake" | undefined;
  /** Whether the model may start commands without a time limit. Default true. */
  readonly allowsPersistent?: boolean | undefined;
  /** The longest time limit that the model can set, in milliseconds. Default and maximum: an hour. */
  readonly timeoutMaxMs?: number | undefined;
}

export interface Settings {
  readonly cwd: string | undefined;
  readonly env: { readonly [name: string]: string } | undefined;
  readonly wake: "notify" | "wake";
  readonly allowsPersistent: boolean;
  readonly timeoutMs: number;
  readonly timeoutMaxMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const OPTIONS = optionsSchema<MonitorsOptions, Settings>((given) => {
  given.only("cwd", "env", "wake", "allowsPersistent", "timeoutMaxMs");
  const timeoutMaxMs = given.whole("timeoutMaxMs", { min: 1, max: HOUR_MS }, HOUR_MS);
  return {
    cwd: given.text("cwd", undefined),
    env: given.checked("env", isEnv, "an object of texts", undefined),
    wake: given.oneOf("wake", ["notify", "wake"], "notify"),
    allowsPersistent: given.flag("allowsPersistent", true),
    timeoutMs: Math.min(5 * MINUTE_MS, timeoutMaxMs),
    timeoutMaxMs,
  };
});

const isEnv = (value: unknown): value is { readonly [name: string]: string } =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((each) => typeof each === "string");
