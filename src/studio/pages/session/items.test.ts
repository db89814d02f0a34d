import type { ClientWait, RunningTurn } from "bowline/client";
import { expect, test } from "vitest";
import type { Node } from "../../types.ts";
import { type Item, itemsOfMessages, itemsOfNodes, itemsOfRunning, type Message, type Part, turnAt } from "./items.ts";

const text = (words: string): Part => ({ kind: "text", text: words });
const call = (callId: string, name: string): Part => ({ kind: "toolCall", callId, name, input: {} }) as Part;
const result = (callId: string, words: string): Part =>
  ({ kind: "toolResult", callId, name: "look", status: "ok", parts: [text(words)] }) as unknown as Part;
const said = { kind: "input", inputId: "inp_1" } as const;

/** A turn: its messages in order, with the ids that a commit gives them. */
const turn = (id: string, ...messages: readonly [Message["role"], readonly Part[], Message["origin"]?][]): Message[] =>
  messages.map(
    ([role, parts, origin], n) => ({ id: `trn_${id}.${n}`, role, parts, ...(origin && { origin }) }) as Message,
  );
const kinds = (items: readonly Item[]): readonly string[] => items.map(({ kind }) => kind);
const keys = (items: readonly Item[]): readonly string[] => items.map(({ key }) => key);

const worked = turn(
  "1",
  ["user", [text("Look.")], said],
  ["assistant", [{ kind: "reasoning", text: "Hm." }, text("I look."), call("c", "look"), call("d", "look")]],
  ["tool", [result("c", "one"), result("d", "two")]],
  ["assistant", [call("c", "look")]],
  ["tool", [result("c", "three")]],
  ["assistant", [text("Done.")]],
);
const parts = [
  { kind: "reasoning", effect: "r1.ask", attempt: 1, text: "Hm." },
  { kind: "text", effect: "r1.ask", attempt: 1, text: "I look." },
  ...["r1.call.0", "r1.call.1", "r2.call.0"].map((effect) => ({
    ...{ kind: "call", effect, callId: "c", name: "look", input: {}, state: "ended", status: "ok", printed: "" },
    attempt: 1,
  })),
  { kind: "text", effect: "r3.ask", attempt: 1, text: "Done." },
] as unknown as RunningTurn["parts"];
const running = (shown: RunningTurn["parts"], waits: readonly ClientWait[] = []): RunningTurn =>
  ({ kind: "running", id: "trn_1", generation: 1, parts: shown, waits, children: {} }) as RunningTurn;

test("E6 a call and its result are one item, also where a provider repeats the ids of calls", () => {
  const items = itemsOfMessages(worked);
  expect(kinds(items)).toEqual(["user", "reasoning", "assistant", "call", "call", "call", "assistant", "end"]);
  const results = items.flatMap((item) => (item.kind === "call" ? [item.result?.parts[0]] : []));
  expect(results).toEqual([text("one"), text("two"), text("three")]);
});

test("E6 the items of a running turn keep their keys when it is committed", () => {
  const live = itemsOfRunning(running(parts), worked.slice(0, 1));
  expect([...keys(live), "trn_1/end"]).toEqual(keys(itemsOfMessages(worked)));
});

test("E6 a turn that shows only its later rounds has its recorded messages before them", () => {
  const later = parts.filter(({ effect }) => effect !== "r1.ask" && !effect.startsWith("r1."));
  const items = itemsOfRunning(running(later), worked.slice(0, 3));
  expect(kinds(items)).toEqual(["user", "reasoning", "assistant", "call", "call", "call", "assistant"]);
  expect(itemsOfRunning(undefined, worked.slice(0, 3))).toHaveLength(5);
});

test("E6 a message that steers a turn stands before the round that took it", () => {
  const item: Item = { key: "input/2", kind: "user", text: "Quick.", attachments: [] };
  const items = itemsOfRunning(running(parts), worked.slice(0, 1), [{ before: 2, item }]);
  expect(items.findIndex(({ key }) => key === "input/2")).toBe(5);
  expect(kinds(itemsOfRunning(running([]), [], [{ before: 2, item }]))).toEqual(["user"]);
});

test("E6 a call that waits for an answer shows so, and its question comes last", () => {
  const wait = { id: "wai_1", effect: "r1.call.1.w", call: { name: "look" } } as unknown as ClientWait;
  const shown = parts.slice(0, 4).map((part) => (part.kind === "call" ? { ...part, state: "running" } : part));
  const items = itemsOfRunning(running(shown as RunningTurn["parts"], [wait]), worked.slice(0, 1));
  const asks = items.flatMap((item) => (item.kind === "call" ? [item.isWaiting === true] : []));
  expect(asks).toEqual([false, true]);
  expect(items.at(-1)).toMatchObject({ kind: "wait", wait: { id: "wai_1" } });
});

test("E6 a code cell is its prose, its code without tags, and its output", () => {
  const cell = { kind: "text", text: "I add.\n<typescript>\n1 + 1\n</typescript>", shown: "I add." } as Part;
  const output = { kind: "codeOutput", status: "done", parts: [text("2")] } as Part;
  const items = itemsOfMessages(
    turn("1", ["user", [text("Add.")], said], ["assistant", [cell]], ["user", [output], { kind: "runtime" }]),
  );
  expect(kinds(items)).toEqual(["user", "assistant", "cell", "end"]);
  expect(items[1]).toMatchObject({ text: "I add." });
  expect(items[2]).toMatchObject({ code: "1 + 1", result: { status: "done" } });
});

test("E6 each turn ends once, with what a person said, and only the last one can be tried again", () => {
  const messages = [
    ...turn("1", ["user", [text("One.")], said], ["assistant", [text("1")]]),
    ...turn("2", ["user", [text("Two.")], said]),
  ];
  const ends = itemsOfMessages(messages).filter(({ kind }) => kind === "end");
  expect(ends).toMatchObject([
    { turnId: "trn_1", node: "trn_1.1", said: { node: "trn_1.0" } },
    { turnId: "trn_2", node: "trn_2.0", said: { node: "trn_2.0" }, isLast: true },
  ]);
  expect(ends[0]).not.toHaveProperty("isLast");
});

test("E6 older nodes of a turn that continues in the frame after them have no end there", () => {
  const [first, second] = turn("1", ["user", [text("One.")], said], ["assistant", [text("Copied.")]]);
  const node = (message: Message): Node => ({ id: message.id, at: 1, kind: "message", message }) as Node;
  const frame = { id: "trn_1.9", at: 1, kind: "frame", reason: "task", task: "Go on." } as unknown as Node;
  const nodes = [frame, node(second as Message), node(first as Message)];
  expect(kinds(itemsOfNodes(nodes, "trn_1.10"))).toEqual(["user", "assistant", "frame"]);
  expect(kinds(itemsOfNodes(nodes, "trn_2.0"))).toEqual(["user", "assistant", "frame", "end"]);
  const carried = turn("2", ["user", [text("One.")], { kind: "carried", from: "trn_1.0" }], ["system", [text("x")]]);
  expect(kinds(itemsOfMessages(carried))).toEqual(["end"]);
});

test("E6 a cut between messages is made before a whole turn", () => {
  const messages = [...worked, ...turn("2", ["user", [text("Two.")], said], ["assistant", [text("2")]])];
  expect([0, 3, 6, 7].map((index) => turnAt(messages, index))).toEqual([0, 0, 6, 6]);
});
