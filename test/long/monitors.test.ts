import { describe, expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { cases, expected, judged, titleOf, ways } from "../monitors/kills.ts";

const execArgv = await builtArgv();

const all = cases.flatMap((of) => ways.map((way) => [titleOf(of, way), of, way] as const));

describe.concurrent("after a kill", () => {
  test.each(all)(
    "J4 D2 a monitor is resumed or ended, and its command runs once or not at all: %s",
    async (_, of, way) => {
      expect(await judged(of, way, execArgv)).toEqual(expected(of, way));
    },
    60_000,
  );
});
