import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, hasCode, type Runtime } from "bowline";
import { ask } from "bowline/plugin";
import { subagents } from "bowline/plugins/subagents";
import type { Provider } from "bowline/provider";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { over } from "../mutants/over.ts";

const spawns = (task: string) => calls("spawn_agent", { task }, "spawn");
/** Who is told what: by the words that its conversation begins with. */
const roles: { readonly [opening: string]: Provider } = {
  "Travel.": recited(spawns("Book."), says("Travelled.")),
  "Book.": recited(spawns("Pay."), says("Booked.")),
  "Pay.": recited(calls("pay", {}, "pay"), says("Paid.")),
};
const model: Provider = {
  id: "recited",
  modelId: "test",
  stream(request, options) {
    const [first] = request.messages[0]?.parts ?? [];
    const role = first?.kind === "text" ? roles[first.text] : undefined;
    if (role === undefined) throw new Error("Nobody begins like that.");
    return role.stream(request, options);
  },
};

const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});

/** Whether the turn has ended; false as soon as somebody is asked. */
async function isOver(runtime: Runtime, turn: Promise<unknown>): Promise<boolean> {
  const ended = turn.then(() => true);
  ended.catch(() => {});
  for (;;) {
    if ((await runtime.waits.list({ tree: "root" })).length > 0) return false;
    if (await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5, false))])) return true;
  }
}

/**
 * A session, its agent, and the agent of that one, which asks a person. All three wait without a runtime; then another
 * one gives the answer, and all three turns end.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: async (_, { idempotencyKey }) => {
        act(`pay ${idempotencyKey}`);
        await new Promise((resolve) => setImmediate(resolve));
        return "paid";
      },
    });
    const open = (on: typeof store) =>
      createRuntime({
        store: on,
        host,
        model,
        tools: [pay],
        limits: { parkAfterMs: 1 },
        plugins: [careful, subagents({ capabilities: { clerk: { description: "Does things." } } })],
      });
    const travel = async (runtime: Runtime) => (await runtime.session("root")).turn("Travel.", { key: "go" }).result();
    {
      await using runtime = await open(over(store, { close: () => {} }));
      if (await isOver(runtime, travel(runtime))) return;
    }
    await using runtime = await open(store);
    for (const wait of await runtime.waits.list({ tree: "root" }))
      await runtime.waits.resolve(wait.key, { approved: true }).catch((error: unknown) => {
        if (!hasCode(error, "wait.unknown")) throw error; // Another worker has done it all.
      });
    await travel(runtime);
  },
  check({ sessions, outcomes }, { acts }) {
    const [root, child, grandchild, ...more] = [
      sessions.root,
      ...Object.values(sessions).filter(({ parentId }) => parentId === "root"),
      ...Object.values(sessions).filter(({ parentId }) => parentId !== undefined && parentId !== "root"),
    ];
    assert.deepEqual(more, []);
    const said = [root, child, grandchild].map((session) => [
      session?.turns,
      ...(session?.messages.map(({ role, text }) => (role === "tool" ? resultIn(text) : text)) ?? []),
    ]);
    assert.deepEqual(said, [
      [1, "Travel.", "", "Booked.", "Travelled."],
      [1, "Book.", "", "Paid.", "Booked."],
      [1, "Pay.", "", "paid", "Paid."],
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome as { kind: string }).kind),
      ["answered", "answered", "answered"],
    );
    assert.equal(new Set(acts).size, 1);
    for (const session of [root, child]) {
      const kept = (session?.plugins["bowline/subagents"]?.state ?? {}) as {
        readonly agents?: readonly { readonly status: string }[];
      };
      assert.deepEqual(
        kept.agents?.map(({ status }) => status),
        ["finished"],
      );
    }
  },
});

const resultIn = (text: string): string =>
  text.startsWith("{") ? (JSON.parse(text) as { result: string }).result : text;
