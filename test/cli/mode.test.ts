import { expect, test } from "vitest";
import type { Agent } from "../../src/cli/agent.ts";
import { obey } from "../../src/cli/slash.ts";
import type { SessionEvent } from "../../src/index.ts";
import { inProcess } from "./in-process.ts";
import { folder, hasTerminal, start } from "./program.ts";

/** Where in its turn each call was made: by code, or by the reply itself. */
function callsIn(stdout: string): readonly string[] {
  const events = stdout
    .trimEnd()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as SessionEvent);
  return events.flatMap((event) => (event.kind === "toolStarted" ? [event.key.effect] : []));
}

const ONE_CELL = ["r1.exec.call.0", "r1.exec.call.1"];
const ONE_REPLY = ["r1.call.0", "r1.call.1"];

test.each<[string, readonly string[], Record<string, string>, readonly string[]]>([
  ["tools unless told", [], {}, ONE_REPLY],
  ["that of the flag", ["--mode", "code"], {}, ONE_CELL],
  ["that of the environment", [], { BOWLINE_MODE: "code" }, ONE_CELL],
  ["that of the flag before that of the environment", ["--mode", "tools"], { BOWLINE_MODE: "code" }, ONE_REPLY],
])("N2 the mode is %s", async (_, args, env, calls) => {
  const { stdout } = await inProcess(["run", "--json", ...args, "What is 21*2 and 1/0?"], "", { env });
  expect(callsIn(stdout)).toEqual(calls);
  const { outcome } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  expect(outcome.text).toBe("21*2 = 42. That did not work: A division by zero has no result.");
});

test("N2 an invalid mode in the environment is an error only for commands that need a mode", async () => {
  const env = { BOWLINE_MODE: "cod" };
  const { code, stderr } = await inProcess(["chat"], "", { env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'bowline: There is no mode "cod". There are code and tools.\n' });
  expect((await inProcess(["sessions"], "", { env })).stderr).toMatch(/^bowline: There is no file /);
});

test("N2 a pipe can change the mode between two lines, and the conversation continues", async () => {
  const lines = [
    "remember the milk",
    "/mode code",
    "remember the eggs",
    "/mode",
    "/mode tools",
    "list my notes",
    "/mode",
  ];
  const { code, stdout, stderr } = await inProcess([], lines.join("\n"));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    "I noted that as number 1: the milk.",
    expect.stringMatching(/^Code mode: .*TypeScript/),
    "I noted that as number 2: the eggs.",
    expect.stringMatching(/^Code mode: .* \/mode tools changes it\.$/),
    expect.stringMatching(/^Tools mode: /),
    "I remember:",
    "1. the milk",
    "2. the eggs",
    expect.stringMatching(/^Tools mode: .* \/mode code changes it\.$/),
    "",
  ]);
});

test("N2 a turn that failed before the mode was changed is still told by the exit code", async () => {
  const { code, stdout } = await inProcess([], `${"a".repeat(20_000_000)}\n/mode code\nWhat is 1+1?`);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^Code mode: .*\n1\+1 = 2\.\n$/);
});

test("N2 a mode is not changed where the conversation would be lost, nor to one that there is not", async () => {
  const input = "remember the milk\n/mode code\n/mode purple\n/mode tools\nlist my notes\n";
  const { code, stdout } = await inProcess(["--db", ":memory:"], input);
  expect(code).toBe(0);
  expect(stdout.split("\n").slice(1)).toEqual([
    "This conversation is only in memory and would be lost. Start it again with --mode code.",
    "There is no mode purple. The modes are code and tools.",
    expect.stringMatching(/^Tools mode: /),
    "I remember:",
    "1. the milk",
    "",
  ]);
});

test("N2 an app has its own protocol: its mode is not changed", () => {
  const app = { about: "agent.ts", isFleeting: false } as Agent;
  expect(obey("/mode code", app)).toBe("The app decides how the model acts: set the protocol there.");
});

test.concurrent("N2 a turn that was killed is finished in the mode it began in, whatever mode is wanted now", async () => {
  const cwd = folder();
  const words = "1+1, wait 1 second, then 2+2";
  const killed = start(["run", "--verbose", "--session", "s", "--mode", "code", words], { cwd });
  await killed.until(/^wait \{/m);
  killed.child.kill("SIGKILL");
  await killed.ended;
  const { code, stdout, stderr } = await inProcess(["run", "--verbose", "--session", "s", "3+3"], "", { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "3+3 = 6.\n" });
  // What code prints is told: only the turn that was left was in code.
  expect(stderr).toMatch(
    /^Finishing the interrupted turn: 1\+1, .*\n\[\{"status":.*\}\]\n1\+1 = 2\. I waited 1 second\. 2\+2 = 4\.\nanswered .*\ncalculator .*\ncalculator → ok, \d+ ms\nanswered .*\n$/s,
  );
  expect([...stderr.matchAll(/^\[\{"status":/gm)]).toHaveLength(1);
});

if (hasTerminal)
  test.concurrent("N2 a terminal shows that code runs, and text that was typed ahead outlives a change of the mode", async () => {
    const program = start(["--mode", "code"], { terminal: true });
    await program.until(/Code mode: .*The conversation is new.*› $/s);
    program.send("What is 21*2?\r/mode tools\rWhat is 1+1?\r");
    await program.until(/1\+1 = 2\.\n.*\n\n› $/);
    const [, first, second] = program
      .seen()
      .split(/^› .*$/m)
      .slice(1);
    expect(program.seen()).toMatch(
      /\n· runs code \(4 lines\)\n {2}calculator \{"expression":"21\*2"\} → ok, \d+ ms\n {4}\[\{"status":.*\n21\*2 = 42\.\nanswered · /,
    );
    expect(first).toMatch(/^\nTools mode: .*\n\n$/);
    expect(second).toMatch(/^\n {2}calculator .*\n1\+1 = 2\.\nanswered · /);
    expect(program.seen()).not.toContain("<typescript>");
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });
