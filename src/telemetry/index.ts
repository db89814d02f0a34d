export { type JsonlOptions, jsonl, type LineKind } from "./jsonl.ts";
export { type PrettyOptions, pretty } from "./pretty.ts";
