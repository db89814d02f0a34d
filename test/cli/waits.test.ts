import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { type Approval, createRuntime, type Delivery, type PendingWait, type SessionId } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { scripted } from "bowline/testing";
import { describe, expect, test, vi } from "vitest";
import { inProcess } from "./in-process.ts";
import { bowline, folder, hasTerminal, start } from "./program.ts";

/**
 * A folder with an app that asks before it pays. Told "Pay 3 4", its model pays twice, then says what became of it; told
 * "Have 3 paid", it has an agent do it, and told "Have 3 paid meanwhile", an agent that works by itself and begins when
 * there is a file `go`; "Have Have 3 paid" is for an agent of an agent. Told "Pay 3 and say so", it says so first. Told "Say number", it asks for a number; told "Ship", it waits for what others say; told "Wire", its call ends when there is a file `go`. The files
 * `pid` and `paid` tell about the app: its process, and what was paid.
 */
function appIn() {
  const cwd = folder();
  writeFileSync(join(cwd, "agent.ts"), APP);
  const linesOf = (name: string): readonly string[] => {
    const path = join(cwd, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  /** Another process than the app's. */
  const other = () => createRuntime({ store: sqlite(join(cwd, "app.db")), model: scripted(), recover: "manual" });
  /** Answers the oldest wait from there. */
  const answer = async (value: Approval | Delivery): Promise<string> => {
    await using elsewhere = await other();
    const [{ key }] = (await elsewhere.waits.list()) as [PendingWait];
    return await elsewhere.waits.resolve(key, value);
  };
  /** Waits until the turn of the chat was given up by its process. */
  const parked = async (): Promise<void> => {
    const store = sqlite(join(cwd, "app.db"));
    const { openTurn } = (await store.load("chat" as SessionId))!;
    await vi.waitFor(async () => expect((await store.find(openTurn!))?.state).toBe("parked"), { timeout: 10_000 });
    await store.close();
  };
  return { cwd, linesOf, other, answer, parked };
}
const APP = `
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { ask } from "bowline/plugin";
import { createRuntime, defer, definePlugin, defineTool, question } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import { sqlite } from "bowline/stores/sqlite";

writeFileSync("pid", String(process.pid));
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  execute: ({ amount }) => {
    appendFileSync("paid", amount + "\\n");
    return "paid " + amount;
  },
});
const say = defineTool({
  name: "say",
  description: "Asks what to say.",
  input: { type: "object" },
  execute: ({ what }) => question({ type: what }, { text: "Which " + what + "?" }),
});
const ship = defineTool({
  name: "ship",
  description: "Ships.",
  input: { type: "object" },
  execute: () => defer({ schema: { type: "string" } }),
});
const wire = defineTool({
  name: "wire",
  description: "Sends money.",
  input: { type: "object" },
  onInterrupt: "ask",
  execute: (_, { output }) => {
    output("sending\\n");
    return existsSync("go") ? "sent" : new Promise(() => {});
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
    const [, verb, what = ""] = /^(Have|Ship|Say|Wire)(?: (.*))?$/.exec(words) ?? [];
    const task = { task: what.startsWith("Have") ? what : "Pay " + what, background: words.endsWith("meanwhile") };
    const other = { Have: ["spawn_agent", task], Ship: ["ship", {}], Say: ["say", { what }], Wire: ["wire", {}] }[verb];
    if (other !== undefined) {
      yield { kind: "call", callId: "call_" + verb, name: other[0], input: other[1] };
      yield { kind: "finish", reason: "calls", usage };
      return;
    }
    while (role === "user" && words.startsWith("Pay") && words.endsWith("meanwhile") && !existsSync("go"))
      await new Promise((resolve) => setTimeout(resolve, 20));
    const amounts = words.match(/\\d+/g) ?? [];
    const results = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const said = results.flatMap(({ parts }) => parts).flatMap((part) => part.kind === "toolResult" ? part.parts : []);
    if (words.endsWith("say so")) yield { kind: "text", delta: "I pay now." };
    for (const amount of amounts)
      yield { kind: "call", callId: "call_" + amount, name: "pay", input: { amount: Number(amount) } };
    if (amounts.length === 0) yield { kind: "text", delta: ["So:", ...said.map(({ text }) => text)].join(" ") };
    yield { kind: "finish", reason: amounts.length > 0 ? "calls" : "stop", usage };
  },
};
export default () =>
  createRuntime({ store: sqlite("app.db"), model, tools: [pay, say, ship, wire], plugins: [careful, agents], recover: "manual" });
`;
const CLEAR = "\x15";
const BACKSPACE = "\x7f";
const flags = ["--app", "agent.ts"];
const QUESTION = (amount: number) =>
  new RegExp(
    `Allow pay \\{"amount":${amount}\\}\\? It moves money\\.\n\\[y\\]es, \\[n\\]o, \\[e\\]dit, or type why not: $`,
  );

test.concurrent("E6 D2 a call that waits ends a single turn with 3; code answers it, and the turn resumes", async () => {
  const { cwd, linesOf, answer } = appIn();
  const first = await bowline(["run", ...flags, "--json", "--session", "till", "Pay 3 4"], { cwd });
  expect(first.code).toBe(3);
  const ids = first.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .flatMap(({ kind, wait }) => (kind === "waiting" ? [wait as string] : []));
  expect(ids).toHaveLength(2);
  expect(first.stderr.trimEnd().split("\n")).toEqual(
    [3, 4].map(
      (amount) =>
        `bowline: Allow pay {"amount":${amount}}? It moves money. Nobody here can answer, so the turn still waits. On a terminal, bowline chat --app agent.ts --session till asks again; code finds it with runtime.waits.list({ session: "till" }).`,
    ),
  );
  for (const approved of [true, false]) expect(await answer({ approved })).toBe("accepted");
  const then = await bowline(["run", ...flags, "--verbose", "--session", "till", "Well?"], { cwd });
  expect(then).toMatchObject({ code: 0, stdout: "So:\n" });
  expect(then.stderr).toMatch(/^So: paid 3 .*it was not approved\./m);
  expect(linesOf("paid")).toEqual(["3"]);
});

test.concurrent("E6 D4 what led to a question is on stderr before it, in the run that is left waiting and in the next", async () => {
  const { cwd } = appIn();
  for (const words of ["Pay 3 and say so", "Well?"]) {
    const { code, stdout, stderr } = await bowline(["run", ...flags, "--session", "till", words], { cwd });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^I pay now\.\nbowline: Allow pay \{"amount":3\}\? /);
  }
});

test.concurrent("E6 D4 a call that waits ends a pipe with 3, also if a turn before left it parked; what follows is not read", async () => {
  const { cwd, linesOf } = appIn();
  for (const input of ["Hi\nPay 3\nHi\n", "Hi\n"]) {
    const { code, stdout, stderr } = await bowline(["chat", ...flags], { cwd, input });
    expect({ code, stdout }).toEqual({ code: 3, stdout: input.startsWith("Hi\nPay") ? "So:\n" : "" });
    expect(stderr).toMatch(/^bowline: Allow pay .*--session chat asks again; .*list\(\{ session: "chat" \}\)\.\n/);
    expect(stderr.match(/Allow pay/g)).toHaveLength(1);
    expect(stderr.includes("your text was not sent")).toBe(input === "Hi\n"); // What it was given now waits for nothing.
  }
  expect(linesOf("paid")).toEqual([]);
});

test.concurrent("E6 D4 a turn that waits is listed so, with what it waits for, and what comes after it", async () => {
  const { cwd, other } = appIn();
  await bowline(["run", ...flags, "--session", "till", "Pay 3 4"], { cwd });
  await bowline(["run", ...flags, "--session", "agent", "Have 5 paid"], { cwd });
  const look = async (...args: string[]) => (await inProcess([...args, "--db", "app.db"], "", { cwd })).stdout;
  const listed = await look("sessions");
  expect(listed).toMatch(
    /^till +0 turns +just now +\(waits for approval of pay \{"amount":3\}, asked just now, and 1 more\)$/m,
  );
  expect(listed).toMatch(/^agent +0 turns +just now +\(waits for approval of pay \{"amount":5\}, asked just now\)$/m);
  expect(listed).toMatch(
    /^agt_[\w-]+ +0 turns +just now +\(waits for approval of pay \{"amount":5\}, asked just now\)$/m,
  );
  const json = JSON.parse(await look("sessions", "--json")) as readonly {
    id: string;
    state: string;
    waits: unknown[];
  }[];
  expect(json.find(({ id }) => id === "till")).toMatchObject({
    state: "waiting",
    waits: [
      { kind: "approval", tool: "pay", arguments: { amount: 3 }, reason: "It moves money.", sessionId: "till" },
      { arguments: { amount: 4 } },
    ],
  });
  expect(JSON.stringify(json)).not.toContain('"key"'); // Whoever has the key can answer.
  expect(await look("doctor")).toMatch(
    /^Open in till: trn_\w+ \(Pay 3 4\), it waits for approval of pay \{"amount":3\}, asked just now, and 1 more \(bowline chat /m,
  );
  await using elsewhere = await other();
  await (await elsewhere.session("till")).send("And then?", { at: "next-turn" });
  expect(await look("doctor")).toMatch(/^Open in till: trn_\w+ \(And then\?\), it is queued behind the open turn$/m);
});

test.concurrent("E6 T9 D4 an agent's wait ends a single turn with 3, too; code answers it, and the whole tree resumes", async () => {
  const { cwd, linesOf, answer } = appIn();
  const first = await bowline(["run", ...flags, "--session", "s", "Have Have 3 paid"], { cwd });
  expect(first.code).toBe(3);
  expect(first.stderr).toMatch(
    /^spawn_agent \{.*\}\nbowline: agt_[\w-]+ › agt_[\w-]+: Allow pay .*--session s asks again; .*\n$/,
  );
  await answer({ approved: true });
  const then = await bowline(["run", ...flags, "--verbose", "--session", "s", "Well?"], { cwd });
  expect(then).toMatchObject({ code: 0, stdout: "So:\n" });
  expect(then.stderr).toMatch(/^So: .*So: .*So: paid 3.*$/m);
  expect(linesOf("paid")).toEqual(["3"]);
});

test.concurrent("E6 T8 a call that waits for a result from elsewhere ends a single turn with 3, and the next one finishes it", async () => {
  const { cwd, answer } = appIn();
  const first = await bowline(["run", ...flags, "--session", "s", "Ship"], { cwd });
  expect(first.code).toBe(3);
  expect(first.stderr).toBe(
    'bowline: ship {} waits for its result from elsewhere. The turn still waits. bowline chat --app agent.ts --session s continues it; code finds it with runtime.waits.list({ session: "s" }).\n',
  );
  await answer({ value: "by sea" });
  const then = await bowline(["run", ...flags, "--verbose", "--session", "s", "Well?"], { cwd });
  expect(then).toMatchObject({ code: 0, stdout: "So:\n" });
  expect(then.stderr).toMatch(/^So: by sea$/m);
});

if (hasTerminal) describe("in a terminal", inTerminal);
else test("a note: the tests in a terminal need script(1) of util-linux, which is not here", () => {});

function inTerminal(): void {
  const chat = async (cwd: string) => {
    const program = start(["chat", ...flags], { cwd, terminal: true });
    await program.until(/› $/);
    return program;
  };

  test.concurrent("E6 a person allows or refuses a call, with a reason; waiting calls are asked about one after the other", async () => {
    const { cwd, linesOf } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3 4 5\r");
    await program.until(QUESTION(3));
    program.send("\r");
    await program.until(/or type why not: \n\[y\]es, \[n\]o, \[e\]dit, or type why not: $/);
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

  test.concurrent("E6 text that was typed before a question does not answer it, and is still there after it", async () => {
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

  test.concurrent("E6 a change of the app while a question is open is shown above it, and waits for the turn", async () => {
    const { cwd } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3\r");
    await program.until(QUESTION(3));
    writeFileSync(join(cwd, "agent.ts"), APP.replace("So:", "Thus:"));
    await program.until(/The new version starts after this turn\.\n\[y\]es, \[n\]o, \[e\]dit, or type why not: $/);
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

  test.concurrent("E6 T9 D4 a chat about a parked turn shows the text and the calls that led to its question, once", async () => {
    const { cwd } = appIn();
    await bowline(["run", ...flags, "--session", "chat", "Pay 3 and say so"], { cwd });
    const program = start(["chat", ...flags], { cwd, terminal: true });
    await program.until(QUESTION(3));
    expect(program.seen()).toMatch(
      /The conversation has an open turn\..*Continuing the waiting turn: .*\nI pay now\.\n {2}pay \{"amount":3\}\nAllow pay/s,
    );
    program.send("y\r");
    await program.until(/So: paid 3\nanswered · .*\n\n› $/);
    expect(program.seen().match(/I pay now\./g)).toHaveLength(1);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 T9 D2 killed at a question, or left there, it asks again at the next start", async () => {
    const { cwd, linesOf } = appIn();
    const killed = await chat(cwd);
    killed.send("Pay 3\r");
    await killed.until(QUESTION(3));
    process.kill(Number(linesOf("pid")[0]), "SIGKILL");
    expect(await killed.ended).toBe(1);
    const left = start(["chat", ...flags], { cwd, terminal: true });
    await left.until(/Continuing the waiting turn: Pay 3\n/);
    await left.until(QUESTION(3));
    left.send("\x04");
    expect(await left.ended).toBe(3);
    expect(left.seen()).toMatch(/why not: \nbowline: Allow pay .* so the turn still waits\. .*\n$/);
    const last = start(["chat", ...flags], { cwd, terminal: true });
    await last.until(QUESTION(3));
    last.send("y\r");
    await last.until(/So: paid 3\nanswered · .*\n\n› $/);
    expect(last.seen().match(/Allow pay/g)).toHaveLength(1);
    expect(linesOf("paid")).toEqual(["3"]);
    last.send("/quit\r");
    expect(await last.ended).toBe(0);
  });

  test.concurrent.each([
    ["an agent", "Have 3 paid"],
    ["an agent of an agent", "Have Have 3 paid"],
  ])("E6 T9 D2 a call of %s is asked about too, and again after a kill", async (_, words) => {
    const { cwd, linesOf } = appIn();
    const killed = await chat(cwd);
    killed.send(`${words}\r`);
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

  test.concurrent("E6 D2 an answer from another process is shown: it takes the question back", async () => {
    const { cwd, linesOf, answer } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3 4\r");
    await program.until(QUESTION(3));
    await answer({ approved: false, reason: "Not today." });
    await program.until(/The question is closed: it was answered elsewhere, has expired, or its turn was stopped\.\n/);
    await program.until(QUESTION(4));
    program.send("half an ans");
    await program.until(/half an ans$/);
    await answer({ approved: true });
    await program.until(
      /\nThe question is closed: it was answered elsewhere, has expired, or its turn was stopped\.\n.*So: .*Not today\..* paid 4\nanswered · .*\n\n› $/s,
    );
    expect(linesOf("paid")).toEqual(["4"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 T9 D4 a turn that was parked while its question was open resumes, wherever the answer comes from", async () => {
    const { cwd, linesOf, answer, parked } = appIn();
    const program = await chat(cwd);
    for (const isElsewhere of [true, false]) {
      program.send("Pay 3\r");
      await program.until(QUESTION(3));
      await parked();
      if (isElsewhere) await answer({ approved: true });
      else program.send("y\r");
      await program.until(/ {2}pay → ok, .*\nSo: paid 3\nanswered · .*\n\n› $/);
      expect(program.seen().match(/Allow pay/g)).toHaveLength(isElsewhere ? 1 : 2);
    }
    expect(linesOf("paid")).toEqual(["3", "3"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent.each([
    ["here", false],
    ["elsewhere", false],
    ["in the next process", true],
  ])(
    "E6 T9 D4 a tree that was parked while its question was open resumes when the question is answered %s",
    async (where, isKilled) => {
      const { cwd, linesOf, answer, parked } = appIn();
      const first = await chat(cwd);
      first.send("Have Have 3 paid\r");
      await first.until(QUESTION(3));
      await parked();
      if (isKilled) process.kill(Number(linesOf("pid")[0]), "SIGKILL");
      const program = isKilled ? start(["chat", ...flags], { cwd, terminal: true }) : first;
      const asks =
        /Continuing the waiting turn: Have Have 3 paid\n {2}spawn_agent .*\nagt_[\w-]+ › agt_[\w-]+: Allow pay/;
      if (isKilled) await program.until(asks);
      await program.until(QUESTION(3));
      if (where === "elsewhere") await answer({ approved: true });
      else program.send("y\r");
      await program.until(/So: .*So: .*So: paid 3.*\nanswered · .*\n\n› $/);
      expect(linesOf("paid")).toEqual(["3"]);
      program.send("/quit\r");
      expect(await program.ended).toBe(0);
    },
  );

  test.concurrent("E6 T9 the arguments of a call can be edited; invalid arguments are reported and can be corrected", async () => {
    const { cwd, linesOf, other } = appIn();
    const program = await chat(cwd);
    program.send("Pay 3\r");
    await program.until(QUESTION(3));
    program.send("e\r");
    await program.until(/Arguments: \{"amount":3\}$/);
    program.send(`${CLEAR}\r`);
    await program.until(/why not: $/);
    program.send("edit\r");
    await program.until(/Arguments: \{"amount":3\}$/);
    program.send(`${BACKSPACE}\r`);
    await program.until(/That is not JSON\. .*\nArguments: \{"amount":3$/);
    program.send(`${BACKSPACE}"2"}\r`);
    await program.until(/args does not fit: .*\nArguments: \{"amount":"2"\}$/);
    program.send(`${CLEAR}{"amount":2}\r`);
    await program.until(/So: paid 2\nanswered · .*\n\n› $/);
    expect(linesOf("paid")).toEqual(["2"]);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
    await using elsewhere = await other();
    const { messages } = await (await elsewhere.session("chat")).read();
    const trails = messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === "toolResult" ? [part.trail] : [])),
    );
    expect(trails).toMatchObject([
      [{ input: { amount: 2 }, asked: [{ kind: "approval", answer: { isEdited: true, by: userInfo().username } }] }],
    ]);
  });

  test.concurrent("E6 T9 D2 a call that a kill broke off is asked about, where its tool wants that", async () => {
    const { cwd, linesOf } = appIn();
    const killed = await chat(cwd);
    killed.send("Wire\r");
    await killed.until(/sending\n/);
    process.kill(Number(linesOf("pid")[0]), "SIGKILL");
    expect(await killed.ended).toBe(1);
    writeFileSync(join(cwd, "go"), "");
    const program = start(["chat", ...flags], { cwd, terminal: true });
    await program.until(
      /Make the call wire \{\} again\? wire was interrupted, .*\n\[y\]es, \[n\]o, or type why not: $/,
    );
    program.send("y\r");
    await program.until(/So: sent\nanswered · .*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 T8 a tool asks a person something: text as it is typed, all else as JSON, until it fits", async () => {
    const { cwd } = appIn();
    const program = await chat(cwd);
    program.send("Say number\r");
    await program.until(/say asks: Which number\? \(a number\)\nYour answer, or \/no and a reason: $/);
    program.send("many\r");
    await program.until(/value does not fit: .*\nYour answer, or \/no and a reason: $/);
    program.send("42\r");
    await program.until(/So: 42\nanswered · .*\n\n› $/);
    program.send("Say string\r");
    await program.until(/say asks: Which string\?\nYour answer, .*: $/);
    program.send("42\r");
    await program.until(/So: 42\nanswered · .*\n\n› $/);
    program.send("Say string\r");
    await program.until(/say asks: Which string\?\nYour answer, .*: $/);
    program.send("/no Ask me tomorrow.\r");
    await program.until(/So: .*Ask me tomorrow\..*\nanswered · .*\n\n› $/);
    program.send("/quit\r");
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 T8 a call that waits for a result is shown, not asked about; after Ctrl-D the next chat resumes it", async () => {
    const { cwd, answer, parked } = appIn();
    const first = await chat(cwd);
    first.send("Ship\r");
    await first.until(/ship \{\} waits for its result from elsewhere\. Ctrl-D leaves, .*\n$/);
    first.send("\x04");
    expect(await first.ended).toBe(3);
    expect(first.seen()).toMatch(
      /\nbowline: ship \{\} waits for .* The turn still waits\. bowline chat .* continues it; .*\n$/,
    );
    await parked();
    const second = start(["chat", ...flags], { cwd, terminal: true });
    await second.until(
      /Continuing the waiting turn: Ship\n {2}ship \{\}\nship \{\} waits for its result from elsewhere\..*\n$/,
    );
    await answer({ value: "by sea" });
    await second.until(/So: by sea\nanswered · .*\n\n› $/);
    second.send("/quit\r");
    expect(await second.ended).toBe(0);
  });

  test.concurrent("E6 T9 D4 an agent that works by itself asks while nobody is at a turn, and at the next start", async () => {
    const { cwd, linesOf } = appIn();
    const first = await chat(cwd);
    first.send("Have 3 paid meanwhile\r");
    await first.until(/So: .*running.*\nanswered · .*\n\n› $/);
    first.send("half a");
    await first.until(/half a$/);
    writeFileSync(join(cwd, "go"), "");
    await first.until(/\nagt_[\w-]+: Allow pay \{"amount":3\}\? It moves money\. Press Enter to answer\.\n› half a$/);
    first.send(`${CLEAR}\r`);
    await first.until(QUESTION(3));
    first.send("\x03");
    await first.until(/why not: \nLeft for later: \/waits asks again\.\n› $/);
    first.send("/waits\r");
    await first.until(/› \/waits\napproval of pay \{"amount":3\}, asked just now, by agt_[\w-]+\n\n/);
    await first.until(QUESTION(3));
    first.send("\x04");
    expect(await first.ended).toBe(3);
    expect(first.seen()).toMatch(
      /\nbowline: agt_[\w-]+: Allow pay .*code finds it with runtime.waits.list\(\{ session: "agt_[\w-]+" \}\)\.\n$/,
    );

    const second = start(["chat", ...flags], { cwd, terminal: true });
    await second.until(QUESTION(3));
    second.send("y\r");
    await second.until(/why not: y\n› $/);
    await vi.waitFor(() => expect(linesOf("paid")).toEqual(["3"]));
    second.send("/waits\r");
    await second.until(/Nothing waits for an answer\.\n\n› $/);
    second.send("/quit\r");
    expect(await second.ended).toBe(0);
  });

  test.concurrent("E6 T9 D4 an agent whose call was answered while no process ran resumes at the next start", async () => {
    const { cwd, linesOf, answer } = appIn();
    const first = await chat(cwd);
    first.send("Have 3 paid meanwhile\r");
    await first.until(/So: .*running.*\nanswered · .*\n\n› $/);
    writeFileSync(join(cwd, "go"), "");
    await first.until(/Press Enter to answer\.\n› $/);
    first.send("/quit\r");
    expect(await first.ended).toBe(0);
    expect(await answer({ approved: true })).toBe("accepted");
    expect(linesOf("paid")).toEqual([]);
    const second = await chat(cwd);
    await vi.waitFor(() => expect(linesOf("paid")).toEqual(["3"]), { timeout: 10_000 });
    second.send("/quit\r");
    expect(await second.ended).toBe(0);
  });
}
