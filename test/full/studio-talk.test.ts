// People and conversations in the studio: they write, steer, approve, fork and delete, on a server that is killed.
import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { complaints, describeBrowser, expectComplaints, ODD_SHOWN } from "./browser.ts";
import {
  AWAY,
  killed,
  open,
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

const talk = (page: Page) => page.getByRole("group", { name: "Conversation" });
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const problems = (page: Page): Promise<number> => page.getByRole("alert").count();
const wordsIn = (page: Page): Promise<string> => talk(page).evaluate("document.querySelector('.talk-box').innerText");

async function say(page: Page, words: string): Promise<void> {
  await field(page).fill(words);
  await field(page).press("Enter");
}

describeBrowser("a conversation in the studio", () => {
  let server: StudioServer;
  beforeAll(async () => {
    server = await studioServer();
  });

  test("E6 the first message makes a session, and a reload shows it and its answer once", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await show(page, "#/session");
    await say(page, "Hello");
    await talk(page).getByText("Done: Hello.").waitFor();
    await page.waitForURL(/#\/session\/./);
    await page.reload();
    await talk(page).getByText("Done: Hello.").waitFor();
    expect((await wordsIn(page)).match(/Hello/g)).toHaveLength(2);
  });

  test("E6 text streams into two tabs, a message that steers waits and is withdrawn, and cancel ends a turn", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await show(page, "#/session");
    await say(page, "Stream half");
    await talk(page).getByText("word9").waitFor();
    await page.waitForURL(/#\/session\/./);
    const other = await ann.tab(new URL(page.url()).hash);
    await talk(other).getByText("word9").waitFor();
    await say(page, "Also this");
    await page.getByRole("button", { name: "Withdraw: Also this" }).click();
    for (const each of [page, other]) await expect.poll(() => each.getByText("Also this").count(), SOON).toBe(0);
    open(server, "half");
    for (const each of [page, other]) await talk(each).getByText("word19").waitFor();
    await say(page, "Stream never");
    await button(page, "Cancel").click();
    await talk(other).getByText("Cancelled.").waitFor();
    expect(await problems(page)).toBe(0);
  });

  test("E6 a cancel gives the words of a message that waited back to the field", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await show(page, "#/session");
    await say(page, "Stream nothing");
    await talk(page).getByText("word9").waitFor();
    await say(page, "Then this");
    await page.getByRole("button", { name: "Withdraw: Then this" }).waitFor();
    await button(page, "Cancel").click();
    await talk(page).getByText("Cancelled.").waitFor();
    await expect.poll(() => field(page).inputValue(), SOON).toBe("Then this");
    expect(await talk(page).getByText("Then this").count()).toBe(0);
  });

  test("E6 an approval shows the exact call, and an answer in two tabs at once runs the tool once, without an error", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    const { turnId } = await send(server, "pay-twice", "Pay");
    await show(page, "#/session/pay-twice");
    await button(page, "Approve").waitFor();
    expect(await page.locator("main").textContent()).toContain("b\\u{202e}o\\u{200b}b");
    const waits = await ann.tab("#/waits");
    await waits.getByText("It moves money.").first().waitFor();
    await button(waits, "Approve").waitFor();
    await Promise.all([button(page, "Approve").click(), button(waits, "Approve").click()]);
    await talk(page).getByText("Done: Pay.").waitFor();
    await reaches(server, turnId);
    for (const each of [page, waits]) {
      await expect.poll(() => button(each, "Approve").count(), SOON).toBe(0);
      expect(await problems(each)).toBe(0);
    }
    const { items } = await server.get<{ items: readonly { kind: string }[] }>(`/turns/${turnId}/timeline`);
    expect(items.filter(({ kind }) => kind === "tool")).toHaveLength(1);
    expectComplaints(REFUSED); // A wait that is answered is not found.
  });

  test("E6 a denial's reason reaches the turn, and edited arguments run in place of the model's", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await send(server, "deny", "Pay");
    await show(page, "#/waits");
    await page.getByText("It moves money.").first().waitFor();
    await page.getByRole("button", { name: /^Deny/ }).first().click();
    await page.getByLabel("Why? The model reads it.").fill("Not today");
    await page.keyboard.press("Enter");
    await expect.poll(() => server.get("/sessions/deny").then(JSON.stringify), SOON).toContain("Not today");

    const { turnId } = await send(server, "edit", "Pay");
    await show(page, "#/waits");
    await page.getByText("It moves money.").first().click();
    await page.getByRole("button", { name: /Edit .*arguments/ }).click();
    await page.locator("textarea").fill('{"to":"bob","euros":1}');
    await page.locator("textarea").press("Tab");
    await page
      .getByRole("button", { name: /arguments|Approve/ })
      .first()
      .click();
    await reaches(server, turnId);
    expect(JSON.stringify(await server.get("/sessions/edit"))).toContain('"euros":1');
    await page.close();
    expectComplaints(REFUSED);
  });

  test("E6 scripts, escape codes and bidirectional marks of models and tools are shown as text", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    for (const what of ["Odd", "Broken"]) await reaches(server, (await send(server, "odd-talk", what)).turnId);
    await show(page, "#/session/odd-talk");
    await talk(page).getByText("Done: Broken.").waitFor();
    await button(page, "Unfold all").click();
    await expect.poll(() => wordsIn(page), SOON).toContain(`It is ${ODD_SHOWN}`);
    const text = await wordsIn(page);
    expect(["\u001b", "\u202e", "\u2066"].filter((each) => text.includes(each))).toEqual([]);
    expect(await page.evaluate("typeof hacked")).toBe("undefined");
    expect(await talk(page).locator("img, script").count()).toBe(0);
  });

  test("E6 5 MB of tool output: the session opens, shows its beginning, and the page stays quick", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await reaches(server, (await send(server, "large", "Large")).turnId);
    await show(page, "#/session/large");
    await talk(page).getByText("Done: Large.").waitFor();
    await button(page, "Unfold all").click();
    await page
      .getByRole("button", { name: /Show more \(\d+ characters\)/ })
      .first()
      .waitFor();
    const before = performance.now();
    await page.keyboard.press("c");
    await field(page).pressSequentially("quick");
    expect(await field(page).inputValue()).toBe("quick");
    expect(performance.now() - before).toBeLessThan(2_000);
    expect((await wordsIn(page)).length).toBeLessThan(60_000);
  });

  test("E6 a fork at a message has the history up to it, and a draft stays while its writer looks elsewhere", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    for (const what of ["One", "Two"]) await reaches(server, (await send(server, "forked", what)).turnId);
    await show(page, "#/session/forked");
    await field(page).fill("a thought");
    await show(page, "#/jobs");
    await show(page, "#/session/forked");
    expect(await field(page).inputValue()).toBe("a thought");
    await page.getByRole("button", { name: "Fork after this turn" }).first().click();
    await page.waitForURL((url) => !url.hash.endsWith("/forked"));
    await talk(page).getByText("Done: One.").waitFor();
    expect(await wordsIn(page)).not.toContain("Two");
    await say(page, "Three");
    await talk(page).getByText("Done: Three.").waitFor();
    expect(JSON.stringify(await server.get("/sessions/forked"))).not.toContain("Three");
  });

  test("E6 a session that is deleted while it is shown: the page shows that, and takes no message", async () => {
    await using ann = await visitor(server);
    const { page } = ann;
    await reaches(server, (await send(server, "gone", "Hi")).turnId);
    await show(page, "#/session/gone");
    await talk(page).getByText("Done: Hi.").waitFor();
    const headers = { authorization: `Bearer ${server.token}` };
    await fetch(`${server.url}/v1/sessions/gone`, { method: "DELETE", headers });
    await page.getByText("This session was deleted.").waitFor();
    expect(await field(page).isDisabled()).toBe(true);
    await page.reload();
    await page.getByText(/was deleted|no session with this id/).waitFor();
    await page.close();
    expectComplaints(/status of 4(?:04|10)/);
  });

  test("E6 a killed server: the open page shows the turn resumed by the next process, and its answer once", async () => {
    const first = await studioServer();
    await using ann = await visitor(first);
    const { page } = ann;
    const { turnId } = await send(first, "killed", "Wait crash");
    await reaches(first, turnId, "running");
    await show(page, "#/session/killed");
    await talk(page).getByText("wait").first().waitFor();
    await field(page).fill("a draft");
    await killed(first.program);
    await page.getByText("Not connected.").waitFor();
    const second = await studioServer({ cwd: first.cwd, port: Number(new URL(first.url).port) });
    await expect.poll(() => page.getByText("Not connected.").count(), SOON).toBe(0);
    open(second, "crash");
    await talk(page).getByText("Done: Wait.").waitFor();
    expect((await wordsIn(page)).match(/Done: Wait\./g)).toHaveLength(1);
    expect(await field(page).inputValue()).toBe("a draft");
    await show(page, `#/turn/${turnId}`);
    await page.getByText("answered").first().waitFor();
    expect(await page.locator("main").textContent()).toMatch(/[Rr]esume/);
    await killed(second.program);
    await page.close();
    expectComplaints(AWAY);
  });

  test("E6 links to what another owner has look as if it did not exist", async () => {
    const theirs = await studioServer({ owner: "ann" });
    const { turnId } = await send(theirs, "secret", "Hi");
    await reaches(theirs, turnId);
    const mine = await studioServer({ cwd: theirs.cwd, owner: "bob" });
    await using bob = await visitor(mine);
    const { page } = bob;
    await settled(page);
    expect(await page.getByText("secret").count()).toBe(0);
    for (const [hash, words] of [
      ["#/session/secret", "There is no session with this id."],
      [`#/turn/${turnId}`, /There is no|unknown/i],
      ["#/health", /[Oo]nly for administrators/],
    ] as const) {
      await show(page, hash);
      await page.locator("main").getByText(words).first().waitFor();
    }
    await page.close();
    expectComplaints(REFUSED);
  });
});
