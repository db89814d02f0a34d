// Compiles a TypeScript cell to a script for QuickJS: a strict global script with `await` at its top level, whose value
// is that of its last expression. Types are blanked out. Top-level declarations become global variables, so that later
// cells see them and may declare them again.
//
// compile-1: The same code gives the same script in every process, because a cell is compiled again when its turn is
// replayed. The surroundings of a cell only decide whether it is refused.
// compile-2: Line numbers stay. Columns stay too, except for the rest of a line after `let x;`, after a class that uses
// its own name, and after a statement that a class follows on the same line. A class on the first line counts as one
// that follows.
// compile-3: A cell that cannot run is refused before any of it runs. Reported positions are those of the cell's text.

import { stripTypeScriptTypes } from "node:module";
import { type ClassDeclaration, type Program, parse, type VariableDeclaration } from "acorn";
import { RuntimeError } from "../../model/errors.ts";
import type { CellProblem } from "../sandbox.ts";
import { isMentioned, type Misuse, misuses, NO_MODULES } from "./names.ts";
import type { Names } from "./surface.ts";

export { RESERVED } from "./names.ts";

export type Compiled = { readonly js: string } | { readonly problems: readonly CellProblem[] };

const BYTES_MAX = 1024 * 1024;
const PROBLEMS_MAX = 10;
const LINE_BREAK = /\r\n?|\n/;

/** Returns the script of a cell, or why it is refused. Throws `code.lost` in a thread that can no longer compile. */
export function compileCell(code: string, names?: Names): Compiled {
  try {
    const js = strip(plain(code));
    const program = parseScript(js);
    const found = misuses(program, names);
    return found.length === 0 ? { js: rewrite(js, program) } : refused(code, found);
  } catch (error) {
    if (error instanceof Refusal) return refused(code, [error]);
    if (error instanceof RangeError) return refused(code, [new Refusal(TOO_DEEP, 0)]);
    throw error;
  }
}

/** Returns the column of a position in a cell. QuickJS counts bytes, and `strip` keeps their number. */
export const columnIn = (code: string, line: number, byteColumn: number): number =>
  Buffer.from(lineOf(code, line).line).toString("utf8", 0, byteColumn - 1).length + 1;

/** Thrown by a compilation step to refuse the cell. */
class Refusal extends Error implements Misuse {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

function refused(code: string, found: readonly Misuse[]): Compiled {
  return {
    problems: found.slice(0, PROBLEMS_MAX).map(({ message, offset }) => {
      const lines = code.slice(0, offset).split(LINE_BREAK);
      return { message, line: lines.length, column: lines.at(-1)!.length + 1 };
    }),
  };
}

/** Replaces a byte order mark or a hashbang at the start of the code. All positions stay. Refuses code that cannot be compiled. */
function plain(code: string): string {
  if (Buffer.byteLength(code) > BYTES_MAX)
    throw new Refusal("The code is longer than 1 MiB. Read data with a tool instead of writing it into the code.", 0);
  const nul = code.indexOf("\0");
  if (nul >= 0) throw new Refusal("The code has a NUL character here. Write \\0 in a string instead.", nul);
  const half = code.search(/\p{Surrogate}/u);
  if (half >= 0) throw new Refusal("The code has half a character here. Write \\u and four digits instead.", half);
  const deep = tooDeepIn(code);
  if (deep !== undefined) throw new Refusal(TOO_DEEP, deep);
  return code.replace(/^\uFEFF/, "\u2002").replace(/^#!/, "//");
}

/** Deeper nesting breaks the thread. No person writes it, but a model may repeat itself. */
const DEPTH_MAX = 200;
/** Strings and comments, whose brackets do not count; then brackets. A template counts with all its content. */
const BRACKETS = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/.*|\/\*[\s\S]*?\*\/|([([{])|([)\]}])/g;

/** Returns where brackets are nested too deeply. Other nesting is detected by `strip`, at the cost of the thread. */
function tooDeepIn(code: string): number | undefined {
  let depth = 0;
  for (const { 1: opens, 2: closes, index } of code.matchAll(BRACKETS)) {
    if (opens !== undefined && ++depth > DEPTH_MAX) return index;
    if (closes !== undefined) depth--;
  }
  return undefined;
}

let spent = false;

/**
 * Returns whether this thread can no longer compile: code that is nested too deeply breaks Node's type stripper for the
 * life of the thread. Replace such a thread.
 */
export const isSpent = (): boolean => spent;

/** Returns the code with blanks in place of its types. Line breaks and the numbers of characters and bytes stay. */
function strip(code: string): string {
  if (spent) throw new RuntimeError("code.lost", {});
  try {
    return quietly(() => stripTypeScriptTypes(code));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal(explained(error.message), offsetIn(code, error));
    spent = true;
    throw new Refusal(TOO_DEEP, 0);
  }
}

/** Runs work without the warning that type stripping is experimental. Other warnings pass. */
function quietly<T>(work: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith("stripTypeScriptTypes ")) Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Returns where the type stripper found an error. Only its stack contains the position: `:<line>`, some lines of code,
 * and `^^^` below the right one. An error that spans lines has ` > ` before its first and last line; one at the end of
 * the code has no mark.
 */
function offsetIn(code: string, error: SyntaxError): number {
  const [head = "", ...shown] = (error.stack ?? "").split("\n");
  const { index, line } = lineOf(code, Number(/:(\d+)$/.exec(head)?.[1] ?? 1));
  const end = shown.findIndex((each) => each.startsWith("SyntaxError"));
  const marks = shown.slice(0, end).find((each) => /^ *\^+$/.test(each));
  if (marks) return index + charsIn(line, marks.indexOf("^"));
  return index + (shown.some((each) => each.startsWith("  > ")) ? line.search(/\S|$/) : line.length);
}

function lineOf(code: string, number: number): { readonly index: number; readonly line: string } {
  const parts = code.split(/(\r\n?|\n)/); // Lines and their line breaks, alternating.
  const at = 2 * (number - 1);
  return { index: parts.slice(0, at).join("").length, line: parts[at] ?? "" };
}

/** Returns how many characters of a line fill this many terminal columns, as the stripper counts them. */
function charsIn(line: string, columns: number): number {
  let [width, length] = [0, 0];
  for (const char of line) {
    if (width >= columns) break;
    width += char === "\t" ? 4 - (width % 4) : WIDE.test(char) ? 2 : 1;
    length += char.length;
  }
  return length;
}
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;

function parseScript(js: string): Program {
  let html = -1;
  try {
    const program = parse(js, {
      ecmaVersion: "latest",
      sourceType: "script",
      strict: true,
      allowAwaitOutsideFunction: true,
      allowImportExportEverywhere: true, // `misuses` refuses them with a better message.
      onComment: (_isBlock, _text, start) => {
        if (html < 0 && !js.startsWith("/", start)) html = start;
      },
    });
    if (html >= 0) throw new Refusal("`<!--` and `-->` begin a comment here. Use `//` for comments.", html);
    return program;
  } catch (error) {
    if (error instanceof SyntaxError && "pos" in error) throw new Refusal(explained(error.message), Number(error.pos));
    throw error;
  }
}

const TOO_DEEP = "The code is nested too deeply. Split it into smaller parts.";

/** Explanations of the parsers' messages. */
const EXPLAINED: readonly (readonly [RegExp, string])[] = [
  [/TypeScript enum/, "A cell has no enum. Use an object instead."],
  [/TypeScript namespace|`module` keyword/, "A cell has no namespace. Use an object instead."],
  [/parameter property/, "A constructor's parameter cannot be a property. Declare the field and assign to it."],
  [/angle-bracket/, "Write `value as Type` instead of `<Type>value`. JSX is not supported."],
  [/import equals|export assignment/, NO_MODULES],
  [/^Return statement|^'return' outside/, "A cell has no return. Make the value its last expression."],
  [/'with'/, "There is no `with`. Name the object each time."],
  [/Unexpected character '@'/, "There are no decorators. Call a function instead."],
  [/^Using declaration/, "`using` needs a block around it. Use `const` at the top level."],
  [/^await isn't allowed/, "`await` needs an async function. Write `async` before the function."],
  [/^Not enough stack space/, TOO_DEEP],
];

function explained(message: string): string {
  const known = EXPLAINED.find(([pattern]) => pattern.test(message));
  if (known) return known[1];
  // Acorn appends the position to its message, and the stripper may append a list of what it expected.
  const [said] = message.replace(/\.?( \(\d+:\d+\))?$/, "").split(/(?<=`)\. /);
  return `Syntax error: ${said}.`;
}

/** Replaces a piece of text. */
interface Edit {
  readonly at: number;
  readonly drops: number;
  readonly puts: string;
}

/** The script, with its top-level declarations as global variables. Functions are already global. */
function rewrite(js: string, program: Program): string {
  const edits: Edit[] = [];
  let end = 0; // Of the statement before.
  for (const node of program.body) {
    if (node.type === "VariableDeclaration") edits.push(...declarationEdits(js, node));
    if (node.type === "ClassDeclaration") edits.push(...classEdits(js, node, end));
    end = node.end;
  }
  let script = "";
  let done = 0;
  for (const { at, drops, puts } of edits) {
    script += js.slice(done, at) + puts;
    done = at + drops;
  }
  return script + js.slice(done);
}

/**
 * Replaces `let` and `const` by `var`. Sets a variable without a value to undefined, because it may have one from an
 * earlier cell.
 */
function declarationEdits(js: string, { start, end, kind, declarations }: VariableDeclaration): Edit[] {
  if (kind === "var") return [];
  const edits = [{ at: start, drops: kind.length, puts: "var".padEnd(kind.length) }];
  for (const { id, init } of declarations) {
    if (init) continue;
    // Without the semicolon, a bracket on the next line would belong to the value.
    const puts = id.end === end ? "=void 0;" : "=void 0";
    // Uses the space of a blanked-out type. Without such space the rest of the line moves.
    const room = /^ */.exec(js.slice(id.end, id.end + puts.length))![0].length;
    edits.push({ at: id.end, drops: room, puts });
  }
  return edits;
}

/**
 * `class K {` becomes `K=class {`, which has the same length. Its `var` goes to the end of the previous statement, so
 * that the line of the class does not change. A class that uses its own name keeps the name, because its static parts
 * run before the variable is set.
 */
function classEdits(js: string, node: ClassDeclaration, endBefore: number): Edit[] {
  const { id, body, superClass, start, end } = node;
  const name = js.slice(id.start, id.end);
  const gap = js.slice(start + "class".length, id.start);
  const rest = LINE_BREAK.test(gap) ? gap + " ".repeat(name.length) : gap.replace(/^ /, "");
  const usesItself = isMentioned(id.name, body) || (superClass && isMentioned(id.name, superClass));
  return [
    { at: endBefore, drops: 0, puts: ";var " },
    usesItself
      ? { at: start, drops: 0, puts: `${name}=` }
      : { at: start, drops: id.end - start, puts: `${name}=class${rest}` },
    { at: end, drops: 0, puts: ";" }, // Otherwise a bracket on the next line would call the class.
  ];
}
