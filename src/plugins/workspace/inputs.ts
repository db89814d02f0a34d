import { jsonSchema } from "../../index.ts";
import type { ListInput } from "./list.ts";
import type { ReadInput } from "./read.ts";
import type { SearchInput } from "./search.ts";
import type { ShellInput } from "./shell.ts";
import type { EditInput, WriteInput } from "./write.ts";

const text = (description: string, more: object = {}) => ({ type: "string", description, ...more });
const count = (description: string, maximum: number) => ({ type: "integer", minimum: 1, maximum, description });
const flag = (description: string) => ({ type: "boolean", description });
const PATH = text("Relative to the workspace.");
const HASH = "The hash that the file must still have, as read_file told it";

function inputs<T>(required: readonly (keyof T & string)[], properties: { readonly [K in keyof T]-?: object }) {
  return jsonSchema<T>({ type: "object", properties, required, additionalProperties: false });
}

export const READ = inputs<ReadInput>(["path"], {
  path: PATH,
  offset: count("The first line to show, from 1.", 1_000_000_000),
  limit: count("Lines to show, 2000 unless given.", 100_000),
});
export const LIST = inputs<ListInput>([], {
  path: text("A folder; the whole workspace unless given."),
  glob: text("Such as *.ts, or src/**/*.{ts,tsx}; below `path`.", { maxLength: 1_000 }),
  depth: count("Levels of folders: 3 unless given, all of them with a glob.", 32),
  limit: count("Paths to show, 500 unless given.", 5_000),
});
export const SEARCH = inputs<SearchInput>(["pattern"], {
  pattern: text("A regular expression, asked of each line.", { minLength: 1, maxLength: 1_000 }),
  path: text("A folder or a file; the whole workspace unless given."),
  glob: text("Only files like *.ts, or src/**/*.{ts,tsx}; below `path`.", { maxLength: 1_000 }),
  isLiteral: flag("The pattern is plain text."),
  ignoreCase: flag("Capital letters are as small ones."),
  limit: count("Matches to show, 200 unless given.", 2_000),
});
export const WRITE = inputs<WriteInput>(["path", "content"], {
  path: PATH,
  content: text("All of it."),
  ifMatch: text(`${HASH}; or "none": there must be no such file yet.`),
});
export const EDIT = inputs<EditInput>(["path", "oldText", "newText"], {
  path: PATH,
  oldText: text("What is there now."),
  newText: text("What shall be there instead."),
  all: flag("Every occurrence."),
  ifMatch: text(`${HASH}.`),
});
export const SHELL = inputs<ShellInput>(["command"], {
  command: text("For /bin/sh -c.", { minLength: 1, maxLength: 100_000 }),
  cwd: text("A folder, relative to the workspace."),
  timeoutMs: count("How long it may take; then it is ended.", 86_400_000),
});
