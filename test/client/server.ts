/**
 * A server that a test kills: `node server.ts <database> <port> <log>`. Its model counts up, a word at a time; its tool
 * appends a line to the log each time that it runs.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as passed } from "node:timers/promises";
import { createRuntime, defineTool } from "bowline";
import { serve } from "bowline/server";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";

const [path = "", port = "", log = ""] = process.argv.slice(2);

const work = defineTool({
  name: "work",
  description: "Works.",
  input: { type: "object" },
  retry: { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 },
  execute: async (_, { output }) => {
    appendFileSync(log, "work\n");
    for (let nth = 0; nth < 20; nth++) {
      output(`${nth} `);
      await passed(10);
    }
    return "worked";
  },
});

const model = {
  id: "counter",
  modelId: "test",
  async *stream({ messages }: { readonly messages: readonly { readonly role: string }[] }) {
    if (messages.at(-1)?.role === "user") return yield* calls("work");
    for (let nth = 0; nth < 60; nth++) {
      yield { kind: "text", delta: `${nth} ` } as const;
      await passed(10);
    }
    yield* says().slice(-1);
  },
};

const runtime = await createRuntime({ store: sqlite(path), model, tools: [work] });
const { url } = await serve(runtime, { token: "0123456789abcdef" }).listen({ port: Number(port) });
process.stdout.write(`${url}\n`);
