// Errors that reveal functions outside the guest, or run code when they are read.

import { type Attack, done, printing, threw } from "./attack.ts";

export const ERRORS: readonly Attack[] = [
  {
    name: "leak 1: no failure on the host's side brings a stack of the host into the guest",
    cells: [
      `const stacks = [];
       for (const cause of [() => tools.echo(1n), () => tools.fail(), () => tools.echo({ get a() { throw new Error() } }), () => sleep(-1),
         () => sleep({ valueOf() { throw new Error("mine") } }), () => finish(() => 1), () => print("a".repeat(9e6)),
         () => setTimeout(1), () => tools.echo({ toJSON() { throw new Error("mine") } })])
         try { await cause() } catch (error) { stacks.push(error.stack ?? "") }
       print(stacks.length, stacks.every((each) => each.split("\\n").every((line) =>
         line === "" || /\\((native|<bowline>:\\d+:\\d+|cell-\\d+\\.ts:\\d+:\\d+)\\)$/.test(line))))`,
    ],
    expect: printing("9 true\n"),
  },
  {
    name: "leak 2: Error.prepareStackTrace is handed no function of the prelude",
    cells: [
      `const seen = [];
       Error.prepareStackTrace = (_, sites) => { seen.push(...sites.map((site) => site.getFunction())); return "x" };
       try { Object.defineProperty(Error, "prepareStackTrace", { value: Error.prepareStackTrace }) } catch (error) { print(error.name) }
       await tools.echo(1n).catch((error) => error.stack);
       [typeof Error.prepareStackTrace, seen.length]`,
    ],
    expect: { ...done('["undefined", 0]'), printed: "TypeError\n" },
  },
  {
    name: "prepareStackTrace on subclasses, instances and by Reflect.set is not asked",
    cells: [
      `let seen = 0;
       const prepareStackTrace = () => { seen++; return "x" };
       for (const each of [TypeError, RangeError, Error.prototype, class extends Error {}, Function.prototype])
         Object.defineProperty(each, "prepareStackTrace", { value: prepareStackTrace, configurable: true });
       Reflect.set(Error, "prepareStackTrace", prepareStackTrace, TypeError);
       await tools.echo(1n).catch((error) => error.stack); try { null.x } catch (error) { error.stack }
       new (class E extends TypeError {})().stack; Error.captureStackTrace({}); seen`,
    ],
    expect: done("0"),
  },
  {
    name: "a stack trace limit cannot be set, not even to something that throws",
    cells: [
      `Error.stackTraceLimit = 0; Error.stackTraceLimit = { valueOf() { throw 1 } }; Error.stackTraceLimit = Infinity;
       try { delete Error.stackTraceLimit } catch (error) { print(error.name) }
       const deep = (n) => (n === 0 ? new Error("x") : deep(n - 1)); [deep(99).stack.trim().split("\\n").length, Error.stackTraceLimit]`,
    ],
    expect: { ...done("[50, 50]"), printed: "TypeError\n" },
  },
  {
    name: "captureStackTrace tells no more than a stack does",
    cells: [
      `const o = {}; let inner;
       await tools.echo({ toJSON() { Error.captureStackTrace(o); inner = o.stack; return 1 } });
       print(inner.split("\\n").every((line) => line === "" || /\\((native|<bowline>:\\d+:\\d+|cell-1.ts:\\d+:\\d+)\\)$/.test(line)));
       try { Error.captureStackTrace(Object.freeze({})) } catch (error) { print(error.name) }`,
    ],
    expect: printing(/^true\n(TypeError\n)?$/),
  },
  {
    name: "the setter of the stack writes into no foreign object",
    cells: [
      `const { get, set } = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
       for (const each of [print, tools, globalThis, Error.prototype, 1, undefined])
         try { get.call(each); set?.call(each, "x") } catch {}
       print("still"); await tools.echo(1)`,
    ],
    expect: { ...done("1"), printed: "still\n" },
  },
  {
    name: "a thrown error may throw when it is read",
    cells: [
      "throw Object.defineProperties(new Error(), Object.fromEntries(['name', 'message', 'stack', 'code', 'cause'].map((key) => [key, { get() { throw new Error('inner') } }])))",
    ],
    expect: threw(/^NonError: Error$/),
  },
  {
    name: "the fields of a thrown error may be anything",
    cells: [
      "throw Object.assign(new Error('x'), { name: { toString() { return 'evil' } }, code: [], message: 'told' })",
    ],
    expect: threw(/^Error: told$/),
  },
  {
    name: "reading a thrown error calls no tool and does not finish the cell",
    cells: ["throw { get message() { tools.echo(1); finish(2); print('read'); return 'told' } }"],
    expect: { ...threw(/told/), calls: 0, printed: "read\n" },
  },
  {
    name: "causes in a cycle are not followed",
    cells: ["const a = new Error('a'), b = new Error('b', { cause: a }); a.cause = b; print(a, { b }); throw b"],
    expect: threw(/Error: b/),
  },
  {
    name: "errors in a cycle of AggregateErrors are not followed",
    cells: ["const e = new AggregateError([], 'all'); e.errors.push(e); print(e); throw e"],
    expect: threw(/AggregateError: all/),
  },
  {
    name: "leak 5: a thrown symbol is named",
    cells: ["throw Symbol('s')"],
    expect: threw(/Symbol\(s\)/),
  },
  {
    name: "leak 5: a thrown object is shown",
    cells: ["throw { a: [1] }"],
    expect: threw(/{ a: \[1\] }/),
  },
  { name: "leak 5: undefined may be thrown", cells: ["throw undefined"], expect: threw(/undefined/) },
  {
    name: "leak 5: a thrown proxy is named, and its traps see only what any object is asked",
    cells: [
      "throw new Proxy({}, { get(_, key) { print(String(key)); throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })",
    ],
    expect: threw(/Proxy/),
  },
  {
    name: "a thrown revoked proxy is named",
    cells: ["const { proxy, revoke } = Proxy.revocable(function () {}, {}); revoke(); throw proxy"],
    expect: threw(/Proxy/),
  },
  {
    name: "a thrown null-prototype object is shown",
    cells: ["throw Object.create(null)"],
    expect: threw(/null prototype/),
  },
  { name: "a thrown function is named", cells: ["throw function evil() {}"], expect: threw(/evil/) },
  {
    name: "a made-up stack of what is no error tells of no line that no text has",
    cells: ["throw { message: 'x', stack: '    at b (cell-1.ts:' + '9'.repeat(400) + ':0)' }"],
    expect: threw(/x/),
  },
  {
    name: "a made-up stack tells of no place outside the cell and keeps its lines to itself",
    cells: [
      "throw Object.assign(new Error('x'), { stack: '    at a (cell-1.ts:9e9:1)\\n    at b (cell-1.ts:99999999999999999999:99999999999999999999)\\n'.repeat(50) })",
    ],
    expect: threw(/Error: x/),
  },
  {
    name: "a function whose name is a line of a stack moves no call",
    cells: [
      `const f = () => tools.echo(1);
       Object.defineProperty(f, "name", { value: "x (cell-1.ts:7:7)\\n    at y (cell-1.ts:8:8)\\n" + "z".repeat(1e6) });
       await f()`,
    ],
    expect: { ...done("1"), calls: 1 },
  },
  {
    name: "a getter for the name of a function is not run by stacks",
    cells: [
      `let seen = 0; const f = () => { throw new Error("x") };
       Object.defineProperty(f, "name", { get() { seen++; return "evil" } });
       try { f() } catch (error) { error.stack } print(f); seen`,
    ],
    expect: done("0"),
  },
  {
    name: "an uncaught error shows the guest's own frames only",
    cells: ["await tools.echo({ toJSON() { null.x } })"],
    expect: threw(/TypeError/),
  },
];
