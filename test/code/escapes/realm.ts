// Attempts to reach something outside the guest from what a guest has.

import { type Attack, done, printing, refused, threw } from "./attack.ts";

/**
 * Follows prototypes, properties and accessors, and runs code with every function constructor. Collects the names of
 * what should not be reachable: another global object, something of Node, an internal function of the sandbox.
 */
const WALK = `
const INSIDE = new Set(("host tell announce call failed inspect describe show stackOf begin deliver fail wake end take " +
  "wait fixed hidden brandOf draw proxied sparing").split(" "));
const NODE = "process require module Buffer global fetch navigator performance structuredClone __dirname".split(" ");
const strange = [];
function note(realm, found) { if (realm !== globalThis) strange.push("a realm"); strange.push(...found) }
function walk(start) {
  const seen = new Set(), next = [start];
  while (next.length > 0) {
    const each = next.pop();
    if ((typeof each !== "object" && typeof each !== "function") || each === null || seen.has(each)) continue;
    seen.add(each);
    next.push(Object.getPrototypeOf(each));
    for (const key of Reflect.ownKeys(each)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(each, key);
      next.push(value, get, set);
    }
  }
  for (const each of seen) {
    if (typeof each !== "function") continue;
    if (INSIDE.has(each.name) && !String(each).includes("[native code]")) strange.push(each.name);
    if (!each.name.endsWith("Function")) continue;
    const made = each("note(globalThis, NODE.filter((name) => name in globalThis))")();
    if (typeof made?.next === "function") made.next();
  }
  return seen.size > 20 && strange.join();
}`;

const STARTS: readonly (readonly [name: string, expression: string])[] = [
  ["print", "print"],
  ["tools", "tools"],
  ["a tool", "tools.echo"],
  ["a tool's promise", "tools.echo(1)"],
  ["a tool's result", "await tools.echo({ a: [{}] })"],
  ["the error of a failed call", "await tools.fail().catch((error) => error)"],
  ["the error of an input that is no JSON", "await tools.echo(1n).catch((error) => error)"],
  ["an error of the engine", "(() => { try { null.x } catch (error) { return error } })()"],
  ["an overflow of the stack", "(() => { try { (function f() { f() })() } catch (error) { return error } })()"],
  ["finish", "finish"],
  ["sleep and its promise", "[sleep, sleep(0)]"],
  ["timers", "[setTimeout, clearTimeout, setTimeout(() => {}, 0)]"],
  ["the console", "console"],
  ["async and generator functions", "[async () => {}, function* () {}, async function* () {}]"],
  ["running generators", "[(function* () {})(), (async function* () {})()]"],
  ["a bound function", "print.bind(null, 1)"],
  ["a getter", "Object.getOwnPropertyDescriptor({ get x() { return 1 } }, 'x')"],
  ["what replaced an intrinsic", "[Proxy, Proxy.revocable, Object.freeze, Reflect.preventExtensions, Math.random]"],
  ["the locks on errors", "[Error, Object.getOwnPropertyDescriptors(Error)]"],
  ["the global object by indirect eval", "(0, eval)('this')"],
  ["this in a sloppy function", "new Function('return this')()"],
  ["a method of an iterator", "[[][Symbol.iterator](), new Map().entries(), ''.matchAll(/a/g), Iterator.from([])]"],
  ["a class with a foreign new.target", "Reflect.construct(Object, [], (async () => {}).constructor)"],
  ["an error of the web", "new DOMException('x')"],
];

const walks: readonly Attack[] = STARTS.map(([name, expression]) => ({
  name: `a walk from ${name} stays in the guest`,
  cells: [WALK, `walk([${expression}])`],
  expect: done('""'),
}));

/** What a cell can reach by its name. */
const names: readonly Attack[] = [
  {
    name: "nothing of Node or of a browser has a name",
    cells: [
      `("process require module exports Buffer global fetch navigator WebAssembly SharedArrayBuffer Atomics WeakRef " +
        "FinalizationRegistry performance structuredClone Worker std os bjson gc scriptArgs setInterval setImmediate Intl")
        .split(" ").filter((name) => name in globalThis).join()`,
    ],
    expect: done('""'),
  },
  { name: "import is refused", cells: ["import fs from 'fs'"], expect: refused(/no import/) },
  { name: "import() is refused", cells: ["await import('node:fs')"], expect: refused(/no import/) },
  { name: "import.meta is refused", cells: ["import.meta.url"], expect: refused(/no import/) },
  { name: "import() in eval loads nothing", cells: ["await eval('import(\"fs\")')"], expect: threw(/could not load/) },
  {
    name: "import() in a new Function loads nothing",
    cells: ["await new Function('return import(\"fs\")')()"],
    expect: threw(/could not load/),
  },
  {
    name: "import() of a file URL, a data URL and with attributes loads nothing",
    cells: [
      `const load = new Function("name", "options", "return import(name, options)");
       const json = { with: { type: "json" } };
       (await Promise.allSettled([load("file:///etc/passwd"), load("data:text/javascript,1"), load("./x.json", json)]))
         .map((each) => each.status).join()`,
    ],
    expect: done('"rejected,rejected,rejected"'),
  },
  {
    name: "import() with a hostile name is answered in the guest",
    cells: [
      `const load = new Function("name", "return import(name)");
       let seen = 0;
       await load({ toString() { seen++; throw new Error("mine") } }).catch(() => {});
       await load("a".repeat(1e5) + "\\0" + "../".repeat(100)).catch(() => {});
       seen`,
    ],
    expect: done("1"),
  },
  { name: "import.meta in eval is a syntax error", cells: ["eval('import.meta')"], expect: threw(/SyntaxError/) },
  { name: "require does not exist", cells: ["require('child_process').execSync('id')"], expect: threw(/not defined/) },
  { name: "process does not exist", cells: ["process.exit(1)"], expect: threw(/not defined/) },
  {
    name: "the constructor of the global object's constructor makes functions of the guest",
    cells: ["globalThis.constructor.constructor('return typeof process')()"],
    expect: done('"undefined"'),
  },
  {
    name: "this is the guest's global object or nothing",
    cells: ["[this === globalThis, (function () { return this })()]"],
    expect: done("[true, undefined]"),
  },
  {
    name: "with in a sloppy function sees no more than its object",
    cells: ["new Function('o', 'with (o) { return typeof host + typeof tell + x }')({ x: 1 })"],
    expect: done('"undefinedundefined1"'),
  },
  { name: "with in a cell is refused", cells: ["with ({}) { host }"], expect: refused(/no `with`/) },
  {
    name: "the names inside the prelude are free and mean nothing",
    cells: [
      `const host = 1, tell = 2, inspect = 3, open = 4, call = 5, ASK = 6, REPLY = 7, next = 8, global = 9, apply = 10;
       var stringify = 11, parse = 12, take = 13, spent = 14, BRANDS = 15, base = 16, isRunning = false, describe = 17, bound = 18, frozen = 19, read = 20, modules = 21;
       globalThis.__bowline = globalThis.bowline = globalThis["<bowline>"] = 18;
       print({ a: [1] }, new Map([[1, 2]])); (await tools.echo({ b: 1 })).b + Math.random() * 0`,
    ],
    expect: { ...done("1"), printed: "{ a: [1] } Map(1) { 1 => 2 }\n" },
  },
  {
    name: "escaped and foreign letters name no reserved thing",
    cells: ["const \\u0074ools = 1"],
    expect: refused(/reserved/),
  },
  {
    name: "letters that look like those of tools are another name",
    cells: ["const t\u043eols = 1, \u{20000} = 2, \u00aa\u200d = 3; [t\u043eols, \u{20000}, typeof tools.echo]"],
    expect: done('[1, 2, "function"]'),
  },
  {
    name: "the caller of a function is not told",
    cells: [
      `const f = new Function("return [typeof arguments.callee, (() => { try { return arguments.callee.caller } catch { return 'no' } })()]");
       const g = () => f(); print(g()); try { print.caller } catch (error) { print(error.name) }
       try { print.arguments } catch (error) { print(error.name) }`,
    ],
    expect: printing(/^\["function", ("no"|undefined|null)\]\n/),
  },
  {
    name: "a tool of any name is a call with that name and nothing else",
    cells: [
      `const odd = ["__proto__", "constructor ", "hasOwnProperty", "", "\\0", "\\ud800", "../../x", "a".repeat(500)];
       for (const name of odd) await tools[name]?.({ name: 1 })`,
    ],
    expect: { state: "done", calls: 8 },
  },
  {
    name: "what the language asks tools for is no call",
    cells: [
      `String([tools.then, tools.toJSON, tools.constructor, tools[Symbol.iterator], tools[Symbol.toPrimitive]]) +
       JSON.stringify(tools) + (await tools === tools) + Object.keys(tools).length + ("x" in tools)`,
    ],
    expect: { ...done('",,,,{}true0false"'), calls: 0 },
  },
];

export const REALM: readonly Attack[] = [...walks, ...names];
