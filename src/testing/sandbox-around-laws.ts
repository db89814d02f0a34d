// The promises of every sandbox about the surroundings of a cell: modules, history, values, and continuation.

import assert from "node:assert/strict";
import type { Json } from "../model/json.ts";
import type { GuestVariable, Surface } from "../sandbox/sandbox.ts";
import {
  Failing,
  heapOf,
  inGuest,
  type PlayedCell,
  type PlayOptions,
  play,
  resultOf,
  type SandboxLaw,
  thrownBy,
} from "./sandbox-cast.ts";

const LONG = "long ".repeat(1_000);
const MESSAGES: PlayOptions = {
  history: {
    length: 40,
    newest: [{ role: "user", text: "Go." }, LONG.length, { role: "assistant", text: "print(1)" }],
  },
  reads: (reads): Json => {
    if ("history" in reads) return { role: "user", text: `message ${reads.history}` };
    if ("binding" in reads) return { of: reads.binding, list: [{ n: 1 }] };
    throw new Failing("search.none", "nothing fits");
  },
};

const SURFACE: Surface = { modules: { files: ["read", "write"] }, tools: ["files_read", "weather"], names: ["report"] };

const problemsOf = ({ end }: PlayedCell): string => {
  assert.equal(end.state, "refused", JSON.stringify(end));
  return end.state === "refused"
    ? end.problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join("\n")
    : "";
};

const variablesOf = ({ end }: PlayedCell): readonly GuestVariable[] =>
  "variables" in end ? (end.variables ?? []) : [];

export const aroundLaws: readonly SandboxLaw[] = [
  {
    law: "a module calls by its path, stays for later cells, and gives way to a variable of the guest's own",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const first = await play(guest, "const read = (path) => files.read({ path }); await read('a')", {
          modules: ["files"],
        });
        assert.deepEqual([first.calls[0]?.tool, first.calls[0]?.input], ["files.read", { path: "a" }]);
        assert.equal((await play(guest, "await read('b')")).calls[0]?.tool, "files.read");
        const error = await thrownBy(guest, "1;\n await files.read(1n)");
        assert.deepEqual([error.name, error.line], ["TypeError", 2]);
        assert.equal(await resultOf(guest, "var mine = 1; typeof mail"), '"undefined"');
        assert.equal(await resultOf(guest, "mine", { modules: ["mine", "mail"] }), "1");
        assert.equal(await resultOf(guest, "(await mail.send([2]))[0]"), "2");
      }),
  },
  {
    law: "calls of tools that are not there, and names that are taken, are refused before anything runs",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const refusal = async (code: string) =>
          problemsOf(await play(guest, code, { modules: ["files"], surface: SURFACE }));
        assert.equal(
          await refusal("print(1);\nawait files.raed({})"),
          "2:7 There is no files.raed. Did you mean files.read?",
        );
        assert.equal(
          await refusal("tools.wether()"),
          '1:1 There is no tools.wether. Did you mean tools.weather? Search with tools.search("…").',
        );
        assert.match(await refusal("const files = 1"), /1:7 `files` is a module of tools here/);
        assert.match(await refusal("report = 1"), /1:1 `report` is a read-only value here/);
        for (const name of ["seed", "history", "continueAs"])
          assert.match(await refusal(`let ${name}`), /Choose another name/);
        const fine = `
          const inner = (files, tools) => [files.nope(), tools.nope()];
          inner({ nope: () => 1 }, { nope: () => 2 });
          tools["nope"]; files["nope"]; tools.nope?.name; void tools.weather; typeof tools.search;
          { const report = 1; report }`;
        assert.equal(await resultOf(guest, fine, { modules: ["files"], surface: SURFACE }), "1");
        assert.equal((await play(guest, "await tools.gone()", { isReplay: true })).end.state, "done");
      }),
  },
  {
    law: "what was said is at hand where it is near, and awaited where it is not; each is read once in a cell",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const code = `[history.length, history[37].text, history.at(-1).role, (await history[0]).text, (await history[0]).text,
          history[40], history.slice(-1)[0].text]`;
        const played = await play(guest, code, MESSAGES);
        assert.equal(
          played.end.state === "done" && played.end.value,
          '[40, "Go.", "assistant", "message 0", "message 0", undefined, "print(1)"]',
        );
        assert.deepEqual(played.sleeps, [{ id: 0, ms: 0, reads: { history: 0 } }]);
        assert.equal(await resultOf(guest, "history.length"), "0");
        assert.equal(await resultOf(guest, "const kept = history[1]; 1", MESSAGES), "1");
        assert.equal(await resultOf(guest, "(await kept).text", MESSAGES), '"message 1"');
      }),
  },
  {
    law: "a value that must be awaited throws a hint in code that does not await it",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const binds = [
          { name: "report", chars: 120_000, length: 120_000 },
          { name: "facts", chars: 9_000 },
        ];
        const uses = [
          "JSON.stringify({ report })",
          "report + 1",
          "String(report)",
          "Number(report)",
          "report.slice(0, 9)",
          "[...report]",
          "report == 1",
          "({ ...report })",
          "Object.entries(report)",
          "await tools.send({ report })",
        ];
        for (const use of uses) {
          const { name, message } = await thrownBy(guest, use, { binds });
          assert.deepEqual([name, message], ["TypeError", "report is not read yet: await it first"], use);
        }
        assert.equal(
          (await thrownBy(guest, "'title' in report", { binds })).message,
          "It is not read yet: await it first",
        );
        for (const [use, what] of [
          ["facts.length", "facts"],
          ["history[38].length", "history[38]"],
        ] as const)
          assert.equal(
            (await thrownBy(guest, use, { ...MESSAGES, binds })).message,
            `${what} is not read yet: await it first`,
          );
        assert.equal(
          await resultOf(guest, "[report.length, ...Object.keys(report), ...Object.keys(facts)]", { binds }),
          '[120000, "await report first", "await facts first"]',
        );
        const shown = await play(guest, "print(report, history[1], history); (await report).of", {
          ...MESSAGES,
          binds,
        });
        assert.equal(
          shown.printed,
          "[report: 120,000 characters, await it] [history[1], await it] [history: 40 messages]\n",
        );
        assert.equal(shown.end.state === "done" && shown.end.value, '"report"');
        assert.equal(
          await resultOf(guest, "(await Promise.all([report, report]))[1].list[0].n", { ...MESSAGES, binds }),
          "1",
        );
      }),
  },
  {
    law: "values are read-only, stay until they are given again or taken away, and stand over a variable until then",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const binds = [
          { name: "limit", value: 5 },
          { name: "facts", value: { list: [{ n: 1 }] } },
        ];
        await play(guest, "var limit = 'mine'; globalThis.facts = 'too'; var own = () => limit");
        assert.equal(await resultOf(guest, "[limit, own()]", { binds }), "[5, 5]");
        for (const harm of ["facts.list.push(2)", "facts.list[0].n = 2", "globalThis.facts = 1", "facts.more = 1"])
          assert.equal((await thrownBy(guest, harm)).name, "TypeError", harm);
        assert.equal(await resultOf(guest, "delete globalThis.facts; typeof facts"), '"undefined"');
        assert.equal(await resultOf(guest, "facts.list[0].n"), "1");
        assert.equal(await resultOf(guest, "limit", { binds: [{ name: "limit", value: 6 }] }), "6");
        assert.equal(
          await resultOf(guest, "[limit, own(), facts.list.length]", { unbinds: ["limit"] }),
          '["mine", "mine", 1]',
        );
        assert.equal(await resultOf(guest, "facts += 1; [facts, limit]", { unbinds: ["facts"] }), '["too1", "mine"]');
        assert.equal(await resultOf(guest, "let limit = 7; limit"), "7");
        const same = [{ name: "limit", value: 7 }];
        assert.equal(await resultOf(guest, "limit", { binds: same }), "7");
        assert.equal(await resultOf(guest, "limit", { unbinds: ["limit"] }), "7");
        assert.equal(await resultOf(guest, "1", { binds: [{ name: "only", value: 1 }] }), "1");
        assert.equal(await resultOf(guest, "typeof only", { unbinds: ["only"] }), '"undefined"');
      }),
  },
  {
    law: "a read that cannot be had throws an error with its code; a search is a read; a tool may be named search",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const found = await play(guest, "await tools.search('mail'); (await tools.search({ query: 'more' })).search");
        assert.deepEqual(
          found.sleeps.map(({ reads }) => reads),
          [{ search: "mail" }, { search: "more" }],
        );
        assert.equal(found.end.state === "done" && found.end.value, '"more"');
        const error = await thrownBy(guest, "await tools.search('mail')", MESSAGES);
        assert.deepEqual([error.name, error.code, error.message], ["ToolError", "search.none", "nothing fits"]);
        assert.equal((await thrownBy(guest, "await tools.search(1)")).name, "TypeError");
        const both = await play(guest, "await tools.search('mail'); await tools.search({ query: 'more' })", {
          hasSearch: true,
        });
        assert.deepEqual(
          both.sleeps.map(({ reads }) => reads),
          [{ search: "mail" }],
        );
        assert.deepEqual(
          both.calls.map(({ tool, input }) => [tool, input]),
          [["search", { query: "more" }]],
        );
      }),
  },
  {
    law: "a cell does not wait for reads that it does not await, and makes no reads after its end",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const left = await play(guest, "history[0].then(() => { heard = true; }); var heard = false; 'over'", MESSAGES);
        assert.deepEqual([left.end.state, left.deliveries.length, left.sleeps.length], ["done", 0, 1]);
        const late = await play(
          guest,
          "finish(1); await history[0].then(null, (error) => print(error.code))",
          MESSAGES,
        );
        assert.deepEqual([late.printed, late.sleeps.length], ["cell.finished\n", 0]);
        assert.equal(await resultOf(guest, "heard"), "false");
      }),
  },
  {
    law: "continueAs ends the cell as finish does; the first of the two counts",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const play2 = (code: string) => play(guest, code, { acceptFinish: true });
        const { end, deliveries } = await play2(
          "tools.note({}); continueAs('Go on.', { facts: [1] }); finish(2); await new Promise(() => {})",
        );
        assert.deepEqual(end.state === "done" && [end.continues, end.finish], [
          { task: "Go on.", seed: { facts: [1] } },
          undefined,
        ]);
        assert.equal(deliveries.length, 1);
        const plain = await play(guest, "continueAs('Go on.'); continueAs('Not this.')", { acceptFinish: false });
        assert.deepEqual(plain.end.state === "done" && plain.end.continues, { task: "Go on." });
        const finished = await play2("finish(1); continueAs('Go on.')");
        assert.deepEqual(finished.end.state === "done" && [finished.end.continues, finished.end.finish], [
          undefined,
          1,
        ]);
        for (const wrong of ["continueAs()", "continueAs(' ')", "continueAs('a', () => 1)", "continueAs('a', 1n)"])
          assert.equal((await thrownBy(guest, wrong)).name, "TypeError", wrong);
      }),
  },
  {
    law: "the same surroundings and reads give the same heap, in every sandbox and without what is checked",
    async check(sandbox, another) {
      const code = `
        const all = await Promise.all([history[0], report, tools.search("mail").catch((error) => error.code), files.read({ limit })]);
        print(all, history.at(-1)); var left = [history[2], report];`;
      const around: PlayOptions = {
        ...MESSAGES,
        modules: ["files"],
        binds: [
          { name: "report", chars: 9_000, length: 9_000 },
          { name: "limit", value: [1] },
        ],
      };
      const two = (each: typeof sandbox, playing: PlayOptions) =>
        inGuest(each, async (guest) => {
          const first = await play(guest, code, playing);
          return [
            first,
            await play(guest, "left[1].length + limit[0]", { unbinds: ["report"], isReplay: playing.isReplay }),
          ] as const;
        });
      const surface = { ...SURFACE, names: ["report", "limit"] };
      const [live, after] = await two(sandbox, { ...around, surface });
      assert.equal(live.sleeps.length, 3);
      assert.equal(after.end.state, "done");
      const second = another();
      try {
        for (const each of [sandbox, second]) {
          const [again, next] = await two(each, { ...around, isReplay: true, deliveries: live.deliveries });
          assert.deepEqual([again.end, again.printed, heapOf(next)], [live.end, live.printed, heapOf(after)]);
        }
      } finally {
        await second.close();
      }
    },
  },
  {
    law: "the variables that code made are reported at the end of a cell, the newest last, without running code",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const around: PlayOptions = { modules: ["files"], binds: [{ name: "limit", value: 5 }] };
        const code = `let n = 1; const rows = [{ id: 1, deep: { deeper: [[1]] } }]; class Point {}; files; limit;
          const trap = { get a() { globalThis.ran = 1; } }; const text = "x".repeat(500); const re = /a\\n/g;
          const error = Object.defineProperty(new TypeError("bad"), "name", { get() { globalThis.ran = 2; } });
          const fn = async () => 1; n = 2;`;
        const told = variablesOf(await play(guest, code, around)).map(({ name, shown }) => `${name}: ${shown}`);
        assert.deepEqual(told, [
          "n: 2",
          "rows: [{ id: 1, deep: [Object] }]",
          "Point: [Function Point]",
          "trap: { a: [Getter] }",
          `text: "${"x".repeat(118)}…`,
          "re: /a\\n/",
          "error: TypeError: bad",
          "fn: [Function fn]",
        ]);
        const many = await play(
          guest,
          "for (let i = 0; i < 100; i++) globalThis['v' + i] = 'y'.repeat(i); throw new Error('late')",
        );
        const names = variablesOf(many).map(({ name }) => name);
        assert.deepEqual([names.at(-1), names.length <= 60, names.includes("n")], ["v99", true, false]);
        assert.ok(JSON.stringify(variablesOf(many)).length <= 8_000);
        assert.deepEqual(variablesOf(await play(guest, "let x = ;")), []);
      }),
  },
];
