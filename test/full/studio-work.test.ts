// The studio's pages of jobs, schedules, usage, plugins and health in a real browser, with a runtime in this process.
import { createRuntime, defineTrigger, type Runtime } from "bowline";
import { definePlugin } from "bowline/plugin";
import { approvals } from "bowline/plugins/approvals";
import { type Listening, serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import type { BrowserContextOptions } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { complaints, describeBrowser, expectComplaints, person } from "./browser.ts";
import { faultsOf } from "./studio.ts";

const mail = defineTrigger({ name: "mail.received", payload: z.object({ from: z.string() }) });
const crew = definePlugin({
  id: "acme/crew",
  state: z.object({ knots: z.number().default(0) }),
  setup: ({ query, command, task }) => ({
    triggers: [mail],
    operations: {
      find: query({
        input: z.object({ words: z.string(), most: z.number().int().default(3), order: z.enum(["up", "down"]) }),
        run: ({ input }) => input,
      }),
      tie: command({
        input: z.object({ knots: z.number().int() }),
        run: ({ input, state }) => {
          state.update(({ knots }) => ({ knots: knots + input.knots }));
          return "tied";
        },
      }),
      sink: command({
        run: () => {
          throw new Error("a leak");
        },
      }),
      wait: task({
        input: z.any(),
        run: async ({ once, job }) => {
          await once("first", async () => ({ lines: 3 }));
          return { said: (await job?.receive("go")) ?? null };
        },
      }),
      file: task({ input: z.any(), run: async () => "filed" }),
    },
  }),
});

let runtime: Runtime;
let server: Listening;
beforeAll(async () => {
  const prices = { "echo/test": { input: 3_000, output: 9_000 } };
  runtime = await createRuntime({ store: memory(), model: echo(), prices, plugins: [crew, approvals({ rules: [] })] });
  const authorize = (request: Request) =>
    /user=ann/.test(request.headers.get("cookie") ?? "") ? { owner: "ann" } : { name: "root" };
  server = await serve(runtime, { studio: true, authorize }).listen({ port: 0 });
  await using desk = await runtime.session("desk");
  await desk.turn("Hello.").result();
});
afterAll(async () => {
  await server?.close();
  await runtime?.close();
});
afterEach(() => expect(complaints.splice(0)).toEqual([]));

/** A page of the studio, for an administrator or for one owner. */
async function visit(hash: string, options: BrowserContextOptions = {}, user = "root") {
  const headers = { cookie: `user=${user}` };
  const ann = await person({ ...options, extraHTTPHeaders: headers });
  const page = await ann.tab(`${server.url}/studio/${hash}`);
  await page.locator("main h1").waitFor();
  return { page, [Symbol.asyncDispose]: () => ann[Symbol.asyncDispose]() };
}

async function newJob(label: string): Promise<string> {
  await using desk = await runtime.session("desk");
  const go = z.object({ by: z.string(), grade: z.enum(["good", "poor"]) });
  const note = z.object({ lines: z.array(z.string()) });
  const { id } = await desk.jobs.spawn({ label, operation: "acme/crew.wait", input: {}, signals: { go, note } });
  return id;
}

describeBrowser("the studio's pages of work", () => {
  test("E6: a person sends a job a signal by a form, and the page shows how the job ends", async () => {
    const id = await newJob("Tie the boat");
    await using visitor = await visit(`#/job/${id}`);
    const { page } = visitor;
    await page.getByText("Step first").click();
    await page.getByLabel("by").fill("ada");
    await page.getByLabel("grade").selectOption("good");
    await page.getByRole("button", { name: "Send" }).first().click();
    await page.locator(".head .badge", { hasText: "completed" }).waitFor();
    const result = page.getByRole("group", { name: "Result" });
    expect(JSON.parse((await result.textContent()) ?? "")).toEqual({ said: { by: "ada", grade: "good" } });
    expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
  });

  test("E6: a signal that does not fit its schema stays in the form with the reason", async () => {
    const id = await newJob("Note it");
    await using visitor = await visit(`#/job/${id}`);
    const { page } = visitor;
    const note = page.locator(".signal", { hasText: "note" });
    await note.getByLabel("Payload (JSON)").fill('{ "lines": ["one" }');
    await note.getByRole("button", { name: "Send" }).click();
    await note.getByText("This is not JSON").waitFor();
    await note.getByLabel("Payload (JSON)").fill('{ "lines": "one" }');
    await note.getByRole("button", { name: "Send" }).click();
    await note.locator(".problem code", { hasText: "job.signal" }).waitFor();
    expect(await note.getByLabel("Payload (JSON)").inputValue()).toBe('{ "lines": "one" }');
    expectComplaints(/status of 4\d\d/);
  });

  test("E6: cancelling a job asks first, and gives the focus back when the person does not confirm", async () => {
    const id = await newJob("Sail away");
    await using visitor = await visit("#/jobs");
    const { page } = visitor;
    await page.getByRole("link", { name: /Sail away/ }).click();
    const cancel = page.getByRole("button", { name: "Cancel", exact: true });
    await cancel.click();
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect.poll(() => cancel.evaluate((each) => each === each.ownerDocument.activeElement)).toBe(true);
    expect((await runtime.jobs.get(id)).cancel).toBeUndefined();
    await cancel.click();
    await page.getByLabel("Reason").fill("The wind is wrong.");
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.locator(".head .badge", { hasText: "cancelled" }).waitFor();
    expect((await runtime.jobs.get(id)).cancel?.reason).toBe("The wind is wrong.");
  });

  test("E6: a person disables a schedule, runs it now, and removes it", async () => {
    const triggers = runtime.triggers.of("desk");
    const on = { cron: "30 2 * * *", timeZone: "Europe/Berlin" };
    await triggers.subscribe({ id: "nightly", label: "Nightly", on, operation: "acme/crew.file" });
    await using visitor = await visit("#/schedules");
    const { page } = visitor;
    await page.getByText("every day at 02:30, Europe/Berlin").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const isOn = page.getByRole("switch", { name: "Nightly is enabled" });
    await isOn.click();
    await page.locator('[role=switch][aria-checked="false"]').waitFor();
    expect((await triggers.get("nightly")).isEnabled).toBe(false);
    expect(await page.getByRole("button", { name: "Run now: Nightly" }).isDisabled()).toBe(true);
    await isOn.click();
    await page.getByRole("button", { name: "Run now: Nightly" }).click();
    await page.getByText("Started: job in desk").waitFor();
    const [occurrence] = await triggers.occurrences({ subscription: "nightly" });
    const link = page.locator(".row-note a");
    expect(await link.getAttribute("href")).toBe(`#/job/${occurrence?.deliveries[0]?.jobId}`);
    await page.getByRole("button", { name: "Remove Nightly" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).last().click();
    await page.getByText("There are no subscriptions.").waitFor();
    expect(await triggers.list()).toEqual([]);
  });

  test("E6: a person records an event, and an event that no plugin declares is refused", async () => {
    const triggers = runtime.triggers.of("desk");
    await triggers.subscribe({ id: "filing", on: { event: "mail.received" }, operation: "acme/crew.file" });
    await using visitor = await visit("#/schedules");
    const { page } = visitor;
    await page.getByRole("button", { name: "Record an event" }).click();
    await page.getByLabel("Event", { exact: true }).fill("mail.lost");
    await page.getByRole("button", { name: "Record", exact: true }).click();
    await page.locator("dialog .problem code", { hasText: "trigger.unknown" }).waitFor();
    await page.getByLabel("Event", { exact: true }).fill("mail.received");
    await page.getByLabel("Payload (JSON)").fill('{ "from": "ada" }');
    await page.getByRole("button", { name: "Record", exact: true }).click();
    await page.getByText("Recorded.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Occurrences" }).click();
    const row = page.locator(".occurrence", { hasText: "mail.received" });
    await row.getByRole("link", { name: "job" }).waitFor();
    await triggers.remove("filing");
    expectComplaints(/status of 4\d\d/);
  });

  test("E6: a query runs at once, and a command runs after the person has confirmed its input", async () => {
    await using visitor = await visit("#/plugins?session=desk");
    const { page } = visitor;
    const crewCard = page.getByRole("region", { name: "acme/crew" });
    const find = crewCard.locator(".operation", { hasText: "find" });
    await find.locator("summary").first().click();
    await find.getByLabel("words").fill("rope");
    expect(await find.getByLabel("most").inputValue()).toBe("3");
    await find.getByLabel("order").selectOption("down");
    await find.getByRole("button", { name: "Run" }).click();
    const result = find.getByRole("group", { name: "Result" });
    expect(JSON.parse((await result.textContent()) ?? "")).toEqual({ words: "rope", most: 3, order: "down" });
    const tie = crewCard.locator(".operation", { hasText: "tie" });
    await tie.locator("summary").first().click();
    await tie.getByLabel("knots").fill("4");
    await tie.getByRole("button", { name: "Run" }).click();
    await page.locator("dialog").getByText('"knots": 4').waitFor();
    expect((await runtime.sessions.states("desk"))["acme/crew"]).toBeUndefined();
    expect(await faultsOf(page)).toEqual([]);
    await page.locator("dialog").getByRole("button", { name: "Run" }).click();
    await tie.getByText("tied").waitFor();
    await crewCard.getByText(/State \(version .*1 change/).waitFor();
    expect((await runtime.sessions.states("desk"))["acme/crew"]?.state).toEqual({ knots: 4 });
    const sink = crewCard.locator(".operation", { hasText: "sink" });
    await sink.locator("summary").first().click();
    await sink.getByRole("button", { name: "Run" }).click();
    await page.locator("dialog").getByRole("button", { name: "Run" }).click();
    await page.locator("dialog .problem code", { hasText: "operation.failed" }).waitFor();
    expectComplaints(/status of \d\d\d/);
  });

  test("E6: usage has the same numbers as a chart, which follows the theme, and as a table", async () => {
    await using visitor = await visit("#/usage", { colorScheme: "light" });
    const { page } = visitor;
    const bar = page.locator(".chart g rect").first();
    const colour = (): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.querySelector(".chart g rect")).fill`);
    await bar.waitFor();
    const light = await colour();
    await page.getByRole("button", { name: "Theme" }).click();
    await expect.poll(colour).not.toBe(light);
    await bar.hover();
    await page.locator(".chart-at strong").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const { turns } = (await runtime.sessions.find("desk")) ?? { turns: 0 };
    await page.getByRole("button", { name: "Turns", exact: true }).click();
    await page.getByText("The chart as a table").click();
    const cells = await page
      .getByRole("group", { name: "The chart as a table" })
      .locator("tbody td.number")
      .allTextContents();
    expect(cells.map(Number).reduce((sum, each) => sum + each, 0)).toBe(turns);
    await page.getByRole("button", { name: "Custom" }).click();
    await page.getByLabel("To", { exact: true }).fill("2001-01-01T00:00");
    await page.getByLabel("From", { exact: true }).fill("2000-01-01T00:00");
    await page.getByText("No turn ended in this time.").waitFor();
  });

  test("E6: the doctor finds no damage in a healthy store", async () => {
    await using visitor = await visit("#/health");
    const { page } = visitor;
    await page.getByText("Oldest queued input").waitFor();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText("No damage found.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  test("E6: a caller with an owner reads that health is for administrators", async () => {
    await using visitor = await visit("#/health", {}, "ann");
    await visitor.page.getByText("Only for administrators.").waitFor();
    expect(await visitor.page.getByRole("alert").count()).toBe(0);
    expectComplaints(/status of 403/);
  });

  test.each(["light", "dark"] as const)(
    "E6: the pages of work fit a narrow window in %s colours",
    async (colorScheme) => {
      await newJob("A job with a label that is far too long for a window of this width, and goes on");
      const viewport = { width: 400, height: 800 };
      await using visitor = await visit("#/jobs?show=all", { colorScheme, viewport });
      const { page } = visitor;
      await page
        .getByRole("link", { name: /far too long/ })
        .first()
        .waitFor();
      expect(await faultsOf(page)).toEqual([]);
      await page
        .getByRole("link", { name: /far too long/ })
        .first()
        .click();
      await page.getByText("Step first").waitFor();
      expect(await faultsOf(page)).toEqual([]);
      for (const [hash, text] of [
        ["usage", "The chart as a table"],
        ["plugins", "acme/crew"],
        ["schedules?show=occurrences", "Occurrences"],
      ] as const) {
        await page.evaluate(`location.hash = "#/${hash}"`);
        await page.getByText(text, { exact: true }).first().waitFor();
        expect(await faultsOf(page)).toEqual([]);
      }
    },
  );
});
