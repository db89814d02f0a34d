import { Any, InputOf, OutputOf, Schema } from "../model/schema.js";
/** A value for an extension, made with `extension.of(value)`. It is checked where it is given. */
interface ExtensionValue {
  readonly id: string;
  readonly value: unknown;
}
/** Typed input for plugins. Recognised by its id, so what was recorded can be read by any version of its plugin. */
interface Extension<In, Out = In> {
  readonly id: string;
  readonly schema: Schema<In, Out>;
  /** Makes a value to give: `session.turn(input, { extensions: [urgency.of({ level: 2 })] })`. */
  of(value: In): ExtensionValue;
}
/** What a plugin says of an extension that it owns. */
type ExtensionDeclaration = Extension<Any, Any> | CheckedExtension;
interface CheckedExtension {
  readonly extension: Extension<Any, Any>;
  /** Looks at the value as the schema made it. Returns what is wrong with it, or nothing. */
  readonly validate?: ((value: Any) => string | undefined) | undefined;
}
/**
 * Makes an extension. The plugin that owns it lists it in its `extensions`; others read it with the same object. The
 * schema must be synchronous and make JSON, and the same of the same value: a repeated `key` is compared by what it
 * makes.
 */
declare function extension<S extends Schema>(id: string, schema: S): Extension<InputOf<S>, OutputOf<S>>;
export { Extension, ExtensionDeclaration, ExtensionValue, extension };
