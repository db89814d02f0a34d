import "../../sandbox/quickjs/index.js";
import "./state.js";
import { Extension } from "../../kernel/extension.js";
import { Json } from "../../model/json.js";
type Values = {
  readonly [name: string]: Json;
};
/**
 * The accepted type. It includes interfaces, which have no index signature. Values that are not JSON are refused later.
 */
type GivenValues = {
  readonly [name: string]: unknown;
};
/**
 * Read-only values for the code of one turn: `session.turn(input, { extensions: [bindings.of({ report })] })`. Code
 * reads them by name and must await large ones. They override values of the session with the same names.
 */
declare const bindings: Extension<GivenValues, Values>;
export { bindings };
