import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import type { ModelRequest, Provider } from "bowline/provider";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

/** Who is told what: by the words that its conversation begins with. */
const roles: { readonly [opening: string]: Provider } = {
  "Explore.": recited(
    both(spawns("north"), spawns("south"), calls("spawn_agent", { task: "Go east.", background: true }, "east")),
    calls("look", { where: "here" }, "look"),
    says("Explored."),
    (request) => calls("wait_agents", { agents: [agentIn(request, 2)] }, "wait"),
    (request) => calls("message_agent", { agent: agentIn(request, 0), message: "Once more." }, "again"),
    says("Reported."),
  ),
  ...Object.fromEntries(
    ["north", "south", "east"].map((where) => [
      `Go ${where}.`,
      recited(
        both(calls("look", { where: `${where} 1` }, "a"), calls("look", { where: `${where} 2` }, "b")),
        says(`Nothing in the ${where}.`),
        calls("look", { where: `${where} 3` }, "c"),
        says("Still nothing."),
      ),
    ]),
  ),
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

function spawns(where: string) {
  return calls("spawn_agent", { task: `Go ${where}.` }, where);
}

/** In the order in which results have named them. */
function agentIn({ messages }: ModelRequest, which: number): string {
  const results = messages.filter(({ role }) => role === "tool");
  return [...new Set(JSON.stringify(results).match(/agt_[\w-]{16}/g))][which] ?? "nobody";
}

/**
 * A turn that starts agents, two that it waits for and one that outlives it; then one that is told of that and asks another
 * again. All of them call tools: nothing of any is lost or done again.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object", properties: { where: { type: "string" } } },
      execute: async ({ where }, { idempotencyKey }) => {
        act(`look ${where} ${idempotencyKey}`);
        await new Promise((resolve) => setImmediate(resolve));
        return `nothing ${where}`;
      },
    });
    await using runtime = await createRuntime({
      store,
      host,
      model,
      tools: [look],
      plugins: [subagents({ capabilities: { scout: { description: "Looks around." } } })],
    });
    const session = await runtime.session("chief");
    await session.turn("Explore.", { key: "explore" }).result();
    await session.turn("Report.", { key: "report" }).result();
    const jobs = (await session.jobs.list()).map(({ kind, label, state }) => `${kind} ${label} ${state}`);
    assert.deepEqual(
      jobs.sort(),
      ["east", "north", "south"].map((where) => `subagent Go ${where}. idle`),
    );
  },
  check({ sessions, outcomes }, { acts }) {
    const said = sessions.chief?.messages.flatMap(({ role, text }) => (role === "assistant" ? [text] : [])) ?? [];
    assert.deepEqual(
      said.filter((text) => text !== ""),
      ["Explored.", "Reported."],
    );
    const told = sessions.chief?.messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])).join() ?? "";
    for (const words of ["the north.", "the south.", "the east.", "Still nothing."])
      assert.equal(told.split(words).length, 2, `${words} is not there once: ${told}`);
    const children = Object.values(sessions).filter(({ parentId }) => parentId === "chief");
    const inOrder = children.sort((a, b) => (String(a.messages[0]?.text) < String(b.messages[0]?.text) ? -1 : 1));
    assert.deepEqual(
      inOrder.map(({ messages, turns }) => [messages[0]?.text, turns, messages.length]),
      [
        ["Go east.", 1, 4],
        ["Go north.", 2, 8],
        ["Go south.", 1, 4],
      ],
    );
    assert.equal(outcomes.length, 6);
    assert.ok(outcomes.every((outcome) => (outcome as { kind: string }).kind === "answered"));
    const looked = new Set(acts.map((each) => each.slice(0, each.lastIndexOf(" "))));
    assert.deepEqual(
      [...looked].sort(),
      ["east 1", "east 2", "here", "north 1", "north 2", "north 3", "south 1", "south 2"].map((at) => `look ${at}`),
    );
    const kept = (sessions.chief?.plugins["bowline/subagents"]?.state ?? {}) as {
      readonly agents?: readonly { readonly task: string; readonly status: string }[];
    };
    assert.deepEqual(
      kept.agents?.map(({ task, status }) => `${task} ${status}`),
      ["Go north. finished", "Go south. finished", "Go east. finished"],
    );
  },
});
