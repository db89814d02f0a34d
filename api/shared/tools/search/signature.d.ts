/**
 * A tool's arguments, written like a TypeScript type. It may be cut, because the schema is declared when the tool is
 * open.
 */
declare function signatureOf(name: string, schema: unknown, charsMax: number): string;
/** How code calls a tool, and what the call returns: `files.read(input: { path: string }): Promise<string>`. */
declare function codeSignature(callee: string, input: unknown, output: unknown, charsMax: number): string;
/** The first `chars` characters; one less if the cut would split a surrogate pair. */
declare const cutAt: (text: string, chars: number) => string;
export { codeSignature, cutAt, signatureOf };
