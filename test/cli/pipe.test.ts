import { expect, test } from "vitest";
import { openaiCompatible } from "../wire/openai-compatible.ts";
import { serveWire } from "../wire/server.ts";
import { bowline, start } from "./program.ts";

test.concurrent("E6 a piped question is answered, by the calculator and on stdout alone", async () => {
  const quiet = await bowline([], { input: "What is 21*2?\n" });
  expect(quiet).toEqual({ code: 0, stdout: "21*2 = 42.\n", stderr: "" });
});

test.concurrent("E6 --verbose shows on stderr how the answer was made", async () => {
  const { code, stdout, stderr } = await bowline(["chat", "--verbose"], { input: "What is 21*2?\n" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "21*2 = 42.\n" });
  expect(stderr).toMatch(
    /^calculator \{"expression":"21\*2"\}\ncalculator → ok, \d+ ms\nanswered · \d+ tokens in, \d+ out\n$/,
  );
});

test.concurrent("E6 each line is a turn, in order; empty ones are none, and the last needs no newline", async () => {
  const { code, stdout } = await bowline([], { input: "\nWhat is 1+1?\r\n   \nWhat is 2+2?\nWhat is 3+3?" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "1+1 = 2.\n2+2 = 4.\n3+3 = 6.\n" });
});

test.concurrent("E6 notes live in the session: a later line finds what an earlier one kept", async () => {
  const input = "remember to buy milk and eggs\nnote that the door is open\nforget note 1\nwhat do you remember?\n";
  const { stdout } = await bowline([], { input });
  expect(stdout.split("\n").slice(3, -1)).toEqual(["I remember:", "2. the door is open"]);
});

test.concurrent("E6 SIGINT cancels the running turn, and with it the rest of the pipe", async () => {
  const program = start(["--verbose"], {
    env: { BOWLINE_DEMO_DELAY_MS: "100" },
    input: "What is 21*2? Help!\nhello\n",
  });
  await program.until(/calculator → ok/);
  program.child.kill("SIGINT");
  expect(await program.ended).toBe(1);
  expect(program.stdout()).toBe("");
  expect(program.stderr()).toMatch(/^bowline: Stopped: .*Ctrl-C.*\[turn\.cancelled\]$/m);
});

test.concurrent("E6 SIGINT between two lines leaves", async () => {
  const program = start([]);
  program.send("What is 21*2?\n");
  await program.until(/42/);
  program.child.kill("SIGINT");
  expect(await program.ended).toBe(130);
});

test.concurrent("E6 a reader that goes away does not cause a crash", async () => {
  const program = start([]);
  program.send("What is 1+1?\n");
  await program.until(/1\+1 = 2/);
  program.child.stdout?.destroy();
  program.send("What is 2+2?\nWhat is 3+3?\n");
  expect(await program.ended).toBe(0);
  expect(program.stderr()).toBe("");
});

test.concurrent("E1 a reply that breaks off and is tried again leaves no trace on stdout", async () => {
  await using server = await serveWire([{ ...openaiCompatible.text, cutAfterBytes: 350 }, openaiCompatible.text]);
  const env = { BOWLINE_MODEL: "openai-compatible/any", BOWLINE_BASE_URL: server.url };
  const { code, stdout, stderr } = await bowline(["--verbose"], { env, input: "Hello\n" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Grüße, Welt 🌍.\n" });
  expect(stderr).toContain("The reply was interrupted");
});
