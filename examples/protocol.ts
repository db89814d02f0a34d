// A custom protocol for a model that gets and writes only text. A reply has lines `DO tool {…}`, or `DONE answer`. The
// verb `DO` is an option of the session. An app can limit the calls of one turn. A conversation that is too long
// continues in a new frame. Runs offline: a scripted model replaces a real model.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { definePlugin, extension, type Part, type ProtocolDriver, point, type ToolCall } from "bowline/protocol";
import { memory } from "bowline/stores/memory";
import { protocolLaws, says, scripted } from "bowline/testing";
import { z } from "zod";

/** A value for one turn: how many calls the model can make. */
const allowance = extension("example/allowance", z.object({ calls: z.number().int().min(0) }));
/** Other plugins add places here, and the prompt contains them. */
const items = point<string>("example/items");

const instructions = (verb: string, tools: readonly { name: string }[]) =>
  `Reply with lines ${verb} tool {arguments as JSON}, or with DONE and the answer. Tools: ${tools.map(({ name }) => name).join(", ")}.`;
const textOf = (parts: readonly Part[]) => parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
const note = (text: string) =>
  ({ role: "user", parts: [{ kind: "text", text }], origin: { kind: "runtime" } }) as const;

// The driver is pure. It gets everything as data: the options, the turn's extensions, and the memo of its last answer.
const driver: ProtocolDriver = {
  id: "example/list",
  version: 1,
  request: ({ system, messages, settings }) => ({ system, messages, tools: [], settings }),
  onReply(view, { parts }) {
    const { verb } = (view.options ?? { verb: "DO" }) as { verb: string };
    const said = textOf(parts).trim();
    if (said.startsWith("DONE ")) return { kind: "finish", value: said.slice(5) };
    try {
      const calls = said.split("\n").map((line, index) => {
        const [first, name = "", ...rest] = line.split(" ");
        if (first !== verb) throw new Error(`A line begins with ${verb} or DONE.`);
        const id = `item_${view.round}_${index}` as ToolCall["id"];
        return { at: String(index), call: { id, name, input: JSON.parse(rest.join(" ")) } };
      });
      const made = Number(view.memo ?? 0) + calls.length;
      const { calls: max } = (view.extensions?.[allowance.id] ?? { calls: Infinity }) as { calls: number };
      if (made > max) return { kind: "retry", add: [note(`Calls that you may make: ${max}.`)] };
      return { kind: "calls", calls, memo: made };
    } catch (error) {
      return { kind: "retry", add: [note(String(error))] };
    }
  },
  onResults: (_view, _reply, results) => ({ kind: "ask", add: results.map(({ parts }) => note(textOf(parts))) }),
  onExec: () => ({ kind: "ask" }), // This protocol runs no cells.
};
for (const { check } of protocolLaws) check(driver); // In a test file: test(law, () => check(driver)).

const list = definePlugin({
  id: "example/list",
  options: z.object({ verb: z.string().default("DO"), messagesMax: z.number().default(100) }),
  setup: ({ options: { verb, messagesMax } }) => ({
    extensions: [allowance],
    protocolSession: {
      configure: ({ options }) => options.setAll({ verb }),
      // The new frame starts with only this task, so the task must contain all that the model needs.
      beforeAsk: ({ state: { messages } }) =>
        messages.length > messagesMax
          ? { task: `It was a long day. Go on with: ${textOf(messages.at(-1)?.parts ?? [])}`, name: "evening" }
          : undefined,
    },
    protocolDriver: {
      driver,
      preamble: ({ tools, read }) => ({
        tools: [], // The prompt describes the tools, so the provider gets none.
        prompt: [{ slot: "execution", text: `${instructions(verb, tools)} Never forget: ${read(items).join(", ")}.` }],
      }),
    },
  }),
});
const house = definePlugin({ id: "example/house", setup: () => ({ contributions: [items.of("the stairs")] }) });

const sweep = defineTool({
  name: "sweep",
  description: "Sweeps a room.",
  input: z.object({ room: z.string() }),
  execute: ({ room }) => `The ${room} is clean.`,
});
const model = scripted(
  says('DO sweep {"room": "hall"}\nDO sweep {"room": "stairs"}'),
  says("DONE Hall and stairs."),
  says('DO sweep {"room": "hall"}\nDO sweep {"room": "attic"}'), // Too many calls: the model must try again.
  says('DO sweep {"room": "hall"}'),
  says("DONE Only the hall."),
  says('RUN sweep {"room": "cellar"}'),
  says("DONE The cellar."),
);
await using runtime = await createRuntime({ store: memory(), model, tools: [sweep], plugins: [list, house] });
const monday = await runtime.session("monday");

const first = await monday.turn("Clean the house.").result();
console.log(model.requests[0]?.system);
assert.equal(first.outcome.kind === "finished" && first.outcome.value, "Hall and stairs.");

const hurried = await monday.turn("Again, quickly.", { extensions: [allowance.of({ calls: 1 })] }).result();
console.log("monday:", hurried.outcome);
assert.match(JSON.stringify(model.requests[3]?.messages.at(-1)), /Calls that you may make: 1/);
assert.equal(hurried.outcome.kind === "finished" && hurried.outcome.value, "Only the hall.");

// The fork has other options. Its conversation has more than 10 messages, so it continues in a new frame.
const tuesday = await monday.fork({ plugins: [list.options({ verb: "RUN", messagesMax: 10 })] });
const { outcome } = await tuesday.turn("And the cellar?").result();
console.log("tuesday:", outcome);
assert.equal(outcome.kind === "finished" && outcome.value, "The cellar.");
const frames = (await tuesday.history()).flatMap((node) => (node.kind === "frame" ? [node.name] : []));
assert.deepEqual(frames, ["evening"]);
assert.match(JSON.stringify(model.requests[5]), /RUN tool.*Go on with: And the cellar/);
