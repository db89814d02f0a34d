import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { serveWire, type WireEvent } from "../wire/server.ts";
import { inProcess } from "./in-process.ts";
import { bowline, folder, hasTerminal, start } from "./program.ts";

const delta = (change: object, finish: string | null = null) => ({
  id: "chat_1",
  object: "chat.completion.chunk",
  created: 1,
  model: "any",
  choices: [{ index: 0, delta: change, finish_reason: finish }],
});
const says = (content: string) => ({ events: [delta({ content }), delta({}, "stop"), "[DONE]"] });
const asksToWait = (seconds: number): { readonly events: readonly WireEvent[] } => ({
  events: [
    delta({
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "wait", arguments: `{"seconds":${seconds}}` } },
      ],
    }),
    delta({}, "tool_calls"),
    "[DONE]",
  ],
});
const modelAt = (url: string) => ({ BOWLINE_MODEL: "openai-compatible/any", BOWLINE_BASE_URL: url });
const LEASE_MS = 30_000;

test.concurrent("E6 a conversation continues where it was left, and another session has nothing of it", async () => {
  const cwd = folder();
  await bowline([], { cwd, input: "my name is Ann\nremember the milk\n" });
  const { stdout } = await bowline([], { cwd, input: "what is my name?\nlist my notes\n/usage\n" });
  expect(stdout).toMatch(/^You are Ann\.\nI remember:\n1\. the milk\n4 turns with /);
  const asked = async (...flags: string[]) =>
    (await inProcess(["run", ...flags, "what is my name?"], "", { cwd })).stdout;
  expect(await asked()).toBe("You have not told me your name.\n");
  expect(await asked("--session", "other")).toBe("You have not told me your name.\n");
  expect(await asked("--session", "chat")).toBe("You are Ann.\n");
  expect(readFileSync(`${cwd}/.bowline/.gitignore`, "utf8")).toBe("*\n");
});

test.concurrent("E6 killed in the middle of a tool call, it resumes at once: nothing is asked or waited for twice", async () => {
  await using server = await serveWire([asksToWait(3), says("Well waited."), says("At once.")]);
  const [cwd, env] = [folder(), modelAt(server.url)];
  const first = start(["--verbose"], { cwd, env });
  first.send("Wait a moment\n");
  await first.until(/wait \{"seconds":3\}/);
  const startedAt = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // The call is under way.
  first.child.kill("SIGKILL");
  expect(await first.ended).toBe("SIGKILL");

  const second = await bowline(["--verbose"], { cwd, env, input: "/usage\nAnd now?\n" });
  expect(second.code).toBe(0);
  expect(second.stderr).toMatch(
    /^Finishing the interrupted turn: Wait a moment\nwait \{"seconds":3\}\nwait → ok, \d+ ms\nWell waited\.\nanswered · /,
  );
  const restMs = Number(/wait → ok, (\d+) ms/.exec(second.stderr)?.[1]);
  expect(restMs).toBeLessThan(2_100); // One of the three seconds had passed before.
  expect(second.stdout).toMatch(/^1 turn with .*\nAt once\.\n$/);
  expect(Date.now() - startedAt).toBeLessThan(LEASE_MS - 5_000);
  expect(server.requests).toHaveLength(3);
  const told = server.requests[2]?.body.messages.map(({ role }: { role: string }) => role);
  expect(told).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
  expect((await inProcess(["doctor"], "", { cwd })).code).toBe(0);
});

test.concurrent("E6 a kill and a restart can be tried offline: the demo model waits on request", async () => {
  const cwd = folder();
  const first = start(["--verbose"], { cwd });
  first.send("Wait 2 seconds, then tell me what 21*2 is.\n");
  await first.until(/wait \{"seconds":2\}/);
  first.child.kill("SIGKILL");
  await first.ended;
  const { stderr } = await bowline(["--verbose"], { cwd });
  expect(stderr).toMatch(
    /^Finishing the interrupted turn: .*\nwait \{"seconds":2\}\n(?:.*\n)*I waited 2 seconds\. 21\*2 = 42\.\n/,
  );
});

test.concurrent("E6 killed while the model held its answer, only that answer is asked for again", async () => {
  await using server = await serveWire([asksToWait(0), { events: [], hangs: true }, says("Here it is.")]);
  const [cwd, env] = [folder(), modelAt(server.url)];
  const first = start(["--verbose"], { cwd, env });
  first.send("Go\n");
  await first.until(/wait → ok/);
  while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  first.child.kill("SIGKILL");
  await first.ended;

  const listed = await inProcess(["sessions"], "", { cwd });
  expect(listed.stdout).toMatch(/^chat +0 turns +just now +\(interrupted\)\n$/);
  const doctor = await inProcess(["doctor", "--json"], "", { cwd });
  expect(doctor.code).toBe(0);
  expect(JSON.parse(doctor.stdout)).toMatchObject({ findings: [], open: [{ session: "chat", words: "Go" }] });
  expect(JSON.parse(doctor.stdout).open[0]).not.toHaveProperty("holder");

  const quiet = await bowline([], { cwd, env });
  expect(quiet).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(server.requests).toHaveLength(3);
  expect(server.requests[2]?.body).toEqual(server.requests[1]?.body);
  const after = await inProcess(["sessions"], "", { cwd });
  expect(after.stdout).toMatch(/^chat +1 turn +just now +Here it is\.\n$/);
});

test.concurrent("E6 a left turn resumes with the model that it began with", async () => {
  const cwd = folder();
  const first = start(["--verbose"], { cwd, env: { BOWLINE_DEMO_DELAY_MS: "300" } });
  first.send("What is 21*2?\n");
  await first.until(/calculator → ok/);
  first.child.kill("SIGKILL");
  await first.ended;
  await using server = await serveWire([says("I am another one.")]);
  const second = await bowline(["--verbose"], { cwd, env: modelAt(server.url), input: "Who are you?\n" });
  expect(second.stdout).toBe("I am another one.\n");
  expect(second.stderr).toContain("21*2 = 42.\n");
});

test.concurrent("E6 two programs at one conversation: the second shows which process runs it, and runs after it", async () => {
  await using server = await serveWire([asksToWait(600), says("Second.")]);
  const [cwd, env] = [folder(), modelAt(server.url)];
  const first = start(["--verbose"], { cwd, env });
  first.send("Wait a moment\n");
  await first.until(/wait \{/);
  const holder = `process ${first.child.pid}`;
  const doctor = await inProcess(["doctor"], "", { cwd });
  expect(doctor.stdout).toMatch(
    new RegExp(`^Open in chat: trn_\\w+ \\(Wait a moment\\), held by ${holder} until `, "m"),
  );
  const listed = await inProcess(["sessions"], "", { cwd });
  expect(listed.stdout).toContain(`(runs a turn: ${holder})`);

  const second = start(["--verbose"], { cwd, env, input: "Me too\n/usage\n" });
  await second.until(new RegExp(`^Waiting for ${holder}, which runs a turn of this conversation\\.\n`));
  first.child.kill("SIGINT");
  expect(await first.ended).toBe(1);
  expect(await second.ended).toBe(0);
  expect(second.stdout()).toMatch(/^Second\.\n2 turns with /);
  expect((await inProcess(["doctor"], "", { cwd })).stdout).toMatch(/2 turns\nNo damage was found\.\n$/);
});

test.concurrent("E6 SIGINT while a left turn is finished cancels it, and with it the rest", async () => {
  await using server = await serveWire([asksToWait(600), says("Never said.")]);
  const [cwd, env] = [folder(), modelAt(server.url)];
  const first = start(["--verbose"], { cwd, env });
  first.send("Wait\n");
  await first.until(/wait \{/);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = start(["--verbose"], { cwd, env, input: "More\n" });
  await second.until(/wait \{/);
  second.child.kill("SIGINT");
  expect(await second.ended).toBe(130);
  expect(second.stderr()).toMatch(/Stopped: .*Ctrl-C.*\[turn\.cancelled\]/);
  expect(second.stdout()).toBe("");
  expect(server.requests).toHaveLength(1);
  expect((await inProcess(["sessions", "--json"], "", { cwd })).stdout).toContain('"state": "idle"');
});

test("E6 where conversations are kept can be named, by a flag before a variable; :memory: keeps nothing", async () => {
  const cwd = folder();
  const env = { BOWLINE_DB: "by-variable.db" };
  await inProcess(["run", "hello"], "", { cwd, env });
  await inProcess(["run", "--db", "by-flag.db", "hello"], "", { cwd, env });
  await inProcess(["run", "--db", ":memory:", "hello"], "", { cwd, env });
  for (const db of ["by-variable.db", "by-flag.db"]) {
    const { stdout } = await inProcess(["sessions", "--db", db, "--json"], "", { cwd });
    expect(JSON.parse(stdout)).toMatchObject([
      { turns: 1, state: "idle", lastAnswer: expect.stringMatching(/^Hello!/) },
    ]);
  }
  expect((await inProcess(["sessions"], "", { cwd })).stderr).toContain("There is no file .bowline/agent.db.");
});

if (hasTerminal) describe("in a terminal", inTerminal);

function inTerminal(): void {
  test.concurrent("E6 the greeting shows what exists, and the interrupted turn resumes before the first question", async () => {
    const cwd = folder();
    await bowline([], { cwd, input: "my name is Ann\n" });
    await using server = await serveWire([asksToWait(2), says("Well waited.")]);
    const first = start(["--verbose"], { cwd, env: modelAt(server.url) });
    first.send("Wait a moment\n");
    await first.until(/wait \{/);
    first.child.kill("SIGKILL");
    await first.ended;
    const second = start([], { cwd, env: modelAt(server.url), terminal: true });
    await second.until(/The conversation has 1 turn, stored in \.bowline\/agent\.db\./);
    await second.until(
      /\n\nFinishing the interrupted turn: Wait a moment\n {2}wait {"seconds":2} → ok, \d+ ms\nWell waited\.\nanswered · .*1 tool call.*\n\n› $/,
    );
    second.send("/usage\r");
    await second.until(/\n2 turns with .*\n\n› $/);
    second.send("/quit\r");
    expect(await second.ended).toBe(0);
  });

  test.concurrent("E6 the second program on a terminal shows the running turn before it asks", async () => {
    const cwd = folder();
    await using server = await serveWire([asksToWait(600)]);
    const first = start(["--verbose"], { cwd, env: modelAt(server.url) });
    first.send("Wait\n");
    await first.until(/wait \{/);
    const second = start([], { cwd, terminal: true });
    await second.until(
      new RegExp(`In this conversation process ${first.child.pid} is at a turn; yours come after it\\.\n\n› $`),
    );
    second.send("/quit\r");
    expect(await second.ended).toBe(0);
  });
}
