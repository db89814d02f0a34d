import { EventEmitter } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { command } from "../../src/cli/command.ts";
import type { Io } from "../../src/cli/io.ts";

test.each([
  [["run", "-5 + 3"], "Text that begins with - goes after --."],
  [["--model"], "argument missing"],
  [["--verbose=yes"], "--verbose"],
  [["dance"], 'There is no command "dance".'],
  [["chat", "hello"], "chat takes no text."],
  [["chat", "--json"], "--json belongs to run."],
  [["run"], "There is nothing to run."],
  [["run", "-"], "There is nothing to run."],
  [["run", "--model", "nonsense", "hello"], '"nonsense" is not the name of a model.'],
])("E6 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});

test("E6 the conversation needs nothing of the process", async () => {
  const { code, stdout } = await inProcess([], "remember the milk\n/tools\n/help\nlist my notes\n");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^I noted that as number 1: the milk\.\ncalculator .+\n\/help .+\nI remember:\n1\. the milk\n$/s,
  );
});

async function inProcess(args: readonly string[], input = "") {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io: Io = {
    stdin: Readable.from([input]),
    stdout,
    stderr,
    env: {},
    version: "0.0.0",
    interrupts: new EventEmitter(),
  };
  const code = await command(args, io);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}
