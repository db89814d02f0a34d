// A user writes while the agent works. A message reaches the running turn at its next boundary, or it waits for a
// separate turn. The app can list, edit and withdraw waiting messages. It can follow or cancel a turn by its id.
import assert from "node:assert/strict";
import { createRuntime, defineTool, type Message, type Session } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";

let booking = ""; // The id of the turn that books the hotel.
// What the user does during the first, second and third search.
const meanwhile: ((session: Session) => Promise<unknown>)[] = [
  async (session) => {
    await session.send("Only with a garden, please."); // Joins the running turn.
    await session.send("Book the first one.", { at: "next-turn", key: "booking" });
  },
  async (session) => {
    console.log(
      "waiting:",
      (await session.inputs.list()).map(({ at, text }) => `${text} (${at})`),
    );
    await session.inputs.cancel({ key: "booking" }); // To edit a message, withdraw it and send it again.
    booking = (await session.send("Book the cheapest one.", { at: "next-turn", key: "booking" })).turnId;
    await session.send("And write to my boss.", { at: "next-turn", key: "boss" });
    await session.inputs.cancel({ key: "boss" });
  },
  (session) => session.current()?.cancel("I have found one myself.") ?? Promise.resolve(),
];

const search = defineTool({
  name: "search",
  description: "Searches for hotels.",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: async ({ city }) => {
    await meanwhile.shift()?.(session);
    return `Three hotels in ${city}.`;
  },
});

const lastOf = (messages: readonly Message[]): string =>
  messages
    .at(-1)
    ?.parts.map((part) => (part.kind === "text" ? part.text : ""))
    .join("") ?? "";
const model = scripted(
  calls("search", { city: "Oslo" }),
  ({ messages }) => (lastOf(messages).includes("garden") ? calls("search", { city: "Oslo, gardens" }) : says("Three.")),
  says("Two of them have a garden."),
  ({ messages }) => says(`Booked. (You said: ${lastOf(messages)})`),
  calls("search", { city: "Rome" }),
);
await using runtime = await createRuntime({ store: memory(), model, tools: [search] });
const session = await runtime.session("trip-42");

const turn = session.turn("Find a hotel in Oslo.");
for await (const event of turn) {
  if (event.kind === "toolStarted") console.log("searching:", event.call.input);
  if (event.kind === "text") console.log("agent:", event.delta);
}

// The booking waited for the first turn. Any process can follow a turn by its id.
const { outcome: booked } = await session.follow(booking).result();
console.log("agent:", booked.kind === "answered" ? booked.text : booked.kind);

const { outcome: cancelled } = await session.turn("And one in Rome.").result();
console.log("cancelled:", cancelled.kind === "stopped" ? cancelled.reason : cancelled.kind);

const said = (await session.read()).messages.filter(({ role }) => role === "user").map((message) => lastOf([message]));
assert.deepEqual(said, [
  "Find a hotel in Oslo.",
  "Only with a garden, please.",
  "Book the cheapest one.",
  "And one in Rome.",
]);
assert.equal(booked.kind === "answered" && booked.text, "Booked. (You said: Book the cheapest one.)");
assert.equal(cancelled.kind === "stopped" && cancelled.by, "cancel");
