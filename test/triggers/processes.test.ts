import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { sample } from "../kit/size.ts";
import { soak } from "./soak.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` does it for a minute.
test("J7 D2 schedules that several processes serve, which are killed, occur at each of their times, and at each once", async () => {
  const { kills, line, ...problems } = await soak({
    ...{
      schedules: sample(6, 10),
      processes: sample(2, 3),
      lastsMs: sample(2_000, 7_000),
      killEveryMs: sample(600, 1_000),
    },
    execArgv,
  });
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [] });
  expect(kills).toBeGreaterThan(sample(0, 3));
}, 60_000);
