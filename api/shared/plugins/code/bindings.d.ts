import "../../sandbox/quickjs/index.js";
import "./state.js";
import { Extension } from "../../kernel/extension.js";
import { Json } from "../../model/json.js";
type Values = {
  readonly [name: string]: Json;
};
/** What may be given: interfaces too, which have no index signature. What is no JSON is refused where it is given. */
type GivenValues = {
  readonly [name: string]: unknown;
};
/**
 * Read-only values for the code of one turn: `session.turn(input, { extensions: [bindings.of({ report })] })`. Code has
 * them under their names; what is large it awaits. They stand over those of the session.
 */
declare const bindings: Extension<GivenValues, Values>;
export { bindings };
