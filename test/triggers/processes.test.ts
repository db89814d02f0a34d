import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { soak } from "./soak.ts";

const execArgv = await builtArgv();

// A sample; `npm run test:long` does it for a minute.
test("J7 D2 schedules that several processes serve, which are killed, occur at each of their times, and at each once", async () => {
  const { kills, line, ...problems } = await soak({
    ...{ schedules: 10, processes: 3, lastsMs: 7_000, killEveryMs: 1_000 },
    execArgv,
  });
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [] });
  expect(kills).toBeGreaterThan(3);
}, 60_000);
