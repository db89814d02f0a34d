/** `bowline studio` and `bowline serve --studio` in processes, and what the tests look for in their pages. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { folder, type Program, start } from "../cli/program.ts";
import { freePort } from "../kit/programs.ts";
import { ODD, person } from "./browser.ts";
import { TOO_WIDE } from "./in-page.ts";

// ── Servers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface StudioServer {
  readonly program: Program;
  readonly url: string;
  readonly login: string;
  readonly token: string;
  readonly cwd: string;
  /** The JSON of a route. */
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
}

async function listening(program: Program, cwd: string): Promise<StudioServer> {
  await program.until(/ {2}Token {2}[\s\S]*Ctrl-C/);
  const [, login = ""] = /\n {2}Studio (\S+)/.exec(program.stdout()) ?? [];
  const [, token = ""] = /\n {2}Token {2}(\S+)/.exec(program.stdout()) ?? [];
  const { origin: url } = new URL(login);
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${url}/v1${path}`, init);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    ...{ program, url, login, token, cwd },
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
  };
}

/** The demo of `bowline studio`: a week of data on every page. */
export function demoStudio(): Promise<StudioServer> {
  const cwd = folder();
  return listening(start(["studio", "--port", "0"], { cwd, env: { TMPDIR: cwd } }), cwd);
}

interface Serving {
  readonly cwd?: string;
  readonly port?: number;
  readonly db?: string;
  /** Only sessions of this owner exist for the page. */
  readonly owner?: string;
}

/** `bowline serve --studio` with the agent of these tests. */
export async function studioServer({
  cwd = folder(),
  port,
  db = "agent.db",
  owner,
}: Serving = {}): Promise<StudioServer> {
  writeFileSync(join(cwd, "agent.ts"), AGENT);
  const env = owner === undefined ? {} : { OWNER: owner };
  const args = ["--app", "agent.ts", "--db", db, "--token-file", "token", "--port", String(port ?? (await freePort()))];
  return listening(start(["serve", "--studio", ...args], { cwd, env }), cwd);
}

/** Sends a text to a session, which is made if there is none. */
export async function send(
  server: StudioServer,
  session: string,
  text: string,
  more: object = {},
): Promise<{ readonly turnId: string }> {
  await server.post("/sessions", { id: session, ifExists: "take", ...more });
  return server.post(`/sessions/${encodeURIComponent(session)}/inputs`, { text });
}

/** Waits until a turn is in this state. */
export const reaches = (server: StudioServer, turnId: string, state = "ended"): Promise<void> =>
  expect.poll(() => server.get(`/turns/${turnId}`), SOON).toMatchObject({ state });
export const SOON = { timeout: 15_000, interval: 20 };

// What Chromium itself writes to the console.
export const REFUSED = /status of 40[134]/;
export const AWAY =
  /net::ERR_(?:CONNECTION_(?:REFUSED|RESET)|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/;

/** A process that runs turns of the same agent. */
export const worker = ({ cwd }: Pick<StudioServer, "cwd">, db = "agent.db"): Program =>
  start(["worker", "--app", "agent.ts", "--db", db], { cwd });

export async function killed({ child, ended }: Program): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** Lets the calls of `Wait <gate>` and the rest of `Stream <gate>` continue. */
export const open = ({ cwd }: Pick<StudioServer, "cwd">, gate: string): void => writeFileSync(join(cwd, gate), "");

// ── The browser ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A person who has logged in, and a tab. */
export async function visitor(server: StudioServer, options: BrowserContextOptions = {}) {
  const ann = await person(options);
  const page = await ann.tab(server.login);
  return {
    page,
    /** Another tab of the same browser. */
    tab: (hash: string) => ann.tab(`${server.url}/studio/${hash}`),
    [Symbol.asyncDispose]: () => ann[Symbol.asyncDispose](),
  };
}

/** Shows a page of the studio, and waits until its data is there. */
export async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await settled(page);
}

/** Waits until nothing is loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await expect
    .poll(() => page.locator(".placeholder, ul[aria-busy=true]").count(), { timeout: 15_000, interval: 20 })
    .toBe(0);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The rules of WCAG 2.2 AA, and what axe calls best practice. */
const RUN_AXE = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
    id + ": " + target.join(" ") + ": " + failureSummary.replace(/\\s+/g, " "))))`;

/** What axe-core finds wrong, and what is wider than the window. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("typeof axe === 'object'"))) await page.evaluate(AXE);
  const found = await page.evaluate<readonly string[]>(RUN_AXE);
  const wide = await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");
  return wide ? [...found, ...(await page.evaluate<readonly string[]>(TOO_WIDE))] : found;
}

/** Keeps a picture of the page in the folder of `BOWLINE_SCREENSHOTS`. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.BOWLINE_SCREENSHOTS;
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}

// ── The agent ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A gate is a file beside the agent. */
const AGENT = String.raw`
import { existsSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";

const ODD = ${JSON.stringify(ODD)};
async function until(gate, signal) {
  while (!existsSync(gate)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    signal.throwIfAborted();
  }
}
const input = { type: "object" };
const pay = defineTool({ name: "pay", description: "Pays.", input, execute: () => "paid" });
const wait = defineTool({
  name: "wait",
  description: "Waits for a gate.",
  input,
  retry: "safe",
  execute: async ({ gate }, { signal }) => (await until(gate, signal), "waited"),
});
const odd = defineTool({ name: "odd", description: "Odd output.", input, execute: () => ODD });
const large = defineTool({ name: "large", description: "5 MB.", input, execute: () => "0123456789abcdef".repeat(327_680) });
const broken = defineTool({ name: "broken", description: "Fails.", input, execute: () => { throw new Error("It is " + ODD); } });

const CALLS = {
  Pay: { name: "pay", input: { to: "b\u202eo\u200bb", euros: 5 } },
  Wait: { name: "wait" },
  Odd: { name: "odd", input: { text: ODD } },
  Large: { name: "large" },
  Broken: { name: "broken" },
};
const usage = { input: 120, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0, unknownCalls: 0 };
const model = {
  id: "scripted",
  modelId: "test",
  async *stream({ messages }, { signal }) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const words = messages[asked].parts[0].text;
    const [what, gate] = words.split(" ");
    const call = asked === messages.length - 1 ? CALLS[what] : undefined;
    if (call !== undefined) yield { kind: "call", callId: "call_" + messages.length, input: { gate }, ...call };
    else if (what === "Stream") {
      for (let n = 0; n < 20; n++) {
        if (n === 10) await until(gate, signal);
        yield { kind: "text", delta: "word" + n + " " };
      }
    } else yield { kind: "text", delta: what === "Odd" ? ODD : "Done: " + what + "." };
    yield { kind: "finish", reason: call === undefined ? "stop" : "calls", usage };
  },
};
const careful = approvals({ rules: [{ tool: "pay", verdict: "ask", reason: "It moves money." }] });
const prices = { "scripted/test": { input: 3, output: 15 } };
export const server = process.env.OWNER ? { authorize: () => ({ owner: process.env.OWNER }) } : undefined;
export default ({ store }) =>
  createRuntime({ store, model, prices, tools: [pay, wait, odd, large, broken], plugins: [careful] });
`;
