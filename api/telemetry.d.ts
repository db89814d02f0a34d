import { JsonlOptions, LineKind, jsonl } from "./shared/telemetry/jsonl.js";
import { PrettyOptions, pretty } from "./shared/telemetry/pretty.js";
export { type JsonlOptions, type LineKind, type PrettyOptions, jsonl, pretty };
