import { describe, expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { eventually } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { type Case, expected, judged, left, titleOf, type Way } from "./kills.ts";

// A sample; `npm run test:long` has every command at every place, in every way.
const execArgv = await builtArgv();

const plain = { command: "plain", restarts: false } as const;
const stops = { ...plain, leaves: "stop" } as const;

const KILLS: readonly (readonly [Case, Way])[] = [
  [{ ...plain, dies: "before group" }, "recover"],
  [{ ...plain, dies: "after group" }, "recover"],
  [{ ...plain, dies: "before wake" }, "recover"],
  [{ ...plain, dies: "after wake" }, "recover"],
  [{ ...plain, dies: "after line" }, "recover"],
  [{ ...stops, dies: "after stop" }, "recover"],
  [{ ...stops, dies: "before end" }, "recover"],
  [{ ...plain, dies: "before end" }, "recover"],
  [{ ...plain, dies: "after end" }, "recover"],
  [{ ...plain, restarts: true, dies: "after group" }, "recover"],
  [{ ...plain, restarts: true, dies: "after line" }, "recover"],
  [{ ...plain, restarts: true, command: "one that ignores TERM", dies: "after wake" }, "recover"],
  [{ ...plain, restarts: true, command: "one whose children outlive it", dies: "after line" }, "recover"],
  [{ ...plain, command: "one whose children outlive it", dies: "after line" }, "cancel"],
  [{ ...plain, command: "one that ignores TERM", dies: "after line" }, "delete"],
];

describe.concurrent("after a kill", () => {
  const taken = KILLS.filter((_, at) => at % sample(2, 1) === 0);
  test.each(taken.map(([of, way]) => [titleOf(of, way), of, way] as const))(
    "J4 D2 a monitor is resumed or ended, and its command runs once or not at all: %s",
    async (_, of, way) => {
      expect(await judged(of, way, execArgv)).toEqual(expected(of, way));
    },
    30_000,
  );
});

describe.concurrent("without a kill", () => {
  test.each([
    ["close", "one that ignores TERM"],
    ["close", "one whose children outlive it"],
    ["exit", "one that ignores TERM"],
    ["exit", "one whose children outlive it"],
    ["SIGTERM", "one that ignores TERM"],
  ] as const)(
    "J4 D2 a process that leaves with %s leaves nothing of its command: %s",
    async (leaves, command) => {
      await using gone = await left({ command, restarts: true, leaves }, execArgv);
      if (leaves === "close") expect(gone.count()).toBe(0);
      // What was killed at the very end of the process may take a moment.
      expect(await eventually(() => (gone.count() === 0 ? true : undefined))).toBe(true);
    },
    30_000,
  );
});
