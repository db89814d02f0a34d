import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Approval, createRuntime, type Delivery } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { scripted } from "bowline/testing";
import { describe, expect, test, vi } from "vitest";
import { bowline, folder, hasTerminal, start } from "./program.ts";

/**
 * A folder with an app that asks before it pays. Told "Pay 3 4", its model pays twice, then says what became of it; told
 * "Have 3 paid", it has an agent do it. The files `pid`, `paid` and `waits` tell about the app: its process, what was paid, and the ids of what waits.
 */
function appIn() {
  const cwd = folder();
  writeFileSync(join(cwd, "agent.ts"), APP);
  const linesOf = (name: string): readonly string[] => {
    const path = join(cwd, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  /** From another process than the app's. */
  const answer = async (id: string, value: Approval | Delivery): Promise<string> => {
    await using other = await createRuntime({
      store: sqlite(join(cwd, "app.db")),
      model: scripted(),
      recover: "manual",
    });
    const { key } = (await other.waits.get(id))!;
    return other.waits.resolve(key, value);
  };
  return { cwd, linesOf, answer };
}
const APP = `
import { appendFileSync, writeFileSync } from "node:fs";
import { ask, createRuntime, definePlugin, defineTool } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import { sqlite } from "bowline/stores/sqlite";

writeFileSync("pid", String(process.pid));
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object" },
  execute: ({ amount }) => {
    appendFileSync("paid", amount + "\\n");
    return "paid " + amount;
  },
});
const careful = definePlugin({ id: "acme/careful", setup: () => ({
  beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined),
}) });
const agents = subagents({ capabilities: { payer: { description: "Pays." } } });
const model = {
  id: "fixed",
  modelId: "test",
  async *stream(request) {
    const messages = request.messages.filter(({ origin }) => origin?.kind !== "plugin" && origin?.kind !== "runtime");
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
    const { role, parts } = messages.at(-1);
    const words = role === "user" ? parts[0].text : "";
    if (words.startsWith("Have")) {
      yield { kind: "call", callId: "call_agent", name: "spawn_agent", input: { task: words.replace("Have", "Pay") } };
      yield { kind: "finish", reason: "calls", usage };
      return;
    }
    const amounts = words.match(/\\d+/g) ?? [];
    const results = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const said = results.flatMap(({ parts }) => parts).flatMap((part) => part.kind === "toolResult" ? part.parts : []);
    for (const amount of amounts)
      yield { kind: "call", callId: "call_" + amount, name: "pay", input: { amount: Number(amount) } };
    if (amounts.length === 0) yield { kind: "text", delta: ["So:", ...said.map(({ text }) => text)].join(" ") };
    yield { kind: "finish", reason: amounts.length > 0 ? "calls" : "stop", usage };
  },
};
export default async () => {
  const runtime = await createRuntime({ store: sqlite("app.db"), model, tools: [pay], plugins: [careful, agents], recover: "manual" });
  const open = async (id) => {
    const session = await runtime.session(id);
    (async () => {
      for await (const event of session.observe())
        if (event.kind === "waiting") appendFileSync("waits", event.wait + "\\n");
    })();
    return session;
  };
  return { session: open, waits: runtime.waits, close: () => runtime.close() };
};
`;
const flags = ["--app", "agent.ts"];
const QUESTION = (amount: number) =>
  new RegExp(
    `Allow pay \\{"amount":${amount}\\}\\? It moves money\\.\n\\[y\\]es, \\[n\\]o, \\[e\\]dit, or say why not: $`,
  );

test.concurrent("E6 D2 a call that waits ends a single turn with 3 and its key; answered by code, the turn goes on", async () => {
  const { cwd, linesOf, answer } = appIn();
  const first = await bowline(["run", ...flags, "--json", "--session", "till", "Pay 3 4"], { cwd });
  expect(first.code).toBe(3);
  const keys = first.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .flatMap(({ kind, wait }) => (kind === "waiting" ? [wait as string] : []));
  expect(keys).toHaveLength(2);
  const [three, four] = first.stderr.trimEnd().split("\n");
  expect(three).toContain(
    `bowline: Allow pay {"amount":3}? It moves money. Nobody can answer that here, so the turn is left waiting. On a terminal, bowline chat --app agent.ts --session till asks again; code can answer with runtime.waits.resolve("${keys[0]}", { approved: true }).`,
  );
  expect(four).toContain(`{"amount":4}`);
  expect(four).toContain(keys[1]);
  for (const key of keys) expect(await answer(key, { approved: key === keys[0] })).toBe("accepted");
  const then = await bowline(["run", ...flags, "--verbose", "--session", "till", "Well?"], { cwd });
  expect(then).toMatchObject({ code: 0, stdout: "So:\n" });
  expect(then.stderr).toMatch(/^So: paid 3 .*it was not approved\./m);
  expect(linesOf("paid")).toEqual(["3"]);
});

test.concurrent("E6 a call that waits ends a pipe with 3, also if a turn before left it; what follows is not read", async () => {
  const { cwd, linesOf } = appIn();
  for (const input of ["Hi\nPay 3\nHi\n", "Hi\n"]) {
    const { code, stdout, stderr } = await bowline(["chat", ...flags], { cwd, input });
    expect({ code, stdout }).toEqual({ code: 3, stdout: input.startsWith("Hi\nPay") ? "So:\n" : "" });
    expect(stderr).toMatch(
      /^bowline: Allow pay .*--session chat asks again; .*resolve\("[^"]+", \{ approved: true \}\)\.\n/,
    );
    expect(stderr.includes("nothing new was sent")).toBe(input === "Hi\n"); // What it was given now waits for nothing.
  }
  expect(linesOf("paid")).toEqual([]);
});

if (hasTerminal) describe("in a terminal", inTerminal);
else test("a note: the tests in a terminal need script(1) of util-linux, which is not here", () => {});

function inTerminal(): void {
  const chat = async (cwd: string) => {
    const program = start(["chat", ...flags], { cwd, terminal: true });
    await program.until(/› $/);
    return program;
  };

  test.concurrent("E6 a person allows a call or not, and says why; calls that wait are asked about one after the other", async () => {
    const { cwd, linesOf } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3 4 5\r");
    await program.until(QUESTION(3));
    program.send("\r");
    await program.until(/or say why not: \n\[y\]es, \[n\]o, \[e\]dit, or say why not: $/);
    program.send("Yes\r");
    await program.until(QUESTION(4));
    program.send("n\r");
    await program.until(QUESTION(5));
    program.send("Too dear.\r");
    await program.until(/So: paid 3 .*it was not approved\. .*Too dear\..*\nanswered · .*\n\n› $/);
    expect(linesOf("paid")).toEqual(["3"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 what was typed before a question is no answer to it, and is there after it", async () => {
    const { cwd, linesOf } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3\ry\rhalf a");
    await program.until(QUESTION(3));
    expect(linesOf("paid")).toEqual([]);
    program.send("y\r");
    await program.until(/So: paid 3\nanswered · .*\n\n› y\nSo:\nanswered · .*\n\n› half a$/);
    program.send("\x03/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 the example of an app asks before it writes into its log", async () => {
    const cwd = folder();
    const program = start(["chat", "--app", resolve("examples/app.ts")], { cwd, terminal: true });
    await program.until(/› $/);
    program.send("Remember to buy rope\r");
    await program.until(/Allow notes_add \{"text":"buy rope"\}\? The log is kept in ink\.\n.* why not: $/);
    program.send("y\r");
    await program.until(/I noted that as number 1: buy rope\.\n.*\n\n› $/);
    expect(readFileSync(join(cwd, "ship.log"), "utf8")).toBe("buy rope\n");
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 a change of the app while a question stands is told above it, and waits for the turn", async () => {
    const { cwd } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3\r");
    await program.until(QUESTION(3));
    writeFileSync(join(cwd, "agent.ts"), APP.replace("So:", "Thus:"));
    await program.until(/the new version takes over after this turn\.\n\[y\]es, \[n\]o, \[e\]dit, or say why not: $/);
    program.send("y\r");
    await program.until(/So: paid 3\nanswered · .*\n\n\nReloaded agent\.ts\.\n› $/);
    program.send("Hi\r");
    await program.until(/Thus:\nanswered · .*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 Ctrl-C at a question cancels the turn, and asks no more", async () => {
    const { cwd, linesOf } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3 4\r");
    await program.until(QUESTION(3));
    program.send("\x03");
    await program.until(/why not: \nCancelling\. .*\nStopped: .*\[turn\.cancelled\]\nstopped · .*\n\n› $/s);
    expect(program.seen()).not.toMatch(/Allow pay \{"amount":4\}/);
    expect(linesOf("paid")).toEqual([]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 D2 killed at a question, or left there, it asks again at the next start", async () => {
    const { cwd, linesOf } = appIn();
    const killed = await chat(cwd);
    killed.send("Pay 3\r");
    await killed.until(QUESTION(3));
    process.kill(Number(linesOf("pid")[0]), "SIGKILL");
    expect(await killed.ended).toBe(1);
    const left = start(["chat", ...flags], { cwd, terminal: true });
    await left.until(/Finishing the turn that was interrupted: Pay 3\n/);
    await left.until(QUESTION(3));
    left.send("\x04");
    expect(await left.ended).toBe(3);
    expect(left.seen()).toMatch(/why not: \nbowline: Allow pay .* so the turn is left waiting\. .*\n$/);
    const last = start(["chat", ...flags], { cwd, terminal: true });
    await last.until(QUESTION(3));
    last.send("y\r");
    await last.until(/So: paid 3\nanswered · .*\n\n› $/);
    expect(last.seen().match(/Allow pay/g)).toHaveLength(1);
    expect(linesOf("paid")).toEqual(["3"]);
    last.send("/quit\r");
    expect(await last.ended).toBe(0);
  });

  test.concurrent("E6 D2 a call of an agent is asked about too, and again after a kill", async () => {
    const { cwd, linesOf } = appIn();
    const killed = await chat(cwd);
    killed.send("Have 3 paid\r");
    await killed.until(QUESTION(3));
    process.kill(Number(linesOf("pid")[0]), "SIGKILL");
    expect(await killed.ended).toBe(1);
    const program = start(["chat", ...flags], { cwd, terminal: true });
    await program.until(QUESTION(3));
    program.send("y\r");
    await program.until(/So: .*So: paid 3.*\nanswered · .*\n\n› $/);
    expect(linesOf("paid")).toEqual(["3"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 D2 an answer that is given elsewhere is told: it takes the question back, or it was the first", async () => {
    const { cwd, linesOf, answer } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3 4\r");
    await program.until(QUESTION(3));
    await vi.waitFor(() => expect(linesOf("waits")).toHaveLength(2));
    const [three, four] = linesOf("waits") as [string, string];
    await answer(three, { approved: false, reason: "Not today." });
    program.send("y\r");
    await program.until(/why not: y\nYour answer came too late: this was answered elsewhere, or its time is up\.\n/);
    await program.until(QUESTION(4));
    program.send("half an ans");
    await program.until(/half an ans$/);
    await answer(four, { approved: true });
    await program.until(
      /\nThis waits no longer: it was answered elsewhere, or its time is up\.\n.*So: .*Not today\..* paid 4\nanswered · .*\n\n› $/s,
    );
    expect(linesOf("paid")).toEqual(["4"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });
}
