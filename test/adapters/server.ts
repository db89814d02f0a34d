/**
 * A server that a test kills: `node server.ts <database> <port> [<script of a page>]`, with all adapters. `Count` calls a tool and counts up,
 * a word at a time. `Pay` thinks, speaks and asks before it pays.
 */
import { readFileSync } from "node:fs";
import { setTimeout as passed } from "node:timers/promises";
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { serve } from "bowline/server";
import { uiStream } from "bowline/server/ui-stream";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, thinks } from "bowline/testing";

const [path = "", port = "", script] = process.argv.slice(2);

interface Read {
  readonly role: string;
  readonly parts: readonly { readonly kind: string; readonly text?: string }[];
}

const model = {
  id: "counter",
  modelId: "test",
  async *stream({ messages }: { readonly messages: readonly Read[] }) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const words = messages[asked]?.parts[0]?.text ?? "";
    const isFirst = asked === messages.length - 1;
    if (words.startsWith("Pay")) {
      if (isFirst) return yield* thinks("Is it dear? ", both(says("I ", "ask."), calls("pay", { euros: 5 })));
      return yield* says("I ", "asked.");
    }
    if (isFirst) return yield* calls("work");
    for (let nth = 0; nth < 60; nth++) {
      yield { kind: "text", delta: `${nth} ` } as const;
      await passed(words.includes("slowly") ? 100 : 10);
    }
    yield* says().slice(-1);
  },
};

const work = defineTool({
  name: "work",
  description: "Works.",
  input: { type: "object" },
  execute: () => ({ worked: [1, 2] }),
});
const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
const ask = { tool: "pay", verdict: "ask", reason: "It moves money." } as const;
const runtime = await createRuntime({
  ...{ store: sqlite(path), model, tools: [work, pay], plugins: [approvals({ rules: [ask] })] },
});
const html = `<!doctype html><title>Chat</title><link rel="icon" href="data:,"><div id="app"></div><script type="module" src="/page.js"></script>`;
const page =
  script === undefined
    ? {}
    : {
        "/": { type: "text/html", body: html },
        "/page.js": { type: "text/javascript", body: readFileSync(script, "utf8") },
      };
const server = serve(runtime, { token: "0123456789abcdef", adapters: [uiStream()], page });
const { url } = await server.listen({ port: Number(port) });
process.stdout.write(`${url}\n`);
