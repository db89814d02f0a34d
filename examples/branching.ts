// Forks a conversation at an answer, labels both branches, compares them, and deletes one. An observer reads all facts
// of a branch.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, type Node } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const book = defineTool({
  name: "book",
  description: "Books a train.",
  input: z.object({ to: z.string() }),
  execute: ({ to }) => `A seat to ${to}.`,
});
/** Counts bookings. A fork gets a copy of the state, so each branch counts separately. */
const bookings = definePlugin({
  id: "example/bookings",
  state: z.object({ trains: z.number().default(0) }),
  setup: ({ query }) => ({
    afterToolCall: ({ state }) => state.update(({ trains }) => ({ trains: trains + 1 })),
    operations: { trains: query({ run: ({ state }) => state.get().trains }) },
  }),
});
const model = scripted(
  says("North or south?"),
  calls("book", { to: "Oslo" }),
  says("Oslo it is."),
  calls("book", { to: "Rome" }),
  calls("book", { to: "Naples" }),
  says("Rome, then Naples."),
);
await using runtime = await createRuntime({ store: memory(), model, tools: [book], plugins: [bookings] });

const north = await runtime.session("trip", { config: { label: "North" } });
await north.turn("Plan a trip.").result();
const { head } = await north.read(); // The node to fork at, after the model's question.
await north.turn("North.").result();

// Both branches share the history before the node. The fork copies the plugin states at the node. Later turns are
// separate.
const south = await north.fork({ at: head!, label: "South" });
await south.turn("South.").result();
assert.equal(await north.query(bookings, "trains"), 1);
assert.equal(await south.query(bookings, "trains"), 2);

const words = (nodes: readonly Node[]) =>
  nodes.flatMap((node) =>
    node.kind === "message" ? node.message.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
  );
const { common, ours, theirs } = await runtime.sessions.compare(north.id, south.id);
console.log({ common, ours: words(ours), theirs: words(theirs) });
assert.equal(common, head);
assert.deepEqual(words(ours), ["North.", "Oslo it is."]);
assert.deepEqual(words(theirs), ["South.", "Rome, then Naples."]);

// Without a cursor, an observer gets all facts from the start. With the cursor of a fact, it gets all later facts.
const seen: string[] = [];
for await (const event of south.observe({ signal: AbortSignal.timeout(5_000) })) {
  if (!event.fact) continue;
  seen.push(event.kind === "committed" ? `committed by ${event.by}` : event.kind);
  if (event.kind === "committed" && event.by === "turn") break;
}
assert.deepEqual(seen, ["accepted", "committed by turn"]);

// The trip goes south. Deleting the other branch keeps the history that both branches share.
await runtime.sessions.delete(north.id);
const branches = await runtime.sessions.list({ origin: "trip" });
console.log(branches.map(({ id, label, origin }) => ({ id, label, origin })));
assert.deepEqual(
  branches.map(({ label }) => label),
  ["South"],
);
assert.deepEqual(words(await south.history()).at(-1), "Plan a trip.");
