// The studio in a real browser: addresses that nobody would write, and answers that no page expects.
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { complaints, describeBrowser, expectComplaints } from "./browser.ts";
import { REFUSED, reaches, type StudioServer, send, settled, show, studioServer, visitor } from "./studio.ts";

vi.setConfig({ testTimeout: 60_000 });
afterEach(() => expect(complaints.splice(0)).toEqual([]));

describeBrowser("a page of the studio with an odd address in Chromium", () => {
  let server: StudioServer;
  beforeAll(async () => {
    server = await studioServer();
    await send(server, "desk", "Hi");
    await send(server, "asks", "Pay");
  });

  test("E6 ids of all kinds lead from the list to their session, and back", async () => {
    await using person = await visitor(server);
    const { page } = person;
    const ids = [
      "../up",
      "a/b",
      "a?b#c",
      "100%",
      "%2F",
      "a b+c",
      "\u{1f600}",
      "<b>",
      "&amp;",
      "constructor",
      "...",
      "\ufeffx",
    ];
    for (const id of ids) {
      const { turnId } = await send(server, id, "Hi", { owner: id, tags: [id] });
      await reaches(server, turnId);
      await show(page, `#/sessions?${new URLSearchParams({ tag: id })}`);
      await page.getByRole("list", { name: "Sessions" }).getByRole("link").click();
      await page.getByRole("link", { name: "Turn", exact: true }).waitFor();
      expect(decodeURIComponent(page.url().split("#/session/")[1] as string), id).toBe(id);
      await page.getByRole("link", { name: "Turn", exact: true }).click();
      await page.waitForURL(/#.turn/);
      await settled(page);
      expect(await page.locator(".problem").count(), id).toBe(0);
    }
  });

  test("E6 a page whose query has what no link has still shows its data", async () => {
    await using person = await visitor(server);
    const { page } = person;
    for (const hash of [
      "#/waits?kind=constructor",
      "#/usage?range=constructor",
      "#/usage?range=own&since=1e300&until=Infinity",
      "#/usage?range=own&since=1&until=253402300799998",
      "#/usage?range=own&since=-5&until=NaN",
      "#/usage?range=own&since=9&until=5",
      "#/session/desk?tab=__proto__&node=none",
      "#/schedules?show=toString&event=x",
      "#/nowhere/%E0%A4%A",
    ]) {
      await show(page, hash);
      expect(await page.locator(".problem").allTextContents(), hash).toEqual([]);
    }
  });

  test("E6 a link to a question that has ended shows that, and a list that fails shows why and nothing that loads", async () => {
    await using person = await visitor(server);
    const { page } = person;
    await show(page, "#/waits?at=none");
    await page.getByText("This waits no longer").waitFor();
    await page.evaluate("location.hash = '#/sessions?state=none'");
    await page.getByText("Invalid option").waitFor();
    expect(await page.locator(".placeholder, [aria-busy=true]").count()).toBe(0);
    expectComplaints(/status of 40[04]/);
  });

  test("E6 the field of the search follows the address, and a label can be taken away", async () => {
    await using person = await visitor(server);
    const { page } = person;
    await page.getByRole("searchbox").fill("desk");
    await page.waitForURL(/search=desk/);
    await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
    await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("");

    await show(page, "#/session/desk");
    for (const label of ["The desk", ""]) {
      await page.getByLabel("Label").fill(label);
      await page.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => page.locator("h1").textContent()).toBe(label || "Hi");
    }
  });

  test("E6 a session that does not exist is not made by looking at its plugins", async () => {
    await using person = await visitor(server);
    await show(person.page, "#/plugins?session=typo");
    await person.page.getByText("Session typo does not exist").waitFor();
    expect(await server.get("/sessions?search=typo")).toEqual([]);
    expectComplaints(REFUSED);
  });

  test("E6 a page that cannot be drawn shows why, and other pages work", async () => {
    await using person = await visitor(server);
    const { page } = person;
    await page.route("**/v1/jobs?*", (asked) => asked.fulfill({ json: [{ id: "job_1", state: "working" }] }));
    await page.evaluate("location.hash = '#/jobs'");
    await page.getByRole("heading", { name: "This page failed" }).waitFor();
    await page.unroute("**/v1/jobs?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No job is live.").waitFor();
    await show(page, "#/sessions");
    await page.getByRole("list", { name: "Sessions" }).getByRole("link", { name: /desk/ }).waitFor();
    expectComplaints(/^(?:Range|Type)Error/);
  });
});
