import { expect, test } from "vitest";
import { soak } from "../jobs/soak.ts";
import { builtArgv } from "../kit/built.ts";

const execArgv = await builtArgv();

test("J2 J5 a thousand jobs go through four processes, of which one is killed every second, and each ends once", async () => {
  const load = { jobs: 1_000, processes: 4, killEveryMs: 1_000, stepMs: 500, execArgv, timeoutMs: 300_000 };
  const { kills, line, ...problems } = await soak(load);
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [], wrong: [] });
  expect(kills).toBeGreaterThan(10);
}, 600_000);
