// The promises of every sandbox about the world that guest code sees: texts, JSON, errors, and changes of the
// guest's realm.

import assert from "node:assert/strict";
import type { Json } from "../model/json.ts";
import { finishOf, inGuest, play, resultOf, type SandboxLaw, thrownBy } from "./sandbox-cast.ts";

export const worldLaws: readonly SandboxLaw[] = [
  {
    law: "prints texts as they are and other values as texts",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const { printed, end } = await play(
          guest,
          `print("plain", 1, -0, null, undefined, 2n);
           console.log({ a: [1, "two"], m: new Map([["k", 1]]), s: new Set([1]) });
           const ring: any = { name: "ring" }; ring.self = ring;
           print(ring, [new Date(0)], /x/g, new TypeError("bad"));
           print({ get trap() { throw new Error("ran") } }, new Proxy({}, { ownKeys() { throw new Error("ran") } }));
           console.error();`,
        );
        assert.equal(end.state, "done");
        assert.equal(
          printed,
          [
            "plain 1 -0 null undefined 2n",
            '{ a: [1, "two"], m: Map(1) { "k" => 1 }, s: Set(1) { 1 } }',
            '{ name: "ring", self: [Circular] } [1970-01-01T00:00:00.000Z] /x/g TypeError: bad',
            "{ trap: [Getter] } [Proxy]",
            "",
            "",
          ].join("\n"),
        );
      }),
  },
  {
    law: "the text of a value is short, however large the value is",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        for (const code of [
          "Array.from({ length: 100_000 }, (_, i) => ({ i, text: 'x'.repeat(100) }))",
          "'語'.repeat(100_000)",
          "let deep = {}; for (let i = 0; i < 5000; i++) deep = { deep }; deep",
          "Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ['key' + i, [[[i]]]]))",
        ]) {
          const value = await resultOf(guest, code);
          assert.ok(value !== undefined && Buffer.byteLength(value) <= 4096, code);
        }
        assert.equal(await resultOf(guest, "undefined"), undefined);
      }),
  },
  {
    law: "JSON crosses unchanged, both ways",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const odd: Json = JSON.parse(
          '{"__proto__":{"polluted":1},"constructor":2,"then":3,"lone":"\\ud800x","nul":"a\\u0000b","deep":[[{"":null}]],"big":1e300}',
        );
        const played = await play(guest, "var got = await tools.odd(); finish(await tools.echo(got))", {
          tools: ({ tool, input }) => (tool === "odd" ? odd : input),
        });
        assert.deepEqual(played.end.state === "done" && played.end.finish, odd);
        assert.deepEqual(played.calls[1]?.input, odd);
        assert.equal(
          await resultOf(guest, "[({}).polluted, Object.hasOwn(got, '__proto__'), got.lone.length]"),
          "[undefined, true, 2]",
        );
        const inputs = await play(
          guest,
          "await tools.a(); await tools.a(undefined); await tools.a({ at: new Date(0), no: undefined, zero: -0 }); await tools['odd-name']([1])",
        );
        assert.deepEqual(
          inputs.calls.map(({ id, tool, input }) => [id, tool, input]),
          [
            [0, "a", {}],
            [1, "a", {}],
            [2, "a", { at: "1970-01-01T00:00:00.000Z", zero: 0 }],
            [3, "odd-name", [1]],
          ],
        );
      }),
  },
  {
    law: "an input that is not JSON throws where the call is, and nothing is called",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        for (const [input, name] of [
          ["1n", "TypeError"],
          ["() => 1", "TypeError"],
          ["(() => { const ring = {}; ring.ring = ring; return ring; })()", "TypeError"],
          ["'x'.repeat(2 ** 20)", "RangeError"],
        ] as const) {
          const { end, calls } = await play(guest, `1;\nawait tools.a(${input})`);
          assert.ok(end.state === "threw", input);
          assert.deepEqual([end.error.name, end.error.line, calls.length], [name, 2, 0]);
        }
      }),
  },
  {
    law: "two guests share nothing",
    async check(sandbox) {
      await inGuest(sandbox, (first) =>
        inGuest(sandbox, async (second) => {
          await play(first, "var mine = 1; Array.prototype.mine = 1; JSON.parse = () => 'stolen'");
          assert.equal(
            await resultOf(second, "[typeof mine, [].mine, JSON.parse('2')]"),
            '["undefined", undefined, 2]',
          );
          assert.equal(await resultOf(first, "mine"), "1");
        }),
      );
    },
  },
  {
    law: "a cell that changes the language for itself does not break the cells after it",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        for (const harm of [
          "Object.prototype.then = (resolve) => resolve('stolen')",
          "Object.defineProperty(Object.prototype, 'value', { set() {}, get() { return 'stolen'; } })",
          "Object.freeze(globalThis)",
          "Object.seal(globalThis)",
          "Reflect.preventExtensions(globalThis)",
          "Object.freeze(new Proxy(globalThis, {}))",
          "Promise.prototype.then = () => 'stolen'; Promise.resolve = 1; Promise.prototype.constructor = null",
          "Array.prototype[Symbol.iterator] = null; Array.prototype.push = null; Function.prototype.call = null",
          "String.prototype.slice = null; JSON.stringify = null; Map.prototype.get = null; Reflect.apply = null",
          "Error.stackTraceLimit = 0; Error.prepareStackTrace = (_, frames) => frames",
          "globalThis.Promise = null; globalThis.Error = null; globalThis.Object = null",
        ])
          await play(guest, harm);
        await play(guest, "let declared = (await tools.echo({ a: [1] })).a[0] + 1; print([1, { b: 2 }])");
        assert.equal(await resultOf(guest, "await sleep(1); declared"), "2");
        const error = await thrownBy(guest, "1;\n null.x");
        assert.deepEqual([error.name, error.line], ["TypeError", 2]);
      }),
  },
  {
    law: "ordinary code can give its objects and classes a custom toString, constructor or then",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const code = `
          const plain: any = {}; plain.toString = () => "plain"; plain.constructor = 1; plain.then = undefined;
          function Old() {} Old.prototype.toString = () => "old";
          class New { toString() { return "new"; } }
          const later = { then: (resolve: (value: number) => void) => resolve(5) };
          [String(plain), String(new Old()), String(new New()), await later]`;
        assert.equal(await resultOf(guest, code), '["plain", "old", "new", 5]');
      }),
  },
  {
    law: "every thrown value can be reported",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        for (const [thrown, name, message] of [
          ["'text'", "NonError", "text"],
          ["undefined", "NonError", "undefined"],
          ["Symbol('s')", "NonError", "Symbol(s)"],
          ["{ a: 1 }", "NonError", "{ a: 1 }"],
          ["new Proxy({}, { get() { throw 1; } })", "NonError", "[Proxy]"],
          ["Object.create(null)", "NonError", "[Object: null prototype] {}"],
          [
            "{ get message() { throw 1; }, toString() { throw 2; } }",
            "NonError",
            "{ message: [Getter], toString: [Function toString] }",
          ],
          ["Object.assign(new Error('m'), { name: 5 })", "Error", "m"],
          ["new (class Mine extends Error { name = 'Mine'; code = 'my.code'; })('m')", "Mine", "m"],
        ] as const) {
          const error = await thrownBy(guest, `throw ${thrown}`);
          assert.deepEqual([error.name, error.message], [name, message], thrown);
        }
      }),
  },
  {
    law: "no error shows a path of the host, and no formatter of stacks is given functions",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const stacks = await finishOf(
          guest,
          `const stacks: string[] = [];
           const formatted: unknown[] = [];
           Error.prepareStackTrace = (_: unknown, frames: unknown) => { formatted.push(frames); return "formatted"; };
           const note = async (make: () => unknown) => {
             try { await make(); } catch (error) { stacks.push(String(error) + error.stack); }
           };
           const deep = (make: () => unknown) => { try { deep(make); } catch { make(); } };
           await note(() => tools.a(1n));
           await note(() => finish(() => 1));
           await note(() => sleep(-1));
           await note(() => deep(() => tools.a({})));
           await note(() => deep(() => print("x")));
           await note(() => eval("import('node:fs')"));
           await note(() => new Function("return import('node:fs')")());
           await note(() => print.constructor("return process")());
           await note(() => tools.a.constructor.constructor("return require('fs')")());
           finish({ stacks, formatted: formatted.length });`,
        );
        const { stacks: told, formatted } = stacks as { stacks: readonly string[]; formatted: number };
        assert.equal(formatted, 0);
        assert.ok(told.length >= 6);
        assert.doesNotMatch(told.join("\n"), /node_modules|file:|worker|\/src\/|\.js:/);
      }),
  },
  {
    law: "the host is not to be seen in the guest's globals",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const absent = [
          "process",
          "require",
          "fetch",
          "performance",
          "WeakRef",
          "FinalizationRegistry",
          "SharedArrayBuffer",
          "Atomics",
          "WebAssembly",
          "host",
        ];
        const code = `finish(${JSON.stringify(absent)}.filter((name) => name in globalThis))`;
        assert.deepEqual(await finishOf(guest, code), []);
      }),
  },
];
