import { crashTest } from "bowline/testing";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";

const execArgv = await builtArgv();
const mistake = (name: string): URL => new URL(`./mistakes/${name}.ts`, import.meta.url);

test("D6 crash kit: a scenario that leaves out the host fails, and the violation names the host", async () => {
  const { violations } = await crashTest(mistake("without-host"), { execArgv, kills: 1 });
  expect(violations).toMatchObject([{ kind: "failed", problem: expect.stringContaining("`host`") }]);
}, 60_000);

test("D6 crash kit: a difference after an input without a key names the missing key", async () => {
  const { violations } = await crashTest(mistake("without-key"), { execArgv, kills: 1 });
  expect(violations).toMatchObject([
    { kind: "different", problem: expect.stringMatching(/Session tigers got an input without a key in several lives/) },
  ]);
}, 60_000);
