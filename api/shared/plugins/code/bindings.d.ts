import "../../sandbox/quickjs/index.js";
import "./kept.js";
import { Extension } from "../../kernel/extension.js";
import { Json } from "../../model/json.js";
type Values = {
  readonly [name: string]: Json;
};
/**
 * Read-only values for the code of one turn: `session.turn(input, { extensions: [bindings.of({ report })] })`. Code has
 * them under their names; what is large it awaits. They stand over those of the session.
 */
declare const bindings: Extension<Values, Values>;
export { Values, bindings };
