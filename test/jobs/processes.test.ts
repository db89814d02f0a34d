import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { sample } from "../kit/size.ts";
import { soak } from "./soak.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` does it with a thousand.
test("J2 J5 many jobs run in processes that are killed, and each ends once", async () => {
  const killsMax = sample(2, 3);
  const load = {
    ...{ jobs: sample(30, 100), processes: sample(2, 3), killEveryMs: sample(500, 900), killsMax, stepMs: 600 },
    ...{ execArgv, timeoutMs: 60_000 },
  };
  const { kills, line, ...problems } = await soak(load);
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [], wrong: [] });
  expect(kills).toBe(killsMax);
}, 120_000);
