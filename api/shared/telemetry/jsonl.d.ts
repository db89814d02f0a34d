import { Span, TelemetryListener } from "./telemetry.js";
/** What a line is about. */
type LineKind = Span["kind"] | "event";
interface JsonlOptions {
  /** Writes messages, arguments, results and texts of errors too. Default: false. */
  readonly content?: boolean | undefined;
  /** Which lines to write. Default: all but those of kind `store`. */
  readonly kinds?: readonly LineKind[] | undefined;
}
/** Appends a line of JSON for each span that ends and each event. `close()` of the runtime writes the waiting lines. */
declare function jsonl(path: string, options?: JsonlOptions): TelemetryListener;
export { JsonlOptions, LineKind, jsonl };
