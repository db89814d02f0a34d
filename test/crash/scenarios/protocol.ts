import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import type { ProtocolDriver } from "bowline/protocol";
import { defineScenario, recited, says } from "bowline/testing";

const driver: ProtocolDriver = {
  id: "crash/talks",
  version: 1,
  request: ({ system, messages }) => ({ system, messages, tools: [] }),
  // What it decides follows from its options alone, so a resumed turn decides the same.
  onReply: ({ options, round }) =>
    round < Number(options ?? 1)
      ? { kind: "switchFrame", task: `Round ${round + 1} of ${String(options)}.`, name: `frame ${round + 1}` }
      : { kind: "answer" },
  onResults: () => ({ kind: "answer" }),
  onExec: () => ({ kind: "answer" }),
};

/** A protocol with options of its own, set at every opening: a turn goes on with those that it began with. */
export default defineScenario({
  async run({ store, host, act }) {
    const talks = definePlugin({
      id: "crash/talks",
      version: "1",
      setup: () => ({
        protocolSession: {
          initialize: ({ sessionId }) => act(`initialized ${sessionId}`),
          configure({ options }) {
            if (options.get() === undefined) options.set(3);
          },
          async beforeAsk({ round, complete, graph }) {
            if (round === 1) await graph.append([{ kind: "plugin", type: "said", body: await complete.text("Why?") }]);
          },
        },
        protocolDriver: { driver, preamble: () => ({ tools: [], prompt: [] }) },
      }),
    });
    const model = recited(says("One."), says("Two."), says("Three."));
    await using runtime = await createRuntime({ store, host, model, plugins: [talks] });
    const session = await runtime.session("talk");
    await session.turn("Go.", { key: "go" }).result();
    await session.turn("Again.", { key: "again" }).result();
  },
  check({ sessions }) {
    const nodes = sessions.talk?.nodes ?? [];
    assert.equal(nodes.filter((node) => node.kind === "frame").length, 4);
    assert.equal(nodes.filter((node) => node.kind === "plugin").length, 2);
  },
});
