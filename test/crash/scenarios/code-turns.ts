import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { defineScenario } from "bowline/testing";
import { cells } from "../../code/cells.ts";
import { acting, asked, careful, executing, finished, reading } from "../code.ts";
import { forked } from "../forked.ts";

const LOOKED = "tools.look({ n }).then((square: number) => square)";

/** What the model replies to each input, cell by cell. */
const SCRIPT = {
  "Begin.": [
    `let n = 0;
     const next = async () => { n++; return ${LOOKED}; };
     class Box { #held = n; add(more: number) { this.#held += more; return this.#held; } }
     const box = new Box();
     finish(await next());`,
  ],
  "Go on.": ["box.add(await next());", "finish(box.add(await next()));"],
  "Stumble.": [
    "await next(); throw new Error(String(n));",
    "box.add(1_000); await next(); for (;;) n++;",
    "const lost = ",
    "finish({ n, held: box.add(0), lost: typeof lost });",
  ],
  "Do something else.": ["task Count anew."],
  "Count anew.": [
    "print(typeof next, typeof box);",
    `var n = 40; const next = async () => { n += 2; return ${LOOKED}; };
     finish(await next());`,
  ],
  "And now?": ["finish([n, typeof box, await next()]);"],
  "And here?": ["finish([n, box.add(5), await next()]);"],
};

/**
 * What code made is there in the next turn and in a fork, with its counters, and not in another task. A cell that is
 * stopped leaves nothing behind, and one that throws leaves what it did before.
 */
export default defineScenario({
  async run({ store, host, act }) {
    await using runtime = await createRuntime({
      store,
      host,
      model: reading(SCRIPT),
      tools: [acting(act, "look", ({ n }) => n * n)],
      plugins: [cells, executing({ stepsMax: 40 }), careful],
    });
    const session = await runtime.session("main");
    const send = (to: typeof session, text: keyof typeof SCRIPT) => to.turn(text, { key: text }).result();
    await send(session, "Begin.");
    await send(session, "Go on.");
    const fork = await forked(runtime, session, "fork");
    await send(session, "Stumble.");
    await send(session, "Do something else.");
    await send(fork, "And here?");
    await send(session, "And now?");
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    const stumbled = { n: 4, held: 13, lost: "undefined" };
    assert.deepEqual(finished(final), [1, 13, stumbled, 42 ** 2, [3, 18, 16], [42, "undefined", 44 ** 2]]);
    const looked = [1, 2, 3, 4, 4, 5, 42, 44]; // 5 by the cell that was stopped, and one 4 by the fork.
    assert.deepEqual(asked(acts), looked.map((n) => `look {"n":${n}}`).sort());
  },
});
