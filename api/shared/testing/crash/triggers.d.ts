import { Json } from "../../model/json.js";
interface PictureOfSubscription {
  readonly session: string;
  readonly id: string;
  readonly revision: number;
  readonly on: string;
  readonly isEnabled: boolean;
}
interface PictureOfOccurrence {
  /** `event:<name>`, or `subscription:<session>/<id>` for what only that one waits for. */
  readonly source: string;
  readonly payload: Json;
  /** To whom, as `<session>/<subscription>`, and the state of the job that it is; none where nothing was started. */
  readonly deliveries: readonly (readonly [to: string, state: string])[];
}
export { PictureOfOccurrence, PictureOfSubscription };
