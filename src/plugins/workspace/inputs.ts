import { jsonSchema } from "../../plugin.ts";
import type { ListInput } from "./list.ts";
import type { ReadInput } from "./read.ts";
import type { SearchInput } from "./search.ts";
import type { ShellInput } from "./shell.ts";
import { TEXTS } from "./texts.ts";
import type { EditInput, WriteInput } from "./write.ts";

const text = (description: string, more: object = {}) => ({ type: "string", description, ...more });
const count = (description: string, maximum: number) => ({ type: "integer", minimum: 1, maximum, description });
const flag = (description: string) => ({ type: "boolean", description });
const PATH = text(TEXTS.path);

function inputs<T>(required: readonly (keyof T & string)[], properties: { readonly [K in keyof T]-?: object }) {
  return jsonSchema<T>({ type: "object", properties, required, additionalProperties: false });
}

export const READ = inputs<ReadInput>(["path"], {
  path: PATH,
  offset: count(TEXTS.offset, 1_000_000_000),
  limit: count(TEXTS.linesLimit, 100_000),
});
export const LIST = inputs<ListInput>([], {
  path: text(TEXTS.listPath),
  glob: text(TEXTS.listGlob, { maxLength: 1_000 }),
  depth: count(TEXTS.depth, 32),
  limit: count(TEXTS.pathsLimit, 5_000),
});
export const SEARCH = inputs<SearchInput>(["pattern"], {
  pattern: text(TEXTS.pattern, { minLength: 1, maxLength: 1_000 }),
  path: text(TEXTS.searchPath),
  glob: text(TEXTS.searchGlob, { maxLength: 1_000 }),
  isLiteral: flag(TEXTS.isLiteral),
  ignoreCase: flag(TEXTS.ignoreCase),
  limit: count(TEXTS.matchesLimit, 2_000),
});
export const WRITE = inputs<WriteInput>(["path", "content"], {
  path: PATH,
  content: text(TEXTS.content),
  ifMatch: text(TEXTS.writeIfMatch),
});
export const EDIT = inputs<EditInput>(["path", "oldText", "newText"], {
  path: PATH,
  oldText: text(TEXTS.oldText),
  newText: text(TEXTS.newText),
  all: flag(TEXTS.all),
  ifMatch: text(TEXTS.editIfMatch),
});
export const SHELL = inputs<ShellInput>(["command"], {
  command: text(TEXTS.command, { minLength: 1, maxLength: 100_000 }),
  cwd: text(TEXTS.cwd),
  timeoutMs: count(TEXTS.timeout, 86_400_000),
});
