import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crashTest } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { scenario } from "./scenarios.ts";

const execArgv = await builtArgv();
const elsewhere = mkdtempSync(join(tmpdir(), "bowline-elsewhere-"));
process.env.ELSEWHERE = elsewhere; // Processes of trials get it.
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));
const place = (name: string): URL => new URL(`./places/${name}.ts`, import.meta.url);

test("D6 a place of one's own keeps what processes do, is looked at after each kill, and dropped after each trial", async () => {
  const trials = [
    { kind: "kills", at: [6] },
    { kind: "pair", at: 2 }, // Soon: the other process may do all the rest.
  ] as const;
  const report = await crashTest(scenario("text-turn"), { execArgv, trials, place: place("elsewhere") });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBe(2);
  expect(readdirSync(elsewhere)).toEqual(["notes"]);
  const said: { [name: string]: string[] } = {};
  for (const line of readFileSync(join(elsewhere, "notes"), "utf8").trimEnd().split("\n")) {
    const [what = "", name = "", ...how] = line.split(" ");
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,40}$/);
    (said[name] ??= []).push([what, ...how].join(" "));
  }
  // Names end with the number of the trial.
  const [clean, killed, paired, ...more] = Object.keys(said)
    .sort()
    .map((name) => said[name]);
  expect(clean).toEqual(["open", "look still", "drop"]);
  expect(killed).toEqual(["open", "look still", "look still", "open", "look still", "drop"]);
  expect(paired?.toSorted()).toEqual(["drop", "look shared", "look still", "open", "open", "open"]);
  expect(more).toEqual([]);
}, 60_000);

test("D6 a place whose look changes what the next process finds is refused", async () => {
  const trials = [{ kind: "kills", at: [6] }] as const;
  const tried = crashTest(scenario("text-turn"), { execArgv, trials, place: place("meddling") });
  await expect(tried).rejects.toThrow(/A second look at the place .*meddling\.ts shows something else/);
}, 60_000);

test("D6 a place that does not open is reported, with the reason", async () => {
  const { violations } = await crashTest(scenario("text-turn"), { execArgv, place: place("closed") });
  expect(violations).toEqual([
    expect.objectContaining({
      kind: "failed",
      problem: expect.stringMatching(/The place .*closed\.ts did not open: .*no server listens at port 5433/),
    }),
  ]);
}, 60_000);

test("D6 an invalid place is refused before anything runs", async () => {
  const given = (where: unknown) => crashTest(scenario("text-turn"), { execArgv, place: where as URL });
  await expect(given("postgre")).rejects.toThrow('"postgre" is no place: name one of sqlite, amnesiac,');
  await expect(given(scenario("text-turn"))).rejects.toThrow(/text-turn\.ts has no place: .* open and look/);
});
