import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { createSession } from "bowline/plugin";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";

const toned = definePlugin({
  id: "crash/toned",
  options: z.object({ tone: z.string().default("plain") }),
  setup: ({ options: { tone }, tool, query }) => ({
    beforeToolCall: ({ turnId }) => createSession({ kind: "child", id: `child-of-${turnId}`, ifExists: "take" }),
    tools: [tool({ name: "tone", description: "Tells its tone.", input: z.object({}), execute: () => tone })],
    operations: { tone: query({ run: () => tone }) },
  }),
});

/** Options are replaced while a turn runs: it keeps its own in all its rounds, and so does the child that it makes. */
export default defineScenario({
  async run({ store, host, act }) {
    const model = recited(
      calls("tone", {}, "a"),
      calls("tone", {}, "b"),
      says("One."),
      calls("tone", {}, "c"),
      says("Two."),
    );
    await using runtime = await createRuntime({ store, host, model, plugins: [toned] });
    const isThere = (await runtime.sessions.list()).some(({ id }) => id === "options");
    const first = isThere ? {} : { plugins: [toned.options({ tone: "grave" })] };
    const session = await runtime.session("options", first);
    const one = session.turn("One.", { key: "one" });
    const children = [await one.id];
    await runtime.session("options", { plugins: [toned.options({ tone: "merry" })] });
    await one.result();
    const two = session.turn("Two.", { key: "two" });
    children.push(await two.id);
    await two.result();
    for (const turnId of children)
      act(`child ${await (await runtime.session(`child-of-${turnId}`)).query(toned, "tone")}`);
  },
  check({ sessions, outcomes }, { acts }) {
    const told = sessions.options?.messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])) ?? [];
    assert.deepEqual(told, ["grave", "grave", "merry"]);
    assert.deepEqual([...new Set(acts)], ["child grave", "child merry"]);
    assert.ok(outcomes.every((outcome) => (outcome as { kind: string }).kind === "answered"));
  },
});
