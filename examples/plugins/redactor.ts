// Removes card numbers from streamed and stored text, also if a number arrives in pieces.
import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";

const CARD = /\b\d(?:[ -]?\d){12,18}\b/g;
const PARTIAL = /\d(?:[ -]?\d)*[ -]?$/; // These last digits can be the start of a card number.

export const redactor = definePlugin({
  id: "example/redactor",
  order: "late",
  setup: () => {
    // A session runs one stream at a time, so a variable can hold the incomplete text.
    let held = { text: "", reasoning: "" };
    let rest = held;
    return {
      stream: ({ chunk: { kind, delta } }) => {
        const text = held[kind] + delta;
        const end = text.match(PARTIAL)?.index ?? text.length;
        held[kind] = text.slice(end);
        return { delta: text.slice(0, end).replace(CARD, "[card]") };
      },
      streamFinished: ({ reason }) => {
        rest = reason === "complete" ? held : { text: "", reasoning: "" };
        held = { text: "", reasoning: "" };
      },
      // `response` can run again, so it reads `rest` and does not change it.
      response: ({ reply: { parts } }) => ({
        parts: [
          ...parts,
          ...(["reasoning", "text"] as const).flatMap((kind) =>
            rest[kind] === "" ? [] : [{ kind, text: rest[kind].replace(CARD, "[card]") }],
          ),
        ],
      }),
    };
  },
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const model = scripted(
  says("Card 4111 1", "111 1111 ", "1111, room 4", "2"),
  says("Pay with ", "5500000000000", "004"),
);
await using runtime = await createRuntime({ store: memory(), model, plugins: [redactor] });
const session = await runtime.session();
const answers: string[] = [];
for (const words of ["Where am I?", "And now?"]) {
  const turn = session.turn(words);
  for await (const event of turn) if (event.kind === "text") assert.doesNotMatch(event.delta, /\d{3}/);
  const { outcome } = await turn.result();
  if (outcome.kind === "answered") answers.push(outcome.text);
}
assert.deepEqual(answers, ["Card [card], room 42", "Pay with [card]"]);
assert.doesNotMatch(JSON.stringify(await session.read()), /4111|5500/);
