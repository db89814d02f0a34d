import { Json } from "../../model/json.js";
/** A job as it is compared: without times and the number of its processes. */
interface PictureOfJob {
  readonly session: string;
  readonly label: string;
  readonly kind: string;
  readonly visibility: string;
  readonly recovery: string;
  readonly state: string;
  readonly input?: Json;
  readonly result?: Json;
  readonly error?: string;
  /** The recorded steps, sorted by name. */
  readonly steps: readonly {
    readonly name: string;
    readonly value: Json;
  }[];
  /** Events from outside, in order: signals, answers, sessions that it was handed over to. */
  readonly sent: readonly string[];
  /** How often it woke its session. */
  readonly wakes: number;
}
export { PictureOfJob };
