// One conversation that goes on in two ways: forked at an answer, told apart by labels, compared; one of them is kept.
// Whoever watches sees it all, and can come back where they left.
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
/** Its state goes with the branch: each has booked its own. */
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
const { head } = await north.read(); // After the question.
await north.turn("North.").result();

// What is before the node is shared and never copied; states are those of then; what comes after is each one's own.
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

// Facts since a cursor, for one who was away: here since the beginning.
const seen: string[] = [];
for await (const event of south.observe({ signal: AbortSignal.timeout(5_000) })) {
  if (!event.fact) continue;
  seen.push(event.kind === "committed" ? `committed by ${event.by}` : event.kind);
  if (event.kind === "committed" && event.by === "turn") break;
}
assert.deepEqual(seen, ["accepted", "committed by turn"]);

// The south is taken. What it shares with the other stays.
await runtime.sessions.delete(north.id);
const branches = await runtime.sessions.list({ origin: "trip" });
console.log(branches.map(({ id, label, origin }) => ({ id, label, origin })));
assert.deepEqual(
  branches.map(({ label }) => label),
  ["South"],
);
assert.deepEqual(words(await south.history()).at(-1), "Plan a trip.");
