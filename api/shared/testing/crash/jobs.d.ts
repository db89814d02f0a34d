import { Json } from "../../model/json.js";
/** A job as it is compared: no times, and not how many processes it took. */
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
  /** What was recorded of its work, by name and in the order of the names. */
  readonly steps: readonly {
    readonly name: string;
    readonly value: Json;
  }[];
  /** What others sent, in its order: signals, answers, sessions that it was handed over to. */
  readonly sent: readonly string[];
  /** How often its session was told something. */
  readonly wakes: number;
}
export { PictureOfJob };
