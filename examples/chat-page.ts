// A chat page of 60 lines without a framework. The browser shows each answer live, and you can reload the page at any
// time.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRuntime } from "bowline";
import { demo } from "bowline/providers/demo";
import { serve } from "bowline/server";
import { memory } from "bowline/stores/memory";

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8"><title>Chat</title>
<script type="module" src="/chat.js"></script>
<main id="talk" aria-live="polite"></main>
<form id="form"><input id="words" aria-label="Message" autocomplete="off"><button>Send</button></form>
</html>`;

const SCRIPT = `
import { createClient } from "/client.js";
const client = createClient({ url: location.origin });
const [talk, form, words] = ["talk", "form", "words"].map((id) => document.getElementById(id));
await client.sessions.create({ id: "chat", ifExists: "take" });

const textIn = (parts) => parts.filter(({ kind }) => kind === "text").map(({ text }) => text).join("");
function draw({ read, turns }) {
  const said = read.messages.filter(({ role }) => role !== "tool").map(({ role, parts }) => [role, textIn(parts)]);
  const now = turns.filter(({ kind }) => kind === "running").map(({ parts }) => ["assistant", textIn(parts)]);
  talk.replaceChildren(...[...said, ...now].map(([role, text]) => {
    const line = document.createElement("p");
    line.textContent = role + ": " + text; // Never as HTML, because a model writes this text.
    return line;
  }));
}
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = words.value;
  words.value = "";
  await client.send("chat", text);
});
for await (const view of client.view("chat")) draw(view);
`;

const script = (body: string) => ({ type: "text/javascript; charset=utf-8", body });
await using runtime = await createRuntime({ store: memory(), model: demo() });
const server = serve(runtime, {
  page: {
    "/": { type: "text/html; charset=utf-8", body: HTML },
    "/chat.js": script(SCRIPT),
    "/client.js": script(readFileSync(new URL(import.meta.resolve("bowline/client")), "utf8")),
  },
});
const { url, close } = await server.listen({ port: 0 });
console.log(`Open ${url}`);
if (process.env.BOWLINE_QUICK === undefined) await runtime.run(); // Runs until Ctrl-C.

const page = await fetch(url);
assert.match(page.headers.get("content-security-policy") ?? "", /script-src 'self'/);
assert.match(await page.text(), /chat\.js/);
await close();
