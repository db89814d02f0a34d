// Attacks on the stack: of the guest when it runs, and of the host when it parses a cell.

import { type Attack, done, refused, threw } from "./attack.ts";

const DEEP = "let deep = []; for (let i = 0; i < 4e3; i++) deep = [deep];";
const STACK: readonly (readonly [name: string, code: string, error?: RegExp])[] = [
  ["a function", "(function f() { f() })()"],
  ["two functions", "const a = () => b(), b = () => a(); a()"],
  ["a getter", "const o = { get a() { return this.a } }; o.a"],
  ["a toString", "const o = { toString() { return '' + o } }; '' + o"],
  ["a comparator", "const f = () => [2, 1].sort(f); f()"],
  ["a proxy", "const p = new Proxy({}, { get: (_, key, self) => self[key] }); p.x"],
  ["proxies of proxies", "let p = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); p.x"],
  ["generators of generators", "function* g() { yield* g() } g().next()"],
  ["a class that extends itself", "class A { constructor() { new A() } } new A()"],
  ["a deep value as an input", `${DEEP} await tools.echo(deep)`, /RangeError/],
  ["a deep value as a finish", `${DEEP} finish(deep)`, /RangeError/],
  ["a deep value as a string", `${DEEP} String(deep)`],
  ["a deep flattening", `${DEEP.replace("4e3", "3e4")} deep.flat(Infinity)`],
  ["a deep JSON text", "JSON.parse('['.repeat(1e5))"],
  ["a deep regular expression", "new RegExp('(?:'.repeat(1e4) + ')'.repeat(1e4))", /SyntaxError/],
  ["lookaheads in lookaheads", "new RegExp('(?='.repeat(1e4) + ')'.repeat(1e4))", /SyntaxError/],
  ["deep arrays in eval", "eval('['.repeat(5e4) + ']'.repeat(5e4))"],
  ["deep arrows in eval", "eval('a=>'.repeat(5e4) + '1')"],
  ["deep templates in eval", "eval('`$'.concat('{').repeat(5e4) + '1' + '}`'.repeat(5e4))"],
  [
    "deep patterns in a new Function",
    "new Function('var ' + '{a:'.repeat(5e4) + 'a' + '}'.repeat(5e4) + '=1')",
    /SyntaxError/,
  ],
  [
    "an error for each frame",
    "function f() { try { f() } catch (error) { throw new Error('x', { cause: error }) } } f()",
    /Error: x/,
  ],
];
const stack: readonly Attack[] = [
  ...STACK.map(([name, code, error = /RangeError: Maximum call stack/]) => ({
    name: `recursion without an end is an error: ${name}`,
    cells: [code],
    expect: threw(error),
  })),
  {
    name: "the end of the stack: print, tools and their counts stay whole there",
    cells: [
      `let n = 0;
       const greet = () => { try { print(n); tools.echo(n).catch(() => {}) } catch {} };
       function f() { try { f() } catch (error) { if (n++ < 5) greet(); throw error } }
       try { f() } catch {} await tools.echo("last")`,
    ],
    expect: done('"last"'),
  },
  {
    name: "no stack is needed for a long chain of promises",
    cells: ["let p = Promise.resolve(1); for (let i = 0; i < 3e3; i++) p = p.then((x) => x); await p"],
    expect: done("1"),
  },
  {
    name: "no stack is needed for thenables in thenables",
    cells: ["let r = 1; for (let i = 0; i < 3e3; i++) { const q = r; r = { then(f) { f(q) } } } await r"],
    expect: done("1"),
  },
  {
    name: "no stack is needed to let go of a deep value",
    cells: ["let l = null; for (let i = 0; i < 3e4; i++) l = { l }; l = null; 1"],
    expect: done("1"),
  },
];

const nested = (open: string, inner: string, close: string, times: number): string =>
  open.repeat(times) + inner + close.repeat(times);

/** Cells that are hard to parse. */
const texts: readonly Attack[] = [
  {
    name: "the text of a cell: brackets that are nested deeply",
    cells: [nested("[", "1", "]", 2e4)],
    expect: refused(/nested too deeply/),
  },
  {
    name: "the text of a cell: templates that are nested deeply",
    cells: [nested("`${", "1", "}`", 1e4)],
    expect: refused(/nested too deeply/),
  },
  { name: "the text of a cell: a long sum", cells: [`0${"+1".repeat(3e3)}`], expect: done("3000") },
  { name: "the text of a cell: more than a megabyte", cells: [`"${"a".repeat(1_048_576)}"`], expect: refused(/1 MiB/) },
  { name: "the text of a cell: a NUL", cells: ["1\0; process"], expect: refused(/NUL/) },
  { name: "the text of a cell: half a character", cells: ["'\ud800'"], expect: refused(/half a character/) },
  {
    name: "the text of a cell: an HTML comment that one reader would skip",
    cells: ["1\n--> print('x')"],
    expect: refused(/comment/),
  },
  {
    name: "the text of a cell: a line separator that one reader would not count",
    cells: ["// a\u2028throw new Error('seen')"],
    expect: threw(/seen/),
  },
  { name: "the text of a cell: a return out of the cell", cells: ["return 1"], expect: refused(/no return/) },
  {
    name: "the text of a cell: brackets that end what is around the cell",
    cells: ["}); print(host); (() => {"],
    expect: refused(/Syntax error/),
  },
  {
    name: "the text of a cell: a directive that asks for a sloppy cell",
    cells: ["'use sloppy'; undeclared = 1"],
    expect: threw(/ReferenceError/),
  },
];

export const DEPTH: readonly Attack[] = [...stack, ...texts];
