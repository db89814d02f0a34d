import { Json } from "../../model/json.js";
interface PictureOfSubscription {
  readonly session: string;
  readonly id: string;
  readonly revision: number;
  readonly on: string;
  readonly isEnabled: boolean;
}
interface PictureOfOccurrence {
  /** `event:<name>`, or `subscription:<session>/<id>` for a source with a single subscription. */
  readonly source: string;
  readonly payload: Json;
  /** The receiver as `<session>/<subscription>`, and the state of the started job; none if no job was started. */
  readonly deliveries: readonly (readonly [to: string, state: string])[];
}
export { PictureOfOccurrence, PictureOfSubscription };
