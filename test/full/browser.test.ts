// The chat page and `EventSource` in a real browser, against `bowline serve` in a process of its own.
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { folder } from "../cli/program.ts";
import { builtArgv } from "../kit/built.ts";
import { freePort } from "../kit/programs.ts";
import {
  addressIn,
  complaints,
  describeBrowser,
  expectComplaints,
  HALF,
  hasStatus,
  IDLE,
  LISTENS,
  ODD_SHOWN,
  person,
  type Served,
  say,
  serving,
  sessionIn,
  shownIn,
  shows,
  textsOf,
  WHOLE,
} from "./browser.ts";
import { CONTRASTS, type Contrasts, type Heard, listenTo, TOO_WIDE, WATCH_TALK } from "./in-page.ts";

let server: Served;
beforeAll(async () => {
  server = await serving();
});
afterEach(() => expect(complaints.splice(0)).toEqual([]));

const heardIn = (page: Page): Promise<readonly Heard[]> => page.evaluate("heard");

// What Chromium itself writes to the console.
const REFUSED = /status of 401/;
const AWAY =
  /net::ERR_(?:CONNECTION_(?:REFUSED|RESET)|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/;

describeBrowser("the login in Chromium", () => {
  test("E2 the address of bowline serve logs a browser in with a cookie, and the address bar loses the token", async () => {
    await using ann = await person();
    const page = await ann.tab(server.login);
    expect(page.url()).toBe(`${server.url}/`);
    const { port } = new URL(server.url);
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({ name: `bowline_${port}`, httpOnly: true, sameSite: "Strict", path: "/" });
    expect(cookie?.value).not.toContain(server.token);
    expect(await page.evaluate("[document.cookie, history.length, document.referrer]")).toEqual(["", 2, ""]);
    await page.getByText("New session").waitFor();
    await hasStatus(page, IDLE);
    expect(await page.locator("#login").isVisible()).toBe(false);
    await page.goBack(); // The page before the login, and not the address with the token.
    expect(page.url()).toBe("about:blank");
  });

  test("E2 a browser without the cookie is asked for the token, and a wrong token is refused", async () => {
    await using ann = await person();
    const page = await ann.tab(server.url);
    await hasStatus(page, "Open the address that the server printed, or enter its token.");
    const field = page.getByLabel("Token of the server");
    await field.fill("wrong-token-of-somebody");
    await field.press("Enter");
    await expect.poll(() => complaints.length).toBe(2);
    await field.fill(server.token);
    await field.press("Enter");
    await say(page, "Pay");
    await page.getByRole("button", { name: "Deny" }).waitFor();
    expectComplaints(REFUSED);
  });
});

describeBrowser("the chat page in Chromium", () => {
  test("E2 npm start -- serve: the demo model of a clone answers in the page", async () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: { start: string } };
    const args = [...scripts.start.split(" ").slice(1), "serve", "--port", "0", "--db", join(folder(), "demo.db")];
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^BOWLINE_|_API_KEY$/.test(name)));
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    try {
      let printed = "";
      for await (const piece of child.stdout.setEncoding("utf8")) if (LISTENS.test((printed += piece))) break;
      await using ann = await person();
      const page = await ann.tab(addressIn(printed).login);
      await say(page, "What is 21*2?");
      await page.locator(".assistant", { hasText: "21*2 = 42." }).waitFor();
      await hasStatus(page, IDLE);
      expect(await shownIn(page)).toEqual([
        "user: What is 21*2?",
        expect.stringMatching(/^call ok: calculator: ok[\s\S]*"21\*2"[\s\S]*→ .*42/),
        "assistant: 21*2 = 42.",
      ]);
      await page.getByRole("link", { name: "21*2 = 42." }).waitFor();
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });

  test("E2 E5 text is shown as it comes and never goes back; a reload in mid-turn and a second tab show the same, once", async () => {
    await using ann = await person();
    const first = await ann.tab(server.login);
    await say(first, "Stream tabs");
    const half = ["user: Stream tabs", `assistant: ${HALF}`];
    await shows(first, half);
    await hasStatus(first, "Working …");
    const id = await sessionIn(first);
    const second = await ann.tab(first.url());
    await shows(second, half);
    await first.reload();
    await shows(first, half);
    await second.evaluate(WATCH_TALK);
    server.open("tabs");
    const whole = ["user: Stream tabs", `assistant: ${WHOLE}`];
    for (const page of [first, second]) {
      await shows(page, whole);
      await hasStatus(page, IDLE);
    }
    const texts = await second.evaluate<readonly string[]>("texts");
    expect(texts.length).toBeGreaterThan(5);
    for (const [at, text] of texts.entries()) expect(text.startsWith(texts[at - 1] ?? "")).toBe(true);
    expect(await textsOf(server, id)).toEqual(whole);
    await first.reload();
    await shows(first, whole);
  });

  test("E2 E5 a person approves a call in one tab, and denies one in another", async () => {
    await using ann = await person();
    const page = await ann.tab(server.login);
    await say(page, "Pay");
    const card = page.getByRole("region", { name: "Waiting for an answer: pay" });
    await card.waitFor();
    await hasStatus(page, "Waiting for your answer.");
    expect(await card.textContent()).toContain("It moves money.");
    // What a call hides from the eye is spelt out.
    expect(await card.textContent()).toContain(String.raw`"to": "b\u{202e}o\u{200b}b"`);
    const other = await ann.tab(page.url());
    await other.getByRole("button", { name: "Approve" }).click();
    const paid = [
      "user: Pay",
      "assistant: I ask first.",
      expect.stringMatching(/^call ok: pay: ok[\s\S]*→ paid$/),
      "assistant: I asked.",
    ];
    for (const each of [page, other]) await shows(each, paid);
    await say(page, "Pay again");
    await page.reload(); // A wait outlives the page that shows it.
    await page.getByRole("button", { name: "Deny" }).click();
    const denied = ["user: Pay again", "assistant: I ask first.", expect.stringMatching(/^call denied: pay: denied/)];
    for (const each of [page, other]) {
      await shows(each, [...paid, ...denied, "assistant: I asked."]);
      await hasStatus(each, IDLE);
    }
  });

  test("E2 E5 the button cancels a turn in mid-stream, and the page shows this also after a reload", async () => {
    await using ann = await person();
    const page = await ann.tab(server.login);
    await say(page, "Stream never");
    await shows(page, ["user: Stream never", `assistant: ${HALF}`]);
    await page.getByRole("button", { name: "Cancel" }).click();
    const cancelled = [
      "user: Stream never",
      `assistant: ${HALF}`,
      "failed: The turn was cancelled: The user cancelled.",
    ];
    await shows(page, cancelled);
    await hasStatus(page, IDLE);
    expect(await page.getByRole("button", { name: "Cancel" }).isVisible()).toBe(false);
    await page.reload();
    await shows(page, cancelled);
  });

  test("E2 E6 markup, control characters and marks that turn text around are shown as text", async () => {
    await using ann = await person();
    const page = await ann.tab(server.login);
    await say(page, "Odd <b>words</b>");
    await shows(page, ["user: Odd <b>words</b>", `assistant: ${ODD_SHOWN}`]);
    await hasStatus(page, IDLE);
    await page.getByRole("link", { name: "<script>hacked" }).first().waitFor();
    expect(await page.locator("#talk, #list").locator("script, img, b").count()).toBe(0);
    expect(await page.evaluate("'hacked' in globalThis")).toBe(false);
  });
});

describeBrowser("the chat page of an example in Chromium", () => {
  test("E2 examples/chat-page.ts, 60 lines, streams an answer and shows it again after a reload", async () => {
    const child = spawn(process.execPath, [...(await builtArgv()), "examples/chat-page.ts"], {
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== "BOWLINE_QUICK")),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    try {
      const [printed] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
      await using ann = await person();
      const page = await ann.tab(printed.replace("Open ", "").trim());
      await page.getByLabel("Message").fill("Hello");
      await page.keyboard.press("Enter");
      const lines = page.locator("#talk p");
      await lines.nth(1).waitFor();
      await expect.poll(() => lines.nth(1).textContent()).toMatch(/^assistant: \S/);
      const shown = await lines.allTextContents();
      await page.reload();
      await lines.nth(1).waitFor();
      expect(await lines.allTextContents()).toEqual(shown);
      expectComplaints(/status of 404/); // The icon that a browser asks for.
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });
});

describeBrowser("the looks of the chat page in Chromium", () => {
  test("E6 at a width of 400 and of 320 px nothing is cut off or needs to be scrolled sideways", async () => {
    await using ann = await person({ viewport: { width: 400, height: 700 } });
    const page = await ann.tab(server.login);
    await say(page, "Long");
    await page.locator(".assistant").waitFor();
    await say(page, "Pay");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.locator("summary").first().click();
    for (const width of [400, 320]) {
      await page.setViewportSize({ width, height: 700 });
      expect(await page.evaluate(TOO_WIDE)).toEqual([]);
    }
    expect(await page.locator("nav").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Sessions" }).click();
    expect(await page.evaluate(TOO_WIDE)).toEqual([]);
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Message").waitFor();
    await shows(page, []);
  });

  test.each(["light", "dark"] as const)("E6 all text can be read in the %s scheme", async (colorScheme) => {
    await using ann = await person({ colorScheme });
    const page = await ann.tab(server.login);
    await say(page, "Stream never");
    await shows(page, ["user: Stream never", `assistant: ${HALF}`]);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".failed").waitFor();
    await say(page, "Pay");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.locator("summary").first().click();
    await page.mouse.move(0, 0);
    const found = await page.evaluate<Contrasts>(CONTRASTS);
    expect(found.page).toBe(colorScheme);
    expect(found.texts.length).toBeGreaterThan(8);
    for (const { text, ratio } of found.texts) expect(ratio, text).toBeGreaterThan(4.5); // As WCAG AA asks.
    if (process.env.BOWLINE_SCREENSHOTS !== undefined)
      await page.screenshot({ path: join(process.env.BOWLINE_SCREENSHOTS, `${colorScheme}.png`) });
  });
});

describeBrowser("a server that is killed, in Chromium", () => {
  test("E2 E5 after kill -9 in mid-turn the page and EventSource reconnect, and end as session.read() does", async () => {
    const port = await freePort();
    const first = await serving({ port });
    await using ann = await person();
    const page = await ann.tab(first.login);
    const asked: (string | undefined)[] = [];
    page.on("request", async (request) => {
      if (request.resourceType() === "eventsource") asked.push((await request.allHeaders())["last-event-id"]);
    });
    await say(page, "Pay");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("I asked.").first().waitFor();
    await hasStatus(page, IDLE);
    const id = await sessionIn(page);
    await page.evaluate(listenTo(id));
    await say(page, "Stream killed");
    const half = `assistant: ${HALF}`;
    await expect.poll(async () => (await shownIn(page)).at(-1), { timeout: 15_000 }).toBe(half);
    await expect.poll(async () => (await heardIn(page)).length, { timeout: 15_000 }).toBeGreaterThan(0);
    const before = await heardIn(page);

    first.program.child.kill("SIGKILL");
    await first.program.ended;
    await hasStatus(page, "Not connected. Trying again …");
    expect((await shownIn(page)).filter((each) => each === half)).toHaveLength(1);
    const second = await serving({ port, cwd: first.cwd });
    await expect.poll(async () => (await shownIn(page)).at(-1), { timeout: 15_000 }).toBe(half);
    second.open("killed");
    await hasStatus(page, IDLE);
    const read = await textsOf(second, id);
    expect(read.at(-1)).toBe(`assistant: ${WHOLE}`);
    expect((await shownIn(page)).filter((each) => !each.startsWith("call"))).toEqual(read);

    const turns = (facts: readonly Heard[]) => facts.filter(({ kind }) => kind === "committed");
    await expect.poll(async () => turns(await heardIn(page)).length, { timeout: 15_000 }).toBe(2);
    const heard = await heardIn(page);
    expect(heard.slice(0, before.length)).toEqual(before);
    expect(new Set(heard.map(({ id }) => id)).size).toBe(heard.length);
    expect(heard.map(({ id }) => Number.parseInt(id, 10))).toEqual(
      heard.map(({ id }) => Number.parseInt(id, 10)).toSorted((a, b) => a - b),
    );
    expect(asked[0]).toBe(undefined);
    expect(asked.at(-1)).toBe(before.at(-1)?.id);
    expectComplaints(AWAY);
  });
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;
describe.skipIf(!hasCurl)("curl", () => {
  test("E2 curl asks for the health, is refused without a token, sends, and follows a turn", async () => {
    const curl = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)("curl", ["-sS", "--max-time", "15", ...args])).stdout;
    const authorized = ["-H", `Authorization: Bearer ${server.token}`];
    const json = [...authorized, "-H", "Content-Type: application/json"];
    expect(JSON.parse(await curl(`${server.url}/v1/health`))).toEqual({ ok: true, version: expect.any(String) });
    const refused = await curl("-i", `${server.url}/v1/sessions`);
    expect(refused).toMatch(
      /^HTTP\/1\.1 401 [\s\S]*content-type: application\/problem\+json[\s\S]*"server.unauthorized"/i,
    );
    expect(refused).not.toContain(server.token);
    await curl(...json, "-d", '{"id":"curl"}', `${server.url}/v1/sessions`);
    const sent = await curl(...json, "-d", '{"text":"Stream curled"}', `${server.url}/v1/sessions/curl/inputs`);
    const { turnId } = JSON.parse(sent) as { turnId: string };
    const followed = spawn("curl", [
      "-sSN",
      "--max-time",
      "15",
      ...authorized,
      `${server.url}/v1/turns/${turnId}/events`,
    ]);
    let events = "";
    for await (const piece of followed.stdout.setEncoding("utf8")) {
      events += piece;
      if (events.includes("99 ")) server.open("curled"); // Half of the answer came before the other half was made.
    }
    expect(events).toMatch(/^retry: \d+\n\n/);
    expect(events).toMatch(/\nid: \d+\S*\ndata: \{[^\n]*"kind":"committed"[^\n]*\n\n$/);
    const deltas = Array.from(events.matchAll(/^data: (.*)$/gm), ([, data]) => JSON.parse(data as string));
    const text = deltas
      .map((each) => (Array.isArray(each) ? each[1] : each.kind === "text" ? each.delta : ""))
      .join("");
    expect(text).toBe(WHOLE);
  });
});
