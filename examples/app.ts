// A custom agent for the command line: `bowline chat --app examples/app.ts`. In a terminal, change this file and save
// it. The next answer comes from the new version, in the same conversation. Type "remember to buy rope", and the agent
// asks you before it writes the note. Runs offline with the demo model.
import { appendFileSync, readFileSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";
import { ask, definePlugin } from "bowline/plugin";
import { demo } from "bowline/providers/demo";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";

const clock = defineTool({
  name: "clock",
  description: "The time on the ship.",
  input: { type: "object" },
  execute: () => "eight bells",
});
const log = defineTool({
  name: "notes_add",
  description: "Writes a line into the ship's log and gives its number.",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => {
    appendFileSync("ship.log", `${text}\n`);
    // Returns the text too, because a person can edit it.
    return { number: readFileSync("ship.log", "utf8").split("\n").length - 1, text };
  },
});
const careful = definePlugin({
  id: "example/careful",
  setup: () => ({
    beforeToolCall: ({ call }) => (call.name === log.name ? ask("The log is kept in ink.") : undefined),
  }),
});

export default () => createRuntime({ store: sqlite("app.db"), model: demo(), tools: [clock, log], plugins: [careful] });
