// What happened in one turn and below one session, and many workers on Postgres, one of them killed.
import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { complaints, describeBrowser } from "./browser.ts";
import {
  demoStudio,
  killed,
  open,
  reaches,
  SOON,
  type StudioServer,
  send,
  settled,
  show,
  studioServer,
  visitor,
  worker,
} from "./studio.ts";

vi.setConfig({ testTimeout: 90_000 });
afterEach(() => expect(complaints.splice(0)).toEqual([]));

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });

describeBrowser("one turn and its agents in the studio", () => {
  let demo: StudioServer;
  beforeAll(async () => {
    demo = await demoStudio();
  });

  test("E6 one turn shows its attempts, its prompt and its journal; agents show the tree below a session", async () => {
    await using ann = await visitor(demo);
    const { page } = ann;
    const [turn] = await demo.get<readonly { id: string }[]>("/turns?session=customer-2188");
    await show(page, `#/turn/${turn?.id}`);
    await page
      .getByText(/attempt 3/)
      .first()
      .waitFor();
    await button(page, "Prompt").click();
    await page.getByText("You are the support desk of a shop").first().waitFor();
    await button(page, "Journal").click();
    await page.getByRole("list", { name: "Events" }).getByText("replied").first().waitFor();
    await show(page, "#/agents/sourcing");
    const tree = page.getByRole("treeitem");
    await expect.poll(() => tree.count(), SOON).toBeGreaterThanOrEqual(3);
    await tree.first().focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowRight");
    await tree.filter({ hasText: "Look for mistakes" }).waitFor();
  });
});

describeBrowser("the studio of a cluster in Chromium", () => {
  describePostgres("on Postgres", () => {
    test("E6 four workers, one of them killed: the open pages follow each turn to its end, whichever process runs it", async () => {
      const db = await freshDatabase();
      const server = await studioServer({ db });
      const workers = Array.from({ length: 3 }, () => worker(server, db)); // The server is the fourth.
      await Promise.all(workers.map(({ until }) => until(/Ctrl-C/)));
      await using ann = await visitor(server);
      const { page } = ann;
      await settled(page);
      const ids = Array.from({ length: 6 }, (_, n) => `crew-${n}`);
      const turns = await Promise.all(ids.map((id) => send(server, id, "Wait crew")));
      await Promise.all(turns.map(({ turnId }) => reaches(server, turnId, "running")));
      const list = page.getByRole("list", { name: "Sessions" });
      for (const id of ids) await list.getByRole("link", { name: new RegExp(`${id}.*running`, "s") }).waitFor();
      const talk = await ann.tab("#/session/crew-0");
      await settled(talk);
      await killed(workers[0] as (typeof workers)[number]);
      open(server, "crew");
      await Promise.all(turns.map(({ turnId }) => reaches(server, turnId)));
      for (const id of ids) await list.getByRole("link", { name: new RegExp(`${id}.*idle`, "s") }).waitFor();
      await talk.getByText("Done: Wait.").waitFor();
      for (const each of [server.program, ...workers.slice(1)]) await killed(each);
      await talk.close();
      await page.close();
      complaints.splice(0); // The server is away.
    });
  });
});
