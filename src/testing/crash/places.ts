import { describeThrown } from "../../model/json.ts";
import { amnesiacPlace } from "./places/amnesiac.ts";
import type { OpenedPlace, Place, TrialPlace } from "./places/place.ts";
import { sqlitePlace } from "./places/sqlite.ts";

/** The places of the kit by name. Your own place may extend one, for example with another host. */
export const places: { readonly sqlite: Place; readonly amnesiac: Place } = {
  sqlite: sqlitePlace,
  amnesiac: amnesiacPlace,
};
export type PlaceName = keyof typeof places;

/** Takes a name or the URL of a module, because these can be sent to a process and a place cannot. */
export async function placeAt(where: string): Promise<Place> {
  if (isName(where)) return places[where];
  if (!URL.canParse(where))
    throw new TypeError(
      `"${where}" is no place: name one of ${Object.keys(places).join(", ")}, or give the URL of a module.`,
    );
  const { default: place } = (await import(where)) as { readonly default?: Partial<Place> };
  if (typeof place?.open !== "function" || typeof place.look !== "function")
    throw new TypeError(`${where} has no place: its default export must have the functions open and look.`);
  return place as Place;
}

const isName = (where: string): where is PlaceName => Object.hasOwn(places, where);

/** Opens a place in a process of a trial. A failure has its own message, because it is not the scenario's. */
export async function openPlace(where: string, at: TrialPlace): Promise<OpenedPlace> {
  try {
    const opened: Partial<OpenedPlace> = await (await placeAt(where)).open(at);
    if (opened.store === undefined || opened.host === undefined)
      throw new TypeError("open must answer with a store and a host.");
    return opened as OpenedPlace;
  } catch (error) {
    throw new Error(`The place ${where} did not open: ${describeThrown(error)}`, { cause: error });
  }
}
