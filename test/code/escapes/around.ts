// Attacks on the surroundings of a cell: modules, history, read-only values, reads, and descriptions of variables.

import type { Surroundings } from "../../../src/sandbox/sandbox.ts";
import { type Attack, done, printing, stopped, threw } from "./attack.ts";
import { EVIL } from "./values.ts";

const ALL: Surroundings = {
  modules: ["files"],
  binds: [
    { name: "limit", value: { list: [{ n: 5 }], __proto__: null } },
    { name: "report", chars: 120_000, length: 120_000 },
  ],
  history: { length: 3, newest: [{ role: "user", text: "Go." }, 900, { role: "assistant", text: "x" }] },
};
/** The surroundings of the second cell, after the attack of the first. */
const LATER = [{}, ALL];

const USES = `const [said, read, far] = [history[0].text, (await report).list[0].n, (await history[1]).read.history];
  [said, read, far, (await files.read({ a: 1 })).a, limit.list[0].n, (await tools.search("mail")).read.search, history.length].join()`;
const USED = done('"Go.,1,1,1,5,mail,3"');

export const AROUND: readonly Attack[] = [
  {
    name: "a replaced then and a species of promises do not keep code from what it awaits",
    cells: [
      `Promise.prototype.then = () => "stolen"; Promise.prototype.catch = null; Promise.resolve = Promise.all = null;
       Object.defineProperty(Promise, Symbol.species, { value: class { constructor(run) { run(() => {}, () => {}) } } })`,
      USES,
    ],
    around: LATER,
    expect: USED,
  },
  {
    name: "a replaced Array.prototype, with setters for indexes, sees nothing of what is around a cell",
    cells: [
      `var seen = 0;
       for (const key of ["0", "1", "2", "length2"]) Object.defineProperty(Array.prototype, key, { get() { seen++ }, set() { seen++ }, configurable: true });
       ["push", "at", "map", "slice", "concat", "values"].forEach((key) => Object.defineProperty(Array.prototype, key, { value() { seen++; throw new Error("patched") } }))`,
      `const read = (await report).list[0].n, at = history.at(-1).text, keys = Object.keys(history).join === undefined;
       print(history, report, limit); \`\${seen} \${read} \${at} \${limit.list[0].n}\``,
    ],
    around: LATER,
    expect: { ...done('"0 1 x 5"'), printed: /\[history: 3 messages\] \[report: 120,000 characters, await it\]/ },
  },
  {
    name: "replaced methods of Object.prototype, JSON, Reflect, Symbol and freeze change nothing of it",
    cells: [
      `var n = 0; const { ownKeys, defineProperty } = Reflect;
       for (const key of ownKeys(Object.prototype)) if (key !== "constructor") try { defineProperty(Object.prototype, key, { get() { n++; throw 1 } }) } catch {}
       for (const each of [JSON, Reflect, Object, Symbol, Proxy, Map.prototype, String.prototype])
         for (const key of ownKeys(each)) try { each[key] = () => { n++; throw new Error("patched") } } catch {}
       globalThis.Symbol = globalThis.Reflect = globalThis.JSON = globalThis.Proxy = null; 1`,
      `try { limit.list.x = 1 } catch { print("frozen") }
       print(n, history[0].text, (await report).list[0].n, (await files.read({ a: 1 })).a, limit.list[0].n)`,
    ],
    around: LATER,
    expect: printing("frozen\n0 Go. 1 1 5\n"),
  },
  {
    name: "a lazy value is no JSON, no text and no number, and nobody is handed it",
    cells: [
      `const uses = [() => tools.echo(report), () => tools.echo([history[1]]), () => files.read({ deep: { report } }), () => continueAs("a", report),
         () => finish([report]), () => report + "", () => +report, () => report.text, () => report[0], () => [...report], () => ({ ...report.x }),
         () => report < 1, () => \`\${history[1]}\`, () => Object.prototype.toString.call(report), () => report instanceof report,
         () => ({ ...report }), () => "x" in report, () => history[1].length, () => Object.assign({}, report)];
       const names = [];
       for (const use of uses) try { await use(); names.push("none") } catch (error) { names.push(error.name) }
       names.join() + Object.keys(report) + Object.isFrozen(report)`,
    ],
    around: [ALL],
    expect: { ...done(`"${"TypeError,".repeat(19).slice(0, -1)}await report firsttrue"`), calls: 0 },
  },
  {
    name: "what inherits from a lazy value, or stands before it, learns nothing and harms nobody",
    cells: [
      `const heir = Object.create(report); const seen = [];
       const traps = { getOwnPropertyDescriptor(_, key) { seen.push(typeof key); return undefined }, get(t, k, r) { return Reflect.get(t, k, r) } };
       for (const use of [() => heir.x, () => { heir.y = 1; return heir.y }, () => new Proxy(report, traps).x, () => Object.setPrototypeOf(report, {}),
         () => Object.getPrototypeOf(report).x, () => { Object.getPrototypeOf(report).x = 1 }, () => Object.freeze(Object.getPrototypeOf(report))])
         try { seen.push(use()) } catch (error) { seen.push(error.name) }
       print(heir, seen.join()); (await heir).list[0].n`,
    ],
    around: [ALL],
    expect: { ...done("1"), printed: /TypeError,TypeError,.*TypeError,TypeError,TypeError,TypeError\n$/ },
  },
  {
    name: "history cannot be changed, by whatever way",
    cells: [
      `const ways = [() => { history[0] = 1 }, () => history.push(1), () => { history.length = 0 }, () => { delete history[0] }, () => history.sort(),
         () => Object.defineProperty(history, "0", { value: 1 }), () => Object.freeze(history), () => Object.setPrototypeOf(history, null),
         () => { history[0].text = "" }, () => { history.more = 1 }, () => { globalThis.history = [] },
         () => Object.defineProperty(globalThis, "history", { value: [] }), () => delete globalThis.history, () => history.reverse()];
       ways.map((way) => { try { way(); return "done" } catch (error) { return error.name } }).join() + history.length + history[0].text`,
    ],
    around: [ALL],
    expect: done(`"${"TypeError,".repeat(14).slice(0, -1)}3Go."`),
  },
  {
    name: "history is a list to the methods of lists",
    cells: [
      `print(history.map((each) => typeof each).join(), history.slice(-1)[0].text, history.findIndex((each) => each.role === "assistant"),
         [...history].length, Object.keys(history).join(), 2 in history, 3 in history, Array.isArray(history), history[-1], history["01"], history.at(9));
       JSON.stringify(history.filter((each) => each.text))`,
    ],
    around: [
      {
        history: {
          length: 2,
          newest: [
            { role: "user", text: "Go." },
            { role: "assistant", text: "x" },
          ],
        },
      },
    ],
    expect: {
      ...done('"[{\\"role\\":\\"user\\",\\"text\\":\\"Go.\\"},{\\"role\\":\\"assistant\\",\\"text\\":\\"x\\"}]"'),
      printed: "object,object x 1 2 0,1 false false true undefined undefined undefined\n",
    },
  },
  {
    name: "getters that wait under the names of modules and values are not run",
    cells: [
      `var ran = 0;
       for (const [name, configurable] of [["files", true], ["limit", true], ["report", false]])
         Object.defineProperty(globalThis, name, { get() { ran++; return "mine" }, configurable })`,
      "[ran, limit.list[0].n, ran, files, report, ran].join()",
      "[typeof limit, ran, files].join()",
    ],
    around: [{}, ALL, { unbinds: ["limit", "report"] }],
    expect: done('"undefined,2,mine"'),
  },
  {
    name: "the text of a variable runs nothing of it",
    cells: [
      `${EVIL}
       const re = Object.defineProperty(/a/, "source", { get: run("source") }), flagged = Object.defineProperty(/b/, "flags", { get: run("flags") });
       const thrown = Object.defineProperties(new Error("m"), { name: { get: run("name") }, message: { get: run("message") }, stack: { get: run("stack") } });
       Object.defineProperty(globalThis, "trap", { get: run("global"), enumerable: true, configurable: true });
       class Named { static get name() { return run("name")() } static [Symbol.hasInstance]() { return run("instance")() } }
       0`,
      "ran",
    ],
    expect: done("0"),
  },
  {
    name: "so many variables that their names alone are too much end in a short list",
    cells: ["for (let i = 0; i < 2e4; i++) globalThis['k' + i] = i", "k19999"],
    expect: done("19999"),
  },
  {
    name: "a name that is no name, or a long one, is no trouble",
    cells: [
      `globalThis[""] = 1; globalThis["a\\0b\\ud800"] = 2; globalThis["x".repeat(1e4)] = 3; globalThis["__proto__ "] = 4; globalThis[7] = 5;
       globalThis["'],\\"\\n"] = "'],\\"\\n"; 1`,
      "globalThis[7]",
    ],
    expect: done("5"),
  },
  {
    name: "one read serves all who wait for it, and a flood of reads is stopped",
    cells: [
      "const all = await Promise.all(Array.from({ length: 1e3 }, () => report)); all.every((each) => each === all[0])",
    ],
    around: [ALL],
    expect: done("true"),
  },
  { name: "a flood of searches is stopped", cells: ["for (;;) tools.search('x')"], expect: stopped("calls") },
  {
    name: "a search takes words and nothing else",
    cells: [
      `const odd = [1, null, undefined, {}, { query: 1 }, new String("x"), () => "x", Symbol("s"), "x".repeat(1001), new Proxy({}, { get() { throw new TypeError("trap") } })];
       odd.map((each) => { try { tools.search(each); return "done" } catch (error) { return error.name } }).join()`,
    ],
    expect: done(`"${"TypeError,".repeat(8)}RangeError,TypeError"`),
  },
  {
    name: "a module is no promise, no text and no list, and cannot be changed",
    cells: [`const same = (await files) === files; files.x = 1`],
    around: [ALL],
    expect: { ...threw(/TypeError/), calls: 0 },
  },
  {
    name: "finish in the toJSON of a seed wins, and a seed in the toJSON of a finish",
    cells: ["continueAs('outer', { toJSON() { finish('inner'); return 1 } })"],
    expect: { state: "done", finish: "inner", continues: undefined },
  },
  {
    name: "a seed with __proto__ keys is only data",
    cells: [`finish; continueAs("go", JSON.parse('{"__proto__":{"polluted":1}}')); finish({ toJSON() { throw 1 } })`],
    expect: { state: "done", continues: { task: "go", seed: JSON.parse('{"__proto__":{"polluted":1}}') } },
  },
  {
    name: "what no longer is around a cell is gone from it, but for what code kept",
    cells: [
      "const kept = [limit, report, files, history[1]]; 1",
      "[typeof limit, typeof report, kept[0].list[0].n, (await kept[1]).list.length, (await kept[2].read(2)), history.length].join()",
    ],
    around: [ALL, { unbinds: ["limit", "report"] }],
    expect: done('"undefined,undefined,5,1,2,0"'),
  },
];
