// A client shows a session of a remote runtime. A small server sends the session's events over SSE, and the client
// folds them into a view. The client loses its connection during a turn, reconnects, and shows the same view.
// `bowline/client` also runs in a browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRuntime, defineTool, type SessionEvent, type SessionView } from "bowline";
import { type ClientView, fold, rejoined } from "bowline/client";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";

// ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────

const baked = Promise.withResolvers<void>();
const oven = defineTool({
  name: "oven",
  description: "Bakes a cake.",
  input: { type: "object" },
  execute: async (_, { output, progress }) => {
    output("The oven is hot.\n");
    progress({ percent: 50 });
    await baked.promise; // Wait until the client has disconnected.
    return "A cake.";
  },
});
const model = scripted(calls("oven"), says("The cake ", "is ready."));
await using runtime = await createRuntime({ store: memory(), model, tools: [oven] });
const session = await runtime.session("kitchen");

const server = createServer(async (request, response) => {
  if (request.url === "/session") return void response.end(JSON.stringify(await session.read()));
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  const after = request.headers["last-event-id"];
  for await (const event of session.observe({ after: after?.toString(), signal: gone.signal })) {
    const id = event.fact ? `id: ${event.cursor}\n` : ""; // Only facts have a cursor. A reconnect starts after it.
    response.write(`${id}data: ${JSON.stringify(event)}\n\n`);
  }
});
await once(server.listen(0), "listening");
const url = `http://localhost:${(server.address() as AddressInfo).port}`;

// ── The client ──────────────────────────────────────────────────────────────────────────────────────────────────────

const read = async (): Promise<SessionView> => (await fetch(`${url}/session`)).json() as Promise<SessionView>;

/** The events of one connection. In a browser, use an EventSource. */
async function* eventsAfter(cursor: string | undefined): AsyncGenerator<SessionEvent> {
  const { body } = await fetch(url, { headers: cursor === undefined ? {} : { "last-event-id": cursor } });
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = `${text}${chunk}`.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) yield JSON.parse(block.slice(block.indexOf("data: ") + 6)) as SessionEvent;
  }
}

/** Shows the session until `isEnough` returns true. `rejoined` drops the previews, because the server sends them again. */
async function show(view: ClientView | undefined, isEnough: (now: ClientView) => boolean): Promise<ClientView> {
  let now = view === undefined ? fold(undefined, await read()) : rejoined(view);
  for await (const event of eventsAfter(now.cursor)) {
    now = fold(now, event);
    if (event.kind === "committed") now = fold(now, await read()); // Replaces the previews of the turn.
    draw(now);
    if (isEnough(now)) break;
  }
  return now;
}

function draw({ turns, read }: ClientView): void {
  const shown = turns.flatMap((turn) =>
    turn.kind === "ended"
      ? [turn.outcome.kind]
      : turn.parts.map((part) =>
          part.kind === "call" ? `${part.name} ${part.state} ${JSON.stringify(part.progress ?? "")}` : part.text,
        ),
  );
  console.log(`${read?.messages.length ?? 0} messages`, shown);
}

const callIn = ({ turns: [turn] }: ClientView) =>
  turn?.kind === "running" ? turn.parts.find((part) => part.kind === "call") : undefined;

await session.send("Bake a cake.");
const left = await show(undefined, (view) => callIn(view)?.printed === "The oven is hot.\n");

baked.resolve();
const final = await show(left, ({ turns, isBehind, read }) => turns.length === 0 && !isBehind && read?.turns === 1);
assert.deepEqual(final.read?.messages.at(-1)?.parts, [{ kind: "text", text: "The cake is ready." }]);
server.closeAllConnections();
server.close();
