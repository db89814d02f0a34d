import { describe, expect, test } from "vitest";
import { type Awaitable, isThenable } from "../model/awaitable.ts";
import { asCallId, asSessionId } from "../model/ids.ts";
import type { ToolCall } from "../model/tool.ts";
import { abort, ask, deny, replaceArgs, replaceResult, shortCircuit } from "./directive.ts";
import { type Bound, type HookCallContext, HookRunner } from "./hook-runner.ts";
import { definePlugin, type Installed, installPlugins, type Plugin } from "./plugin.ts";
import type { ServiceName, Services } from "./services.ts";
import { type Conflict, type Gated, gateCall, type Inspected, inspectResult, type Target } from "./tool-gates.ts";

type Hook = "beforeToolCall" | "afterToolCall";
/** What both seams show, as one: the words that a replacement changes. */
interface Look {
  readonly words: string;
  readonly trace: Services["trace"];
  readonly session: object;
}
type Handler = (look: Look) => unknown;

const FIRST = "bread";
const CALL: ToolCall = { id: asCallId("call_take"), name: "take", input: { words: FIRST } };

/** No handler here is for some tools only, so nobody asks. */
const TARGET: Target = { tool: undefined, check: () => ({ ok: true, value: undefined }) };

const SEAMS = [
  {
    hook: "beforeToolCall" as Hook,
    replace: (words: string) => replaceArgs({ words }) as object,
    run: (hooks: HookRunner, here: HookCallContext): Awaitable<Gated | Inspected> =>
      gateCall(hooks, CALL, TARGET, here),
    words: ({ call }: { call: ToolCall }) => (call.input as { words: string }).words,
  },
  {
    hook: "afterToolCall" as Hook,
    replace: (words: string) => replaceResult(words) as object,
    run: (hooks: HookRunner, here: HookCallContext): Awaitable<Gated | Inspected> =>
      inspectResult(hooks, CALL, { kind: "value", value: FIRST }, {}, TARGET, here),
    words: ({ output }: { output: { value: string } }) => output.value,
  },
];

describe.each(SEAMS)("$hook", ({ hook, replace, run, words }) => {
  const plugin = (id: string): Plugin => definePlugin({ id, setup: () => ({}) });

  /** Handlers by the plugins they are of; one plugin may have several. */
  async function passing(...handlers: readonly (readonly [id: string, run: Handler])[]) {
    const traced: string[] = [];
    const { signal } = new AbortController();
    const ids = [...new Set(handlers.map(([id]) => id))];
    const installed = new Map((await installPlugins(ids.map(plugin), signal)).map((each) => [each.id, each]));
    const bound = handlers.map(
      ([id, handler]): Bound => ({
        plugin: installed.get(id) as Installed,
        deadlineMs: 1_000,
        run: (event) => handler({ ...(event as Look), words: words(event as never) }),
      }),
    );
    const hooks = new HookRunner(new Map([[hook, bound]]), new Map(), undefined, () => {});
    const made: Partial<Record<ServiceName, object>> = { session: { of: "the turn" } };
    const here: HookCallContext = {
      sessionId: asSessionId("s"),
      signal,
      states: { cell: unasked, readOnly: unasked, discarding: () => here.states },
      read: unasked,
      once: unasked,
      extension: unasked,
      onceHere: unasked,
      service: (name, id) =>
        (name === "trace" ? { emit: (what: string) => traced.push(`${id} ${what}`) } : (made[name] ?? {})) as never,
    };
    const passed = run(hooks, here);
    const isAtOnce = !isThenable(passed);
    return { ...(await passed), traced, isAtOnce };
  }
  const swaps = (): object => replace("cake");

  test("K12 a second look is not traced: the trace has each call of a handler once", async () => {
    const seen: string[] = [];
    const tells: Handler = ({ words: now, trace }) => {
      seen.push(now);
      trace.emit(`saw ${now}`, null);
    };
    const { traced } = await passing(["a/tells", tells], ["b/swaps", swaps], ["c/tells", tells]);
    expect(seen).toEqual([FIRST, "cake", "cake"]);
    expect(traced).toEqual([`a/tells saw ${FIRST}`, "c/tells saw cake"]);
  });

  test("K12 in a second look the other services are those of the first", async () => {
    const given = new Set<object>();
    await passing(["a/looks", ({ session }) => void given.add(session)], ["b/swaps", swaps]);
    expect([...given]).toEqual([{ of: "the turn" }]);
  });

  const pairs = (conflicts: readonly Conflict[]) => conflicts.map(({ winner, loser }) => `${winner} over ${loser}`);

  test("K12 a conflict between the same two handlers is reported once, however often they look", async () => {
    const { conflicts, verdict } = await passing(
      ["a/aborts", () => abort("a.no", "No.")],
      ["b/denies", () => deny("No.")],
      ["c/swaps", swaps],
      ["d/swaps", () => replace("pie")],
    );
    expect(pairs(conflicts).sort()).toEqual(["a/aborts over b/denies", "a/aborts over c/swaps"]);
    expect(verdict?.plugin).toBe("a/aborts");
  });

  test("K12 the last conflict names who won, also where a second look turned it round", async () => {
    const { conflicts, verdict } = await passing(
      ["a/strict", ({ words: now }) => (now === FIRST ? undefined : abort("a.no", "Not that."))],
      ["b/denies", () => deny("No.")],
      ["a/strict", () => deny("No.")],
      ["b/denies", swaps],
    );
    expect(verdict).toMatchObject({ plugin: "a/strict", value: { kind: "abort" } });
    expect(pairs(conflicts)).toEqual(["b/denies over a/strict", "a/strict over b/denies"]);
  });

  test("K12 an equal failure in both looks is reported once, and a different failure is reported too", async () => {
    const { issues, verdict } = await passing(
      ["a/sick", () => fail("Always.")],
      ["b/moody", ({ words: now }) => fail(`Not ${now}.`)],
      ["c/brave", ({ words: now }) => (now === FIRST ? undefined : fail("Only then."))],
      ["d/swaps", swaps],
    );
    expect(issues.map(({ plugin: id }) => id)).toEqual(["a/sick", "b/moody", "b/moody", "c/brave"]);
    expect(verdict).toMatchObject({ plugin: "a/sick", value: { kind: "deny" } });
  });

  test("K12 handlers that answer at once are answered at once, second looks included", async () => {
    const quick = await passing(["a/looks", () => undefined], ["b/swaps", swaps], ["c/fails", () => fail("No.")]);
    expect(quick).toMatchObject({ isAtOnce: true, verdict: { plugin: "c/fails" } });
    const slow = await passing(["a/waits", async () => undefined], ["b/swaps", swaps]);
    expect(slow.isAtOnce).toBe(false);
  });

  test("K12 whether they wait or not, handlers look one after the other and in the same order", async () => {
    const orders = [];
    for (const waits of [[], ["a/one"], ["b/two"], ["c/three"], ["a/one", "b/two", "c/three"]]) {
      const heard: string[] = [];
      const looks = (id: string, answer?: () => object): readonly [string, Handler] => {
        const look = (now: string): object | undefined => {
          heard.push(`${id} ${now}`);
          return now === FIRST ? answer?.() : undefined;
        };
        if (!waits.includes(id)) return [id, ({ words: now }) => look(now)];
        return [
          id,
          async ({ words: now }) => {
            await Promise.resolve();
            return look(now);
          },
        ];
      };
      const { verdict } = await passing(
        looks("a/one"),
        looks("b/two", swaps),
        looks("c/three", () => deny("No.")),
      );
      orders.push({ heard, verdict });
    }
    expect(orders[0]?.heard).toEqual([`a/one ${FIRST}`, `b/two ${FIRST}`, "a/one cake", "c/three cake"]);
    for (const order of orders) expect(order).toEqual(orders[0]);
  });
});

test("K12 an equal verdict of the same two plugins is one conflict, even if a second handler asks again", async () => {
  const { signal } = new AbortController();
  const [a, b] = (await installPlugins(
    ["a/asks", "b/cuts"].map((id) => definePlugin({ id, setup: () => ({}) })),
    signal,
  )) as [Installed, Installed];
  const bound: Bound[] = [
    { plugin: a, deadlineMs: 1_000, run: () => ask("Sure?") },
    { plugin: b, deadlineMs: 1_000, run: () => [shortCircuit("Cut."), shortCircuit("Cut again.")] },
    { plugin: b, deadlineMs: 1_000, run: () => ask("Really?") },
  ];
  const hooks = new HookRunner(new Map([["beforeToolCall", bound]]), new Map(), undefined, () => {});
  const here = { sessionId: asSessionId("s"), signal, service: () => ({}) } as unknown as HookCallContext;
  const { conflicts, verdict } = await gateCall(hooks, CALL, TARGET, here);
  expect(conflicts).toEqual([{ hook: "beforeToolCall", winner: "a/asks", loser: "b/cuts" }]);
  expect(verdict?.plugin).toBe("a/asks");
});

const unasked = (): never => {
  throw new Error("No handler here asks for that.");
};
const fail = (message: string): never => {
  throw new Error(message);
};
