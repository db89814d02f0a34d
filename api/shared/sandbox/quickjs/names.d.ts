import "acorn";
/** Names that a cell may not declare at its top level nor assign to. A function may have variables by these names. */
declare const RESERVED: ReadonlySet<string>;
export { RESERVED };
