import { FinishReason, ModelPart, ModelRequest, ProviderFailure } from "../shared/model/request.js";
import { Json } from "../shared/model/json.js";
import { Provider } from "../shared/providers/provider.js";
/** One reply of a scripted model: parts, or a function of the request, or a failure to throw. */
type Reply = readonly ModelPart[] | ProviderFailure | ((request: ModelRequest) => readonly ModelPart[] | ProviderFailure);
interface Scripted extends Provider {
  /** What it was asked, oldest first. */
  readonly requests: readonly ModelRequest[];
}
/** Says this, in one delta or in the given ones. */
declare const says: (...deltas: readonly string[]) => readonly ModelPart[];
/** Thinks this, then goes on. */
declare const thinks: (words: string, then: readonly ModelPart[]) => readonly ModelPart[];
/** Calls one tool; `both(calls(…), calls(…))` calls several in one reply. */
declare const calls: (name: string, input?: Json, id?: string) => readonly ModelPart[];
/** Several replies as one: everything they say and call, then one end. */
declare function both(...replies: readonly (readonly ModelPart[])[]): readonly ModelPart[];
/** Ends otherwise than well: cut off by the output limit, or refused. */
declare const ends: (reason: FinishReason, ...deltas: readonly string[]) => readonly ModelPart[];
/** Breaks off after these parts, without an end. */
declare const cut: (...deltas: readonly string[]) => readonly ModelPart[];
/** A model that plays these replies in order, for tests. Asked once more than it knows, it fails and says so. */
declare function scripted(...replies: Reply[]): Scripted;
export { Reply, Scripted, both, calls, cut, ends, says, scripted, thinks };
