import "acorn";
/**
 * Names that a cell may neither declare at its top level nor assign to. A function may have variables with these names.
 */
declare const RESERVED: ReadonlySet<string>;
export { RESERVED };
