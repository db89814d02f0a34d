import { Place } from "./places/place.js";
/** The places that the kit knows by name. A place of your own may be made of one, with another host for example. */
declare const places: {
  readonly sqlite: Place;
  readonly amnesiac: Place;
};
type PlaceName = keyof typeof places;
export { PlaceName, places };
