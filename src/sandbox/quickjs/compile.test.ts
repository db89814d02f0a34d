import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { EvalFlags, JSException, QuickJS } from "quickjs-wasi";
import { expect, test } from "vitest";
import { sample } from "../../../test/kit/size.ts";
import type { CellProblem } from "../sandbox.ts";
import { columnIn, compileCell, isSpent, RESERVED } from "./compile.ts";
import { Names } from "./surface.ts";

// The libraries that the sources are checked with have no WebAssembly.
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };
const wasm = new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm")));

interface Ran {
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly stack: string };
}

/** A guest that lives as long as its test's block. */
class Guest {
  readonly #vm: QuickJS;
  private constructor(vm: QuickJS) {
    this.#vm = vm;
  }
  static async open(): Promise<Guest> {
    return new Guest(await QuickJS.create({ wasm }));
  }
  [Symbol.dispose](): void {
    this.#vm.dispose();
  }

  async cell(code: string, file?: string): Promise<Ran> {
    const compiled = compileCell(code);
    if ("problems" in compiled) throw new Error(`${code}: ${JSON.stringify(compiled.problems)}`);
    return this.script(compiled.js, file);
  }
  async script(js: string, file = "cell.ts"): Promise<Ran> {
    const vm = this.#vm;
    try {
      using promise = vm.evalCode(js, file, EvalFlags.ASYNC | EvalFlags.STRICT);
      const settled = vm.resolvePromise(promise);
      vm.executePendingJobs();
      const result = await settled;
      if ("value" in result) return { value: result.value.consume((value) => vm.dump(value) as Ran).value };
      using thrown = result.error;
      const text = (name: string) => thrown.getProp(name).consume((value) => value.toString());
      return { error: { name: text("name"), message: text("message"), stack: text("stack") } };
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      const { name, message, stack = "" } = error;
      error.dispose();
      return { error: { name, message, stack } };
    }
  }
}

/** The values of cells that run one after the other. */
async function valuesOf(...cells: string[]): Promise<unknown[]> {
  using guest = await Guest.open();
  const values: unknown[] = [];
  for (const cell of cells) {
    const { value, error } = await guest.cell(cell);
    expect(error, cell).toBe(undefined);
    values.push(value);
  }
  return values;
}

function problemsOf(code: string): readonly CellProblem[] {
  const compiled = compileCell(code);
  return "problems" in compiled ? compiled.problems : [];
}

/** Where the code says `@`, which is left out. */
function marked(text: string) {
  const lines = text.slice(0, text.indexOf("@")).split("\n");
  return { code: text.replace("@", ""), line: lines.length, column: lines.at(-1)!.length + 1 };
}

/** Ways to declare `x`, and what it is then. */
const WAYS: readonly (readonly [declaration: string, value: unknown])[] = [
  ["const x: number = 1;", 1],
  ["let x: string = 'two'", "two"],
  ["let x", undefined],
  ["let x: number;", undefined],
  ["let other = 0, x: Map<string, number>", undefined],
  ["var x = 4", 4],
  ["function x() { return 5 }", "function"],
  ["async function x<T>(of: T) {}", "function"],
  ["function* x() {}", "function"],
  ["class x { y = 6 }", "function"],
  ["abstract class x<T> extends Array<T> { static of8 = 8 }", "function"],
  ["class x { static self = new x() }", "function"],
  ["const { a, x = 7 } = { a: 1 }", 7],
  ["const [x, ...others] = await Promise.all([8, 9])", 8],
  ["let { of: { x }, ...rest }: { of: { x: number } } = { of: { x: 9 } }", 9],
  ["for (var x = 0; x < 10; x++);", 10],
];

/** `RUNS=5000 npx vitest run src/sandbox/quickjs/compile.test.ts` looks longer. */
const RUNS = Number(process.env.RUNS ?? sample(20, 60));

test("P8 what a cell declares is there in later cells, and may be declared again in every way", async () => {
  using guest = await Guest.open();
  for (const [first] of WAYS)
    for (const [second, value] of WAYS) {
      expect((await guest.cell(first)).error, first).toBe(undefined);
      expect((await guest.cell(second)).error, `${first}, then ${second}`).toBe(undefined);
      const { value: seen } = await guest.cell("typeof x === 'function' ? 'function' : x");
      expect(seen, `${first}, then ${second}`).toBe(value);
    }
});

test("P8 the value of a cell is that of its last expression, whatever it declares after it", async () => {
  expect(await valuesOf("5; class K {}", "class K {}", "6\nlet x", "7; const y = 8", "const z = 9", "")).toEqual([
    5,
    undefined,
    6,
    7,
    undefined,
    undefined,
  ]);
  expect(await valuesOf("await Promise.resolve(1) as number", "for await (const x of [1, 2]) x", "({ a: 1 })")).toEqual(
    [1, 2, { a: 1 }],
  );
});

test("P8 a class keeps its name, also inside itself", async () => {
  const [name, self, kept] = await valuesOf(
    "class K { static #made = 0; static { K.first = new K() } constructor() { K.#made++ } static made() { return K.#made } }\nK.name",
    "const Old = K; Old.first instanceof Old && Old.made() === 1",
    "class K {}\nnew Old(); Old.made()",
  );
  expect([name, self, kept]).toEqual(["K", true, 2]);
  expect(
    await valuesOf("class /* of\nall */ K\n{ x = 1 }; [K.name, new K().x]", "class\nL extends K {}; L.name"),
  ).toEqual([["K", 1], "L"]);
});

const PIECES = [
  "let v#",
  "let v#, w#: number",
  "let v#: Map<string, number>, w# = 2",
  "const v# = 1",
  "const v#: number[] = [1, 2]",
  "const { a: v#, ...w# } = { a: 1, b: 2 }",
  "var v# = 3",
  "class v# {}",
  "class v#<T> extends Array<T> {}",
  "class v# { static s = v#.name; m() { return v# } }",
  "abstract class v# { abstract a(): void }",
  "function v#() { return # }",
  "async function* v#() {}",
  "interface V# { a: string }",
  "type V# = string | number",
  "declare const v#: number",
  "#",
  "(() => #)()",
  "[#][0]",
  "`t#`",
  "/r/g.source",
  "+#",
  "-1",
  "--globalThis.n",
  "'use strict'",
  "if (true) { # }",
  "v#: { let x = #; x; break v# }",
  "try { # } finally { 0 }",
  "do #; while (false)",
  "for (let i = 0; i < 2; i++) i",
  "for (const x of [#]) { const y = x as number; y }",
  "{ class v# {} let w# }",
  "await #",
  "throw new Error('#')",
  "// comment",
  "/* a\nb */",
  "",
];
const BETWEEN = ["\n", ";", ";\n", " // end\n", "\r\n", "; /* a\n b */ "];
const script = fc
  .array(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom(...BETWEEN)), { maxLength: 6 })
  .map((pieces) => pieces.map(([piece, between], i) => piece.replaceAll("#", String(i)) + between).join(""));

async function isScript(code: string): Promise<boolean> {
  try {
    using guest = await Guest.open();
    return (await guest.script(stripTypeScriptTypes(code))).error?.name !== "SyntaxError";
  } catch {
    return false;
  }
}

test("P8 a cell does what it would do as a separate script", async () => {
  await fc.assert(
    fc.asyncProperty(script, async (code) => {
      const compiled = compileCell(code);
      if ("problems" in compiled) {
        expect(await isScript(code), code).toBe(false);
        return;
      }
      using scripts = await Guest.open();
      using cells = await Guest.open();
      const asItIs = await scripts.script(stripTypeScriptTypes(code));
      const ran = await cells.script(compiled.js);
      expect({ ...ran, error: ran.error?.message }, code).toEqual({ ...asItIs, error: asItIs.error?.message });
    }),
    { numRuns: RUNS },
  );
}, 60_000);

test.each([
  "const a: number = 1;\nconst b = 2, c: string = (() => { throw new @Error() })();",
  "let a: Record<string, number> = {}; throw new @Error();",
  "let a: number; throw new @Error()",
  "1;\nclass K<T> { m(): T { throw new @Error() } }\nnew K().m()",
  "1\nclass /* of\n all */ K { m() { throw new @Error() } }\nnew K().m()",
  "class K\n{ m() { throw new @Error() } }\nnew K().m()",
  "class A {\n  self() { return A }\n  m() { throw new @Error() }\n}\nnew A().m()",
  "interface A {\n  a: string;\n}\nconst a = { a: '' } as A; throw new @Error()",
  "type Ü = 'ü'; const 你: '😀' = '😀', f = async (a?: Ü) => { await 你; throw new @Error() }; await f()",
  "await 1;\r\n\r\n  throw new @Error()",
  "#!/usr/bin/env node\n throw new @Error()",
  "\uFEFFthrow new @Error()",
])("P8 an error has its line and column in the TypeScript: %j", async (text) => {
  const { code, line, column } = marked(text);
  using guest = await Guest.open();
  const { error } = await guest.cell(code, "cell-7.ts");
  const [, seenLine, seenColumn] = /\(cell-7\.ts:(\d+):(\d+)\)/.exec(error!.stack)!.map(Number);
  expect([seenLine, columnIn(code, seenLine!, seenColumn!)]).toEqual([line, column]);
});

test("P8 an error has its line also after declarations that need room", async () => {
  const declarations = PIECES.filter((piece) => !piece.startsWith("throw"));
  const before = fc.array(fc.constantFrom(...declarations), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(before, fc.constantFrom("\n", "\r\n"), async (pieces, lineBreak) => {
      const above = pieces.map((piece, i) => `${piece.replaceAll("#", String(i))}${lineBreak};`).join("");
      const { code, line, column } = marked(`${above}${lineBreak}  throw new @Error("here")`);
      using guest = await Guest.open();
      const { error } = await guest.cell(code);
      if (error?.message === "here") expect(error.stack, code).toContain(`(cell.ts:${line}:${column})`);
      else expect(error?.name, code).toMatch(/TypeError|ReferenceError/);
    }),
    { numRuns: RUNS },
  );
}, 60_000);

const MODULES = "A cell has no import and no export. Everything it can use is global.";
const CONSTANT = "`a` is a constant. Declare it with `let` to assign to it.";

test.each([
  ["1;\n@enum A {\n  a,\n}", "A cell has no enum. Use an object instead."],
  ["@const enum A { a }", "A cell has no enum. Use an object instead."],
  ["@namespace A { export const b = 1 }", "A cell has no namespace. Use an object instead."],
  [
    "class A {\n  constructor(\n    private @a: string) {} }",
    "A constructor's parameter cannot be a property. Declare the field and assign to it.",
  ],
  ["\tconst a = @<string>b;", "Write `value as Type` instead of `<Type>value`. JSX is not supported."],
  ["const a = <div></div>@", "Syntax error: Expression expected."],
  ["@import a from 'b'", MODULES],
  ["@import a = require('b')", MODULES],
  ["@export const a = 1", MODULES],
  ["@export default 1", MODULES],
  ["@export * from 'b'", MODULES],
  ["const a = await @import('b')", MODULES],
  ["const f = () => @import.meta.url", MODULES],
  ["if (true) @return 1", "A cell has no return. Make the value its last expression."],
  ["@with (a) {}", "There is no `with`. Name the object each time."],
  ["1;\n@@sealed class A {}", "There are no decorators. Call a function instead."],
  ["@using a = b", "`using` needs a block around it. Use `const` at the top level."],
  ["@await using a = b", "`using` needs a block around it. Use `const` at the top level."],
  ["const f = () => @await 1", "`await` needs an async function. Write `async` before the function."],
  ["let @await = 1", "`await` is not a name. Choose another name."],
  ["class @await {}", "`await` is not a name. Choose another name."],
  ["let a = 1; const @a = 2", "Syntax error: Identifier 'a' has already been declared."],
  ["class a {} let @a", "Syntax error: Identifier 'a' has already been declared."],
  ["function a() {} class @a {}", "Syntax error: Identifier 'a' has already been declared."],
  ["@delete a", "Syntax error: Deleting local variable in strict mode."],
  ["a = @08", "Syntax error: Invalid number."],
  ["a @<!-- b", "`<!--` and `-->` begin a comment here. Use `//` for comments."],
  ["1\n@--> b", "`<!--` and `-->` begin a comment here. Use `//` for comments."],
  ["const a = '你😀';\tlet b: @= 1", "Syntax error: Unexpected token `=`."],
  ["f(1,\n  2@", "Syntax error: Expected ',', got '<eof>'."],
  ["a = '@\ud83d'", "The code has half a character here. Write \\u and four digits instead."],
  ["a = '@\0'", "The code has a NUL character here. Write \\0 in a string instead."],
  ["const a = 1;\n@a = 2", CONSTANT],
  ["const [{ a = 1 }] = [{}]; [b, ...@a] = []", CONSTANT],
  ["const a = 1; function f() { @a++ }", CONSTANT],
  ["function f() { for (@a of []); }\nconst a = 1", CONSTANT],
  ["const a = 1; { let b; ({ c: @a, b } = {}) }", CONSTANT],
])("P8 code that cannot run is refused, with the place and what to do: %j", (text, message) => {
  const { code, line, column } = marked(text);
  expect(problemsOf(code)).toEqual([{ message, line, column }]);
});

test("P8 a refused cell lists all its misuses, in order", () => {
  expect(
    problemsOf("tools = 1;\nconst a = await import('a'), print = 2;\na = 3").map(({ line, column }) => [line, column]),
  ).toEqual([
    [1, 1],
    [2, 17],
    [2, 30],
    [3, 1],
  ]);
  expect(problemsOf("tools = 1;\n".repeat(1000))).toHaveLength(10);
});

test("P8 no cell takes a reserved name from the guest, but a function may use it", () => {
  for (const name of RESERVED) {
    for (const code of [
      `const ${name} = 1`,
      `let { a: [${name}] } = b`,
      `{ var ${name} }`,
      `function ${name}() {}`,
      `class ${name} {}`,
      `${name} = 1`,
      `(() => { ${name} ??= 1 })()`,
      `for (${name} in {}) {}`,
    ])
      expect(problemsOf(code), code).toMatchObject([{ message: expect.stringContaining(`\`${name}\``) }]);
    for (const code of [
      `function f(${name}) { ${name} = 1 }`,
      `const f = () => { { var ${name} } ${name} = 1 }`,
      `{ let ${name}; ${name} = 1 }`,
      `for (let ${name} of []) ${name}++`,
      `try {} catch (${name}) { ${name} = 1 }`,
      `(function ${name}() { return ${name} })`,
      `({ ${name}: 1 }).${name} = 2`,
    ])
      expect(problemsOf(code), code).toEqual([]);
  }
});

test("P8 an empty cell does nothing", async () => {
  expect(await valuesOf("", " \n", "// nothing", "type A = string")).toEqual(Array(4).fill(undefined));
});

test("P8 a cell may be 1 MiB long, and no longer", async () => {
  const longest = `/*${"é".repeat(512 * 1024 - 3)}*/ 1`;
  expect(await valuesOf(longest)).toEqual([1]);
  expect(problemsOf(`${longest} `)).toMatchObject([{ line: 1, column: 1, message: expect.stringContaining("1 MiB") }]);
});

test("P8 compiling any text gives a script or problems at lines of the text", () => {
  const words = fc.constantFrom(
    ...PIECES,
    ...BETWEEN,
    "@",
    "<",
    ">",
    "(",
    "}",
    "`",
    "${",
    "'",
    "\\",
    "\u2028",
    "\uFEFF",
    "😀",
  );
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string({ unit: words }));
  fc.assert(
    fc.property(text, (code) => {
      for (const { message, line, column } of problemsOf(code)) {
        expect(message).toMatch(/^[^\n]{10,200}[.]$/);
        expect(line).toBeLessThanOrEqual(code.split(/\r\n?|\n/).length);
        expect(column).toBeLessThanOrEqual(code.split(/\r\n?|\n/)[line - 1]!.length + 1);
      }
    }),
    { numRuns: 5 * RUNS },
  );
}, 60_000);

/** What a program prints and posts that runs in a thread of its own. */
async function inThread(program: string): Promise<{ readonly posted: unknown; readonly printed: string }> {
  const url = new URL("./compile.ts", import.meta.url).href;
  const worker = new Worker(
    `const { parentPort } = require("node:worker_threads"); import(${JSON.stringify(url)}).then(({ compileCell, isSpent }) => { ${program} });`,
    { eval: true, stdout: true, stderr: true, resourceLimits: { stackSizeMb: 16 } },
  );
  let printed = "";
  for (const stream of [worker.stdout, worker.stderr]) stream.on("data", (text) => void (printed += text));
  let posted: unknown;
  worker.on("message", (message) => void (posted = message));
  await once(worker, "exit");
  return { posted, printed };
}

test("P8 compiling prints nothing, and other warnings are printed as ever", async () => {
  const { posted, printed } = await inThread(
    `parentPort.postMessage(compileCell("const a: number = 1")); process.emitWarning("something else");`,
  );
  expect(posted).toEqual({ js: "var   a         = 1" });
  expect(printed).toContain("something else");
  expect(printed).not.toContain("stripTypeScriptTypes");
});

const DEEP = "The code is nested too deeply. Split it into smaller parts.";

test.each(["!", "a=>", "if(a)", "a<"])(
  "P8 code that is nested too deeply is refused, and the thread reports when it is spent: %s",
  async (piece) => {
    const { posted } = await inThread(`
      const problems = compileCell(${JSON.stringify(piece)}.repeat(20_000)).problems;
      let next = isSpent() ? "spent" : compileCell("let a: number").js;
      try { compileCell("1") } catch (error) { next += " " + error.code }
      parentPort.postMessage({ problems, next });`);
    expect(posted).toEqual({ problems: [{ message: DEEP, line: 1, column: 1 }], next: "spent code.lost" });
  },
);

test("P8 brackets that are nested too deeply are found before the type stripper breaks, and those in strings do not count", () => {
  for (const piece of ["[", "`${", "()=>{", "{\n"]) {
    expect(compileCell(piece.repeat(20_000))).toMatchObject({ problems: [{ message: DEEP }] });
    expect(isSpent()).toBe(false);
  }
  const texts = [`"${"[".repeat(900)}"`, `'${"(".repeat(900)}'`, `/* ${"{".repeat(900)} */ 1`, `// ${"[".repeat(900)}`];
  for (const text of [...texts, "[".repeat(150) + "]".repeat(150)]) expect(compileCell(text)).toHaveProperty("js");
});

const NAMES = new Names({ modules: { files: ["read", "write"] }, tools: ["files_read", "weather"], names: ["report"] });
const problemsAround = (code: string): string[] => {
  const compiled = compileCell(code, NAMES);
  return "problems" in compiled
    ? compiled.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
    : [];
};

test("P8 a call of what is not around the cell is refused, wherever it stands", () => {
  const absent = "There is no files.raed. Did you mean files.read?";
  for (const [code, place] of [
    ["files.raed()", "1:1"],
    ["const f = async () => {\n  await files.raed({ a: tools.weather() });\n};", "2:9"],
    ["class A { #x = files.raed(); static { files.read(); } }", "1:16"],
    [`const text: string = \`\${files.raed()}\`;`, "1:25"],
    ["print(files.raed().x.y)", "1:7"],
    ["{ const files = 1; }\nfiles.raed()", "2:1"],
  ] as const)
    expect(problemsAround(code), code).toEqual([`${place} ${absent}`]);
  expect(problemsAround("files.zzz(); tools.toString(); tools.files_raed(); files.read.raed();")).toEqual([
    "1:1 There is no files.zzz.",
    '1:14 There is no tools.toString. Search with tools.search("…").',
    '1:32 There is no tools.files_raed. Did you mean tools.files_read? Search with tools.search("…").',
  ]);
});

test("P8 a cell is refused for certain mistakes only: other scopes, computed names and optional calls pass", () => {
  for (const code of [
    "const f = (files) => files.raed()",
    "function f() { files.raed(); var files = { raed() {} }; }",
    "try {} catch (tools) { tools.raed() }",
    "for (const files of [[]]) files.map((n) => n)",
    "files['raed'](); tools[name](); files.raed?.(); files?.raed(); x.files.raed(); ({ files: 1 }).files",
    "tools.search('x'); fils.read(); files.read; report.slice(1)",
    "class K { files() { return this.files.raed(); } }",
  ])
    expect(problemsAround(code), code).toEqual([]);
});

test("P8 a cell must not declare names of modules and values, except inside a function", () => {
  for (const [name, what] of [
    ["files", "a module of tools here"],
    ["report", "a read-only value here"],
    ["seed", "the value that a task begins with"],
  ])
    for (const code of [
      `let ${name} = 1`,
      `function ${name}() {}`,
      `(() => { ${name} = 1 })()`,
      `[${name}] = [1]`,
      `${name}++`,
    ])
      expect(problemsAround(code), code).toEqual([
        expect.stringMatching(`\`${name}\` is ${what}. Choose another name.`),
      ]);
  expect(problemsAround("const f = (report) => { let files = report; files = 2; }; ({ files: 1, report: 2 })")).toEqual(
    [],
  );
  expect(compileCell("const files = 1, report = 2")).toHaveProperty("js");
});

test("P8 a surface of a thousand tools does not change the script", () => {
  const tools = Array.from({ length: 1_000 }, (_, at) => `m${at % 50}_op${at}`);
  const modules: { [module: string]: string[] } = {};
  for (const [at, name] of tools.entries()) (modules[`m${at % 50}`] ??= []).push(name.replace(/^.*_/, ""));
  const code = "const v: number = await m7.op7({ at: 7 });\nawait tools.m8_op8({});";
  expect(compileCell(code, new Names({ modules, tools, names: [] }))).toEqual(compileCell(code));
});
