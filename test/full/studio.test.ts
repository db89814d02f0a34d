// The studio in a real browser: every page of the demo, and what people do on a server that is killed, away or busy.
import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { complaints, describeBrowser, expectComplaints, ODD, ODD_SHOWN, person } from "./browser.ts";
import {
  AWAY,
  demoStudio,
  faultsOf,
  killed,
  open,
  picture,
  REFUSED,
  reaches,
  SOON,
  type StudioServer,
  send,
  settled,
  show,
  studioServer,
  visitor,
} from "./studio.ts";

vi.setConfig({ testTimeout: 60_000 });
afterEach(() => expect(complaints.splice(0)).toEqual([]));

const row = (page: Page, name: string | RegExp) =>
  page.getByRole("list", { name: "Sessions" }).getByRole("link", { name });
const shownText = (page: Page): Promise<string> =>
  page.locator("main").evaluate("document.querySelector('main').innerText");

describeBrowser("every page of the studio in Chromium", () => {
  let demo: StudioServer;
  let pages: readonly (readonly [name: string, hash: string])[];
  beforeAll(async () => {
    demo = await demoStudio();
    const [turn] = await demo.get<readonly { id: string }[]>("/turns?session=customer-2188");
    const [waiting] = await demo.get<readonly { id: string }[]>("/turns?session=customer-2240");
    const jobs = await demo.get<readonly { id: string; label: string }[]>("/jobs?max=100");
    const job = (label: string): string => `#/job/${jobs.find((each) => each.label === label)?.id}`;
    pages = [
      ["sessions", "#/sessions"],
      ["sessions-none", "#/sessions?search=nothing-has-this"],
      ["turns", "#/turns"],
      ["turns-slowest", "#/turns?order=slowest"],
      ["turn", `#/turn/${turn?.id}`],
      ["turn-waiting", `#/turn/${waiting?.id}`],
      ["waits", "#/waits"],
      ["jobs", "#/jobs"],
      ["job", job("Report: kettles")],
      ["job-failed", job("Report: returns abroad")],
      ["job-waiting", job("Order 500 kettles")],
      ["schedules", "#/schedules"],
      ["agents", "#/agents"],
      ["agents-tree", "#/agents/sourcing"],
      ["usage", "#/usage"],
      ["plugins", "#/plugins?session=desk"],
      ["health", "#/health"],
      ["session", "#/session/customer-2188"],
      ["session-photo", "#/session/customer-2209"],
      ["session-waiting", "#/session/customer-2240"],
      ["session-agents", "#/session/sourcing"],
      ["session-code", "#/session/reports-by-code"],
      ["session-branches", "#/session/customer-2220?tab=branches"],
      ["session-new", "#/session"],
    ];
  });

  for (const theme of ["light", "dark"] as const)
    for (const width of [1200, 400])
      test(`E6 in ${theme} at ${width} px no page breaks a rule of axe-core, the content policy or the width`, async () => {
        await using ann = await visitor(demo, { colorScheme: theme, viewport: { width, height: 900 } });
        const faults: string[] = [];
        for (const [name, hash] of pages) {
          await show(ann.page, hash);
          const all = [...(await faultsOf(ann.page)), ...complaints.splice(0)];
          faults.push(...all.map((fault) => `${name}: ${fault}`));
          await picture(ann.page, `${name}-${theme}-${width}`);
          if (name === "turn" && theme === "light" && width === 1200) await picture(ann.page, "studio"); // In the docs.
        }
        expect(faults).toEqual([]);
      });

  test("E6 failed turns and the slowest ones are found, and a failed one is sent again once", async () => {
    await using ann = await visitor(demo);
    const { page } = ann;
    await show(page, "#/turns?show=failed");
    const row = page.locator("a.row");
    await expect.poll(() => row.getByText("failed", { exact: true }).count()).toBe(2);
    expect(await row.count()).toBe(2);
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByRole("button", { name: "Slowest" }).click();
    await expect.poll(() => row.first().textContent()).toContain("waiting");
    await page.getByRole("button", { name: "Failed" }).click();
    await row.filter({ hasText: "Expired key" }).click();
    const address = page.url();
    const again = page.getByRole("button", { name: "Send again" });
    await again.click();
    await page.waitForURL(/#\/session\/customer-2231/);
    await page.goto(address);
    await again.click();
    await page.waitForURL(/#\/session\/customer-2231/);
    const turns = (): Promise<readonly unknown[]> => demo.get("/turns?session=customer-2231&state=ended");
    await expect.poll(async () => (await turns()).length).toBe(2);
    await page.close();
    expect(await demo.get("/turns?session=customer-2231")).toHaveLength(2);
  });

  test("E6 two branches are shown beside each other, from where they part", async () => {
    await using ann = await visitor(demo);
    const { page } = ann;
    await show(page, "#/session/customer-2220?tab=branches");
    await page.getByRole("button", { name: "Compare" }).first().click();
    const sides = page.getByRole("dialog").getByRole("group");
    await sides.nth(0).getByText("Great, thanks!").waitFor();
    await sides.nth(1).getByText("When does it arrive by express?").waitFor();
    expect(await page.getByRole("dialog").getByText("Is the red kettle in stock").count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
  });
});

describeBrowser("the studio in Chromium", () => {
  let server: StudioServer;
  beforeAll(async () => {
    server = await studioServer();
  });

  test("E6 the login asks for the token, refuses a wrong one, and returns to the page that was opened", async () => {
    await using ann = await person();
    const page = await ann.tab(`${server.url}/studio/#/jobs`);
    const field = page.getByLabel("Token of the server");
    await field.fill(server.token);
    await field.press("Enter");
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    expect(page.url()).toBe(`${server.url}/studio/#/jobs`);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    await page.context().clearCookies();
    await page.reload();
    await page.getByLabel("Token of the server").waitFor();
    await page.close();
    expectComplaints(REFUSED);
  });

  test("E6 the list shows a new session and its states without a reload", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await settled(page);
    const { turnId } = await send(server, "live-list", "Wait live", {
      config: { label: "A live one" },
      tags: ["live"],
    });
    await row(page, /A live one/)
      .getByText("running")
      .waitFor();
    open(server, "live");
    await reaches(server, turnId);
    await row(page, /A live one/)
      .getByText("idle")
      .waitFor();
    await row(page, /A live one/)
      .getByText("1 turn")
      .waitFor();
  });

  test("E6 search and filters narrow the list, stay in the address, and a reload keeps them", async () => {
    for (const [id, label, tag] of [
      ["f-1", "Red kettle", "vip"],
      ["f-2", "Blue kettle", "mail"],
    ] as const)
      await reaches(server, (await send(server, id, "Hi", { config: { label }, tags: [tag] })).turnId);
    await using ann = await visitor(server);
    const { page } = ann;
    await row(page, /Blue kettle/).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("KETTLE blue");
    await row(page, /Blue kettle/).waitFor();
    await expect.poll(() => row(page, /Red kettle/).count(), SOON).toBe(0);
    expect(new URL(page.url()).hash).toBe("#/sessions?search=KETTLE+blue");
    await page.reload();
    await row(page, /Blue kettle/).waitFor();
    expect(await page.getByLabel("Search sessions").inputValue()).toBe("KETTLE blue");
    await page.getByLabel("Search sessions").fill("");
    await page.getByRole("button", { name: "Waiting", exact: true }).click();
    await expect.poll(() => row(page, /kettle/).count(), SOON).toBe(0);
    await show(page, "#/sessions?tag=vip");
    await row(page, /Red kettle/).waitFor();
    expect(await row(page, /Blue kettle/).count()).toBe(0);
    await page.getByRole("button", { name: "tag: vip" }).click();
    await row(page, /Blue kettle/).waitFor();
  });

  test("E6 the keyboard alone moves between pages and rows, lists the keys, and never takes what is typed", async () => {
    await reaches(server, (await send(server, "keys-1", "Hi")).turnId);
    await using ann = await visitor(server);
    const { page } = ann;
    await settled(page);
    for (const [keys, title] of [
      ["gw", "Waits"],
      ["gj", "Jobs"],
      ["gc", "Schedules"],
      ["gu", "Usage"],
      ["gs", "Sessions"],
    ] as const) {
      await page.keyboard.type(keys);
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    await row(page, /./).first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Go to Waits").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" }); // The browser closes it a moment later.
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await page.evaluate("document.activeElement === document.querySelector('[data-row]')")).toBe(true);
    await page.getByLabel("Search sessions").fill("");
    await page.keyboard.type("gj?");
    expect(await page.getByLabel("Search sessions").inputValue()).toBe("gj?");
    await page.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
  });

  test("E6 the theme follows the system, can be switched, and a reload keeps it", async () => {
    await using ann = await visitor(server, { colorScheme: "dark" });
    const { page } = ann;
    const background = (): Promise<string> => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const dark = await background();
    await page.emulateMedia({ colorScheme: "light" });
    const light = await background();
    expect(light).not.toBe(dark);
    await page.getByRole("button", { name: "Theme" }).click();
    expect(await background()).toBe(dark);
    await page.reload();
    await settled(page);
    expect(await background()).toBe(dark);
  });

  test("E6 scripts, escape codes and bidirectional marks in ids, labels, tags and answers are shown as text", async () => {
    const id = "odd-<b>-\u202eid";
    await reaches(server, (await send(server, id, "Odd", { config: { label: ODD }, tags: [ODD.slice(0, 40)] })).turnId);
    await using ann = await visitor(server);
    const { page } = ann;
    await row(page, /hacked/)
      .first()
      .waitFor();
    const text = await shownText(page);
    expect(text).toContain(ODD_SHOWN);
    expect(text).toContain("odd-<b>-\\u{202e}id");
    expect(["\u001b", "\u202e", "\u2066"].filter((each) => text.includes(each))).toEqual([]);
    expect(await page.evaluate("typeof hacked")).toBe("undefined");
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test("E6 a server that goes away and returns: the page shows that, keeps its data, and is fresh again", async () => {
    const first = await studioServer();
    await first.post("/sessions", { id: "kept", config: { label: "Kept" } });
    await using ann = await visitor(first);
    const { page } = ann;
    await row(page, /Kept/).waitFor();
    await killed(first.program);
    await page.getByText("Not connected.").waitFor();
    await row(page, /Kept/).waitFor();
    const second = await studioServer({ cwd: first.cwd, port: Number(new URL(first.url).port) });
    await second.post("/sessions", { id: "later", config: { label: "Later" } });
    await expect.poll(() => page.getByText("Not connected.").count(), SOON).toBe(0);
    await second.post("/sessions/later/inputs", { text: "Hi" });
    await row(page, /Later/).waitFor();
    await killed(second.program);
    await page.close();
    expectComplaints(AWAY);
  });
});
