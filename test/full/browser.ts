/** Chromium, the server that its pages come from, and an agent whose answers are known. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { folder, type Program, start } from "../cli/program.ts";
import { CHROMIUM_ABSENT, findChromium } from "../kit/chromium.ts";

// ── The browser ─────────────────────────────────────────────────────────────────────────────────────────────────────

const executablePath = findChromium();
let launched: Promise<Browser> | undefined;
afterAll(async () => (await launched)?.close());

/** A suite that needs Chromium. Without it the suite is skipped; with `BOWLINE_CHROMIUM=required` it fails. */
export function describeBrowser(name: string, body: () => void): void {
  if (executablePath !== undefined) return void describe(name, body);
  if (process.env.BOWLINE_CHROMIUM !== "required") return void describe.skip(name, body);
  describe(name, () =>
    test("what it needs is there", () => {
      throw new Error(CHROMIUM_ABSENT);
    }),
  );
}

/** What the pages wrote to the console as errors and warnings. A violation of the content security policy is one. */
export const complaints: string[] = [];
/** What Chromium itself says while a server is away, or refuses a request. */
export const expectComplaints = (pattern: RegExp): void => {
  const other = complaints.splice(0).filter((each) => !pattern.test(each));
  expect(other).toEqual([]);
};

export interface Person extends AsyncDisposable {
  /** A page at an address, in a tab of the same browser. */
  tab(url: string): Promise<Page>;
}

/** A person with a browser that has no cookies. */
export async function person(options: BrowserContextOptions = {}): Promise<Person> {
  launched ??= chromium.launch({ executablePath: executablePath as string, args: ["--no-sandbox"] });
  const context = await (await launched).newContext(options);
  context.setDefaultTimeout(15_000);
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  return {
    tab: async (url) => {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

// ── The page ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the conversation shows, each item with its role. */
export const shownIn = (page: Page): Promise<readonly string[]> =>
  page.locator("#talk > *").evaluateAll((all) => all.map((each) => `${each.className}: ${each.textContent}`));

/** Waits until the conversation shows just this. */
export const shows = (page: Page, items: readonly string[]): Promise<unknown> =>
  expect.poll(() => shownIn(page), { timeout: 15_000, interval: 20 }).toEqual(items);

/** Waits until the status is just this. */
export const hasStatus = (page: Page, status: string | RegExp): Promise<unknown> =>
  expect.poll(() => page.locator("#status").textContent(), { timeout: 15_000, interval: 20 }).toMatch(status);
export const IDLE = /^$/;

export async function say(page: Page, words: string): Promise<void> {
  await page.getByLabel("Message").fill(words);
  await page.keyboard.press("Enter");
}

/** The session that the page shows. Its first message makes it. */
export async function sessionIn(page: Page): Promise<string> {
  await page.waitForURL(/#./);
  return decodeURIComponent(new URL(page.url()).hash.slice(1));
}

// ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Served {
  readonly program: Program;
  readonly cwd: string;
  readonly url: string;
  readonly login: string;
  readonly token: string;
  /** Lets the model say the rest of `Stream <gate>`. */
  open(gate: string): void;
  get<T>(path: string): Promise<T>;
}

/** `bowline serve` of the built package, with the agent of these tests, once it listens. */
export async function serving({ cwd = folder(), port = 0 } = {}): Promise<Served> {
  writeFileSync(join(cwd, "agent.ts"), AGENT);
  const args = ["--app", "agent.ts", "--db", "agent.db", "--token-file", "token", "--port", String(port)];
  const program = start(["serve", ...args], { cwd });
  await program.until(LISTENS);
  const { url, login, token } = addressIn(program.stdout());
  return {
    ...{ program, cwd, url, login, token },
    open: (gate) => writeFileSync(join(cwd, gate), ""),
    get: async <T>(path: string) => {
      const response = await fetch(`${url}/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
      return (await response.json()) as T;
    },
  };
}

export const LISTENS = /Ctrl-C stops it/;
export function addressIn(stdout: string): Pick<Served, "url" | "login" | "token"> {
  const pattern = /\n {2}Chat {3}(\S+)\n {2}API {4}(\S+)\/v1\n {2}Token {2}(\S+)/;
  const [, login = "", url = "", token = ""] = pattern.exec(stdout) ?? [];
  return { url, login, token };
}

interface Read {
  readonly messages: readonly {
    readonly role: string;
    readonly parts: readonly { readonly kind: string; readonly text?: string }[];
  }[];
}

/** The texts of `session.read()`, as the page shows them. */
export async function textsOf({ get }: Served, session: string): Promise<readonly string[]> {
  const { messages } = await get<Read>(`/sessions/${session}`);
  return messages.flatMap(({ role, parts }) =>
    role === "user" || role === "assistant"
      ? parts.filter(({ kind }) => kind === "text").map(({ text }) => `${role}: ${text}`)
      : [],
  );
}

// ── The agent ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the model says to `Stream`, in as many deltas: the first half at once, the second when the gate is open. */
export const DELTAS = Array.from({ length: 200 }, (_, n) => `${n} `);
export const HALF = DELTAS.slice(0, 100).join("");
export const WHOLE = DELTAS.join("");

export const ODD =
  "<script>hacked = 1</script><img src=x onerror=hacked=1> \u001b[31mred\u001b[0m a\u202efdp.exe\u202c b\u2066c <b>d</b>";
export const ODD_SHOWN =
  "<script>hacked = 1</script><img src=x onerror=hacked=1> \\u{1b}[31mred\\u{1b}[0m a\\u{202e}fdp.exe\\u{202c} b\\u{2066}c <b>d</b>";

/** The gate of `Stream` is a file beside it. */
const AGENT = String.raw`
import { existsSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";

const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
const ODD = ${JSON.stringify(ODD)};

async function pause(signal, ms) {
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal.throwIfAborted();
}

const model = {
  id: "scripted",
  modelId: "test",
  async *stream({ messages }, { signal }) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const [what, gate] = messages[asked].parts[0].text.split(" ");
    const end = (reason) => ({ kind: "finish", reason, usage });
    if (what === "Pay" && asked === messages.length - 1) {
      yield { kind: "text", delta: "I ask first." };
      yield { kind: "call", callId: "call_" + messages.length, name: "pay", input: { to: "b\u202eo\u200bb", euros: 5 } };
      return yield end("calls");
    }
    if (what !== "Stream") yield { kind: "text", delta: { Pay: "I asked.", Odd: ODD, Long: "long".repeat(300) }[what] };
    else
      for (let n = 0; n < 200; n++) {
        if (n === 100) while (!existsSync(gate)) await pause(signal, 10);
        await pause(signal, 2);
        yield { kind: "text", delta: n + " " };
      }
    yield end("stop");
  },
};
const careful = approvals({ rules: [{ tool: "pay", verdict: "ask", reason: "It moves money." }] });
export default ({ store }) => createRuntime({ store, model, tools: [pay], plugins: [careful] });
`;
