import { TelemetryListener } from "./telemetry.js";
interface PrettyOptions {
  /** Receives each line with its line break. Default: writes to stderr. */
  readonly write?: ((line: string) => void) | undefined;
  /** Default: whether lines go to a terminal, and `NO_COLOR` is not set. */
  readonly color?: boolean | undefined;
}
/** Writes a line of at most 80 columns for each turn, round, model call, tool call, wait and job that ends, and each event. */
declare function pretty(options?: PrettyOptions): TelemetryListener;
export { PrettyOptions, pretty };
