// Three agents work on a question in parallel. Each has separate instructions and tools, and returns a result of a
// schema. The program shows their work live. The model asks one agent again. At the end the program counts the model
// calls.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import type { ModelPart, Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, says } from "bowline/testing";
import { z } from "zod";

const SHELVES: { readonly [title: string]: string } = {
  "Knots and splices": "The bowline holds under load and is easily undone.",
  "Ropework at sea": "The bowline is the knot for a fixed loop, in use since the 17th century.",
  "A climber's notes": "The bowline can work itself loose when it is not loaded: add a stopper.",
};
const read = defineTool({
  name: "read",
  description: "Reads a book.",
  input: z.object({ title: z.string() }),
  execute: ({ title }) => SHELVES[title] ?? "There is no such book.",
});

// ── A scripted model, with lines for each agent. Any AI SDK model works too ─────────────────────────────────────────

const QUESTION = "Is the bowline a safe knot?";
const finding = { type: "object", properties: { claim: { type: "string" } }, required: ["claim"] };
const tasks = Object.keys(SHELVES).map((title) => `What does "${title}" say of the bowline?`);

type Line = readonly ModelPart[] | ((agents: readonly string[]) => readonly ModelPart[]);
const script: { readonly [opening: string]: readonly Line[] } = {
  [QUESTION]: [
    both(...tasks.map((task) => calls("spawn_agent", { task, capability: "reader", output: finding }))),
    (agents) => calls("message_agent", { agent: agents[2] ?? "", message: "Is that enough for climbing?" }),
    says("Yes, under load; unloaded it needs a stopper, and climbers tie another knot."),
  ],
  ...Object.fromEntries(
    Object.entries(SHELVES).map(([title, text], index): [string, readonly Line[]] => [
      tasks[index] as string,
      [calls("read", { title }), calls("submit_output", { claim: text }), says("Climbers tie in with a figure eight.")],
    ]),
  ),
};
const model: Provider = {
  id: "script",
  modelId: "roles",
  async *stream({ messages }) {
    const [opening] = messages[0]?.parts ?? [];
    const place = messages.filter(({ role }) => role === "assistant").length;
    const line = script[opening?.kind === "text" ? opening.text : ""]?.[place] ?? says("I do not know.");
    const agents = [...new Set(JSON.stringify(messages).match(/agt_[\w-]{16}/g))];
    yield* typeof line === "function" ? line(agents) : line;
  },
};

// ── The program ─────────────────────────────────────────────────────────────────────────────────────────────────────

await using runtime = await createRuntime({
  store: memory(),
  model,
  tools: [read],
  instructions: "You answer questions. Have agents read for you.",
  plugins: [
    subagents({
      capabilities: {
        reader: {
          description: "Reads a book and says what is in it.",
          instructions: "You read one book, and claim nothing that is not in it.",
          tools: ["read"],
        },
      },
    }),
  ],
});
const session = await runtime.session("knots");
const turn = session.turn(QUESTION);
const names = new Map<string, string>();
for await (const event of turn) {
  if (event.kind === "text") console.log(`answer: ${event.delta}`);
  if (event.kind !== "child" || event.event.fact) continue;
  const { sessionId } = event.event;
  if (!names.has(sessionId)) names.set(sessionId, `agent ${names.size + 1}`);
  if (event.event.kind === "toolStarted")
    console.log(`${names.get(sessionId)} calls ${event.event.call.name} ${JSON.stringify(event.event.call.input)}`);
  if (event.event.kind === "text") console.log(`${names.get(sessionId)} says: ${event.event.delta}`);
}
const { outcome } = await turn.result();
assert.ok(outcome.kind === "answered" && outcome.text.startsWith("Yes"));

// Each agent is a session that you can read, continue and fork. The third agent ran two turns.
const agents = await session.query(subagents, "agents");
assert.deepEqual(
  agents.map(({ status }) => status),
  ["finished", "finished", "finished"],
);
const { turns, messages } = await runtime.sessions.get(agents[2]?.session ?? "");
assert.equal(turns, 2);
// An agent does not see the messages of other agents.
assert.ok(!JSON.stringify(messages).includes("Knots and splices"));

const { ledger } = await runtime.sessions.usage("knots");
const callsOf = (source: string): number =>
  ledger.filter((row) => row.source === source).reduce((sum, row) => sum + row.calls, 0);
console.log(`model calls: ${callsOf("turn")} of its own, ${callsOf("subagent/reader")} of its readers`);
assert.deepEqual([callsOf("turn"), callsOf("subagent/reader")], [3, 7]);
