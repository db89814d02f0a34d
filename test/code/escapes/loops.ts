// Endless code.

import { type Attack, stopped } from "./attack.ts";

/** Endless code (`SPIN`) in every position that runs code. */
const SPIN = "for (;;);";
const PLACES: readonly (readonly [where: string, code: string])[] = [
  ["a loop", SPIN],
  ["a labelled loop", "out: for (;;) { for (;;) continue out }"],
  ["a loop with try, catch and finally", `for (;;) try { ${SPIN} } catch { ${SPIN} } finally { ${SPIN} }`],
  ["a getter", `const o = { get a() { ${SPIN} } }; o.a`],
  ["a getter that print reads", `print(Object.defineProperty(new Error(), "message", { get() { ${SPIN} } }))`],
  ["a getter of a thrown error", `throw { get message() { ${SPIN} } }`],
  [
    "the getters of rejections that nobody looks at",
    `for (let i = 0; i < 50; i++) Promise.reject({ get message() { ${SPIN} } }); 1`,
  ],
  [
    "a getter that leaves jobs behind when its rejection is told",
    `Promise.reject({ get message() { const f = () => queueMicrotask(f); f(); return "x" } }); 1`,
  ],
  ["the toJSON of an input", `await tools.echo({ toJSON() { ${SPIN} } })`],
  ["the toJSON of finish", `finish({ toJSON() { ${SPIN} } })`],
  ["a proxy's trap in an input", `await tools.echo(new Proxy({}, { ownKeys() { ${SPIN} } }))`],
  ["the valueOf of a timer's time", `setTimeout(() => {}, { valueOf() { ${SPIN} } })`],
  ["a timer", `setTimeout(() => { ${SPIN} }, 0); await sleep(1)`],
  [
    "the source of a regular expression",
    `const r = /a/; Object.defineProperty(r, "source", { get() { ${SPIN} } }); print(r)`,
  ],
  ["a comparator", `[3, 2, 1].sort(() => { ${SPIN} })`],
  ["a replacer", `"a".replace(/a/, () => { ${SPIN} })`],
  ["a reviver", `JSON.parse("[1]", () => { ${SPIN} })`],
  ["a generator", `function* g() { for (;;) yield 1 } for (const _ of g());`],
  ["a generator's finally", `function* g() { try { yield 1 } finally { ${SPIN} } } for (const _ of g()) break`],
  [
    "the return of an iterator",
    `new Map({ next: () => ({ value: 1 }), return() { ${SPIN} }, [Symbol.iterator]() { return this } })`,
  ],
  ["a disposer", `{ using a = { [Symbol.dispose]() { ${SPIN} } }; ${SPIN} }`],
  [
    "ten thousand disposers",
    `const d = new DisposableStack(); for (let i = 0; i < 1e4; i++) d.defer(() => { ${SPIN} }); d.dispose()`,
  ],
  ["a static block of a class", `class A { static { ${SPIN} } }`],
  ["a tagged template", "((s) => { for (;;); })`a`"],
  ["a default value in a pattern", `const { a = (() => { ${SPIN} })() } = {}`],
  ["an async function", `const f = async () => { ${SPIN} }; for (;;) f()`],
  [
    "an async function that catches",
    `await (async () => { try { await 1; ${SPIN} } catch { ${SPIN} } })().catch(() => print("caught"))`,
  ],
  ["an executor of a promise", `for (;;) new Promise(() => { ${SPIN} })`],
  ["the then of a thenable", `for (;;) Promise.resolve({ get then() { ${SPIN} } })`],
  ["the iterator of Promise.all", `for (;;) Promise.all({ [Symbol.iterator]() { ${SPIN} } })`],
  ["an async generator", `const f = async function* () { ${SPIN} }; for (;;) f().next()`],
  ["a handler of a promise", `await Promise.reject(1).catch(() => { ${SPIN} }).finally(() => { ${SPIN} })`],
  ["microtasks that make microtasks", "const f = () => queueMicrotask(f); f(); await new Promise(() => {})"],
  ["a regular expression that backtracks", "/(a+)+b/.test('a'.repeat(40))"],
  ["code of eval", `eval("${SPIN}")`],
];

const loops: readonly Attack[] = PLACES.map(([where, code]) => ({
  name: `code without an end is stopped: ${where}`,
  cells: [code],
  expect: { ...stopped("steps"), printed: "" },
}));

const SOON = { segmentMs: 60, stepsMax: 1e9 };

/** Code that ticks too rarely, or never, to be ended by steps. */
const clock: readonly Attack[] = [
  {
    name: "a loop that takes no steps to speak of is stopped by time",
    cells: ["for (;;) await 1"],
    bounds: SOON,
    expect: stopped("time"),
  },
  {
    name: "a native loop is ended with its thread",
    cells: ["'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b')"],
    bounds: { ...SOON, graceMs: 150 },
    expect: stopped("time"),
  },
];

export const LOOPS: readonly Attack[] = [...loops, ...clock];
