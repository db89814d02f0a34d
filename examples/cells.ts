// A model that writes TypeScript. Each reply is a cell that calls tools and keeps its variables. In the second process,
// a cell calls a closure of the first process.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { code } from "bowline/plugins/code";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted } from "bowline/testing";
import { z } from "zod";

/** The protocol: each reply is a cell, and the model then gets the output of the cell. */
const cells = definePlugin({
  id: "example/cells",
  setup: () => ({
    protocolSession: {},
    protocolDriver: {
      preamble: () => ({ tools: [], prompt: [] }),
      driver: {
        id: "example/cells",
        version: 1,
        request: ({ system, messages, tools }) => ({ system, messages, tools }),
        onReply: (_view, { parts }) => {
          const [part] = parts;
          const text = part?.kind === "text" ? part.text : "";
          return { kind: "cell", cell: { language: "typescript", code: text, acceptFinish: true } };
        },
        onResults: () => ({ kind: "ask" }),
        onExec: (_view, _reply, { state: status, finish, parts }) => {
          if (finish !== undefined) return { kind: "finish", value: finish };
          const output = { kind: "codeOutput", status, parts } as const;
          return { kind: "ask", add: [{ role: "user", parts: [output], origin: { kind: "runtime" } }] };
        },
      },
    },
  }),
});

const TEMPERATURES: { readonly [city: string]: number } = { Oslo: 4, Rome: 21, Cairo: 30 };
const weather = defineTool({
  name: "weather",
  description: "Weather now in a city.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: TEMPERATURES[city] ?? 0 }),
});

/** A scripted model. Any AI SDK model works too. */
const model = scripted(
  says(
    "let asked = 0;\nconst ask = async (city: string) => { asked++; return (await tools.weather({ city })).celsius; };",
  ),
  says(
    'const [oslo, rome] = await Promise.all(["Oslo", "Rome"].map(ask));\nprint("Rome:", rome);\nfinish(rome - oslo);',
  ),
  says('await ask("Cairo");\nfinish(asked); // The function and its counter still exist.'),
);

const folder = mkdtempSync(join(tmpdir(), "bowline-cells-"));
const start = () =>
  createRuntime({ store: sqlite(join(folder, "agent.db")), model, tools: [weather], plugins: [cells, code] });

const first = await start();
const { outcome } = await (await first.session("trip")).turn("How much warmer is Rome?").result();
assert.deepEqual(outcome, { kind: "finished", by: "model", value: 17 });
await first.close();

const second = await start(); // Another process, on another day.
const later = await (await second.session("trip")).turn("And how many cities did you ask for?").result();
assert.deepEqual(later.outcome, { kind: "finished", by: "model", value: 3 });
await second.close();
rmSync(folder, { recursive: true });
console.log("Rome is 17 degrees warmer, and the code remembers 3 questions.");
