import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { bindings } from "bowline/plugins/code";
import { codeMode } from "bowline/protocols/code";
import { defineScenario } from "bowline/testing";
import { z } from "zod";
import { acting, asked, careful, executing, finished, reading } from "../code.ts";

const cell = (source: string): string => `I look.\n<typescript>\n${source}\n</typescript>`;

/** What the model replies to each input, and to the task of the frame that it opens itself. */
const SCRIPT = {
  "Report.": [
    cell("const text = await report;\nconst squares = await Promise.all([1, 2, 3].map((n) => sums.look({ n })));"),
    cell(
      "const [{ call }] = await tools.search('add');\nsquares.push(await sums.add({ n: text.length }));\nprint(call);",
    ),
    cell("const { text: said } = await history[0];\nfinish({ squares, said, length: text.length, limit });"),
  ],
  "Hand over.": [cell("continueAs('Count.', { squares, long: 'x'.repeat(2_000) });")],
  "Count.": [
    cell("const { squares: had, long } = await seed;\nlet n = had.length + long.length;"),
    cell("finish([typeof text, await sums.add({ n }), n]);"),
  ],
  "And now?": [cell("finish([n++, typeof report, (await seed).squares.length]);")],
};
const SQUARES = [1, 4, 9, 5_001];

/** The same replies; the task of a frame has more words after its own. */
const model = reading(SCRIPT, (words) => words.split("\n\n")[0] ?? words);

/**
 * Code mode, with all that its code has from outside: modules, a long value, the search for tools, the conversation, a typed
 * result, and what it hands over to another task.
 */
export default defineScenario({
  async run({ store, host, act }) {
    await using runtime = await createRuntime({
      store,
      host,
      model,
      tools: [acting(act, "sums_look", ({ n }) => n * n), acting(act, "sums_add", ({ n }) => n + 1)],
      plugins: [codeMode({ ending: "finish" }), executing(), careful],
    });
    const session = await runtime.session("main");
    const values = bindings.of({ report: "r".repeat(5_000), limit: 7 });
    const output = z.object({ squares: z.array(z.number()), said: z.string(), length: z.number(), limit: z.number() });
    await session.turn("Report.", { key: "report", extensions: [values], output }).result();
    await session.turn("Hand over.", { key: "hand over" }).result();
    await session.turn("And now?", { key: "now" }).result();
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    assert.deepEqual(finished(final), [
      { squares: SQUARES, said: "Report.", length: 5_000, limit: 7 },
      ["undefined", 2_005, 2_004],
      [2_004, "undefined", 4],
    ]);
    const looked = [1, 2, 3].map((n) => `sums_look {"n":${n}}`);
    assert.deepEqual(asked(acts), [...looked, 'sums_add {"n":5000}', 'sums_add {"n":2004}'].sort());
  },
});
