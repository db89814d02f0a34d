import { FinishReason, ModelPart, ModelRequest, ProviderFailure } from "../shared/model/request.js";
import { Json } from "../shared/model/json.js";
import { Provider } from "../shared/providers/provider.js";
/** One reply of a scripted model: parts, a failure to throw, or a function of the request that gives either. */
type Reply = readonly ModelPart[] | ProviderFailure | ((request: ModelRequest) => readonly ModelPart[] | ProviderFailure);
interface Scripted extends Provider {
  /** All requests so far, oldest first. */
  readonly requests: readonly ModelRequest[];
}
/** A reply of text, streamed in these deltas. */
declare const says: (...deltas: readonly string[]) => readonly ModelPart[];
/** A reply that begins with reasoning. */
declare const thinks: (words: string, then: readonly ModelPart[]) => readonly ModelPart[];
/** A reply that calls one tool. `both(calls(…), calls(…))` calls several in one reply. */
declare const calls: (name: string, input?: Json, id?: string) => readonly ModelPart[];
/** Joins replies into one: all texts and calls, then one `finish`. */
declare function both(...replies: readonly (readonly ModelPart[])[]): readonly ModelPart[];
/** A reply of text that ends for another reason than `stop`: `length` for the output limit, `refused`, … */
declare const ends: (reason: FinishReason, ...deltas: readonly string[]) => readonly ModelPart[];
/** A reply that ends after these deltas without a `finish`, like a cut stream. */
declare const cut: (...deltas: readonly string[]) => readonly ModelPart[];
/** A model for tests that gives these replies in order. A further request fails with an error. */
declare function scripted(...replies: Reply[]): Scripted;
export { Reply, Scripted, both, calls, cut, ends, says, scripted, thinks };
