// Values that run code when they are shown, passed to a tool or returned.

import { type Attack, done, printing, threw } from "./attack.ts";

/** A value that runs code when it is inspected. `ran` counts how often. */
export const EVIL = `
let ran = 0;
const run = (name) => () => { ran++; throw new Error("ran " + name) };
const traps = {};
for (const name of Reflect.ownKeys(Reflect)) if (typeof name === "string") traps[name] = run(name);
const proxies = [new Proxy({}, traps), new Proxy(function () {}, traps), new Proxy([], traps), new Proxy(new Map(), traps)];
const { proxy: revoked, revoke } = Proxy.revocable([], {});
revoke();
const getters = { get a() { return run("getter")() }, set a(_) {}, get [Symbol.toStringTag]() { return run("tag")() } };
const tagged = { toString: run("toString"), valueOf: run("valueOf"), inspect: run("inspect"), toJSON: run("toJSON"),
  [Symbol.toPrimitive]: run("toPrimitive"), [Symbol.iterator]: run("iterator"), then: 1 };
const heirs = [Object.create(proxies[0]), Object.setPrototypeOf([1], proxies[2]), Object.setPrototypeOf(() => {}, proxies[1])];
class Sneaky extends Map { get size() { return run("size")() } entries() { return run("entries")() } static get name() { return run("name")() } }
const dates = [new Date(NaN), Object.assign(new Date(0), { toISOString: run("date"), getTime: run("time") })];
const all = { proxies, revoked, getters, tagged, heirs, sneaky: new Sneaky([[1, 2]]), dates,
  typed: Object.defineProperty(new Uint8Array(2), "length", { get: run("length") }) };
all.self = all;`;

export const VALUES: readonly Attack[] = [
  {
    name: "print runs nothing of what it shows",
    cells: [EVIL, "print(all, ...Object.values(all)); ran"],
    expect: done("0"),
  },
  { name: "the value of a cell is shown without running it", cells: [`${EVIL}\nall`, "ran"], expect: done("0") },
  {
    name: "leak 3: a value that is nested deeply is shown as far as it goes",
    cells: ["let deep = []; for (let i = 0; i < 2e4; i++) deep = [deep]; print(deep); deep"],
    expect: done("[[[[[Array]]]]]"),
  },
  {
    name: "leak 3: a value with getters and proxies is not walked",
    cells: ["({ get a() { throw 1 }, b: new Proxy({}, { get() { throw 2 } }) })"],
    expect: done("{ a: [Getter], b: [Proxy] }"),
  },
  {
    name: "a promise as a value is awaited by nobody",
    cells: ["({ p: new Promise(() => {}) })"],
    expect: done(/pending/),
  },
  {
    name: "a thenable as a value is not called",
    cells: ["let n = 0; const t = { then() { n++ } }; t", "n"],
    expect: done("0"),
  },
  {
    name: "a proxy as an input runs in the guest, and what it throws is the guest's",
    cells: [
      `${EVIL}\n(await Promise.allSettled(proxies.map((each) => tools.echo(each)))).map((each) => each.status).join()`,
    ],
    expect: { ...done('"rejected,rejected,rejected,rejected"'), calls: 0 },
  },
  {
    name: "a revoked proxy as an input is a TypeError and no call",
    cells: [`${EVIL}\nawait tools.echo(revoked)`],
    expect: { ...threw(/TypeError/), calls: 0 },
  },
  {
    name: "a cycle as an input is a TypeError and no call",
    cells: ["const o = {}; o.o = o; await tools.echo(o)"],
    expect: { ...threw(/TypeError/), calls: 0 },
  },
  {
    name: "what is no JSON as an input is a TypeError and no call",
    cells: [
      `(await Promise.allSettled([() => 1, Symbol("s"), 1n, { toJSON() {} }, { toJSON() { return 1n } }].map((each) => tools.echo(each))))
         .map((each) => each.reason?.name).join()`,
    ],
    expect: { ...done('"TypeError,TypeError,TypeError,TypeError,TypeError"'), calls: 0 },
  },
  {
    name: "an input that changes when it is read twice is read once",
    cells: ["let n = 0; await tools.echo({ get a() { return ++n }, toJSON: undefined }).then((each) => [each.a, n])"],
    expect: done("[1, 1]"),
  },
  {
    name: "a call in the toJSON of an input comes before the call with that input",
    cells: ["await tools.echo({ toJSON() { tools.echo('inner'); return 'outer' } })"],
    expect: { ...done('"outer"'), calls: 2 },
  },
  {
    name: "an input with __proto__ and constructor keys pollutes nobody",
    cells: [
      `const input = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}');
       const back = await tools.echo(input);
       [Object.keys(back), ({}).polluted, Object.getPrototypeOf(back) === Object.prototype]`,
    ],
    expect: done('[["__proto__", "constructor", "toString"], undefined, true]'),
  },
  {
    name: "a result with __proto__, then and toJSON keys is only data",
    cells: [
      "const r = await tools.say(); [Object.keys(r).join(), ({}).polluted, Array.isArray(r.list), r.list.length]",
    ],
    says: '{"__proto__":{"polluted":1},"then":{},"toJSON":1,"length":-1,"list":[{"__proto__":null}]}',
    expect: done('["__proto__,then,toJSON,length,list", undefined, true, 1]'),
  },
  {
    name: "lone surrogates and NULs do not cut what comes after them",
    cells: [
      "const s = '\\ud800a\\0b\\udfff'; const r = await tools.echo({ [s]: s }); print(s + '|', r[s] === s); 'a\\0b'",
    ],
    expect: { ...done('"a\\u0000b"'), printed: "\ufffda\0b\ufffd| true\n" },
  },
  {
    name: "raw JSON as an input stays one value",
    cells: ["await tools.echo({ a: JSON.rawJSON('1e400'), b: JSON.rawJSON('\"x\"') })"],
    expect: done('{ a: null, b: "x" }'),
  },
  {
    name: "a class that poses as an error, a date or a promise is shown as it is",
    cells: [
      `const posed = Object.create(Error.prototype, { message: { get() { throw 1 } } });
       print(posed, Object.create(Date.prototype), Object.create(Promise.prototype), Object.create(Map.prototype), Object.create(RegExp.prototype))`,
    ],
    expect: printing(/^Error \{\} Date \{\} Promise \{\} Map \{\} RegExp \{\}\n$/),
  },
  {
    name: "an array that lies about its length is shown in bounded time",
    cells: ["const a = []; a.length = 2 ** 32 - 1; print(a); print({ length: 2 ** 53 })"],
    expect: printing(/more/),
  },
];
