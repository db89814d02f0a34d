import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, describe, test } from "vitest";
import { sample } from "../../../test/kit/size.ts";
import { RuntimeError } from "../../model/errors.ts";
import { refused } from "../../testing/law.ts";
import { BOUNDS, heapOf, imageOf, inGuest, play, resultOf } from "../../testing/sandbox-cast.ts";
import { sandboxLaws } from "../../testing/sandbox-laws.ts";
import type { Sandbox } from "../sandbox.ts";
import { quickjs } from "./index.ts";
import { Pool, type Seat } from "./pool.ts";

const ENDLESS = "'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b')";
const SHORT = { ...BOUNDS, segmentMs: 200, graceMs: 100 };

const shared = quickjs({ workers: 1 });
afterAll(() => shared.close());

for (const { law, check } of sandboxLaws)
  test(`P8 quickjs: ${law}`, () => check(shared, () => quickjs({ workers: 1 })), 20_000);

async function alone(use: (sandbox: Sandbox) => Promise<void>, workers = 1): Promise<void> {
  const sandbox = quickjs({ workers });
  try {
    await use(sandbox);
  } finally {
    await sandbox.close();
  }
}

describe("threads", () => {
  test("P8 a thread is started by the first guest, and another only when there is none to spare", () =>
    alone(async (sandbox) => {
      let started = 0;
      const count = () => started++;
      process.on("worker", count);
      try {
        await sandbox.engine();
        assert.equal(started, 0);
        await inGuest(sandbox, async () => assert.equal(started, 1));
        await inGuest(sandbox, async () => {
          assert.equal(started, 1);
          await inGuest(sandbox, () => inGuest(sandbox, async () => assert.equal(started, 2)));
        });
      } finally {
        process.off("worker", count);
      }
    }, 2));

  test("P8 a native loop ends with its thread; other guests of the thread are rebuilt from their segments", () =>
    alone(async (sandbox) => {
      const [other, endless] = [await sandbox.open(undefined, BOUNDS), await sandbox.open(undefined, SHORT)];
      const cell = { code: "let n = await tools.a(); n * 2", file: "c", seed: "", at: 0, acceptFinish: false };
      assert.equal((await other.start(cell)).state, "waiting");
      const stopping = play(endless, ENDLESS);
      const delivering = refused("code.lost", () => other.deliver({ id: 0, at: 0, value: 4 }));
      const { end } = await stopping;
      assert.ok(end.state === "stopped" && end.bound === "time");
      await delivering;
      await refused("code.lost", () => other.image());
      await inGuest(sandbox, async (rebuilt) => {
        await rebuilt.start({ ...cell, isReplay: true });
        const done = await rebuilt.deliver({ id: 0, at: 0, value: 4 });
        assert.ok(done.state === "done" && done.value === "8");
      });
    }));

  test("P8 a replay that does not end is reported as the engine's fault", () =>
    alone((sandbox) =>
      inGuest(
        sandbox,
        async (guest) => {
          const { end } = await play(guest, ENDLESS, { isReplay: true });
          assert.ok(end.state === "stopped" && end.bound === "engine");
        },
        undefined,
        { segmentMs: 20, graceMs: 20 },
      ),
    ));

  test("P8 a thread that can compile no more is replaced", () =>
    alone(async (sandbox) => {
      const guest = await sandbox.open(undefined, BOUNDS);
      const { end } = await play(guest, `${"!".repeat(20_000)}1`);
      assert.equal(end.state, "refused");
      await inGuest(sandbox, async (next) => assert.equal(await resultOf(next, "1 + 1"), "2"));
    }));

  test("P8 a thread holds at most 256 guests: it drops the waiting guest that was not used for longest", async () => {
    const pool = new Pool(new URL("./worker.ts", import.meta.url), 1);
    const seats: Seat[] = [];
    for (let index = 0; index < 256; index++) {
      const seat = await pool.seat();
      pool.used(seat, 1); // As if its guest were open: 256 real ones take seconds.
      seats.push(seat);
    }
    pool.used(seats[0]!, 1);
    await pool.seat();
    assert.deepEqual(
      seats.flatMap(({ isLost }, index) => (isLost ? [index] : [])),
      [1],
    );
    await pool.close();
  });

  test("P8 a forgotten request is interrupted, or not started if it is queued", () =>
    alone(async (sandbox) => {
      const bounds = { ...BOUNDS, stepsMax: 1e9, segmentMs: 1e6 };
      const guests = [await sandbox.open(undefined, bounds), await sandbox.open(undefined, bounds)];
      const endless = { code: "for (;;) {}", file: "c", seed: "", at: 0, acceptFinish: false };
      const [running, queued] = guests.map((guest) => guest.start(endless));
      for (const guest of guests.toReversed()) await guest.close();
      await refused("code.lost", () => queued);
      const { state } = await running!;
      assert.equal(state, "stopped");
      await inGuest(sandbox, async (next) => assert.equal(await resultOf(next, "1 + 1"), "2"));
    }));

  test("P8 closing loses all guests, and a guest that is opened later starts a thread again", () =>
    alone(async (sandbox) => {
      const guest = await sandbox.open(undefined, BOUNDS);
      const running = refused("code.lost", () => play(guest, "for (;;);"));
      await sandbox.close();
      await running;
      await refused("code.lost", () => guest.image());
      await inGuest(sandbox, async (next) => assert.equal(await resultOf(next, "1 + 1"), "2"));
    }));

  test("P8 a thread that cannot start has its own error, not that of a guest to rebuild", async () => {
    const pool = new Pool(new URL("./missing.ts", import.meta.url), 1);
    const seat = await pool.seat();
    await refused("code.stopped", () => pool.chore(seat, { kind: "image", guest: seat.id }));
  });

  test("P8 workers must be a whole number above 0", () => {
    for (const workers of [0, -1, 1.5, Number.NaN])
      assert.throws(
        () => quickjs({ workers }),
        (error) => error instanceof RuntimeError && error.code === "options.invalid",
      );
  });
});

describe("heaps", () => {
  test("P8 a damaged image is refused, and its thread continues", async () => {
    const image = await inGuest(shared, async (guest) => {
      await play(guest, "var n = 1");
      return imageOf(guest);
    });
    const delta = Uint8Array.from(image.deltas[0]!);
    delta[delta.length >> 1]! ^= 1;
    await refused("code.damaged", () => inGuest(shared, async () => {}, { ...image, deltas: [delta] }));
    await inGuest(shared, async (guest) => assert.equal(await resultOf(guest, "n"), "1"), image);
  });

  test("P8 a guest and one restored from its image behave the same", async () => {
    const code = "class A { #x = 1; up() { return ++this.#x; } }; var a = new A(); a.up()";
    const [image, empty] = await inGuest(shared, async (guest) => {
      const first = await imageOf(guest);
      return [first, heapOf(await play(guest, code))] as const;
    });
    assert.equal(await inGuest(shared, async (guest) => heapOf(await play(guest, code)), image), empty);
  });

  test("P8 the engine's name changes when its heaps do", async () => {
    const code = `var kept = { a: [1, "two"], at: new Date() };
      class K { #k = 1; get k() { return this.#k; } }
      try { await tools.fail({ a: 1 }); } catch (error) { print(error); }
      await Promise.all([1, 2].map((n) => tools.echo({ n })));
      Math.random()`;
    const heap = await inGuest(shared, async (guest) => heapOf(await play(guest, code)));
    // When this fails: a new engine has a new name already. If only the heap is new, raise HEAP_VERSION in engine.ts.
    assert.deepEqual(
      { engine: await shared.engine(), heap },
      {
        engine: "83f6cd3f4a70f85d780d3009e3ee0ce0183ad469a75d29d5456a8ade5b3a6230",
        heap: "6111b7033a2f99e1151dede02415c87e92abb58c232ce0cf5159edb197c6a51d",
      },
    );
  });

  test("P8 deep recursion of every kind is an error of the guest, never a trap", async () => {
    for (const code of [
      "const f = () => f() + 1; f()",
      "const f = () => { try { return f(); } finally { print('x'); } }; f()",
      "const f = async () => { await f(); }; await f()",
      "eval('('.repeat(1e5) + '1' + ')'.repeat(1e5))",
      "eval('['.repeat(1e5) + ']'.repeat(1e5))",
      "new Function('return ' + '-'.repeat(5e5).replaceAll('-', '- ') + '1')()",
      "JSON.parse('['.repeat(1e6))",
      "let a = []; for (let i = 0; i < 2e4; i++) a = [a]; JSON.stringify(a)",
      "let a = []; for (let i = 0; i < 2e4; i++) a = [a]; String(a)",
      "let a = []; for (let i = 0; i < 2e4; i++) a = [a]; a.flat(Infinity).length",
      "let p = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); p.x",
      "let f = () => 1; for (let i = 0; i < 2e4; i++) f = f.bind(null); f()",
      "new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')",
      "let o = { toString: () => String(o) }; String(o)",
      "let o = {}; for (let i = 0; i < 2e4; i++) o = Object.create(o); o.x",
      "const s = (n) => { try { tools.a(); } catch {} return s(n + 1); }; s(0)",
      "[1, 2].sort(function again() { return [1, 2].sort(again); })",
      "'x'.replace(/x/, function again() { return 'x'.replace(/x/, again); })",
      "let t = ''; for (let i = 0; i < 5e4; i++) t = t + 'x' + t.length % 7; t.indexOf('y')",
      "let e = new Error('x'); for (let i = 0; i < 2e4; i++) e = new Error('x', { cause: e }); throw e",
    ]) {
      await inGuest(shared, async (guest) => {
        const { end } = await play(guest, code, { tools: () => null });
        assert.ok(end.state !== "stopped" || end.bound !== "engine", `${code}: ${JSON.stringify(end)}`);
        if (end.state !== "stopped") assert.equal(await resultOf(guest, "1 + 1"), "2", code);
      });
    }
  }, 30_000);
});

describe("a process with a sandbox", () => {
  const run = async (code: string) =>
    promisify(execFile)(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", PROGRAM + code],
      { timeout: 60_000 },
    );
  const PROGRAM = `
    import { quickjs } from ${JSON.stringify(new URL("index.ts", import.meta.url).href)};
    import { play, inGuest, BOUNDS } from ${JSON.stringify(new URL("../../testing/sandbox-cast.ts", import.meta.url).href)};
    const sandbox = quickjs({ workers: 1 });
  `;

  test("P8 waits for a running segment, ends though guests are open, and prints nothing by itself", async () => {
    const { stdout, stderr } = await run(`
      const guest = await sandbox.open(undefined, BOUNDS);
      const { end, printed } = await play(guest, "print('inside'); console.error('inside'); enum; ");
      const { end: done } = await play(guest, "let n = 0; for (let i = 0; i < 1e6; i++) n += i; n");
      console.log(end.state, done.value);
    `);
    assert.deepEqual([stdout, stderr], ["refused 499999500000\n", ""]);
  }, 20_000);

  test("P8 holds at most 10 MB after many guests were opened and closed", async () => {
    const { stdout } = await run(`
      const many = async (count) => {
        for (let i = 0; i < count; i++)
          await inGuest(sandbox, (guest) => play(guest, "var kept = Array.from({ length: 1000 }, (_, i) => ({ i })); 1"));
      };
      await many(10);
      const before = process.memoryUsage.rss();
      await many(${sample(40, 100)});
      const held = () => (process.memoryUsage.rss() - before) / 1e6;
      for (let i = 0; i < 100 && held() > 10; i++) await new Promise((resolve) => setTimeout(resolve, 50));
      console.log(held());
    `);
    assert.ok(Number(stdout) <= 10, `${stdout} MB`);
  }, 60_000);
});
