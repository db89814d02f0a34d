// How quick the studio is in Chromium with 10,000 sessions and a conversation of 10,000 nodes: the time until data is on the
// screen (goal: 500 ms), and long tasks while a person scrolls and types (goal: none over 50 ms). Build, then run this file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Runtime } from "bowline";
import type { Provider } from "bowline/provider";
import { serve } from "bowline/server";
import { sqlite } from "bowline/stores/sqlite";
import { type Browser, chromium, type Page } from "playwright-core";

const SESSIONS = Number(process.env.SESSIONS ?? 10_000);
const NODES = Number(process.env.NODES ?? 10_000);
const AT_ONCE = 32;
const FIRST_MS = 500;
const TOKEN = "a-token-of-the-benchmark";

const model: Provider = {
  id: "words",
  modelId: "bench",
  async *stream({ messages }) {
    yield { kind: "text", delta: `Answer ${messages.length}. The parcel **left Hamburg** and arrives on Thursday.` };
    const usage = { input: 900, output: 40, cacheRead: 0, cacheWrite: 0, reasoning: 0, unknownCalls: 0 };
    yield { kind: "finish", reason: "stop", usage };
  },
};

async function fill(runtime: Runtime): Promise<void> {
  const long = await runtime.session("long");
  for (let n = 0; n < NODES / 2; n++) await long.turn(`Where is order A-${n}?`).result();
  let next = 0;
  const talk = async (): Promise<void> => {
    for (let n = next++; n < SESSIONS; n = next++) {
      const session = await runtime.session(`s-${n}`, { tags: ["mail"], config: { label: `Order A-${n}` } });
      await session.turn(`Where is order A-${n}?`).result();
      await session.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, talk));
}

/** Runs in the page before its own scripts. */
const WATCH = `
  globalThis.bench = { first: 0, tasks: [] };
  new PerformanceObserver((list) => bench.tasks.push(...list.getEntries().map(({ startTime, duration }) => [startTime, duration])))
    .observe({ type: "longtask", buffered: true });
  new MutationObserver((_, observer) => {
    if (document.querySelector("[data-row], .talk-box [data-index]") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => (bench.first = performance.now()));
  }).observe(document, { childList: true, subtree: true });
`;

interface Measured {
  readonly page: string;
  readonly first: number;
  /** Start and length of each task that held the main thread for more than 50 ms. */
  readonly tasks: readonly (readonly [at: number, ms: number])[];
}

/** Opens a page in a fresh tab, scrolls and types, and returns the first data and all long tasks. */
async function measured(
  browser: Browser,
  login: string,
  name: string,
  act: (page: Page) => Promise<void>,
): Promise<Measured> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  await context.request.get(login);
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(`${new URL(login).origin}/studio/#/${name}`);
  let first = 0;
  while (first === 0) {
    await page.waitForTimeout(50);
    first = await page.evaluate<number>("bench.first");
  }
  await act(page);
  const tasks = await page.evaluate<Measured["tasks"]>("bench.tasks");
  await context.close();
  return { page: name, first, tasks };
}

async function scroll(page: Page, step: number): Promise<void> {
  await page.mouse.move(600, 500);
  for (let n = 0; n < 60; n++) {
    await page.mouse.wheel(0, step);
    await page.waitForTimeout(30);
  }
}

const folder = mkdtempSync(join(tmpdir(), "bowline-studio-bench-"));
const runtime = await createRuntime({
  store: sqlite(join(folder, "agent.db"), { durability: "process" }),
  model,
  keepJournals: false,
});
try {
  await fill(runtime);
  const server = await serve(runtime, { studio: true, token: TOKEN }).listen();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const login = `${server.url}/login?t=${TOKEN}&to=/studio/`;
  const all: Measured[] = [
    await measured(browser, login, "sessions", async (page) => {
      await scroll(page, 900);
      await page.getByLabel("Search sessions").pressSequentially("order A-99", { delay: 60 });
      await page.waitForTimeout(1_500);
    }),
    await measured(browser, login, "session/long", async (page) => {
      await scroll(page, -1_500);
      await page.getByLabel("Message", { exact: true }).pressSequentially("Where is my kettle now?", { delay: 40 });
      await page.waitForTimeout(500);
    }),
  ];
  await browser.close();
  await server.close();
  for (const { page, first, tasks } of all) {
    console.log(`${page}: first data after ${Math.round(first)} ms (goal: ${FIRST_MS})`);
    for (const [at, ms] of tasks) console.log(`  a task of ${Math.round(ms)} ms at ${Math.round(at)} ms`);
    if (tasks.length === 0) console.log("  no task over 50 ms");
  }
} finally {
  await runtime.close();
  rmSync(folder, { recursive: true });
}
