import { definePlugin, type Json, type Store } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { both, calls, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { outline, passed, signalOf, within, wordsOf } from "../kit/reading.ts";
import { durable, lives, STORES } from "../kit/stores.ts";
import { BEGINNING, deployed, HOUR, quickWorld } from "../kit/worlds.ts";
import { type Did, inTurn, model, nothing, tool } from "./witness.ts";

/** The turn's own replies, and an echo for nested questions, told apart by their first word. */
const asked = (did: Did, ...replies: readonly (readonly ModelPart[])[]): Provider =>
  model(did, (request) => {
    const last = wordsOf(request.messages.at(-1));
    return last.startsWith("Nested") ? says(`re: ${last}`) : inTurn(...replies)(request);
  });

const nestedIn = (did: Did): readonly string[] => did.asks.filter((ask) => ask.includes("user: Nested"));

/** Runs a turn; every time `bomb` is called in the first process, that process dies. */
async function killedIn(
  store: Store,
  options: (did: Did, bomb: () => Promise<unknown>) => Parameters<typeof deployed>[2],
) {
  const life = lives(durable(store));
  const struck = signalOf();
  const [first, second] = [nothing(), nothing()];
  const bomb = async (): Promise<unknown> => {
    life.kill();
    struck.resolve();
    return new Promise(() => {});
  };
  const one = await deployed(life.next(), quickWorld({ name: "one" }), options(first, bomb));
  void (await one.runtime.session("s")).turn("Go.", { key: "k" });
  await within(struck.promise);
  await passed(5);
  const world = quickWorld({ now: BEGINNING + HOUR, name: "two" });
  const two = await deployed(
    life.next(),
    world,
    options(second, async () => undefined),
  );
  const session = await two.runtime.session("s");
  const result = await within(session.turn("Go.", { key: "k" }).result(), 3_000);
  const view = await session.read();
  return { first, second, result, view, ledger: ledgerOf(view.ledger) };
}

const ledgerOf = (ledger: readonly { source: string; calls: number; usage: { input: number } }[]) =>
  Object.fromEntries(ledger.map(({ source, calls: count, usage }) => [source, [count, usage.input]]));

describe.each(STORES)("on %s", (_, make) => {
  test("D2 rule 9: `complete` and `once` in a tool that is killed after them are neither asked nor booked again", async () => {
    const runs: string[] = [];
    const { second, result, ledger, first } = await killedIn(make(), (did, bomb) => ({
      model: asked(did, calls("work"), says("Done.")),
      tools: [
        tool(did, "work", async (_input, { complete, once }) => {
          const said = await complete.text("Nested one.", { label: "nested" });
          const noted = await once("id", () => {
            runs.push("once");
            return runs.length;
          });
          await bomb();
          const more = await complete.text("Nested two.", { label: "nested" });
          return { said, noted, more };
        }),
      ],
    }));
    expect(nestedIn(first)).toHaveLength(1);
    expect(nestedIn(second)).toEqual([expect.stringContaining("Nested two.")]);
    expect(runs).toEqual(["once"]);
    expect(result.outcome).toMatchObject({ kind: "answered" });
    expect(ledger).toEqual({ nested: [2, 20], turn: [2, 20] });
    expect(result.usage).toMatchObject({ input: 40, unknownCalls: 0 });
  });

  test.each(["context", "prompt", "beforeTurn", "beforeToolCall", "afterToolCall", "checkpoint", "afterTurn"] as const)(
    "D2 rule 9: `complete` (where it is given) and `once` in %s are not repeated when the process dies before its effect answers",
    async (hook) => {
      const runs: Json[] = [];
      const { first, second, ledger, result } = await killedIn(make(), (did, bomb) => {
        const work = async ({
          complete,
          once,
        }: {
          complete?: { text(words: string, options: { label: string }): Promise<string> };
          once<T extends Json>(name: string, run: () => T): Promise<T>;
        }): Promise<undefined> => {
          await complete?.text("Nested.", { label: "nested" });
          await once("x", () => {
            runs.push(1);
            return 1;
          });
          await bomb();
          return undefined;
        };
        const plugin = definePlugin({ id: "acme/hook", setup: () => ({ [hook]: work }) as never });
        return {
          model: asked(did, calls("work"), says("Done.")),
          tools: [tool(did, "work")],
          plugins: [plugin],
        };
      });
      const times = ["beforeTurn", "checkpoint", "afterTurn"].includes(hook) ? 0 : 1;
      expect(nestedIn(first)).toHaveLength(times);
      expect(nestedIn(second)).toHaveLength(0);
      expect(runs).toHaveLength(1); // `once` of a hook is once per turn.
      expect(ledger.nested).toEqual(times === 0 ? undefined : [times, times * 10]);
      expect(result.usage.input).toBe(20 + times * 10);
      expect(result.outcome.kind).toBe("answered");
    },
  );

  test("D2 rule 9: two completions in parallel calls, one of them killed: each is asked once and booked once", async () => {
    const { first, second, ledger } = await killedIn(make(), (did, bomb) => ({
      model: asked(did, both(calls("quick"), calls("slow")), says("Done.")),
      tools: [
        tool(did, "quick", async (_input, { complete }) => {
          await passed(2);
          return complete.text("Nested quick.", { label: "quick" });
        }),
        tool(did, "slow", async (_input, { complete }) => {
          const said = await complete.text("Nested slow.", { label: "slow" });
          await passed(20); // The other one has been recorded by now, with what both of them cost.
          await bomb();
          return said;
        }),
      ],
    }));
    expect([...nestedIn(first), ...nestedIn(second)]).toHaveLength(2);
    expect(ledger).toEqual({ quick: [1, 10], slow: [1, 10], turn: [2, 20] });
  });

  test("S9 rule 9: what a tool paid for before the turn was cancelled under it is booked", async () => {
    const store = durable(make());
    const did = nothing();
    const paid = signalOf();
    const { runtime } = await deployed(store, quickWorld({ name: "one" }), {
      model: asked(did, calls("work"), says("Done.")),
      tools: [
        tool(did, "work", async (_input, { complete }) => {
          await complete.text("Nested.", { label: "nested" });
          paid.resolve();
          return new Promise(() => {});
        }),
      ],
    });
    const session = await runtime.session("s");
    const turn = session.turn("Go.");
    await paid.promise;
    await passed(1);
    await turn.cancel();
    const { outcome, usage } = await within(turn.result());
    expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(usage.input).toBe(20);
    expect(ledgerOf((await session.read()).ledger).nested).toEqual([1, 10]);
  });

  test("D2 rule 9: notes end with their turn: the next turn asks again", async () => {
    const store = durable(make());
    const did = nothing();
    const runs: number[] = [];
    const { runtime } = await deployed(store, quickWorld({ name: "one" }), {
      model: asked(did, calls("work"), says("Done."), calls("work"), says("Done.")),
      tools: [
        tool(did, "work", (_input, { once, complete }) =>
          once("x", () => runs.push(1)).then(() => complete.text("Nested.", { label: "nested" })),
        ),
      ],
    });
    const session = await runtime.session("s");
    await within(session.turn("Go.").result());
    await within(session.turn("Go.").result());
    expect(runs).toHaveLength(2);
    expect(nestedIn(did)).toHaveLength(2);
  });

  test("D2 rule 9: a note is the first one's: a worker that lost its lease and comes back late gets it too", async () => {
    const store = durable(make());
    const [gate, began] = [signalOf(), signalOf()];
    const kept: Json[] = [];
    const options = (did: Did, name: string, wait?: Promise<unknown>) => ({
      model: asked(did, calls("work"), says("Done.")),
      tools: [
        tool(did, "work", async (_input, { once }) => {
          began.resolve();
          const value = await once("who", async () => {
            await wait;
            return name;
          });
          kept.push(value);
          return value;
        }),
      ],
    });
    const [slow, quick] = [nothing(), nothing()];
    const one = await deployed(store, quickWorld({ name: "one" }), options(slow, "one", gate.promise));
    const first = (await one.runtime.session("s")).turn("Go.", { key: "k" });
    void first.result().catch(() => {});
    await began.promise;
    const world = quickWorld({ now: BEGINNING + HOUR, name: "two" });
    const two = await deployed(store, world, options(quick, "two"));
    const session = await two.runtime.session("s");
    await within(session.turn("Go.", { key: "k" }).result(), 3_000);
    gate.resolve();
    await passed(5);
    expect(kept[0]).toBe("two");
    expect(outline((await session.read()).messages)).toContain("work ok: two");
  });

  test("S9 what may have been billed before a crash is in the ledger too, also when the model is not asked again", async () => {
    const store = make();
    const life = lives(durable(store));
    const struck = signalOf();
    const one = await deployed(life.next(), quickWorld({ name: "one" }), {
      model: model(nothing(), () => {
        life.kill();
        struck.resolve();
        return new Promise(() => {});
      }),
    });
    const id = await (await one.runtime.session("s")).turn("Go.").id;
    await within(struck.promise);
    await store.cancel(id, { requestId: "can_1", reason: "Enough.", at: BEGINNING });
    const two = await deployed(life.next(), quickWorld({ now: BEGINNING + HOUR, name: "two" }), {
      model: model(nothing(), () => says("Never.")),
    });
    await within(two.runtime.recover());
    const { usage, ledger } = (await store.load("s" as never))!;
    expect(usage.unknownCalls).toBe(1);
    expect(ledger.reduce((sum, row) => sum + row.usage.unknownCalls, 0)).toBe(1);
  });

  test("D2 rule 9: a rerun that asks the model something else is not given the answer to another question", async () => {
    let run = 0;
    const { second } = await killedIn(make(), (did, bomb) => ({
      model: asked(did, calls("work"), says("Done.")),
      tools: [
        tool(did, "work", async (_input, { complete }) => {
          const words = run++ === 0 ? "Nested: capital of France?" : "Nested: capital of Spain?";
          const answer = await complete.text(words);
          await bomb();
          expect(answer).toContain(words);
          return answer;
        }),
      ],
    }));
    expect(second.asks.filter((ask) => ask.includes("Spain?")).length).toBeGreaterThan(0);
  });
});
