import { Any, InputOf, OutputOf, Schema } from "../model/schema.js";
/** A value for an extension, made with `extension.of(value)`. The call that receives it checks it. */
interface ExtensionValue {
  readonly id: string;
  readonly value: unknown;
}
/** Typed input for plugins. Its id identifies it, so any version of its plugin can read a recorded value. */
interface Extension<In, Out = In> {
  readonly id: string;
  readonly schema: Schema<In, Out>;
  /** Makes a value to pass: `session.turn(input, { extensions: [urgency.of({ level: 2 })] })`. */
  of(value: In): ExtensionValue;
}
/** How a plugin declares an extension that it owns. */
type ExtensionDeclaration = Extension<Any, Any> | CheckedExtension;
interface CheckedExtension {
  readonly extension: Extension<Any, Any>;
  /** Checks the output of the schema. Returns the problem, or nothing. */
  readonly validate?: ((value: Any) => string | undefined) | undefined;
}
/**
 * Makes an extension. The plugin that owns it lists it in its `extensions`; others read it with the same object. The
 * schema must be synchronous and return JSON. It must return the same for the same value, because a repeated `key`
 * compares these outputs.
 */
declare function extension<S extends Schema>(id: string, schema: S): Extension<InputOf<S>, OutputOf<S>>;
export { Extension, ExtensionDeclaration, ExtensionValue, extension };
