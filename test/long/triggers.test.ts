import { afterAll, expect, test } from "vitest";
import { build } from "../crash/build.ts";
import { soak } from "../triggers/soak.ts";

const built = build();
afterAll(() => built[Symbol.dispose]());

test("J7 D2 schedules that four processes serve for a minute, of which one is killed every three seconds, occur once a second", async () => {
  const { kills, line, ...problems } = await soak({
    ...{ schedules: 20, processes: 4, lastsMs: 60_000, killEveryMs: 3_000 },
    execArgv: built.execArgv,
  });
  console.log(line);
  expect(problems).toEqual({ lost: [], repeated: [] });
  expect(kills).toBeGreaterThan(14);
}, 180_000);
