// Turns, waits and agents in the studio, in a real browser. The server and the agent are in this process.
import { createRuntime, definePlugin, defineTool, type Runtime, type RuntimeOptions } from "bowline";
import { question } from "bowline/plugin";
import { approvals } from "bowline/plugins/approvals";
import { plan } from "bowline/plugins/plan";
import { subagents } from "bowline/plugins/subagents";
import { ProviderFailure } from "bowline/provider";
import { type Listening, serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import { both, calls, says, simulatedWorld } from "bowline/testing";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { aborted } from "../kit/models.ts";
import { eventually, signalOf } from "../kit/reading.ts";
import { cast, type Line } from "../subagents/roles.ts";
import { complaints, describeBrowser, expectComplaints, person } from "./browser.ts";

vi.setConfig({ testTimeout: 60_000 });
afterEach(() => expect(complaints.splice(0)).toEqual([]));

const TOKEN = "studio-turns-0123456789";
const SOON = { timeout: 15_000, interval: 20 };
const steps = (...status: readonly string[]) => ({
  explanation: "",
  steps: status.map((each, n) => ({ step: `Step ${n + 1}`, status: each })),
});

let held = signalOf();
const paid: unknown[] = [];
/** The world of the runtimes that act, where each tool takes a second. */
const world = simulatedWorld({ now: Date.now() - 20 * 3_600_000 });
/** Fails at the first attempt. */
function flaky(): Line {
  let tries = 0;
  return () => (tries++ === 0 ? new ProviderFailure({ class: "overloaded", message: "Too busy." }) : calls("look", {}));
}
const model = cast({
  "Hello.": [
    says("Hello."),
    flaky(),
    calls("update_plan", steps("in_progress", "pending")),
    calls("pay", { to: "b\u202eo\u200bb", euros: 5 }),
    calls("update_plan", steps("completed", "in_progress")),
    says("All done."),
    says("Bye."),
  ],
  "Pay.": [calls("pay", { to: "ann", euros: 7 }), says("Paid.")],
  "Pay twice.": [
    both(calls("pay", { to: "one", euros: 1 }, "p1"), calls("pay", { to: "two", euros: 2 }, "p2")),
    says("Paid."),
  ],
  "Ask.": [calls("ask_day", {}), says("Noted.")],
  "Hold.": [calls("hold", {}), says("Held.")],
  "Lead.": [
    both(calls("spawn_agent", { task: "Read." }, "s1"), calls("spawn_agent", { task: "Write." }, "s2")),
    says("Led."),
  ],
  "Read.": [says("I have read it.")],
  "Write.": [calls("spawn_agent", { task: "Check." }, "s3"), says("I have written it.")],
  "Check.": [calls("pay", { to: "checker", euros: 3 }), says("It is right.")],
});
const tools = [
  defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string(), euros: z.number() }),
    execute: async (given) => {
      paid.push(given);
      return "paid";
    },
  }),
  defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => world.sleep(1_000).then(() => "seen"),
  }),
  defineTool({
    name: "hold",
    description: "Holds.",
    input: z.object({}),
    execute: (_, { signal }) => Promise.race([held.promise, aborted(signal)]).then(() => "held"),
  }),
  defineTool({
    name: "ask_day",
    description: "Asks.",
    input: z.object({}),
    execute: () => question(z.object({ day: z.string() }), { text: "On which day?" }),
  }),
];
const environment = definePlugin({
  id: "test/rounds",
  setup: () => {
    let round = 0;
    return { prompt: () => ({ slot: "environment", text: `Round ${++round}.`, isVolatile: true }) };
  },
});
const ask = { tool: "pay", verdict: "ask", reason: "It moves money." } as const;

async function started(options: Partial<RuntimeOptions> = {}): Promise<{ runtime: Runtime; listening: Listening }> {
  const capabilities = { helper: { description: "Helps." } };
  const plugins = [approvals({ rules: [ask] }), plan(), subagents({ capabilities }), environment];
  const runtime = await createRuntime({ store: memory(), model, tools, plugins, ...options } as RuntimeOptions);
  return { runtime, listening: await serve(runtime, { studio: true, token: TOKEN }).listen() };
}

async function visitor({ url }: Listening, hash: string) {
  const ann = await person({ viewport: { width: 1200, height: 900 } });
  const at = (to: string): string => `${url}/login?${new URLSearchParams({ t: TOKEN, to: `/studio/${to}` })}`;
  return {
    page: await ann.tab(at(hash)),
    tab: (to: string) => ann.tab(at(to)),
    [Symbol.asyncDispose]: ann[Symbol.asyncDispose],
  };
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const panel = (page: Page) => page.getByRole("complementary");
const hasFocus = (page: Page, text: string) =>
  expect.poll(() => page.evaluate<string>("document.activeElement.textContent"), SOON).toContain(text);

describeBrowser("a turn in the studio", () => {
  let runtime: Runtime;
  let listening: Listening;
  const ids: string[] = [];
  beforeAll(async () => {
    ({ runtime, listening } = await started({ world }));
    const session = await runtime.session("work", { config: { label: "The work" } });
    for (const words of ["Hello.", "Work.", "Bye."]) {
      const turn = session.turn(words);
      ids.push(await turn.id);
      await world.advance(30_000);
      if (words === "Work.") {
        await world.advance(9 * 3_600_000);
        const [wait] = await runtime.waits.list();
        await runtime.waits.resolve(wait!.id, { approved: true }, { by: "maria" });
        await world.advance(30_000);
      }
      await turn.result();
    }
  });
  afterAll(async () => {
    await listening.close();
    await runtime.close();
  });

  test("E6 the timeline shows attempts, waits and who answered, and a night of waiting is a break of the axis", async () => {
    await using ann = await visitor(listening, `#/turn/${ids[1]}`);
    const { page } = ann;
    await button(page, /overloaded/).waitFor();
    await button(page, /attempt 2/).waitFor();
    await button(page, /^Approval of pay answered by maria 9 h/).waitFor();
    await expect.poll(() => page.locator(".tl-break").textContent(), SOON).toMatch(/^9 h/);
    const widths = await page
      .locator(".tl-bar")
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().width));
    expect(Math.max(...widths)).toBeGreaterThan(100); // Work is in sight beside the night.
    await page.getByRole("button", { name: "Shorten idle times" }).click();
    await expect.poll(() => page.locator(".tl-break").count(), SOON).toBe(0);
    expect(await page.locator("main").textContent()).toContain("The work");
  });

  test("E6 the keyboard selects effects, and the details show a plugin's state with its changes since the one before", async () => {
    await using ann = await visitor(listening, `#/turn/${ids[1]}`);
    const { page } = ann;
    await button(page, /overloaded/).waitFor();
    await page.keyboard.press("j");
    await panel(page).getByText("overloaded: Too busy.").waitFor();
    await page.keyboard.press("j");
    await hasFocus(page, "attempt 2");
    await page.keyboard.press("k");
    await panel(page).getByText("overloaded: Too busy.").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => panel(page).count(), SOON).toBe(0);
    await button(page, /^update_plan/)
      .last()
      .click();
    const diff = panel(page).getByRole("group", { name: "Changes" });
    await diff.getByText('"status": "completed"').waitFor();
    expect(await diff.locator(".removed").allTextContents()).toContain('−removed:       "status": "in_progress"');
    await page.reload(); // The address has the selection.
    await diff.waitFor();
  });

  test("E6 the prompt of a round has its changes, the journal is searched, and [ and ] go to the turns beside", async () => {
    await using ann = await visitor(listening, `#/turn/${ids[1]}?tab=prompt`);
    const { page } = ann;
    await page.getByLabel("Round").selectOption("4");
    await page.getByRole("button", { name: "Changes since round 3" }).click();
    await page.getByText("2. [ ] Step 2").first().waitFor();
    await button(page, "Journal").click();
    await page.getByLabel("Search events").fill("maria");
    await expect.poll(() => page.locator(".event-row").allTextContents(), SOON).toHaveLength(1);
    await page.locator(".event-row").click();
    await panel(page).getByText('"by": "maria"').waitFor();
    await button(page, "Answer").click();
    await page.getByText("All done.").waitFor();
    for (const [key, words] of [
      ["]", "Bye."],
      ["[", "Work."],
      ["[", "Hello."],
    ] as const) {
      await expect.poll(() => button(page, key === "]" ? "Turn after" : "Turn before").isEnabled(), SOON).toBe(true);
      await page.keyboard.press(key);
      await page.getByRole("heading", { name: words, level: 1 }).waitFor();
    }
    expect(page.url()).toContain(`/turn/${ids[0]}`);
  });

  test("E6 an open turn is followed without a reload, and Cancel ends it", async () => {
    const live = await started();
    const session = await live.runtime.session("live");
    const turn = session.turn("Hold.");
    await using ann = await visitor(live.listening, `#/turn/${await turn.id}`);
    const { page } = ann;
    await button(page, /^hold .*…$/).waitFor();
    held.resolve();
    await page.getByText("answered").waitFor();
    await button(page, /^hold .* m?s$/).waitFor();
    held = signalOf();
    const next = (await live.runtime.session("next")).turn("Hold.");
    await page.goto(`${live.listening.url}/studio/#/turn/${await next.id}`);
    await button(page, /^hold .*…$/).waitFor();
    await button(page, "Cancel").click();
    await page.getByText("A person cancelled it in the studio.").first().waitFor();
    expect((await next.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    await page.close(); // An open page holds its server for five seconds.
    await live.listening.close();
    await live.runtime.close();
  });

  test("E6 a turn whose journal is not kept shows its outcome, and a note about the journal", async () => {
    const bare = await started({ keepJournals: false });
    const { turnId } = await (await bare.runtime.session("bare")).turn("Hello.").result();
    {
      await using ann = await visitor(bare.listening, `#/turn/${turnId}`);
      const { page } = ann;
      await page.getByText("The journal of this turn is not kept.").waitFor();
      await button(page, "Answer").click();
      await page.getByLabel("Answer", { exact: true }).getByText("Hello.").waitFor();
    }
    await bare.listening.close();
    await bare.runtime.close();
  });
});

describeBrowser("waits and agents in the studio", () => {
  let runtime: Runtime;
  let listening: Listening;
  beforeAll(async () => {
    ({ runtime, listening } = await started());
  });
  beforeEach(() => void paid.splice(0));
  afterAll(async () => {
    await listening.close();
    await runtime.close();
  });
  const asks = async (id: string, words: string, count = 1) => {
    const turn = (await runtime.session(id)).turn(words);
    await eventually(async () => ((await runtime.waits.list({ session: id })).length === count ? true : undefined));
    return turn;
  };

  test("E6 the keys answer the wait in sight, and a key that is pressed twice answers no second one", async () => {
    const turn = await asks("twice", "Pay twice.", 2);
    await using ann = await visitor(listening, "#/waits");
    const { page } = ann;
    await panel(page).getByText('"to": "one"').waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("a");
    await panel(page).getByText("Approved.").waitFor();
    await page.keyboard.press("a");
    expect(await runtime.waits.list()).toMatchObject([{ arguments: { to: "two" } }]);
    await page.keyboard.press("j");
    await panel(page).getByText('"to": "two"').waitFor();
    await page.keyboard.press("d");
    await page.keyboard.type("Too much.");
    await page.keyboard.press("Enter");
    await panel(page).getByText("Denied.").waitFor();
    await turn.result();
    expect(JSON.stringify(await runtime.sessions.get("twice"))).toContain("Too much.");
    expect(paid).toEqual([{ to: "one", euros: 1 }]);
  });

  test("E6 a wait that is answered elsewhere leaves the list, and the page shows no error", async () => {
    const turn = await asks("elsewhere", "Pay.");
    await using ann = await visitor(listening, "#/waits");
    const { page } = ann;
    await panel(page).getByText('"to": "ann"').waitFor();
    const [wait] = await runtime.waits.list();
    await runtime.waits.resolve(wait!.id, { approved: false });
    await panel(page).getByText("This waits no longer").waitFor();
    await page.getByText("Nothing else waits.").waitFor();
    await turn.result();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("E6 a value that does not fit its schema stays in the form with the reason, and one that fits is the answer", async () => {
    const turn = await asks("day", "Ask.");
    await using ann = await visitor(listening, "#/waits");
    const { page } = ann;
    const field = page.getByLabel("Value, as JSON");
    await expect.poll(() => field.inputValue(), SOON).toBe('{\n  "day": ""\n}');
    await field.fill('{ "day": 5 }');
    await button(page, "Answer").click();
    await page.getByRole("alert").waitFor();
    await field.fill('{ "day": "Monday" }');
    await button(page, "Answer").click();
    await panel(page).getByText("Answered.").waitFor();
    await turn.result();
    expect(JSON.stringify(await runtime.sessions.get("day"))).toContain("Monday");
    await page.close();
    expectComplaints(/status of 4/);
  });

  test("E6 edited arguments begin with the exact ones, and withdrawing a question asks first", async () => {
    const turn = await asks("edit", "Pay.");
    await using ann = await visitor(listening, "#/waits");
    const { page } = ann;
    await button(page, "Edit arguments").click();
    const field = page.getByLabel("Arguments, as JSON");
    expect(JSON.parse(await field.inputValue())).toEqual({ to: "ann", euros: 7 });
    await field.fill("{ oops");
    await button(page, "Approve these arguments").click();
    await page.getByText("This is not JSON").waitFor();
    await field.fill('{ "to": "ann", "euros": 1 }');
    await button(page, "Approve these arguments").click();
    await turn.result();
    expect(paid).toEqual([{ to: "ann", euros: 1 }]);
    const other = await asks("revoke", "Pay.");
    await page.getByRole("button", { name: /"euros":7/ }).waitFor();
    await page.keyboard.press("j");
    await button(page, "Withdraw the question …").click();
    expect(await runtime.waits.list()).toHaveLength(1);
    await button(page, "Withdraw it").click();
    await other.result();
    expect(paid).toHaveLength(1);
  });

  test("E6 the tree of agents opens by the arrow keys, counts waits, and follows what its sessions do", async () => {
    const turn = (await runtime.session("lead", { config: { label: "The lead" } })).turn("Lead.");
    await eventually(async () => ((await runtime.waits.list({ tree: "lead" })).length === 1 ? true : undefined));
    await using ann = await visitor(listening, "#/agents");
    const { page } = ann;
    await page.getByRole("link", { name: /The lead/ }).click();
    const item = (name: string | RegExp) => page.getByRole("treeitem", { name });
    await item(/Check.*1 wait/).waitFor();
    await item(/I have read it.*idle/).waitFor();
    await item(/The lead/).focus();
    for (const [key, text] of [
      ["ArrowRight", "Write."],
      ["End", "Read."],
      ["Home", "The lead"],
      ["ArrowDown", "Write."],
      ["ArrowRight", "Check."],
      ["ArrowLeft", "Write."],
    ] as const) {
      await page.keyboard.press(key);
      await hasFocus(page, text);
    }
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => item(/Check/).count(), SOON).toBe(0);
    await page.keyboard.press("ArrowRight");
    const [wait] = await runtime.waits.list({ tree: "lead" });
    await runtime.waits.resolve(wait!.id, { approved: true });
    await turn.result();
    await item(/It is right.*idle/).waitFor();
    await item(/The lead.*idle/).waitFor();
  });
});
