import { Json } from "../model/json.js";
import { Span } from "./telemetry.js";
/** Where a value of content comes from. */
interface ContentPlace {
  /** The kind of the span, or `event`. */
  readonly kind: Span["kind"] | "event";
  /** For example `messages`, `arguments`, `result` or `error`. */
  readonly field: string;
}
type Redact = (value: Json, where: ContentPlace) => Json;
export { ContentPlace, Redact };
