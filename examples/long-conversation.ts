// A conversation of 200 turns with a model whose window has 2,000 tokens. When the window fills up, a summary replaces
// older messages. At the end the model still has the facts that the user gave at the start. The model here is a
// program. It throws an error if a request is too long.
import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { rollingHistory } from "bowline/plugins/rolling-history";
import { type ModelPart, type ModelRequest, type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";

const WINDOW = 2_000;
const sizes: number[] = [];

const textOf = ({ messages }: Pick<ModelRequest, "messages">): string =>
  messages.map(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text : "")).join("\n")).join("\n");

function replyTo(request: ModelRequest): string {
  const text = textOf(request);
  const facts = [...new Set(text.match(/my \w+ is \w+/g))];
  if (request.system.startsWith("You write a summary")) return `The user said: ${facts.join("; ")}.`;
  return text.endsWith("What do you know of me?") ? `I know that ${facts.join(", and that ")}.` : "I see.";
}

const model: Provider = {
  id: "strict",
  modelId: "small",
  async *stream(request): AsyncIterable<ModelPart> {
    const tokens = Math.ceil((request.system.length + textOf(request).length) / 4);
    if (tokens > WINDOW) throw new ProviderFailure({ class: "context-overflow", message: `${tokens} are too many.` });
    sizes.push(tokens);
    const usage = { input: tokens, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, unknownCalls: 0 };
    yield { kind: "text", delta: replyTo(request) };
    yield { kind: "finish", reason: "stop", usage };
  },
};

await using runtime = await createRuntime({
  store: memory(),
  model,
  plugins: [rollingHistory({ window: WINDOW, reserve: 500, tail: 300 })],
});
const session = await runtime.session("for-ever");

await session.turn("Remember: my boat is Nellie, and my port is Oslo.").result();
for (let day = 2; day < 200; day++) {
  const { outcome } = await session.turn(`Day ${day}: ${"wind and waves, ".repeat(8)}and nothing else.`).result();
  assert.equal(outcome.kind, "answered");
}
const { outcome } = await session.turn("What do you know of me?").result();
assert.equal(outcome.kind === "answered" && outcome.text, "I know that my boat is Nellie, and that my port is Oslo.");

const nodes = await session.history({ max: 10_000 });
const frames = nodes.filter(({ kind }) => kind === "frame").length;
const { tokens, share } = await session.query(rollingHistory, "measure");
const { messages, ledger, turns } = await session.read();
const row = ledger.find(({ source }) => source === "compaction");
console.log(
  `${turns} turns in ${frames + 1} frames; ${messages.length} messages in the last one, about ${tokens} tokens`,
);
console.log(
  `largest request: ${Math.max(...sizes)} of ${WINDOW} tokens; summaries: ${row?.calls}, ${row?.usage.input} tokens`,
);
assert.equal(turns, 200);
assert.ok(frames > 5 && share < 1 && Math.max(...sizes) <= WINDOW);
// Older frames stay readable.
assert.ok(nodes.some((node) => node.kind === "message" && JSON.stringify(node.message.parts).includes("Day 2:")));
