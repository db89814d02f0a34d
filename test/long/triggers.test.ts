import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { soak } from "../triggers/soak.ts";

const execArgv = await builtArgv();

test("J7 D2 schedules that four processes serve for a minute, of which one is killed every three seconds, occur once a second", async () => {
  const { kills, line, ...problems } = await soak({
    ...{ schedules: 20, processes: 4, lastsMs: 60_000, killEveryMs: 3_000 },
    execArgv,
  });
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [] });
  expect(kills).toBeGreaterThan(14);
}, 180_000);
