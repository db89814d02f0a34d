// `useChat` of `@ai-sdk/react` in a React page in Chromium, against `bowline/server/ui-stream`.
import { join } from "node:path";
import type { Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterEach, beforeAll, expect, test } from "vitest";
import { started } from "../adapters/serving.ts";
import { folder } from "../cli/program.ts";
import { freePort } from "../kit/programs.ts";
import { file } from "../kit/stores.ts";
import { complaints, describeBrowser, expectComplaints, person } from "./browser.ts";

const script = join(folder(), "page.js");
const LOGIN = "/login?t=0123456789abcdef";
const COUNTED = `text: ${Array.from({ length: 60 }, (_, nth) => `${nth} `).join("")}`;
const COUNT = ["text: Count.", 'work {"worked":[1,2]}', COUNTED];
const PAY = ["text: Pay.", "thinks: Is it dear? ", "text: I ask."];

beforeAll(async () => {
  const bundle = await rolldown({
    ...{ input: new URL("../adapters/page.mjs", import.meta.url).pathname, platform: "browser", logLevel: "silent" },
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
  });
  await bundle.write({ file: script, format: "esm", codeSplitting: false });
  await bundle.close();
});
afterEach(() => expect(complaints.splice(0)).toEqual([]));

const shows = async (page: Page, items: readonly string[], status = "ready"): Promise<void> => {
  await expect.poll(() => page.locator("section p").allTextContents(), { timeout: 15_000 }).toEqual(items);
  await expect.poll(() => page.locator("output").textContent()).toBe(status);
};
const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name }).click();
const hasHalf = (page: Page): Promise<void> => page.getByText("text: 0 1 2 3").waitFor();

describeBrowser("useChat in Chromium", () => {
  test("E5 streams a turn; a reload in mid-turn and a second tab show the same, once", async () => {
    const { url } = await started(file(), await freePort(), script);
    await using ann = await person();
    const page = await ann.tab(url + LOGIN);
    await press(page, "Count.");
    await hasHalf(page);
    const second = await ann.tab(url);
    await page.reload();
    for (const each of [page, second]) await shows(each, COUNT);
    await page.reload();
    await shows(page, COUNT);
  });

  test.each([
    ["Approve", 'pay "paid"'],
    ["Deny", "pay output-denied"],
  ])("E5 %s continues a turn that waited for a person over a reload", async (button, result) => {
    const { url } = await started(file(), await freePort(), script);
    await using ann = await person();
    const page = await ann.tab(url + LOGIN);
    await press(page, "Pay.");
    await shows(page, [...PAY, "pay approval-requested"]);
    await page.reload();
    await shows(page, [...PAY, "pay approval-requested"]);
    await press(page, button);
    await shows(page, [...PAY, result, "text: I asked."]);
    await page.reload();
    await shows(page, [...PAY, result, "text: I asked."]);
  });

  test("E5 the stop route ends the turn in all tabs", async () => {
    const { url } = await started(file(), await freePort(), script);
    await using ann = await person();
    const page = await ann.tab(url + LOGIN);
    await press(page, "Count slowly.");
    await hasHalf(page);
    const second = await ann.tab(url);
    await hasHalf(second);
    await press(page, "Stop");
    await expect.poll(() => second.locator("output").textContent()).toBe("ready");
    const texts = await second.locator("section p").allTextContents();
    expect(texts.at(-1)).not.toBe(COUNTED);
    await page.reload();
    await shows(page, texts);
  });

  test("E5 after a kill -9 of the server in mid-turn, a reload shows the whole turn once", async () => {
    const [path, port] = [file(), await freePort()];
    const { url, kill } = await started(path, port, script);
    await using ann = await person();
    const page = await ann.tab(url + LOGIN);
    await press(page, "Count.");
    await hasHalf(page);
    await kill();
    await expect.poll(() => page.locator("output").textContent()).toBe("error");
    await started(path, port, script);
    await page.reload();
    await shows(page, COUNT);
    expectComplaints(/net::ERR_|network error|Failed to fetch/);
  });
});
