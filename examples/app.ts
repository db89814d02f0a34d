// An agent of your own for the command line: `bowline chat --app examples/app.ts`. On a terminal, change this file and
// save it: the next answer comes from the new version, in the same conversation. The demo model keeps it offline.
import { createRuntime, defineTool } from "bowline";
import { demo } from "bowline/providers/demo";
import { sqlite } from "bowline/stores/sqlite";

const clock = defineTool({
  name: "clock",
  description: "The time on the ship.",
  input: { type: "object" },
  execute: () => "eight bells",
});

export default () => createRuntime({ store: sqlite("app.db"), model: demo(), tools: [clock] });
