import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, Session, Store } from "bowline";
import { monitors } from "bowline/plugins/monitors";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, recited, says } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { codeOf, eventsOf, only, saidIn } from "../../../test/kit/reading.ts";
import { around, file } from "../../../test/kit/stores.ts";
import { running } from "../../../test/kit/worlds.ts";
import { answersIn, cast, eventually, jsonOf, within } from "../../../test/subagents/roles.ts";
import { linesOf } from "./shown.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-monitors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
/** The path of a file that is not there yet. */
const place = (): string => join(folder, `${++files}`);

type Arguments = { readonly [argument: string]: Json };
const watches = (given: Arguments, id = "watch") => calls("monitor", given, id);
const stops = (given: Arguments, id = "stop") => calls("monitor_stop", given, id);
const plugins = [monitors];

/** A command that tells its pid in a file, and prints each line that a file is given. */
const watching = (log: string, pid: string): string => `echo $$ > '${pid}'; touch '${log}'; tail -n +1 -f '${log}'`;
const written = (path: string): Promise<string> =>
  eventually(() => (existsSync(path) && readFileSync(path, "utf8").trim()) || undefined);
const isAlive = (pid: string): boolean => {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
};

const answers = async (session: Session): Promise<readonly Json[]> =>
  answersIn((await session.read()).messages).map(jsonOf);
const monitorsOf = async (session: Session) => (await session.monitors.snapshot()).monitors;
const failures = async (session: Session) => {
  const ends = only(await within(eventsOf(session.turn("Go"))), "toolEnded");
  return ends.map(({ output }) => (output.kind === "failure" ? output.failure : output));
};

describe.each([
  ["in memory", memory],
  ["in SQLite", () => sqlite(file(), { durability: "process" })],
])("%s", (_, make) => {
  test("J4 a model watches a command, which begins with the answer; a line opens one turn, and there the model stops it", async () => {
    const [log, pid] = [place(), place()];
    const begun: unknown[] = [];
    const store = around(make(), {
      append: (act, ...given) => {
        const [, , , , , spawns = []] = given as Parameters<Store["append"]>;
        if (spawns.length > 0) begun.push(existsSync(pid));
        return act();
      },
    });
    const model = cast({
      Go: [
        watches({ command: watching(log, pid), id: "log", label: "The log", wake: "wake" }),
        says("I watch it."),
        stops({ id: "log", reason: "Found." }),
        says("The disk is full."),
      ],
    });
    await using runtime = await running({ store, plugins, model });
    const session = await runtime.session("s");
    await within(session.turn("Go").result());
    expect(begun).toEqual([false]); // When the answer was written, with the job.
    const shell = await within(written(pid));
    expect(await monitorsOf(session)).toMatchObject([{ id: "log", state: "running", wake: "wake" }]);
    writeFileSync(log, "error: disk full\n", { flag: "a" });
    await eventually(async () => (await monitorsOf(session))[0]?.state === "stopped" || undefined);
    await eventually(async () => (await runtime.sessions.get("s")).openTurn === undefined || undefined);
    expect(await saidIn(session)).toEqual(["Go", '[Monitor] "The log" (log) has printed:\nerror: disk full']);
    expect(await answers(session)).toEqual([
      { id: "log", label: "The log", state: "starting", note: expect.stringContaining("begins with this answer") },
      { id: "log", label: "The log", state: "stopped", lines: 1, lastLine: "error: disk full" },
    ]);
    expect(isAlive(shell)).toBe(false);
    expect(await session.jobs.list()).toMatchObject([{ state: "cancelled", cancel: { reason: "Found." } }]);
    expect(model.asked).toHaveLength(4);
  }, 15_000);
});

test("J4 a line of a monitor that only notifies opens no turn, and the next one reads it, with how it ended", async () => {
  await using runtime = await running({
    plugins,
    model: recited(watches({ command: "echo built; exit 3", label: "Build" }), says("I watch."), says("It failed.")),
  });
  const session = await runtime.session("s");
  await within(session.turn("Go").result());
  await eventually(async () => (await monitorsOf(session))[0]?.state === "failed" || undefined);
  expect(await saidIn(session)).toEqual(["Go"]);
  await within(session.turn("Well?").result());
  const told = (await saidIn(session)).join("\n");
  expect(told).toMatch(/"Build" \(mon_[\w-]+\) is over\. .*exit code 3\.\nIts last lines:\nbuilt/);
});

test("J4 what a model asks for wrongly is refused by name, and starts nothing", async () => {
  const command = "echo started";
  await using runtime = await running({
    plugins: [monitors({ allowsPersistent: false, timeoutMaxMs: 1_000 })],
    model: recited(
      watches({}, "nothing to run"),
      watches({ command: "" }, "empty"),
      watches({ command: " \n" }, "blank"),
      watches({ command, wake: "none" }, "no wake"),
      watches({ command, timeoutMs: 1_001 }, "too long"),
      watches({ command, isPersistent: true }, "for ever"),
      watches({ command, cwd: "/" }, "elsewhere"),
      stops({}, "no id"),
      says("Oh."),
    ),
  });
  const session = await runtime.session("s");
  const found = await failures(session);
  expect(found).toHaveLength(8);
  expect(found.map((each) => "code" in each && each.code)).toEqual(
    found.map((_, n) => (n === 2 ? "monitor.invalid" : "tool.arguments")),
  );
  for (const each of found) expect(each).toMatchObject({ class: "arguments" });
  expect(await session.jobs.list()).toEqual([]);
});

test("J4 an id that is unknown, or runs with another command, is refused with what to do", async () => {
  await using runtime = await running({
    plugins,
    model: recited(
      stops({ id: "other" }, "unknown"),
      stops({ id: "theirs" }, "theirs"),
      watches({ id: "ours", command: "echo other" }, "conflict"),
      watches({ id: "ours", command: "sleep 600", label: "Ours" }, "same"),
      says("Done."),
    ),
  });
  const session = await runtime.session("s");
  const other = await runtime.session("other");
  await other.monitors.start({ id: "theirs", command: "sleep 600" });
  await session.monitors.start({ id: "ours", command: "sleep 600", label: "Ours" });
  const [unknown, theirs, conflict, same] = await failures(session);
  for (const each of [unknown, theirs])
    expect(each).toMatchObject({
      class: "arguments",
      code: "monitor.unknown",
      message: expect.stringContaining("start one with monitor"),
    });
  expect(conflict).toMatchObject({ code: "monitor.conflict", message: expect.stringContaining("monitor_stop") });
  expect(same).toMatchObject({ kind: "value", value: { id: "ours", state: "running", lines: 0 } });
  expect(await monitorsOf(other)).toMatchObject([{ state: "running" }]);
});

test("J4 commands run where the options say, with what they add to the environment", async () => {
  const out = place();
  await using runtime = await running({
    plugins: [monitors({ cwd: folder, env: { WORD: "hello" }, wake: "wake", timeoutMaxMs: 60_000 })],
    model: recited(watches({ command: `echo "$PWD $WORD" > '${out}'; sleep 600` }), says("I watch.")),
  });
  const session = await runtime.session("s");
  await within(session.turn("Go").result());
  expect(await within(written(out))).toBe(`${folder} hello`);
  expect(await monitorsOf(session)).toMatchObject([{ wake: "wake", isPersistent: false, state: "running" }]);
  expect(await session.jobs.list()).toMatchObject([{ input: { timeoutMs: 60_000, cwd: folder } }]);
  const wrong = [{ timeoutMaxMs: 0 }, { env: { A: 1 } }, { wake: "none" }, { cwd: 1 }, { timeout: 1 }];
  for (const options of wrong)
    expect(await codeOf(() => running({ plugins: [monitors(options as never)] }))).toBe("plugin.options");
});

test("J4 the prompt lists the running monitors in every round", async () => {
  const model = cast({
    Go: [
      watches({ id: "log", label: "The\nlog", command: "sleep 600", isPersistent: true }),
      stops({ id: "log" }),
      says("Done."),
    ],
  });
  await using runtime = await running({ plugins, model });
  const session = await runtime.session("s");
  await session.jobs.register({ id: "app", label: "Looks at a screen", kind: "monitor" });
  await within(session.turn("Go").result());
  const told = model.asked.map(({ request }) => JSON.stringify(request).includes("- log (notify): The log"));
  expect(told).toEqual([false, true, false]);
  expect(await linesOf(session.jobs)).toBe("");
});
