import { test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import { jobStories } from "../../test/stores/stories/jobs.ts";
import { sessionStories } from "../../test/stores/stories/sessions.ts";
import { tellStories } from "../../test/stores/stories/tell.ts";
import { triggerStories } from "../../test/stores/stories/triggers.ts";
import { memory } from "./memory.ts";
import { sqlite } from "./sqlite.ts";

// One story told to two stores: whatever happens in it, both give the same answers.

const telling = {
  stores: async () => [memory(), sqlite(":memory:", { durability: "process" })],
  askedEvery: 10,
};

test("D5 memory and sqlite give the same answers in random stories", { timeout: 240_000 }, () =>
  tellStories(sessionStories, { ...telling, runs: sample(25, 200) }),
);

test("D5 J5 memory and sqlite give the same answers about jobs, whatever happens", { timeout: 120_000 }, () =>
  tellStories(jobStories, { ...telling, runs: sample(20, 180) }),
);

test(
  "D5 J7 J4 memory and sqlite give the same answers about triggers and lines, whatever happens",
  {
    timeout: 120_000,
  },
  () => tellStories(triggerStories, { ...telling, runs: sample(20, 180) }),
);
