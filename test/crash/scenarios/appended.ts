import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import type { Provider } from "bowline/provider";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

const mark = (body: string) => ({ kind: "plugin", type: "mark", body }) as const;

/** Appends in every way: by hooks, by tools side by side, under a name of its own, and from a child to its parent. */
const marks = definePlugin({
  id: "crash/marks",
  version: "1",
  setup: () => ({
    async context({ graph, sessionId }) {
      await graph.append([mark(`context of ${sessionId}`)]);
      await graph.append([mark("once")], { operationId: "once" });
    },
    async afterToolCall({ graph, call }) {
      await graph.append([mark("by both")], { operationId: "both" });
      await graph.append([{ kind: "message", role: "system", text: `After ${call.name}.` }]);
    },
    async lifecycle({ event, graph, sessionId }) {
      if (event.kind === "turnFinalized" && sessionId === "child") {
        await graph.append([{ kind: "message", role: "user", text: "The child says hello." }], { session: "parent" });
        await graph.append([mark("from the child")], { session: "parent" });
        await graph.append([mark("by both")], { session: "parent", operationId: "both" });
      }
      if (event.kind === "turnFinalized" && sessionId === "parent") await graph.append([mark("the end")]);
    },
  }),
});

const roles: { readonly [opening: string]: Provider } = {
  "Go.": recited(both(calls("ask_child", {}, "ask"), calls("look", {}, "look")), says("Done."), says("Again.")),
  "Say hello.": recited(says("Hello.")),
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

/**
 * A turn waits for its child, and the child appends to it meanwhile: the nodes wait for the parent's turn, which takes them
 * in. Whatever is killed, every node is there once, and none stands between a call and its result.
 */
export default defineScenario({
  async run({ store, host }) {
    const child = defineTool({
      name: "ask_child",
      description: "Asks the child.",
      input: { type: "object" },
      async execute(_, { sessions, graph }) {
        await graph.append([mark("before the child")]);
        await sessions.create({ id: "child", kind: "child", ifExists: "take" });
        const { turnId } = await sessions.send("child", "Say hello.", { key: "hello" });
        await sessions.result("child", turnId);
        return "asked";
      },
    });
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      async execute(_, { graph }) {
        await graph.append([mark("look")]);
        return "nothing";
      },
    });
    const tools = [child, look];
    await using runtime = await createRuntime({ store, host, model, tools, plugins: [marks] });
    const session = await runtime.session("parent");
    await session.turn("Go.", { key: "go" }).result();
    await session.turn("Once more.", { key: "more" }).result();
  },
  check({ sessions }) {
    const nodes = sessions.parent?.nodes ?? [];
    const bodies = nodes.flatMap((node) => (node.kind === "plugin" ? [String(node.body)] : []));
    const count = (body: string): number => bodies.filter((each) => each === body).length;
    assert.deepEqual(
      ["once", "by both", "before the child", "look", "from the child", "context of parent", "the end"].map(count),
      [1, 1, 1, 1, 1, 2, 2],
      bodies.join(", "),
    );
    const said = sessions.parent?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];
    for (const words of ["user: The child says hello.", "system: After look.", "system: After ask_child."])
      assert.equal(said.filter((each) => each === words).length, 1, said.join("\n"));
  },
});
