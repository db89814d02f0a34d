// A chat page for a browser, without a framework: `serve(runtime, { page: await chatPage() })`.
import { readdir, readFile } from "node:fs/promises";
import { CHAT_SCRIPT } from "./chat-script.ts";
import { CHAT_STYLE } from "./chat-style.ts";
import type { Page } from "./options.ts";

type File = Page[`/${string}`];
const script = (body: string): File => ({ type: "text/javascript; charset=utf-8", body });

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Bowline</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/chat.css">
<script type="module" src="/chat.js"></script>
</head>
<body>
<header>
<button id="menu" type="button" aria-controls="sessions" aria-expanded="false">Sessions</button>
<h1>Bowline</h1>
<p id="status" role="status"></p>
</header>
<nav id="sessions" aria-label="Sessions">
<button id="new" type="button">New session</button>
<ul id="list"></ul>
</nav>
<main>
<div id="talk" role="log" aria-label="Conversation" tabindex="0"></div>
<form id="login" hidden>
<label for="token">Token of the server</label>
<input id="token" type="password" autocomplete="off" required>
<button>Log in</button>
</form>
<form id="say">
<label for="words">Message</label>
<textarea id="words" rows="2" placeholder="Enter sends, Shift+Enter begins a new line"></textarea>
<button>Send</button>
<button id="cancel" type="button" hidden>Cancel</button>
</form>
</main>
</body>
</html>
`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" stroke="#4d86c4" stroke-width="2.5" d="M3 14V6a5 5 0 0 1 10 0c0 3-3 5-5 3s0-5 3-4"/></svg>`;

/** The files of the page: `/`, its script and style, and the client as a module. */
export async function chatPage(): Promise<Page> {
  return {
    "/": { type: "text/html; charset=utf-8", body: HTML },
    "/chat.js": script(CHAT_SCRIPT),
    "/chat.css": { type: "text/css; charset=utf-8", body: CHAT_STYLE },
    "/favicon.svg": { type: "image/svg+xml", body: ICON },
    ...(import.meta.url.endsWith(".ts") ? await clientFromSources() : await clientBuilt()),
  };
}

/** The build puts the client beside the folder of this file. */
const CLIENT = new URL("../client/", import.meta.url);

async function clientBuilt(): Promise<Page> {
  return { "/client.js": script(await readFile(new URL("index.js", CLIENT), "utf8")) };
}

async function clientFromSources(): Promise<Page> {
  const { stripTypeScriptTypes } = await import("node:module");
  const names = (await readdir(CLIENT)).filter((name) => name.endsWith(".ts"));
  const files = names.map(async (name): Promise<[string, File]> => {
    const isEntry = name === "index.ts";
    const code = stripTypeScriptTypes(await readFile(new URL(name, CLIENT), "utf8"));
    const body = code.replace(/(from "\.\/)(\w+)\.ts"/g, isEntry ? '$1client/$2.js"' : '$1$2.js"');
    return [isEntry ? "/client.js" : `/client/${name.replace(/ts$/, "js")}`, script(body)];
  });
  return Object.fromEntries(await Promise.all(files));
}
