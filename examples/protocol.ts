// A protocol of your own, for a model that knows only text and works a list off: a reply is lines `DO tool {…}`, or `DONE
// answer`. The verb is an option that is kept with the session, a turn may be given an allowance of calls, and a
// conversation that has grown long goes on in a fresh frame. Runs offline: the scripted model stands in for a real one.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { definePlugin, extension, type Part, type ProtocolDriver, point, type ToolCall } from "bowline/protocol";
import { memory } from "bowline/stores/memory";
import { protocolLaws, says, scripted } from "bowline/testing";
import { z } from "zod";

/** Input for one turn: how many calls it may make. */
const allowance = extension("example/allowance", z.object({ calls: z.number().int().min(0) }));
/** What other plugins want to have on every list. */
const items = point<string>("example/items");

const how = (verb: string, tools: readonly { name: string }[]) =>
  `Reply with lines ${verb} tool {arguments as JSON}, or with DONE and the answer. Tools: ${tools.map(({ name }) => name).join(", ")}.`;
const textOf = (parts: readonly Part[]) => parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
const note = (text: string) =>
  ({ role: "user", parts: [{ kind: "text", text }], origin: { kind: "runtime" } }) as const;

// The driver is pure. What it depends on comes to it as data: the options, the turn's extensions, its own memo.
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
  onExec: () => ({ kind: "ask" }), // It decides on no cells.
};
for (const { check } of protocolLaws) check(driver); // In tests: test(law, () => check(driver)).

const list = definePlugin({
  id: "example/list",
  options: z.object({ verb: z.string().default("DO"), messagesMax: z.number().default(100) }),
  setup: ({ options: { verb, messagesMax } }) => ({
    extensions: [allowance],
    protocolSession: {
      configure: ({ options }) => options.setAll({ verb }),
      // The fresh frame begins with the task and nothing else, so the task says all that there is to know.
      beforeAsk: ({ state: { messages } }) =>
        messages.length > messagesMax
          ? { task: `It was a long day. Go on with: ${textOf(messages.at(-1)?.parts ?? [])}`, name: "evening" }
          : undefined,
    },
    protocolDriver: {
      driver,
      preamble: ({ tools, read }) => ({
        tools: [], // Nothing by the provider's own means; the prompt tells of them.
        prompt: [{ slot: "execution", text: `${how(verb, tools)} Never forget: ${read(items).join(", ")}.` }],
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
  says('DO sweep {"room": "hall"}\nDO sweep {"room": "attic"}'), // More than it may: sent back.
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

// A fork has options of its own. Its conversation is too long for them, so it goes on in a fresh frame.
const tuesday = await monday.fork({ plugins: [list.options({ verb: "RUN", messagesMax: 10 })] });
const { outcome } = await tuesday.turn("And the cellar?").result();
console.log("tuesday:", outcome);
assert.equal(outcome.kind === "finished" && outcome.value, "The cellar.");
const frames = (await tuesday.history()).flatMap((node) => (node.kind === "frame" ? [node.name] : []));
assert.deepEqual(frames, ["evening"]);
assert.match(JSON.stringify(model.requests[5]), /RUN tool.*Go on with: And the cellar/);
