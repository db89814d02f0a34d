import { BlobHash } from "../../model/ids.js";
import { Json } from "../../model/json.js";
import { NewInput } from "../store.js";
import { TurnEvent } from "../../turn/event.js";
/**
 * The journal of an ended turn as a row contains it. Most of its text is also in the nodes of the turn, and such a text
 * is stored as its position there.
 *
 * In `packed` a text that begins with `~` stands for something else: `~~` for a text that itself begins with `~`; `~` and
 * a number for a text of the nodes, `~=` and a number for a value whose JSON is such a text; `~@` and a number for the
 * parts of a message; `~#` or `~=#` and two numbers for the result in a part of a message; `~` alone, instead of a route,
 * for the route of the reply before.
 */
type KeptJournal = {
  readonly setting?: BlobHash;
  readonly packed: Json;
} |
/** A store that keeps values by reference shares them anyway. */
{
  readonly setting?: BlobHash;
  readonly events: readonly TurnEvent[];
};
/** The part of an input that its row contains. */
type InputContent = Pick<NewInput, "message" | "at" | "wants" | "metadata">;
export { InputContent, KeptJournal };
