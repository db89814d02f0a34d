import "acorn";
/** Inside a function they are as good as any other. */
declare const RESERVED: ReadonlySet<string>;
export { RESERVED };
