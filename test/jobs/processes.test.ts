import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { soak } from "./soak.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` does it with a thousand.
test("J2 J5 a hundred jobs go through three processes that are killed, and each ends once", async () => {
  const load = { jobs: 100, processes: 3, killEveryMs: 900, killsMax: 3, stepMs: 600, execArgv, timeoutMs: 60_000 };
  const { kills, line, ...problems } = await soak(load);
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [], wrong: [] });
  expect(kills).toBe(3);
}, 120_000);
