import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { bowline, folder, hasTerminal, start } from "./program.ts";

/**
 * A folder with an app. Its model says what is in words.ts, or calls a tool if it is told to wait, which waits for the
 * file `go`.
 */
function appIn(files: { readonly [name: string]: string } = {}) {
  const cwd = folder();
  const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text);
  write("words.ts", 'export const words: string = "One.";');
  write("agent.ts", APP);
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { cwd, write };
}
const APP = `
import { existsSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { words } from "./words.ts";

const wait = defineTool({
  name: "wait",
  description: "Waits.",
  input: { type: "object" },
  retry: { policy: "safe" },
  execute: async (_, { output }) => {
    output("waiting\\n");
    while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
    return "waited";
  },
});
const remind = defineTool({
  name: "remind",
  description: "Reminds.",
  input: { type: "object" },
  execute: async (_, { jobs }) => {
    const work = async () => {
      while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await jobs.spawn({ label: "Tea", wake: "wake" }, work);
    return "later";
  },
});
const model = {
  id: "fixed",
  modelId: "test",
  async *stream({ messages }) {
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
    const said = messages.at(-1);
    const name = said.role === "user" ? { Wait: "wait", Remind: "remind" }[said.parts[0].text] : undefined;
    const isAsked = name !== undefined;
    if (isAsked) yield { kind: "call", callId: "call_" + messages.length, name, input: {} };
    else yield { kind: "text", delta: words + " (" + messages.filter(({ role }) => role === "user").length + ")" };
    yield { kind: "finish", reason: isAsked ? "calls" : "stop", usage };
  },
};
export default () => createRuntime({ store: sqlite("app.db"), model, tools: [wait, remind] });
`;

test.concurrent("E6 an app is one's own runtime: for one question, from a pipe, and for a session by name", async () => {
  const { cwd } = appIn();
  const flags = ["--app", "agent.ts"];
  expect(await bowline(["run", ...flags, "Hi"], { cwd })).toEqual({ code: 0, stdout: "One. (1)\n", stderr: "" });
  const piped = await bowline(["chat", ...flags], { cwd, input: "Hi\nHi again\n/tools\n/usage\n" });
  expect(piped.stdout).toMatch(
    /^One\. \(1\)\nOne\. \(2\)\n(?:.*\n)*wait +Waits\.\n(?:.*\n)*2 turns with fixed\/test: 2 tokens in/,
  );
  const named = await bowline(["run", ...flags, "--session", "chat", "Hi"], { cwd });
  expect(named.stdout).toBe("One. (3)\n");
});

test.concurrent("E6 the example of an app runs, in the sources' own folder too", async () => {
  const [cwd, app] = [folder(), resolve("examples/app.ts")];
  const { code, stdout } = await bowline(["run", "--app", app, "What time is it?"], { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "The clock says eight bells.\n" });
});

test.concurrent.each([
  ["a runtime", "const made = await app(); export default made;"],
  ["a promise of one", "export default app();"],
  ["a function that promises one", "export default async () => app();"],
])("E6 the default export of an app may be %s", async (_, code) => {
  const { cwd } = appIn({ "other.ts": `import app from "./agent.ts"; ${code}` });
  expect(await bowline(["run", "--app", "other.ts", "Hi"], { cwd })).toMatchObject({ code: 0, stdout: "One. (1)\n" });
});

test.concurrent.each([
  ["is not there", undefined, /The app other\.ts does not exist\. Pass the path/],
  ["has a wrong syntax", "export default {", /The app other\.ts cannot be loaded: .*other\.ts/],
  ["imports what is not there", 'import "./nothing.ts";', /cannot be loaded: .*nothing\.ts/],
  ["throws", 'throw new Error("No luck.");', /cannot be loaded: .*No luck\./],
  [
    "has no default export",
    "export const app = 1;",
    /must be a runtime, or a function.*It is missing\. Write: export default/,
  ],
  ["exports a number", "export default 1;", /It is of type number\./],
  ["exports options", 'export default { model: "a/b", store: 1 };', /It is options\./],
  ["makes options", 'export default () => ({ model: "a/b" });', /It is a function whose result is options\./],
  [
    "gives createRuntime something wrong",
    'import { createRuntime } from "bowline"; export default () => createRuntime({ store: 1, model: "a/b" });',
    /cannot be loaded: .*`store`/,
  ],
])("E6 an app that %s is reported in one line", async (_, code, says) => {
  const { cwd } = appIn(code === undefined ? {} : { "other.ts": code });
  const { code: exit, stdout, stderr } = await bowline(["run", "--app", "other.ts", "Hi"], { cwd });
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: "" });
  expect(stderr).toMatch(says);
  expect(stderr).toMatch(/^bowline: .+\n$/);
});

test.concurrent("E6 D1 killed in the middle of a turn of an app, it resumes the turn at the next start", async () => {
  const { cwd, write } = appIn();
  const flags = ["chat", "--app", "agent.ts", "--verbose"];
  const first = start(flags, { cwd });
  first.send("Wait\n");
  await first.until(/wait \{\}/);
  first.child.kill("SIGKILL");
  expect(await first.ended).toBe("SIGKILL");
  write("go", "");
  const second = await bowline(flags, { cwd, input: "/usage\n" });
  expect(second.stderr).toMatch(/^Finishing the interrupted turn: Wait\nwait \{\}\nwait → ok, \d+ ms\nOne\. \(1\)\n/);
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 turn with /) });
});

if (hasTerminal) describe("in a terminal", inTerminal);
else test("a note: the tests in a terminal need script(1) of util-linux, which is not here", () => {});

function inTerminal(): void {
  const flags = ["chat", "--app", "agent.ts"];

  test.concurrent("E6 an app is loaded again when one of its files changes; the conversation and the typed text stay", async () => {
    const { cwd, write } = appIn();
    const program = start(flags, { cwd, terminal: true });
    await program.until(/with agent\.ts\. The conversation is new\..*› $/s);
    program.send("Hi\r");
    await program.until(/One\. \(1\)\n.*\n\n› $/);
    program.send("half a");
    await program.until(/half a$/);
    write("words.ts", 'export const words: string = "Two.";');
    await program.until(/Reloaded agent\.ts\.\n› half a$/);
    program.send(" line\r");
    await program.until(/half a line\nTwo\. \(2\)\n.*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 a broken edit of an app is reported, and the old app runs until the edit is repaired", async () => {
    const { cwd, write } = appIn();
    const program = start(flags, { cwd, terminal: true });
    await program.until(/› $/);
    write("words.ts", 'export const words: string = "Two.;');
    await program.until(/bowline: The app agent\.ts cannot be loaded: .*words\.ts.*\n› $/);
    program.send("Hi\r");
    await program.until(/One\. \(1\)\n.*\n\n› $/);
    write("words.ts", 'export { words } from "./more.ts";'); // Is not there yet.
    await program.until(/cannot be loaded: .*more\.ts.*\n› $/);
    write("more.ts", 'export const words: string = "Three.";');
    await program.until(/Reloaded agent\.ts\.\n› $/);
    program.send("Hi\r");
    await program.until(/Three\. \(2\)\n.*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 a change while a turn runs waits for it, and lines typed meanwhile are for the new version", async () => {
    const { cwd, write } = appIn();
    const program = start(flags, { cwd, terminal: true });
    await program.until(/› $/);
    program.send("Wait\r");
    await program.until(/wait \{\}\n {4}waiting\n/);
    write("words.ts", 'export const words: string = "Two.";');
    await program.until(/agent\.ts has changed\. The new version starts after this turn\.\n/);
    program.send("Hi\rand ho");
    write("go", "");
    await program.until(
      /wait → ok, \d+ ms\nOne\. \(1\)\n.*\n\n\nReloaded agent\.ts\.\n› Hi\nTwo\. \(2\)\n.*\n\n› and ho$/,
    );
    program.send("\x03\x04");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 a change that is broken before the turn has ended keeps the version that runs", async () => {
    const { cwd, write } = appIn();
    const program = start(flags, { cwd, terminal: true });
    await program.until(/› $/);
    program.send("Wait\r");
    await program.until(/wait \{\}\n {4}waiting\n/);
    write("words.ts", 'export const words: string = "Two.";');
    await program.until(/The new version starts after this turn\.\n/);
    write("words.ts", "export const words = process.exit(3);");
    await program.until(/bowline: The app ended during loading, with 3\.\n/);
    write("go", "");
    await program.until(/wait → ok, \d+ ms\nOne\. \(1\)\n.*\n\n› $/);
    program.send("Hi\r");
    await program.until(/One\. \(2\)\n.*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 a file that changes while the app is loaded is not missed", async () => {
    const loads = `import { existsSync, writeFileSync } from "node:fs";
import { words } from "./words.ts";
writeFileSync("loading", words);
while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
export { default } from "./agent.ts";`;
    const { cwd, write } = appIn({ "slow.ts": loads });
    const program = start(["chat", "--app", "slow.ts"], { cwd, terminal: true });
    await vi.waitFor(() => expect(existsSync(join(cwd, "loading"))).toBe(true), { timeout: 10_000 });
    write("words.ts", 'export const words: string = "Two.";');
    write("go", "");
    await program.until(/Reloaded slow\.ts\.\n› $/);
    program.send("Hi\r");
    await program.until(/Two\. \(1\)\n.*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 J8 a turn that a job starts is shown at the prompt, and what is typed stays", async () => {
    const { cwd, write } = appIn();
    const program = start(flags, { cwd, terminal: true });
    await program.until(/› $/);
    program.send("Remind\r");
    await program.until(/One\. \(1\)\n.*\n\n› $/);
    program.send("half a");
    await program.until(/half a$/);
    write("go", "");
    await program.until(/\nA turn that was started elsewhere has ended:\nOne\. \(2\)\n\n› half a$/);
    program.send(" line\r");
    await program.until(/half a line\nOne\. \(3\)\n.*\n\n› $/);
    expect(program.seen().match(/started elsewhere/g)).toHaveLength(1);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent.each([
    ["cannot be loaded", "export default 1;", /^bowline: The default export of agent\.ts must be a runtime.*\n$/],
    ["ends itself", "process.exit(1);", /^bowline: The app ended during loading, with 1\.\n$/],
    [
      "cannot open its session",
      'export default { session: () => Promise.reject(new Error("No luck.")), close() {} };',
      /^bowline: No luck\.\n$/,
    ],
  ])("E6 an app that %s at the start is reported, and ends the program", async (_, code, says) => {
    const { cwd } = appIn({ "agent.ts": code });
    const program = start(flags, { cwd, terminal: true });
    expect(await program.ended).toBe(1);
    expect(program.seen()).toMatch(says);
  });
}
