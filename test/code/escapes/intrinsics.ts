// Cells that change intrinsics. Later cells see the changes, but tools, print and the value of a cell still work.

import { type Attack, done, refused, threw } from "./attack.ts";

export const INTRINSICS: readonly Attack[] = [
  {
    name: "leak 4: a setter cannot be put on Object.prototype",
    cells: ["Object.defineProperty(Object.prototype, 'value', { set() { throw 1 } })"],
    expect: threw(/TypeError/),
  },
  {
    name: "leak 4: a then cannot be put on Object.prototype",
    cells: ["Object.prototype.then = () => {}"],
    expect: threw(/TypeError/),
  },
  {
    name: "leak 4: the global object cannot be frozen",
    cells: [
      `const proxy = (make) => { try { return make() } catch (error) { return error.name } };
       [() => Object.freeze(globalThis), () => Object.seal(globalThis), () => Object.preventExtensions(globalThis),
        () => Reflect.preventExtensions(globalThis), () => Object.freeze(new Proxy(globalThis, {})),
        () => Object.freeze(Proxy.revocable(globalThis, {}).proxy), () => Reflect.construct(Proxy, [globalThis, {}]),
        () => Object.freeze.call(null, (0, eval)("this")), () => [globalThis].forEach(Object.freeze)].map(proxy).join()`,
    ],
    expect: done(`"${"TypeError,".repeat(9).slice(0, -1)}"`),
  },
  {
    name: "Object.prototype takes no field by its other ways",
    cells: [
      `const ways = [() => Object.prototype.__defineGetter__("then", () => 1), () => Object.assign(Object.prototype, { a: 1 }),
         () => Object.setPrototypeOf(Object.prototype, { then() {} }), () => { Object.prototype.__proto__ = { then() {} } },
         () => Object.defineProperties(Object.prototype, { a: { value: 1 } }), () => { ({}).__proto__.a = 1 },
         () => new (class extends (function () { return Object.prototype } as any) { a = 1 })()];
       ways.map((way) => { try { way(); return "done" } catch (error) { return error.name } }).join() + Object.keys(Object.prototype)`,
    ],
    expect: done(`"${"TypeError,".repeat(7).slice(0, -1)}"`),
  },
  {
    name: "replaced methods of Object.prototype are not called by the sandbox",
    cells: [
      "let n = 0; for (const key of Reflect.ownKeys(Object.prototype)) if (key !== 'constructor') try { Object.defineProperty(Object.prototype, key, { get() { n++; throw 1 } }) } catch {}\nprint({ a: 1 }, [2]); await tools.echo({ b: 1 }); await tools.fail().catch(() => {}); n",
    ],
    expect: done("0"),
  },
  {
    name: "a replaced JSON, Reflect, Map, Symbol and Math change no call",
    cells: [
      `const shown = { a: [1, new Date(0), new Map([[1, new Set([2])]]), Symbol("s"), /a/g] }, { ownKeys } = Reflect;
       for (const each of [JSON, Reflect, Map.prototype, Set.prototype, Symbol.prototype, Object, Date.prototype, ArrayBuffer])
         for (const key of ownKeys(each)) try { each[key] = () => { throw new Error("patched") } } catch {}
       print(shown); (await tools.echo({ a: 1 })).a`,
    ],
    expect: { ...done("1"), printed: /1970-01-01T00:00:00.000Z.*1 => .*2 .*Symbol\(s\), \/a\/g/s },
  },
  {
    name: "a replaced String.prototype and RegExp.prototype.exec change no call",
    cells: [
      `for (const each of [String.prototype, RegExp.prototype, Number.prototype, Boolean.prototype, BigInt.prototype])
         for (const key of Reflect.ownKeys(each)) try { Object.defineProperty(each, key, { value() { throw new Error("patched") } }) } catch {}
       print("a", { b: "c", "d-e": 1, f: 2n, g: true }); (await tools.echo({ a: "b" })).a`,
    ],
    expect: { ...done('"b"'), printed: 'a { b: "c", "d-e": 1, f: 2n, g: true }\n' },
  },
  {
    name: "a replaced call, apply, bind and Symbol.hasInstance are not used by the sandbox",
    cells: [
      "for (const key of Reflect.ownKeys(Function.prototype)) try { Object.defineProperty(Function.prototype, key, { get() { throw new Error('patched') } }) } catch {}\nprint({ a: [1] }, () => 1); (await tools.echo([3]))[0]",
    ],
    expect: done("3"),
  },
  {
    name: "a replaced Array.prototype, with iterator, push and setters for indexes, sees nothing of the sandbox",
    cells: [
      `let seen = 0;
       for (const key of ["0", "1", "2", "3"]) Object.defineProperty(Array.prototype, key, { get() { seen++ }, set() { seen++ } });
       ["push", "pop", "map", "join", "concat", "slice", "values", "toString", Symbol.iterator].forEach((key) =>
         Object.defineProperty(Array.prototype, key, { value() { seen++; throw new Error("patched") } }));
       print({ a: [1, 2] }, [,]); await tools.echo(1); await tools.fail().catch(() => {}); seen`,
    ],
    expect: { ...done("0"), printed: "{ a: [1, 2] } [<empty>]\n" },
  },
  {
    name: "a setter for the first item of every array is not handed what the sandbox tells of an error",
    cells: [
      `Object.defineProperty(Array.prototype, 0, { set(told) {
         if (typeof told !== "object" || told === null || !("message" in told)) return;
         told.message = { evil: [1] }; told.stack = 5; told.line = "9"; told.more = "x".repeat(1e5);
       } });
       Promise.reject(new TypeError("second")); throw new Error("first")`,
    ],
    expect: { ...threw(/^Error: first$/), unhandled: /^TypeError: second$/ },
  },
  {
    name: "a then on Array.prototype is run by the guest and resolves its own promises only",
    cells: [
      "Array.prototype.then = function (resolve) { resolve('taken') }; const r = await tools.echo([1]); delete Array.prototype.then; r",
    ],
    expect: done('"taken"'),
  },
  {
    name: "Symbol.species and a foreign constructor of arrays are not asked",
    cells: [
      "let n = 0; Object.defineProperty(Array, Symbol.species, { get() { n++; throw 1 } }); Object.defineProperty(Array.prototype, 'constructor', { get() { n++; throw 1 } });\nprint([1, [2]]); await tools.echo([1, 2]); n",
    ],
    expect: done("0"),
  },
  {
    name: "a replaced Promise.prototype.then sees no resolver of a call",
    cells: [
      `let seen = 0; const then = Promise.prototype.then;
       Promise.prototype.then = function (...given) { seen++; return then.apply(this, given) };
       Promise.prototype.catch = Promise.prototype.finally = () => { seen++; throw 1 };
       for (const key of ["resolve", "reject", "all", "withResolvers"]) Promise[key] = () => { seen++; throw 1 };
       const a = await tools.echo(1); await sleep(1); [a, seen]`,
    ],
    expect: done("[1, 0]"),
  },
  {
    name: "a foreign constructor and species of promises resolve nothing",
    cells: [
      `const evil = function (executor) { executor((value) => print("resolved", value), () => {}) };
       Object.defineProperty(Promise, Symbol.species, { value: evil });
       const p = tools.echo(1); Object.defineProperty(p, "constructor", { value: evil });
       p.then(() => {}); await sleep(0); 2`,
    ],
    expect: done("2"),
  },
  {
    name: "the constructor of promises, which every await reads, cannot be replaced",
    cells: ["Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('patched') } })"],
    expect: threw(/TypeError/),
  },
  {
    name: "accessors of Error.prototype see no error of the sandbox",
    cells: [
      `const seen = [];
       for (const key of ["name", "message", "stack", "code", "cause", "toString"])
         Object.defineProperty(Error.prototype, key, { get() { seen.push(key); return "x" }, set(value) { seen.push(value) }, configurable: true });
       const error = await tools.fail().catch((error) => error);
       [seen.length, error.name, error.message, error.code]`,
    ],
    expect: done('[0, "ToolError", "It failed.", "tool.failed"]'),
  },
  {
    name: "print, tools and finish cannot be replaced or deleted",
    cells: [
      `const evil = () => {};
       "tools print finish sleep setTimeout clearTimeout console".split(" ").flatMap((name) => [
         () => { globalThis[name] = evil }, () => Object.defineProperty(globalThis, name, { value: evil }),
         () => Object.defineProperty(globalThis, name, { get: evil }), () => delete globalThis[name],
         () => globalThis.__defineGetter__(name, evil), () => new Function(name + " = 1").call(null) && 1,
       ].map((way) => { try { return way() } catch (error) { return error.name === "TypeError" ? undefined : error.name } }))
         .filter((each) => each !== undefined).length + String(print === evil)`,
    ],
    expect: done('"0false"'),
  },
  {
    name: "tools takes no field, prototype or lock",
    cells: [
      "[Reflect.set(tools, 'a', 1), Reflect.defineProperty(tools, 'a', { value: 1 }), Reflect.setPrototypeOf(tools, {}), Reflect.preventExtensions(tools), Reflect.ownKeys(tools).length].join()",
    ],
    expect: done('"false,false,false,false,0"'),
  },
  { name: "the console is frozen", cells: ["console.log = () => {}"], expect: threw(/TypeError/) },
  { name: "a reserved name cannot be declared", cells: ["function print() {}"], expect: refused(/reserved/) },
  {
    name: "a reserved name cannot be assigned to in a pattern",
    cells: ["[{ a: globalThis.x, b: tools }] = [{}]"],
    expect: refused(/tools/),
  },
  {
    name: "a var in a sloppy eval cannot take the place of print",
    cells: ["(0, eval)('try { var print = 1 } catch {}'); typeof print"],
    expect: done('"function"'),
  },
  {
    name: "a global object that inherits from a proxy still finds what is there",
    cells: [
      `const seen = [];
       const proxy = new Proxy(Object.prototype, { has(_, key) { seen.push(key); return false }, get(_, key) { seen.push(key) } });
       try { Object.setPrototypeOf(globalThis, proxy) } catch (error) { print(error.name) }
       print({ a: 1 }); (await tools.echo({ a: 1 })).a`,
    ],
    expect: done("1"),
  },
  {
    name: "a global that cannot be written does not stop later cells from declaring others",
    cells: [
      "Object.defineProperty(globalThis, 'stuck', { value: 1 }); Object.defineProperty(globalThis, 'sly', { get() { print('got'); return 1 } }); 1",
      "stuck",
    ],
    expect: done("1"),
  },
  { name: "undefined cannot mean something else", cells: ["globalThis.undefined = 1"], expect: threw(/TypeError/) },
  {
    name: "deleted intrinsics are not missed by the sandbox",
    cells: [
      "for (const name of Reflect.ownKeys(globalThis)) try { delete globalThis[name] } catch {}\nprint({ a: [1] }); await tools.echo({ a: 1 }).then((each) => each.a)",
    ],
    expect: { ...done("1"), printed: "{ a: [1] }\n" },
  },
  {
    name: "frozen intrinsics stay usable",
    cells: [
      `for (const name of Reflect.ownKeys(globalThis)) { const each = globalThis[name]; if (typeof each === "function") { Object.freeze(each); if (each.prototype) Object.freeze(each.prototype) } }\nprint({ a: [1] }); (await tools.echo({ a: 1 })).a`,
    ],
    expect: done("1"),
  },
];
