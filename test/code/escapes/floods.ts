// Floods of output, calls, sleeps and rejections, and cells that wait for nothing.

import { type Attack, done, stopped, threw } from "./attack.ts";

export const FLOODS: readonly Attack[] = [
  {
    name: "a flood is bounded: ten megabytes in one print",
    cells: ["print('x'.repeat(1e7))"],
    expect: threw(/RangeError/),
  },
  {
    name: "a flood is bounded: a print over the bound",
    cells: ["try { print('x'.repeat(1e5)) } catch {} finally { print('went on') }"],
    expect: stopped("output"),
  },
  {
    name: "a flood is bounded: ten megabytes in many prints",
    cells: ["for (let i = 0; i < 1e4; i++) print('x'.repeat(1000))"],
    expect: stopped("output"),
  },
  { name: "a flood is bounded: a large value", cells: ["Array(1e5).fill('x'.repeat(1e4))"], expect: done(/…/) },
  { name: "a flood is bounded: a large finish", cells: ["finish('x'.repeat(1e5))"], expect: stopped("output") },
  {
    name: "a flood is bounded: a large input",
    cells: ["await tools.echo('x'.repeat(1e5))"],
    expect: { ...stopped("output"), calls: 0 },
  },
  {
    name: "a flood is bounded: a large name of a tool",
    cells: ["await tools['x'.repeat(1e5)]()"],
    expect: { ...stopped("output"), calls: 0 },
  },
  {
    name: "a flood is bounded: inputs that are large together",
    cells: ["for (let i = 0; i < 10; i++) tools.echo('x'.repeat(1e4)); await 1"],
    expect: { ...stopped("output"), calls: 0 },
  },
  {
    name: "a flood is bounded: a hundred thousand calls",
    cells: ["for (let i = 0; i < 1e5; i++) tools.echo(1)"],
    expect: { ...stopped("calls"), calls: 0 },
  },
  {
    name: "a flood is bounded: calls one after the other",
    cells: ["for (let i = 0; i < 1e5; i++) await tools.echo(1)"],
    expect: stopped("calls"),
  },
  {
    name: "a flood is bounded: a hundred thousand sleeps",
    cells: ["await Promise.all(Array.from({ length: 1e5 }, () => sleep(1)))"],
    expect: stopped("calls"),
  },
  {
    name: "a flood is bounded: timers that are cleared",
    cells: ["for (let i = 0; i < 1e5; i++) clearTimeout(setTimeout(() => {}, 1))"],
    expect: stopped("calls"),
  },
  {
    name: "a flood is bounded: thousands of rejections",
    cells: ["for (let i = 0; i < 5e3; i++) Promise.reject(new Error('r' + i)); 1"],
    expect: { ...done("1"), unhandled: /^Error: r0\n.*: r9$/s },
  },
  {
    name: "a flood is bounded: rejections with a large text",
    cells: ["for (let i = 0; i < 20; i++) Promise.reject(new Error('x'.repeat(1e5))); 1"],
    expect: { ...done("1"), unhandled: /…/ },
  },
  {
    name: "a flood is bounded: an error with a large text",
    cells: [
      "throw Object.assign(new Error('x'.repeat(1e6)), { name: 'n'.repeat(1e6), code: 'c'.repeat(1e6), stack: 's'.repeat(1e6) })",
    ],
    expect: threw(/^n{100}…: x{4000}…$/),
  },
  {
    name: "a flood is bounded: a symbol, a key and a function with large names",
    cells: [
      "const s = 'x'.repeat(1e5); print(Symbol(s), { [s]: 1 }, Object.defineProperty(() => 1, 'name', { value: s }), new (class { static name = s })())",
    ],
    expect: { state: "done", printed: /^.{1000,6000}$/s },
  },
  {
    name: "a promise that nobody settles stalls the cell",
    cells: ["await new Promise(() => {})"],
    expect: { state: "stalled" },
  },
  {
    name: "a lock of two promises stalls the cell",
    cells: ["let a, b; a = (async () => { await 1; await b })(); b = (async () => { await a })(); await b"],
    expect: { state: "stalled" },
  },
  {
    name: "an endless async iterator that gives nothing stalls the cell",
    cells: ["for await (const _ of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });"],
    expect: { state: "stalled" },
  },
];
