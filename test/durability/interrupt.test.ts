import { type Approval, definePlugin, type Runtime, type Store, type ToolContext } from "bowline";
import { ask as askFor } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { hasOpenCalls } from "../../src/model/pairing.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { outline, passed, seen, within, wordsOf } from "../kit/reading.ts";
import { durable, lives, over, STORES } from "../kit/stores.ts";
import { answerWait, BEGINNING, deployed, HOUR, keyTo, quickWorld } from "../kit/worlds.ts";
import { journalOf, taken } from "./resume.ts";
import { type Did, inTurn, model, nothing, tool } from "./witness.ts";

/** One store, one process after the other: `next` is the next one, `kill` ends the one that lives. */
function processes(store: Store) {
  const life = lives(durable(store));
  let number = 0;
  return {
    kill: () => life.kill(),
    async next(options: (did: Did) => Parameters<typeof deployed>[2], pass = 0) {
      const did = nothing();
      const world = quickWorld({ now: BEGINNING + number * HOUR + pass, name: `p${number++}` });
      return { did, world, ...(await deployed(life.next(), world, options(did))) };
    },
  };
}

const go = async (runtime: Runtime) => (await runtime.session("s")).turn("Pay.", { key: "k" });

/** Calls one tool beside another; the tool hangs in the first process. */
const paying =
  (onInterrupt: "rerun" | "fail" | "ask", hangs: boolean, began?: () => void) =>
  (did: Did): Parameters<typeof deployed>[2] => ({
    model: model(did, inTurn(both(calls("pay", { sum: 5 }), calls("search")), says("Done."))),
    tools: [
      tool(
        did,
        "pay",
        (input) => {
          began?.();
          return hangs ? new Promise(() => {}) : { paid: input.sum };
        },
        { onInterrupt },
      ),
      tool(did, "search"),
    ],
  });

/** The first process dies when `pay` has begun and `search` has returned. */
async function interrupted(store: Store, onInterrupt: "rerun" | "fail" | "ask") {
  const all = processes(store);
  const began = Promise.withResolvers<void>();
  const first = await all.next(paying(onInterrupt, true, began.resolve));
  const turn = await go(first.runtime);
  await within(began.promise);
  const id = await turn.id;
  for (let tries = 0; tries < 100; tries++) {
    if ((await store.journal(id, 0)).some(({ kind }) => kind === "returned")) break;
    await passed(1);
  }
  all.kill();
  const [pay] = first.did.calls.filter((call) => call.startsWith("pay"));
  return { ...all, id, key: pay!.split(" ")[1]! };
}

const payOf = (did: Did): readonly string[] => did.calls.filter((call) => call.startsWith("pay"));

describe.each(STORES)("on %s", (_, make) => {
  test("T14 D2 `rerun`: a call in flight at a crash runs again, with the same idempotency key, and its neighbour does not", async () => {
    const { next, key } = await interrupted(make(), "rerun");
    const { runtime, did } = await next(paying("rerun", false));
    const { outcome } = await within((await go(runtime)).result());
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(did.calls).toEqual([`pay#1 ${key}`]);
    expect(did.asks).toHaveLength(1);
  });

  test("T14 D2 `fail`: a call in flight at a crash does not run again, and the model reads that the result is unknown", async () => {
    const { next } = await interrupted(make(), "fail");
    const { runtime, did } = await next(paying("fail", false));
    const turn = await go(runtime);
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "answered" });
    expect(did.calls).toEqual([]);
    const { messages } = await (await runtime.session("s")).read();
    expect(outline(messages)).toContain(
      "pay unknown: Unknown: pay was interrupted, and it is not known whether it took effect. Check before you call it again.",
    );
    expect(outline(messages)).toContain("search ok: search!");
  });

  test.each<readonly [string, Approval, string, number]>([
    ["approved", { approved: true }, 'pay ok: {"paid":5}', 1],
    ["not approved", { approved: false }, "pay unknown: ", 0],
  ])("T14 D2 `ask`: the next process is asked; %s, it ends so", async (_title, answer, result, runs) => {
    const { next, key } = await interrupted(make(), "ask");
    const { runtime, did } = await next(paying("ask", false));
    const turn = await go(runtime);
    const waiting = await within(seen(turn, "waiting"));
    expect(waiting.reason).toContain("interrupted");
    expect(waiting.callId).toContain("call_pay");
    expect(did.calls).toEqual([]);
    const wait = await keyTo(runtime, waiting.wait);
    await runtime.waits.resolve(wait, answer);
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "answered" });
    expect(payOf(did)).toEqual(Array.from({ length: runs }, () => `pay#2 ${key}`));
    const { messages } = await (await runtime.session("s")).read();
    expect(outline(messages).find((line) => line.startsWith("pay "))).toContain(result);
    await expect(runtime.waits.resolve(wait, answer)).rejects.toMatchObject({ code: "wait.unknown" });
  });

  test("T14 D2 `ask`: whether a call runs again is all that is asked: other arguments are refused, and it still waits", async () => {
    const { next } = await interrupted(make(), "ask");
    const { runtime, did } = await next(paying("ask", false));
    const turn = await go(runtime);
    const { wait, wants } = await within(seen(turn, "waiting"));
    expect(wants).toBe("interrupted");
    await expect(answerWait(runtime, wait, { approved: true, args: { sum: 3 } })).rejects.toMatchObject({
      code: "wait.answer",
      details: { wants: "interrupted" },
    });
    await answerWait(runtime, wait, { approved: true });
    await within(turn.result());
    expect(payOf(did)).toHaveLength(1);
    const { messages } = await (await runtime.session("s")).read();
    expect(outline(messages)).toContain('pay ok: {"paid":5}');
  });

  test("T14 D2 `ask`: the next process asks again what a dead process asked, and a third process can be answered", async () => {
    const store = make();
    const { next, kill, key } = await interrupted(store, "ask");
    const second = await next(paying("ask", false));
    const first = await within(seen(await go(second.runtime), "waiting"));
    kill();
    const third = await next(paying("ask", false));
    const turn = await go(third.runtime);
    const again = await within(seen(turn, "waiting"));
    expect(again.wait).toBe(first.wait);
    expect(again.callId).toBe(first.callId);
    await answerWait(third.runtime, first.wait, { approved: true });
    await within(turn.result());
    expect(payOf(third.did)).toEqual([`pay#2 ${key}`]);
    expect(payOf(second.did)).toEqual([]);
  });

  test("T14 D2 `ask`: an answer that came while nobody ran is found by the next process", async () => {
    const store = make();
    const { next, kill } = await interrupted(store, "ask");
    const second = await next(paying("ask", false));
    const { wait } = await within(seen(await go(second.runtime), "waiting"));
    kill();
    const { key } = (await store.waits.get(wait))!;
    await store.waits.resolve(key, { kind: "value", value: { approved: true } }, second.world.now());
    const third = await next(paying("ask", false));
    expect((await within((await go(third.runtime)).result())).outcome.kind).toBe("answered");
    expect(payOf(third.did)).toHaveLength(1);
  });

  test("T14 D2 `ask`: approved, and killed again in the second attempt: it is asked again, and nothing runs unasked", async () => {
    const store = make();
    const { next, kill, key } = await interrupted(store, "ask");
    const began = Promise.withResolvers<void>();
    const second = await next(paying("ask", true, began.resolve));
    const turn = await go(second.runtime);
    const { wait } = await within(seen(turn, "waiting"));
    await answerWait(second.runtime, wait, { approved: true });
    await within(began.promise);
    kill();
    const third = await next(paying("ask", false));
    const last = await go(third.runtime);
    const asked = await within(seen(last, "waiting"));
    expect(asked.wait).not.toBe(wait);
    expect(payOf(third.did)).toEqual([]);
    await answerWait(third.runtime, asked.wait, { approved: true });
    await within(last.result());
    expect(payOf(third.did)).toEqual([`pay#3 ${key}`]);
  });

  test("D2 an approval from before a restart is asked again, with its reason, and is answered in a third process", async () => {
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? askFor("It costs money.") : undefined) }),
    });
    const options = (did: Did) => ({ ...paying("rerun", false)(did), plugins: [asks] });
    const { next, kill } = processes(make());
    const one = await next(options);
    const first = await within(seen(await go(one.runtime), "waiting"));
    kill();
    const two = await next(options);
    const second = await within(seen(await go(two.runtime), "waiting"));
    kill();
    const three = await next(options);
    const turn = await go(three.runtime);
    const third = await within(seen(turn, "waiting"));
    expect([second.wait, third.wait]).toEqual([first.wait, first.wait]);
    await answerWait(three.runtime, first.wait, { approved: true });
    expect((await within(turn.result())).outcome.kind).toBe("answered");
    expect([...payOf(one.did), ...payOf(two.did)]).toEqual([]);
    expect(payOf(three.did)).toHaveLength(1);
    expect([second.reason, third.reason]).toEqual([first.reason, first.reason]);
  });

  test("D2 an approval that ran out while nobody ran is a denial, not a wait for ever", async () => {
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({
        beforeToolCall: ({ call }) => (call.name === "pay" ? askFor("Quick?", { waitMs: 2 * HOUR }) : undefined),
      }),
    });
    const options = (did: Did) => ({ ...paying("rerun", false)(did), plugins: [asks] });
    const { next, kill } = processes(make());
    const one = await next(options);
    await within(seen(await go(one.runtime), "waiting"));
    kill();
    const two = await next(options, 24 * HOUR);
    const turn = await go(two.runtime);
    expect((await within(turn.result())).outcome.kind).toBe("answered");
    expect(payOf(two.did)).toEqual([]);
    const { messages } = await (await two.runtime.session("s")).read();
    expect(outline(messages).find((line) => line.startsWith("pay "))).toContain("denied");
  });

  // ── Crash loops ─────────────────────────────────────────────────────────────────────────────────────────────────

  test("D3 a turn that takes its process down again and again is ended: five times resumed, then failed, kept and paired", async () => {
    const store = make();
    const { next, kill } = processes(store);
    const runs: number[] = [];
    let id = "";
    const options = (did: Did): Parameters<typeof deployed>[2] => ({
      model: model(did, inTurn(both(calls("bomb"), calls("search")), says("Never."))),
      tools: [
        tool(did, "search"),
        tool(did, "bomb", () => {
          kill();
          return new Promise(() => {});
        }),
      ],
    });
    for (let life = 0; life < 6; life++) {
      const { runtime, did } = await next(options);
      const turn = await go(runtime);
      id = await Promise.race([turn.id, passed(20).then(() => id)]);
      await passed(5);
      runs.push(did.calls.filter((call) => call.startsWith("bomb")).length);
    }
    expect(runs).toEqual([1, 1, 1, 1, 1, 1]);
    const journal = await store.journal(id as never, 0);
    expect(journal.filter(({ kind }) => kind === "resumed")).toHaveLength(5);
    const { runtime, did } = await next(options);
    const turn = await go(runtime);
    const { outcome, usage } = await within(turn.result());
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "turn.crash-loop" });
    expect(did).toEqual(nothing());
    expect(usage.unknownCalls).toBe(0);
    const { messages } = await (await runtime.session("s")).read();
    expect(hasOpenCalls(messages.at(-1))).toBe(false);
    expect(outline(messages)).toContain("calls bomb");
    expect(outline(messages).find((line) => line.startsWith("bomb "))).toContain("unknown");
    const more = await (await runtime.session("s")).turn("More.").result();
    expect(more.outcome.kind).not.toBe("failed");
  });

  test("D3 a turn that kills its process before it does anything is counted too: `resumed` is the first write", async () => {
    const store = make();
    const { next, kill } = processes(store);
    const first = await next((did) => ({
      model: model(did, () => {
        kill();
        return new Promise(() => {});
      }),
    }));
    const id = await (await go(first.runtime)).id;
    await passed(5);
    const writes: string[] = [];
    const watch = (events: readonly TurnEvent[]): void => void writes.push(...events.map(({ kind }) => kind));
    const { append } = store;
    store.append = (lease, seq, events, now, waits) => {
      watch(events);
      return append.call(store, lease, seq, events, now, waits);
    };
    const counts: number[] = [];
    for (let life = 0; life < 5; life++) {
      const { runtime, did } = await next((done) => ({
        model: model(done, () => {
          kill();
          return new Promise(() => {});
        }),
      }));
      void go(runtime).then((turn) => turn.result().catch(() => {}));
      await passed(5);
      counts.push(did.asks.length);
    }
    expect(counts).toEqual([1, 1, 1, 1, 1]);
    expect(writes).toEqual(Array.from({ length: 5 }, () => "resumed"));
    const last = await next((done) => ({ model: model(done, () => says("No.")) }));
    const { outcome, usage } = await within((await go(last.runtime)).result());
    expect(outcome).toMatchObject({ kind: "failed", code: "turn.crash-loop" });
    expect(last.did.asks).toEqual([]);
    expect(usage.unknownCalls).toBe(6); // Each may have been billed.
    expect((await store.terminal(id))?.outcome.kind).toBe("failed");
  });

  test("D3 a turn that waits for an approval through many deployments did not crash, and does not end for it", async () => {
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? askFor("It costs money.") : undefined) }),
    });
    const options = (did: Did) => ({ ...paying("rerun", false)(did), plugins: [asks] });
    const { next } = processes(make());
    let wait = "";
    for (let deployment = 0; deployment < 8; deployment++) {
      const { runtime } = await next(options);
      const turn = await go(runtime);
      void turn.result().catch(() => {});
      wait = await Promise.race([
        within(seen(turn, "waiting")).then((event) => event.wait as string),
        turn.result().then(({ outcome }) => JSON.stringify(outcome)),
      ]);
      expect(wait).not.toContain("crash-loop");
      await letGo(runtime);
    }
    const { runtime, did } = await next(options);
    const turn = await go(runtime);
    await answerWait(runtime, wait, { approved: true });
    expect((await within(turn.result())).outcome.kind).toBe("answered");
    expect(payOf(did)).toHaveLength(1);
  });
});

test.each([
  ["is let go", false],
  ["is killed right after the event is written", true],
] as const)(
  "D2 H1 rule 7: a runtime that is closed while a wait is being recorded, and %s, leaves a wait that can be answered",
  async (_, isKilled) => {
    const inner = durable(memory());
    const held: (() => void)[] = [];
    let isHolding = true;
    let isDead = false;
    const slow = over(inner, {
      append: (lease, seq, events, now, waits) => {
        if (isDead) return new Promise<never>(() => {});
        const answer = inner.append(lease, seq, events, now, waits);
        if (isKilled && events.some(({ kind }) => kind === "gated")) isDead = true;
        if (!isHolding || !events.some(({ kind }) => kind === "replied")) return answer;
        return new Promise((resolve) => held.push(() => resolve(answer)));
      },
      release: (lease) => (isDead ? new Promise<never>(() => {}) : inner.release(lease)),
    });
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({
        beforeToolCall: async ({ call }) => {
          await passed(5);
          return call.name === "pay" ? askFor("It costs money.") : undefined;
        },
      }),
    });
    const options = (did: Did) => ({ ...paying("rerun", false)(did), plugins: [asks] });
    const one = await deployed(slow, quickWorld({ name: "one" }), options(nothing()));
    void (await go(one.runtime)).result().catch(() => {});
    while (held.length === 0) await passed(1);
    await passed(20); // The gate has answered, and its event waits for the write before it.
    const closed = one.runtime.close();
    await passed(5);
    isHolding = false;
    for (const letGo of held) letGo();
    await Promise.race([closed, passed(50)]);
    const did = nothing();
    const two = await deployed(inner, quickWorld({ now: BEGINNING + HOUR, name: "two" }), options(did));
    const turn = await go(two.runtime);
    const { wait } = await within(seen(turn, "waiting"));
    await answerWait(two.runtime, wait, { approved: true });
    expect((await within(turn.result())).outcome.kind).toBe("answered");
    expect(payOf(did)).toHaveLength(1);
  },
);

test("D2 a model call that was open when its turn was cancelled is not made again by the next process", async () => {
  const recorded = journalOf("text");
  const { at } = recorded.events.at(-1)!;
  const cancelled = { kind: "cancelled", at, requestId: "can_1", reason: "Enough." } as const;
  const store = memory();
  await using today = await taken(recorded, { store, events: [...recorded.events, cancelled] });
  await store.cancel(recorded.input.turnId, cancelled);
  const { outcome } = await today.ended();
  expect(outcome).toMatchObject({ kind: "stopped", code: "turn.cancelled" });
  expect(today.did.asks).toEqual([]);
});

/** Closed in an orderly way; its world does not make it wait for the five seconds. */
const letGo = (runtime: Runtime): Promise<void> => within(runtime.close());

test("T14 the idempotency key is the same in every attempt and every process, and differs from call to call", async () => {
  const keys: string[] = [];
  const { next } = processes(memory());
  const { runtime } = await next((did) => ({
    model: model(did, ({ messages }) =>
      wordsOf(messages.at(-1)) === "Pay." ? both(calls("pay"), calls("pay")) : says("Done."),
    ),
    tools: [
      tool(
        did,
        "pay",
        (_, context: ToolContext) => {
          keys.push(context.idempotencyKey);
          if (context.attempt === 1) throw new Error("Not yet.");
          return "Paid.";
        },
        { retry: { policy: "idempotent", attempts: 2, baseMs: 1 } },
      ),
    ],
  }));
  await within((await go(runtime)).result());
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(2);
});
