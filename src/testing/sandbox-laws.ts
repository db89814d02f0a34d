// The promises of every sandbox, as data: run them with any test runner.

import assert from "node:assert/strict";
import type { Image } from "../sandbox/sandbox.ts";
import { refused } from "./law.ts";
import { aroundLaws } from "./sandbox-around-laws.ts";
import { boundLaws } from "./sandbox-bound-laws.ts";
import {
  Failing,
  finishOf,
  heapOf,
  imageOf,
  inGuest,
  NOON,
  type PlayOptions,
  play,
  resultOf,
  type SandboxLaw,
  thrownBy,
} from "./sandbox-cast.ts";
import { worldLaws } from "./sandbox-world-laws.ts";

const last: PlayOptions["next"] = (open) => open.at(-1)!;

/** Twenty chains whose next call depends on chance and on earlier answers. Some calls fail, some sleep. */
const TWENTY = `
  const seen: string[] = [];
  async function chain(i: number) {
    const first = await tools.first({ i, dice: Math.floor(Math.random() * 6) });
    if (i % 5 === 0) await sleep(i);
    try {
      seen.push(i + ":" + (await tools.second({ i, after: seen.length, first })).text);
    } catch (error) {
      seen.push(i + " failed with " + error.code);
    }
    return seen.length;
  }
  const lengths = await Promise.all(Array.from({ length: 20 }, (_, i) => chain(i)));
  [seen.join(), lengths.join(), Math.random(), Date.now()]`;
const twenty: PlayOptions = {
  tools: ({ tool, input }) => {
    const { i } = input as { i: number };
    if (tool === "second" && i % 4 === 3) throw new Failing("odd", `not ${i}`);
    return { text: `told ${i}` };
  },
  // A pseudo-random order that is the same in every run.
  next: (open) => open[(open.length * 7) % open.length === 0 ? (open[0]!.id * 13) % open.length : 0]!,
};

const laws: readonly SandboxLaw[] = [
  {
    law: "what a cell declares is there for the cells after it",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        await play(guest, "let n = 1; const list: number[] = [1, 2]; function add() { n += 1; return n; }");
        await play(guest, "class Point { #x = 3; get x() { return this.#x; } }; const point = new Point(); add()");
        assert.equal(await resultOf(guest, "[n, list.length, add(), point.x]"), "[2, 2, 3, 3]");
        assert.equal(await resultOf(guest, "const n = 10; let list; [n, list]"), "[10, undefined]");
      }),
  },
  {
    law: "an image keeps closures, private fields, generators and promises that wait, also for another sandbox",
    async check(sandbox, another) {
      let image: Image | undefined;
      await inGuest(sandbox, async (guest) => {
        await play(
          guest,
          `let count = 0;
           const next = () => ++count;
           class Safe { #code = 7; open(code: number) { return code === this.#code; } }
           const safe = new Safe();
           const numbers = (function* () { for (let i = 0; ; i++) yield i; })();
           numbers.next(); next();
           let release: (value: string) => void;
           const released = new Promise<string>((resolve) => { release = resolve; });
           const said = (async () => "was told " + (await released))();
           const map = new Map([["key", { deep: [1, 2] }]]);
           1`,
        );
        image = await imageOf(guest);
      });
      const second = another();
      try {
        for (let turn = 0; turn < 3; turn++) {
          await inGuest(
            second,
            async (guest) => {
              const told = await resultOf(
                guest,
                "[next(), numbers.next().value, safe.open(7), map.get('key')!.deep[1]]",
              );
              assert.equal(told, `[${2 + turn}, ${1 + turn}, true, 2]`);
              image = await imageOf(guest, image);
            },
            image,
          );
        }
        await inGuest(
          second,
          async (guest) => {
            await play(guest, "release('late')");
            assert.equal(await resultOf(guest, "await said"), '"was told late"');
          },
          image,
        );
      } finally {
        await second.close();
      }
    },
  },
  {
    law: "an image of another engine is refused",
    async check(sandbox) {
      await refused("code.engine", () => inGuest(sandbox, async () => {}, { engine: "another", deltas: [] }));
    },
  },
  {
    law: "the same segments give the same heap, values and calls, in every sandbox",
    async check(sandbox, another) {
      const image = await inGuest(sandbox, async (guest) => {
        await play(guest, "const kept = [1, 2, 3]");
        return imageOf(guest);
      });
      const live = await inGuest(sandbox, (guest) => play(guest, TWENTY, twenty), image);
      assert.equal(live.calls.length, 40);
      const second = another();
      try {
        for (const each of [sandbox, second]) {
          const again = await inGuest(
            each,
            (guest) => play(guest, TWENTY, { isReplay: true, deliveries: live.deliveries }),
            image,
          );
          assert.deepEqual(again, { ...live, deliveries: again.deliveries });
        }
      } finally {
        await second.close();
      }
    },
  },
  {
    law: "several cells of a guest give the same heap again, also one that threw and one that was refused",
    async check(sandbox) {
      const cells = ["var a = [1]", "a.push(2); throw new Error('half')", "let a: = 1", "await tools.x(a)", "a"];
      const all = () =>
        inGuest(sandbox, async (guest) => {
          const heaps: string[] = [];
          for (const code of cells) heaps.push(heapOf(await play(guest, code)));
          return heaps;
        });
      assert.deepEqual(await all(), await all());
    },
  },
  {
    law: "a replay does not depend on bounds",
    async check(sandbox) {
      const code = "let n = 0; for (let i = 0; i < 300_000; i++) n += i; print('x'.repeat(5000)); await tools.a(n)";
      const live = await inGuest(sandbox, (guest) => play(guest, code));
      const none = { stepsMax: 1, segmentMs: 1_000, memoryBytesMax: 1, outputBytesMax: 1, callsMax: 0 };
      const again = await inGuest(
        sandbox,
        (guest) => play(guest, code, { isReplay: true, tools: ({ input }) => input }),
        undefined,
        none,
      );
      assert.deepEqual(again.end, live.end);
    },
  },
  {
    law: "deliveries in another order are noticed in the heap",
    async check(sandbox) {
      const code = "const [a, b] = await Promise.all([tools.a(1), tools.b(2)]); a + b";
      const first = await inGuest(sandbox, (guest) => play(guest, code));
      const swapped = await inGuest(sandbox, (guest) => play(guest, code, { next: last }));
      assert.notEqual(heapOf(first), heapOf(swapped));
    },
  },
  {
    law: "Promise.all, allSettled, race and any work with calls",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const tools: PlayOptions["tools"] = ({ tool, input }) => {
          if (tool === "fail") throw new Failing("no", `no ${JSON.stringify(input)}`);
          return input;
        };
        const told = (code: string, playing: PlayOptions = {}) => resultOf(guest, code, { tools, ...playing });
        assert.equal(await told("await Promise.all([1, 2, 3].map((n) => tools.echo(n)))", { next: last }), "[1, 2, 3]");
        assert.equal(
          await told(
            "(await Promise.allSettled([tools.echo(1), tools.fail(2)])).map((each) => each.value ?? each.reason.code)",
          ),
          '[1, "no"]',
        );
        assert.equal(await told("await Promise.race([tools.echo(1), tools.echo(2)])", { next: last }), "2");
        assert.equal(await told("await Promise.race([tools.echo(1), tools.echo(2)])"), "1");
        assert.equal(await told("await Promise.any([tools.fail(1), tools.echo(2)])"), "2");
      }),
  },
  {
    law: "a pool of 4 over 20 calls never has more than 4 open",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const { end, calls, openMax } = await play(
          guest,
          `const results: number[] = []; let at = 0;
           await Promise.all(Array.from({ length: 4 }, async () => {
             while (at < 20) { const i = at++; results[i] = await tools.square(i); }
           }));
           results.reduce((sum, each) => sum + each, 0)`,
          { tools: ({ input }) => (input as number) ** 2, next: last },
        );
        assert.equal(end.state === "done" && end.value, "2470");
        assert.deepEqual([calls.length, openMax], [20, 4]);
      }),
  },
  {
    law: "a cell ends when its code is done and no call is open, but does not wait for sleeps",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const called = await play(guest, "tools.note(1).then(() => { noted = true; }); var noted = false; 'over'");
        assert.deepEqual([called.deliveries.length, called.end.state], [1, "done"]);
        assert.equal(await resultOf(guest, "noted"), "true");
        const slept = await play(guest, "sleep(1000).then(() => { noted = false; }); 'over'");
        assert.deepEqual([slept.deliveries.length, slept.sleeps], [0, [{ id: 0, ms: 1000 }]]);
        const raced = await play(guest, "await Promise.race([tools.fast('call'), sleep(60_000)])");
        assert.deepEqual([raced.deliveries.length, raced.end.state === "done" && raced.end.value], [1, '"call"']);
        assert.equal(await resultOf(guest, "noted"), "true");
      }),
  },
  {
    law: "a cell that waits for what can never come has stalled, and the next one runs",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const { end } = await play(guest, "let before = 1; await tools.a(); await new Promise(() => {}); before = 2");
        assert.equal(end.state, "stalled");
        assert.equal(await resultOf(guest, "before"), "1");
      }),
  },
  {
    law: "what a cell did before it threw stays",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const error = await thrownBy(guest, "let half = 1;\nhalf = 2;\n  null.x;\nhalf = 3;");
        assert.equal(error.name, "TypeError");
        assert.deepEqual([error.line, typeof error.column], [3, "number"]);
        assert.equal(await resultOf(guest, "half"), "2");
      }),
  },
  {
    law: "nothing of a refused cell runs, and the error has its position",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        await play(guest, "var n = 1");
        const { end } = await play(guest, "n = 2;\nprint('ran');\nlet x = ;");
        assert.ok(end.state === "refused");
        assert.deepEqual([end.printed, end.problems[0]?.line], ["", 3]);
        assert.equal(await resultOf(guest, "n"), "1");
      }),
  },
  {
    law: "the clock stands still between deliveries, and moves with them",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const code =
          "const times = [Date.now()]; times.push(Date.now()); await sleep(5000); times.push(Date.now()); times";
        assert.equal(await resultOf(guest, code), `[${NOON}, ${NOON}, ${NOON + 5000}]`);
        assert.equal(await resultOf(guest, "new Date(0).getTimezoneOffset()"), "0");
      }),
  },
  {
    law: "chance follows from the seed of the cell alone",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const drawn = (seed: string) => resultOf(guest, "[Math.random(), Math.random()]", { seed });
        const [first, second, again] = [await drawn("a"), await drawn("b"), await drawn("a")];
        assert.notEqual(first, second);
        assert.equal(first, again);
        const spread =
          "const many = Array.from({ length: 1000 }, Math.random); [Math.min(...many) < 0.05, Math.max(...many) > 0.95]";
        assert.equal(await resultOf(guest, spread), "[true, true]");
      }),
  },
  {
    law: "timers fire with their values, and not when they were cleared",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const { printed } = await play(
          guest,
          `const never = setTimeout(() => print("never"), 5);
           setTimeout((a, b) => print(a, b), 10, "both", 2);
           clearTimeout(never);
           await sleep(20);`,
        );
        assert.equal(printed, "both 2\n");
        assert.equal((await thrownBy(guest, "await sleep(8 * 24 * 3600 * 1000)")).name, "RangeError");
        assert.equal((await thrownBy(guest, "await sleep(-1)")).name, "RangeError");
      }),
  },
  {
    law: "finish ends the cell with its first value when its calls have returned, and calls after it are refused",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const code = `
          tools.forgotten({});
          finish({ first: [1] });
          finish("second");
          try { await tools.late({}); } catch (error) { print(error.code); }
          await new Promise(() => {});`;
        const played = await play(guest, code);
        assert.deepEqual(played.end.state === "done" && played.end.finish, { first: [1] });
        assert.deepEqual([played.printed, played.deliveries.length], ["cell.finished\n", 1]);
        assert.equal(await resultOf(guest, "(await tools.next(1)) + 1"), "2");
      }),
  },
  {
    law: "finish is an ordinary error where it is not accepted, or its value is not JSON",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const told = "try { finish(1); } catch (error) { print(error.name); } 'went on'";
        const played = await play(guest, told, { acceptFinish: false });
        assert.deepEqual([played.printed, played.end.state === "done" && played.end.value], ["Error\n", '"went on"']);
        assert.equal((await thrownBy(guest, "finish(() => 1)")).name, "TypeError");
        assert.equal((await thrownBy(guest, "const ring = {}; ring.ring = ring; finish(ring)")).name, "TypeError");
        assert.equal(await finishOf(guest, "finish(0)"), 0);
      }),
  },
  {
    law: "a failed call throws an error with its code, at the line of the call",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const tools = () => {
          throw new Failing("not.found", "no such page");
        };
        await play(guest, "async function find(page: number) {\n  return await tools.read({ page });\n}", {
          file: "old.ts",
        });
        const direct = await thrownBy(guest, "1;\n\n  await tools.read({ page: 9 });", { tools });
        assert.deepEqual(
          [direct.name, direct.message, direct.code, direct.line],
          ["ToolError", "no such page", "not.found", 3],
        );
        const through = await play(guest, "let a = 1;\nawait find(1);", { tools, file: "new.ts" });
        assert.ok(through.end.state === "threw");
        assert.equal(through.end.error.line, 2);
        assert.match(through.end.error.stack ?? "", /old\.ts:2/);
        assert.deepEqual([through.calls[0]?.line, through.calls[0]?.tool], [2, "read"]);
      }),
  },
  {
    law: "unhandled rejections are reported at the end of the cell, those caught late are not",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const { end } = await play(
          guest,
          `Promise.reject(new Error("alone"));
           const late = Promise.reject(new Error("late"));
           await tools.a();
           late.catch(() => {});
           for (let i = 0; i < 30; i++) Promise.reject(i);
           "fine"`,
        );
        assert.ok(end.state === "done");
        assert.equal(end.unhandled?.length, 10);
        assert.deepEqual(
          end.unhandled?.slice(0, 2).map((each) => each.message),
          ["alone", "0"],
        );
        const next = await play(guest, "1");
        assert.ok(next.end.state === "done" && next.end.unhandled === undefined);
      }),
  },
];

export const sandboxLaws: readonly SandboxLaw[] = [...laws, ...aroundLaws, ...worldLaws, ...boundLaws];
