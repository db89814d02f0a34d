// The promises of every sandbox about bounds: no code can catch them, and they end the guest.

import assert from "node:assert/strict";
import type { Bound, CellBounds } from "../sandbox/sandbox.ts";
import { refused } from "./law.ts";
import { inGuest, type PlayOptions, play, resultOf, type SandboxLaw } from "./sandbox-cast.ts";

/** Attempts to survive what ends a piece of code. */
const ATTEMPTS: readonly ((code: string) => string)[] = [
  (code) => `try { ${code} } catch { print("caught") } finally { print("finally") } print("after")`,
  (code) => `(async () => { ${code} })().catch(() => print("caught")).finally(() => print("finally")); print("after")`,
  (code) => `await Promise.resolve().then(() => { ${code} }).catch(() => print("caught")); print("after")`,
];

const bounded = (
  bound: Bound,
  what: string,
  bounds: Partial<CellBounds>,
  codes: readonly string[],
  playing: PlayOptions = {},
): SandboxLaw => ({
  law: `a cell that ${what} is stopped, whatever it catches, and its guest is gone`,
  async check(sandbox) {
    for (const code of codes) {
      for (const attempt of ATTEMPTS) {
        await inGuest(
          sandbox,
          async (guest) => {
            const { end, printed } = await play(guest, attempt(code), playing);
            assert.ok(end.state === "stopped", `${code}: ${JSON.stringify(end)}`);
            assert.deepEqual([end.bound, end.calls, end.sleeps], [bound, [], []]);
            assert.doesNotMatch(printed, /caught|finally|after/);
            await refused("code.lost", () =>
              guest.start({ code: "1", file: "c", seed: "", at: 0, acceptFinish: false }),
            );
            await refused("code.lost", () => guest.image());
          },
          undefined,
          bounds,
        );
      }
    }
  },
});

export const boundLaws: readonly SandboxLaw[] = [
  bounded("steps", "computes too much", { stepsMax: 50 }, [
    "for (;;);",
    "const f = (n) => n < 2 ? n : f(n - 1) + f(n - 2); f(40)",
  ]),
  bounded("time", "computes for too long", { segmentMs: 100, stepsMax: 1e9 }, [
    "for (;;);",
    "/^(a+)+$/.test('a'.repeat(40) + 'b')",
  ]),
  bounded("memory", "keeps too much", { memoryBytesMax: 8 * 1024 * 1024 }, [
    "const kept = []; for (;;) kept.push({ a: [1] });",
    "const kept = []; for (;;) kept.push(new Uint8Array(1e6));",
  ]),
  bounded("output", "prints too much", { outputBytesMax: 10_000 }, [
    "for (;;) print('x'.repeat(100));",
    "print('語'.repeat(4000));",
    "finish('x'.repeat(20_000));",
    "tools.save('x'.repeat(20_000));",
  ]),
  bounded("calls", "calls too often", { callsMax: 20 }, [
    "for (;;) tools.more({});",
    "for (;;) sleep(1);",
    "for (let i = 0; i < 30; i++) setTimeout(() => {}, i);",
  ]),
  {
    law: "a flood of promises is stopped too",
    async check(sandbox) {
      const { end } = await inGuest(
        sandbox,
        (guest) => play(guest, "const flood = () => Promise.resolve().then(flood); await flood()"),
        undefined,
        { segmentMs: 100, stepsMax: 1e9 },
      );
      assert.ok(end.state === "stopped" && end.bound === "time", JSON.stringify(end));
    },
  },
  {
    law: "a stopped cell reports what it printed before",
    async check(sandbox) {
      const { printed } = await inGuest(sandbox, (guest) => play(guest, "print('here'); for (;;);"), undefined, {
        stepsMax: 10,
      });
      assert.equal(printed, "here\n");
    },
  },
  {
    law: "steps, calls and output are counted over the whole cell, and from zero in the next",
    check: (sandbox) =>
      inGuest(
        sandbox,
        async (guest) => {
          const code = "for (let i = 0; i < 6; i++) { await tools.a('x'.repeat(1000)); }";
          assert.equal((await play(guest, code)).end.state, "done");
          assert.equal((await play(guest, code)).end.state, "done");
          const { end, deliveries } = await play(guest, code.replace("6", "12"));
          assert.ok(end.state === "stopped" && end.bound === "output");
          assert.equal(deliveries.length, 9);
        },
        undefined,
        { outputBytesMax: 10_000, callsMax: 11 },
      ),
  },
  {
    law: "too deep a recursion is an ordinary error",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const caught = (code: string) =>
          resultOf(guest, `let name = ""; try { ${code} } catch (e) { name = e.name; } name`);
        assert.equal(await caught("const f = () => f() + 1; f();"), '"RangeError"');
        assert.equal(await caught("JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));"), '"RangeError"');
        assert.equal(await resultOf(guest, "1 + 1"), "2");
      }),
  },
  {
    law: "running out of memory is an ordinary error, if no bound stops it before",
    check: (sandbox) =>
      inGuest(
        sandbox,
        async (guest) => {
          const code =
            "let text = 'x'.repeat(1000); let name = ''; try { for (;;) text += text } catch (e) { name = e.name; } text = ''; name";
          assert.match((await resultOf(guest, code)) ?? "", /Error/);
          assert.equal(await resultOf(guest, "1 + 1"), "2");
        },
        undefined,
        { memoryBytesMax: Number.MAX_SAFE_INTEGER },
      ),
  },
  {
    law: "a delivery to what is not open, or a second cell in a running one, is refused and changes nothing",
    check: (sandbox) =>
      inGuest(sandbox, async (guest) => {
        const cell = { file: "c", seed: "", at: 0, acceptFinish: false };
        await assert.rejects(guest.deliver({ id: 0, at: 0, value: 1 }));
        const waiting = await guest.start({ ...cell, code: "await tools.a()" });
        assert.equal(waiting.state, "waiting");
        await assert.rejects(guest.start({ ...cell, code: "1" }));
        await assert.rejects(guest.image());
        await assert.rejects(guest.deliver({ id: 7, at: 0, value: 1 }));
        await assert.rejects(guest.deliver({ id: 0, at: 0, slept: true }));
        const done = await guest.deliver({ id: 0, at: 0, value: 5 });
        assert.ok(done.state === "done" && done.value === "5");
      }),
  },
  {
    law: "a guest that was closed is gone",
    async check(sandbox) {
      const guest = await inGuest(sandbox, async (opened) => opened);
      await refused("code.lost", () => guest.image());
      await guest.close();
    },
  },
];
