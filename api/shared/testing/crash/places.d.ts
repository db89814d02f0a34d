import { Place } from "./places/place.js";
/** The places of the kit by name. Your own place may extend one, for example with another host. */
declare const places: {
  readonly sqlite: Place;
  readonly amnesiac: Place;
};
type PlaceName = keyof typeof places;
export { PlaceName, places };
