// The files of the chat page, and its script in a stand-in for a browser, against a real server.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ends, says } from "bowline/testing";
import { expect, test } from "vitest";
import { chatPage } from "../../src/server/chat-page.ts";
import type { Page } from "../../src/server/options.ts";
import { builtPackage } from "../kit/built.ts";
import { eventually, passed } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { Browser } from "./browser.ts";
import { type Served, served, TOKEN } from "./serving.ts";
import { world } from "./world.ts";

const bodyOf = (page: Page, path: `/${string}`): string => String(page[path]?.body);
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

/** The modules of a page as files, so that Node imports them as a browser would. */
function written(page: Page): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-page-"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  for (const [path, { body }] of Object.entries(page)) {
    if (!path.endsWith(".js")) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), body);
  }
  return pathToFileURL(join(folder, "client.js")).href;
}

async function opened(server: Served, hash = "", headers: Record<string, string> = AUTHORIZED): Promise<Browser> {
  const page = await chatPage();
  const browser = new Browser(server.url, bodyOf(page, "/"), hash);
  browser.run(bodyOf(page, "/chat.js"), headers);
  return browser;
}

test("E2 E5 the page has no inline script or style, a label for each field, and modules that a browser can load", async () => {
  const page = await chatPage();
  const html = bodyOf(page, "/");
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)|\sstyle=|\son\w+=|https?:/);
  for (const [, id] of html.matchAll(/<(?:textarea|input)[^>]* id="(\w+)"/g)) expect(html).toContain(`for="${id}"`);
  for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g)) expect(Object.keys(page)).toContain(path);
  expect(bodyOf(page, "/chat.js")).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|eval\(/);
  const client = (await import(written(page))) as typeof import("bowline/client");
  await using server = await served(undefined, { page });
  for (const [path, { type, body }] of Object.entries(page)) {
    const response = await fetch(server.url + path);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(await response.text()).toBe(body);
  }
  expect(await client.createClient({ url: server.url, token: TOKEN }).sessions.list()).toEqual([]);
});

test("E2 E5 the built page has the client in one file", async () => {
  const built = pathToFileURL(join(await builtPackage(), "dist/server/index.js"));
  const client = await import(new URL("../client/index.js", built).href);
  expect(Object.keys(client)).toContain("createClient");
}, 60_000);

test("E2 E5 the first message makes a session; it is shown live, and stays after a reload", async () => {
  const slow = { id: "slow", modelId: "test", stream: streamOf(["Hel", "lo <b>", "there</b>."]) };
  await using server = await served(await running({ model: slow }));
  const browser = await opened(server);
  browser.say("Hi <img src=x>");
  await eventually(() => browser.shown().includes("assistant: Hel") || undefined);
  expect(browser.get("status").textContent).toBe("Working …");
  expect(browser.get("cancel").hidden).toBe(false);
  await eventually(() => browser.get("status").textContent === "");
  expect(browser.shown()).toEqual(["user: Hi <img src=x>", "assistant: Hello <b>there</b>."]);
  expect(browser.get("words").value).toBe("");
  const id = decodeURIComponent(browser.location.hash.slice(1));
  await eventually(() => browser.get("list").textContent.includes("Hello"));
  const again = await opened(server, `#${id}`);
  await eventually(() => again.shown().length === 2);
  expect(again.shown()).toEqual(browser.shown());
  browser.hide(true);
  await server.client.send(id, "Meanwhile");
  await passed(300);
  expect(browser.shown()).toHaveLength(2);
  browser.hide(false);
  await eventually(() => browser.shown().length === 4);
  for (const each of [browser, again]) each.hide(true);
});

test("E2 E5 thoughts and calls are folded, and buttons answer what the turn and its children wait for", async () => {
  await using server = await served(await running(world(() => passed(5))));
  const browser = await opened(server, "#s");
  await passed(50);
  browser.say("Go");
  await eventually(() => browser.shown().some((each) => each.startsWith("wait: It moves money.")));
  await eventually(() => browser.get("status").textContent === "Waiting for your answer.");
  await eventually(() =>
    /reasoning: ThoughtsHm\.[\s\S]*call \w+: work: (?:ok|returned)[\s\S]*half/.test(browser.shown().join("\n")),
  );
  expect(browser.click("Deny")).toBe(true);
  await eventually(() => browser.click("Approve") || undefined); // The child asks.
  await eventually(() => browser.get("status").textContent === "");
  const shown = browser.shown().join("\n");
  expect(shown).toContain("call denied: pay: denied");
  expect(shown).toMatch(/assistant: All done\.$/);
  expect(shown).not.toContain("wait:");
  browser.hide(true);
});

test("E2 E5 the reason of a failed turn is shown, also after a reload; a running turn is cancelled", async () => {
  let times = 0;
  const model = {
    id: "odd",
    modelId: "test",
    async *stream() {
      if (times++ === 0) return yield* ends("refused", "No.");
      yield { kind: "text", delta: "Wait" } as const;
      await passed(2_000);
      yield* says(".");
    },
  };
  await using server = await served(await running({ model }));
  const browser = await opened(server, "#s");
  await passed(50);
  browser.say("Hi");
  const isFailed = (each: string) => each.startsWith("failed: ");
  await eventually(() => browser.shown().some(isFailed));
  const again = await opened(server, "#s");
  await eventually(() => again.shown().some(isFailed));
  expect(again.shown()).toEqual(browser.shown());
  browser.say("Again");
  await eventually(() => !browser.get("cancel").hidden);
  browser.get("cancel").fire("click");
  await eventually(() => browser.shown().at(-1)?.includes("The user cancelled."));
  for (const each of [browser, again]) each.hide(true);
});

test("E2 E5 the page shows that its server restarts, and continues; without a token it asks for one", async () => {
  const runtime = await running();
  const first = await served(runtime);
  await first.client.sessions.create({ id: "s" });
  const browser = await opened(first, "#s");
  await passed(100);
  const closing = first.close();
  await eventually(() => browser.get("status").textContent.startsWith("Not connected"));
  await closing;
  await using second = await served(runtime, {}, Number(new URL(first.url).port));
  await eventually(() => browser.get("status").textContent === "");
  browser.say("Still there?");
  await eventually(() => browser.shown().length === 2);
  browser.hide(true);
  const stranger = await opened(second, "#s", {});
  await eventually(() => !stranger.get("login").hidden);
  stranger.get("token").value = TOKEN;
  stranger.get("login").fire("submit");
  await eventually(() => stranger.shown().length === 2);
  expect(stranger.get("token").value).toBe("");
  stranger.hide(true);
});

function streamOf(words: readonly string[]) {
  return async function* () {
    for (const delta of words) {
      yield { kind: "text", delta } as const;
      await passed(100);
    }
    yield* says().slice(-1);
  };
}
