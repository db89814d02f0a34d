import { beforeAll, test } from "vitest";
import { memory } from "../../src/stores/memory.ts";
import { sqlite } from "../../src/stores/sqlite.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { jobStories } from "../stores/stories/jobs.ts";
import { sessionStories } from "../stores/stories/sessions.ts";
import { type Stories, tellStories } from "../stores/stories/tell.ts";
import { triggerStories } from "../stores/stories/triggers.ts";
import { SharedSchema } from "./schemas.ts";

// One story told to three stores: whatever happens in it, all give the same answers.

/** `name`: of a schema, so that a test which ran out of time does not disturb the next one. */
async function tell<Teller>(url: string, name: string, stories: Stories<Teller>, runs: number): Promise<void> {
  const schema = new SharedSchema(url, name);
  const stores = async () => {
    const server = await schema.emptied({ listen: false });
    return [memory(), sqlite(":memory:", { durability: "process" }), server];
  };
  await tellStories(stories, { stores, runs, askedEvery: 30, hasOwnNumbers: true });
  await schema.end();
}

describePostgres("stories on Postgres", () => {
  let url: string;
  beforeAll(async () => {
    url = await freshDatabase();
  });

  test("E7 D5 the three stores give the same answers, whatever happens", () =>
    tell(url, "sessions", sessionStories, sample(3, 80)));

  test("E7 D5 J5 the three stores give the same answers about jobs, whatever happens", () =>
    tell(url, "jobs", jobStories, sample(4, 120)));

  test("E7 D5 J7 J4 the three stores give the same answers about triggers and lines, whatever happens", () =>
    tell(url, "triggers", triggerStories, sample(4, 120)));
});
