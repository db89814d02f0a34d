// One conversation that goes on in two ways: forked at an answer, told apart by labels, compared; then one is deleted.
// An observer sees all commits, and can come back to where it left.
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
/** Counts bookings. A fork gets a copy of the state, so each branch counts its own. */
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
const { head } = await north.read(); // The place to fork at, after the model's question.
await north.turn("North.").result();

// History before the node is shared and not copied. Plugin states are those at the node. What comes after is separate.
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

// An observer that was away gets all facts since its cursor; without a cursor, from the beginning.
const seen: string[] = [];
for await (const event of south.observe({ signal: AbortSignal.timeout(5_000) })) {
  if (!event.fact) continue;
  seen.push(event.kind === "committed" ? `committed by ${event.by}` : event.kind);
  if (event.kind === "committed" && event.by === "turn") break;
}
assert.deepEqual(seen, ["accepted", "committed by turn"]);

// The trip goes south. Deleting the other branch leaves the history that both share.
await runtime.sessions.delete(north.id);
const branches = await runtime.sessions.list({ origin: "trip" });
console.log(branches.map(({ id, label, origin }) => ({ id, label, origin })));
assert.deepEqual(
  branches.map(({ label }) => label),
  ["South"],
);
assert.deepEqual(words(await south.history()).at(-1), "Plan a trip.");
