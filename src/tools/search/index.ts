// For plugins that let a model find tools: ranks them by words, and writes their signatures.
export { type ToolIndex, toolGroups, toolIndexer } from "./rank.ts";
export { codeSignature, cutAt, signatureOf } from "./signature.ts";
