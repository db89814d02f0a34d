import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { command } from "../../src/cli/command.ts";
import type { Io } from "../../src/cli/io.ts";
import { inProcess } from "./in-process.ts";
import { folder } from "./program.ts";

test.each([
  [["run", "-5 + 3"], "Text that begins with - goes after --."],
  [["--model"], "argument missing"],
  [["--verbose=yes"], "--verbose"],
  [["dance"], 'There is no command "dance".'],
  [["chat", "hello"], "chat takes no text."],
  [["chat", "--json"], "--json is not for chat."],
  [["sessions", "all"], "sessions takes no text."],
  [["doctor", "--db", ":memory:"], ":memory: has nothing to check."],
  [["doctor", "--app", "agent.ts"], "--app is for chat, run, serve, acp, studio and worker."],
  [["chat", "--app", "agent.ts", "--model", "demo"], "--model is not for --app. Set the model in the app."],
  [["chat", "--app", "agent.ts", "--mode", "code"], "--mode is not for --app. Set the protocol in the app."],
  [["run", "--mode", "cod", "hello"], 'There is no mode "cod". There are code and tools.'],
  [["run"], "The text is empty."],
  [["run", "-"], "The text is empty."],
  [["run", "--model", "nonsense", "hello"], '"nonsense" is not the name of a model.'],
])("E6 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});

test("E6 a tool that fails is shown as a failure, and the turn has answered", async () => {
  const { code, stdout } = await inProcess([], "What is 1/0?\n");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "That did not work: A division by zero has no result.\n" });
});

test("E6 commands work in pipes too, and /quit ends", async () => {
  const { code, stdout } = await inProcess([], "What is 1+1?\n/usage\n/quit\nWhat is 2+2?\n");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^1\+1 = 2\.\n1 turn with demo\/offline: \d+ tokens in, \d+ out\n$/);
});

test("E6 run reads its text from stdin when it is -", async () => {
  const input = "What is 2+2\nand what is 3*3?\n";
  expect(await inProcess(["run", "-"], input)).toEqual({ code: 0, stdout: "2+2 = 4. 3*3 = 9.\n", stderr: "" });
});

test("E6 --version and --help tell and end well", async () => {
  expect(await inProcess(["--version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  expect(await inProcess(["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("bowline run") });
});

test("E6 a refused input is a line on stderr, and of JSON", async () => {
  const huge = "a".repeat(20_000_000);
  const { code, stdout, stderr } = await inProcess(["run", "--json", "-"], huge);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ kind: "error", code: "limit.bytes" });
  expect(stderr).toMatch(/^bowline: The input has .+\n$/);
});

test("E6 a stack is shown only in debug mode", async () => {
  const { stderr } = await inProcess(["run", "hello"], "", {
    env: { BOWLINE_MODEL: "nobody-has-this/m", BOWLINE_DEBUG: "1" },
  });
  expect(stderr).toMatch(/\n\s+at /);
});

test("E6 the conversation needs nothing of the process", async () => {
  const { code, stdout } = await inProcess([], "remember the milk\n/tools\n/help\nlist my notes\n");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^I noted that as number 1: the milk\.\ncalculator .+\n\/help .+\nI remember:\n1\. the milk\n$/s,
  );
});

test("E6 every command spells out control and bidirectional characters, and --raw prints them as they came", async () => {
  const [cwd, unsafe, safe] = [folder(), "\x1b[31ma\u202eb\u2069", "\\u{1b}[31ma\\u{202e}b\\u{2069}"];
  const ask = ["run", "--session", "s", `remember ${unsafe}`];
  for (const [args, input] of [
    [ask, ""],
    [["sessions"], ""],
    [["chat", "--verbose"], `remember ${unsafe}\n`],
  ] as const) {
    const { stdout, stderr } = await inProcess(args, input, { cwd });
    expect(stdout).toContain(safe);
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
    expect((await inProcess([...args, "--raw"], input, { cwd })).stdout).toContain(unsafe);
  }
  for (const args of [ask, ["sessions"]]) {
    const { stdout } = await inProcess([...args, "--json"], "", { cwd });
    expect(stdout).toContain(String.raw`\u001b[31ma\u202eb\u2069`);
    expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
    const parsed =
      args === ask
        ? stdout
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line))
        : JSON.parse(stdout);
    expect(JSON.stringify(parsed)).toContain("a\u202eb\u2069");
    const raw = await inProcess([...args, "--json", "--raw"], "", { cwd });
    expect(raw.stdout).toContain("\\u001b[31ma\u202eb\u2069");
  }
});

test("E6 a chat that leaves for the next version of an app hands the terminal over, also if it is called back at once", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true });
  const left: string[] = [];
  const kept = Object.assign(new EventEmitter(), {
    typed: "half a",
    isLeaving: false,
    left: async (typed: string) => void left.push(typed),
  });
  const about = { env: { NO_COLOR: "1" }, cwd: folder(), version: "0.0.0", interrupts: new EventEmitter() };
  const io = { stdin, stdout, stderr: new PassThrough(), ...about, kept } as unknown as Io;
  const ended = command(["chat", "--db", ":memory:"], io);
  let seen = "";
  await new Promise<void>((resolve) =>
    stdout.on("data", (words: string) => {
      seen += words;
      if (seen.includes("half a")) resolve();
    }),
  );
  kept.isLeaving = true;
  kept.emit("leave");
  kept.isLeaving = false; // As `stay` sets it.
  expect(await ended).toBe(0);
  expect(left).toEqual(["half a"]);
});
