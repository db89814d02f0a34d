import { stripTypeScriptTypes } from "node:module";
import { describe, expect, test } from "vitest";
import { nodeId } from "../../model/ids.ts";
import { type CellStatus, type Message, type Part, text } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";
import { TEXTS } from "../../model/texts.ts";
import { demo } from "../demo.ts";

const SYSTEM = `Be brief.

Reply in prose, or with code between two lines:
<typescript>
print(await tools.weather({ city: "Oslo" }));
</typescript>

/** Notes that stay, such as notes.burn(). */
declare const notes: {
  /** Keeps a note { and gives its number. */
  add(input: { /** At least one letter. */ text: string }): Promise<unknown>;
  list(): Promise<{ number: number; text: string }[]>;
};
declare const tools: {
  /** Works out an expression. Not so odd(). */
  calculator(input: { expression: string }): Promise<number>;
  clock(input: { timeZone?: string }): Promise<unknown>;
  wait(input: { seconds: number }): Promise<string>;
};

Use print(…) and finish(…), not notes.remove(…).`;

const CELL = "<typescript>\n…\n</typescript>";

const message = (role: Message["role"], ...parts: readonly Part[]): Message => ({
  id: nodeId("trn_1", 0),
  role,
  parts,
});
const user = (words: string): Message => message("user", text(words));
const printed = (words: string, status: CellStatus = "done"): Message => ({
  ...message("user", { kind: "codeOutput", status, parts: [text(words)] }),
  origin: { kind: "runtime" },
});

async function reply(messages: readonly Message[], more: Partial<ModelRequest> = {}): Promise<string> {
  const options = { signal: new AbortController().signal, load: () => new Uint8Array() };
  let said = "";
  for await (const part of demo().stream({ system: SYSTEM, messages, tools: [], ...more }, options))
    if ("kind" in part && part.kind === "text") said += part.delta;
  return said;
}

type Call = readonly [callee: string, input: unknown];
interface Ran {
  readonly calls: readonly Call[];
  readonly output: Message;
}

/** Runs a cell; `answer` gives the result of each call, or throws. */
async function run(cell: string, answer: (callee: string, input: never) => unknown): Promise<Ran> {
  const [, code] = /^<typescript>\n(.*)\n<\/typescript>$/s.exec(cell) ?? [];
  if (code === undefined) throw new Error(`This is no cell: ${cell}`);
  const calls: Call[] = [];
  const module = (name: string) =>
    new Proxy({}, { get: (_, operation) => async (input: never) => called(`${name}.${String(operation)}`, input) });
  const called = async (callee: string, input: never): Promise<unknown> => {
    calls.push([callee, input]);
    return answer(callee, input);
  };
  const lines: string[] = [];
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: readonly string[]
  ) => (...given: unknown[]) => unknown;
  const js = stripTypeScriptTypes(`async () => {${code}}`);
  const cellFunction = new AsyncFunction("tools", "notes", "print", `return (${js})()`);
  await cellFunction(module("tools"), module("notes"), (line: string) => lines.push(line));
  return { calls, output: printed(lines.join("\n")) };
}

/** What is called for these words, and what is said then. */
async function converse(words: string, answer: (callee: string, input: never) => unknown) {
  const cell = await reply([user(words)]);
  const { calls, output } = await run(cell, answer);
  return { calls, said: await reply([user(words), message("assistant", text(cell)), output]) };
}

const failed = (code: string, problem: string): Error =>
  Object.defineProperties(new Error(problem), { code: { value: code }, name: { value: "ToolError" } });

describe("N2 P7 demo in code mode", () => {
  test("one cell makes all calls of a message, and the answer has the words of the other mode", async () => {
    const words = "What is 21*2? Remember the milk. What do you remember? What time is it? Who won?";
    const { calls, said } = await converse(words, (callee) => {
      if (callee === "tools.calculator") return 42;
      if (callee === "notes.add") return { number: 3, text: "the milk" };
      return callee === "notes.list" ? [{ number: 3, text: "the milk" }] : "noon";
    });
    expect(calls).toEqual([
      ["tools.calculator", { expression: "21*2" }],
      ["notes.add", { text: "the milk" }],
      ["notes.list", undefined],
      ["tools.clock", undefined],
    ]);
    expect(said).toBe(
      "21*2 = 42. I noted that as number 3: the milk. I remember:\n3. the milk The clock says noon. The rest (“Who won”) is beyond this offline demonstration.",
    );
  });

  test("what is asked for after a wait is done after it, in the same cell", async () => {
    let isOver = false;
    const { calls, said } = await converse("1+1, wait 20 seconds, then 2+2 and 3+3", async (callee) => {
      if (callee === "tools.calculator") return isOver ? "late" : "early";
      await new Promise(setImmediate);
      isOver = true;
      return "20 seconds have passed.";
    });
    expect(calls.map(([callee]) => callee)).toEqual([
      "tools.calculator",
      "tools.wait",
      "tools.calculator",
      "tools.calculator",
    ]);
    expect(said).toBe("1+1 = early. I waited 20 seconds. 2+2 = late. 3+3 = late.");
  });

  test("a call that fails hides no other", async () => {
    const { said } = await converse("1/0, 2+2, remember the milk, wait 1 second, what time is it", (callee, input) => {
      if (callee === "notes.add") throw failed("tool.denied", TEXTS.denied("notes_add", "No notes today."));
      if (callee === "tools.wait") throw failed("tool.unknown-result", "Crashed.");
      if (callee === "tools.clock") throw failed("tool.cancelled", "Stopped.");
      if ((input as { expression: string }).expression === "2+2") return 4;
      throw failed("tool.failed", TEXTS.failed("calculator", "A division by zero."));
    });
    expect(said).toBe(
      "That did not work: A division by zero. 2+2 = 4. I was not allowed to use notes_add: No notes today. The call of wait was interrupted; whether it took effect is not known. The call of clock was cancelled.",
    );
  });

  test("a user's text stays a string: it ends neither the code nor the cell", async () => {
    const note = 'a "b" \\ `c` </typescript> \u2028 \ud800 */';
    const { calls } = await converse(`Remember ${note}`, () => ({ number: 1 }));
    expect(calls).toEqual([["notes.add", { text: note }]]);
  });

  test("a cell that did not come to its end is reported, and not written again", async () => {
    const asked = [user("What is 2+2?"), message("assistant", text(CELL))];
    const ended = (words: string, status: CellStatus) => reply([...asked, printed(words, status)]);
    expect(await ended("\n[POLICY] The code was stopped: it computed for too long.\nMore.", "stopped")).toBe(
      "That did not work: The code was stopped: it computed for too long.",
    );
    expect(await ended('[{"number":1}]\n[1', "threw")).toBe('That did not work: [{"number":1}]');
    expect(await ended('[{"status":"fulfilled","value":[1\n[… 9 characters left out …]\n4]}]', "done")).toBe(
      "That did not work: It came to more than I can read.",
    );
    expect(await ended("", "stalled")).toBe("That did not work: The code came to nothing.");
  });

  test("the results are found as text too, among what a protocol adds; those of a turn before count no more", async () => {
    const words = 'Output:\n[{"status":"fulfilled","value":4}]\n= undefined';
    const tail: Message = { ...user("Round 2. Answer in prose, or write one cell."), origin: { kind: "runtime" } };
    const asked = [user("What is 2+2?"), message("assistant", text(`I look.\n${CELL}`))];
    const before = [...asked, printed(words), tail];
    expect(await reply(before)).toBe("2+2 = 4.");
    expect(await reply([...asked, { ...user(words), origin: { kind: "runtime" } }, tail])).toBe("2+2 = 4.");
    expect(await reply([...before, user("What is 3+3?"), tail])).toContain('tools.calculator({ expression: "3+3" })');
  });

  test("a tool that is not declared is named, not called", async () => {
    expect(await reply([user("forget note 1")])).toBe(
      "For that I need the tool notes_remove, and it is not offered here.",
    );
    const { calls } = await run(await reply([user("forget note 1 and what is 2+2")]), () => 4);
    expect(calls).toEqual([["tools.calculator", { expression: "2+2" }]]);
    expect(await reply([user("2+2")], { toolChoice: "none" })).toContain("calculator, and it is not offered");
    expect(await reply([user("2+2")], { system: "<typescript>\n</typescript>" })).toContain("not offered");
    const plain = "declare const tools: { calculator(input: unknown): Promise<number> };\n<typescript>";
    expect(await reply([user("2+2")], { system: plain })).toContain("await Promise.allSettled");
  });

  test("it needs a separate line with the tag: a tag inside a sentence does not count", async () => {
    const system = SYSTEM.replace("\n<typescript>\n", " <typescript> ");
    expect(await reply([user("2+2")], { system })).toBe(
      "For that I need the tool calculator, and it is not offered here.",
    );
  });

  test("equal requests get equal replies, and what needs no tool is said without code", async () => {
    const words = [user("2+2, wait 1 second and the time in Tokyo")];
    expect(await reply(words)).toBe(await reply(structuredClone(words)));
    expect(await reply([user("Thanks!")])).toBe("You are welcome.");
  });
});
