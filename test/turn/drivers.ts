import type { JsonObject } from "../../src/model/json.ts";
import { callsOf, type Draft, type Part, type ToolCallPart, text, textOf } from "../../src/model/message.ts";
import type { Ending } from "../../src/model/outcome.ts";
import { statusOf, type ToolCall } from "../../src/model/tool.ts";
import type { Decision, PlacedResult, ProtocolDriver } from "../../src/turn/driver.ts";
import type { PlacedCall } from "../../src/turn/effect.ts";

/** Said by a model or a tool, it makes a driver throw. */
export const BOOM = "boom";

/** Native tool calls. A `batch` is taken apart into its calls; a text is the answer, unless it says otherwise. */
export const toolLoop: ProtocolDriver = {
  id: "test/tool-loop",
  version: 1,
  request: ({ system, messages, tools }) => ({ system, messages, tools }),
  onReply({ memo }, reply) {
    const words = textOf(reply.parts);
    if (words === BOOM) throw new Error("I cannot read this.");
    if (reply.finish === "length") return { kind: "end", ending: TRUNCATED };
    const calls = callsOf(reply.parts);
    if (calls.length > 0) return { kind: "calls", calls: calls.flatMap(place), memo: Number(memo ?? 0) + calls.length };
    if (words === "") return { kind: "retry", add: [repair("You said nothing.")] };
    return spoken(words);
  },
  onResults(_view, reply, results) {
    if (results.some(({ parts }) => textOf(parts) === BOOM)) throw new Error("I cannot read this.");
    return {
      kind: "ask",
      add: [{ role: "tool", parts: callsOf(reply.parts).map((call, index) => shown(call, index, results)) }],
    };
  },
  onExec: () => {
    throw new Error("There are no cells here.");
  },
};

/** One code cell per reply. Its memo holds what became of each call of the last cell. */
export const cellLoop: ProtocolDriver = {
  id: "test/cell-loop",
  version: 1,
  request: ({ system, messages, tools }) => ({ system, messages, tools }),
  onReply(_view, reply) {
    const words = textOf(reply.parts);
    if (words === BOOM) throw new Error("I cannot read this.");
    if (reply.finish === "length") return { kind: "end", ending: TRUNCATED };
    if (words.startsWith("run "))
      return { kind: "cell", cell: { language: "ts", code: words.slice(4), acceptFinish: true } };
    if (words === "") return { kind: "retry", add: [repair("You said nothing.")] };
    return spoken(words);
  },
  onResults: () => {
    throw new Error("There are no native calls here.");
  },
  onExec(_view, _reply, output, results) {
    const memo = results.map(({ at, output, parts }) => `${at} ${statusOf(output)}: ${textOf(parts)}`);
    if (output.finish !== undefined) return { kind: "finish", value: output.finish, memo };
    const add: Draft[] = [{ role: "user", parts: [{ kind: "codeOutput", status: output.state, parts: output.parts }] }];
    return { kind: output.state === "done" ? "ask" : "retry", memo, add };
  },
};

const TRUNCATED: Ending = { kind: "stopped", by: "incomplete", code: "reply.truncated", reason: "It was cut off." };

const repair = (words: string): Draft => ({ role: "user", parts: [text(words)], origin: { kind: "runtime" } });

/** What a model can decide about the turn in plain words. */
function spoken(words: string): Decision {
  const [, verb, rest] = /^(finish|task) (.+)$/.exec(words) ?? [];
  if (verb === "finish") return { kind: "finish", value: rest ?? null };
  if (verb === "task") return { kind: "switchFrame", task: rest ?? "" };
  return { kind: "answer" };
}

const asked = ({ callId, name, input, malformed }: ToolCallPart): ToolCall => ({
  id: callId,
  name,
  input,
  ...(malformed === undefined ? {} : { malformed }),
});

function place(part: ToolCallPart, index: number): readonly PlacedCall[] {
  const call = asked(part);
  const inside = part.name === "batch" ? (part.input as { readonly tools: readonly string[] }).tools : undefined;
  if (inside === undefined) return [{ at: `${index}`, call }];
  return inside.map((name, inner) => ({
    at: `${index}.${inner}`,
    call: { id: call.id, name, input: {} satisfies JsonObject },
  }));
}

function shown(call: ToolCallPart, index: number, results: readonly PlacedResult[]): Part {
  const own = results.filter(({ at }) => at === `${index}` || at.startsWith(`${index}.`));
  const [only] = own;
  const status = own.length === 1 && only !== undefined ? statusOf(only.output) : "ok";
  return { kind: "toolResult", callId: call.callId, name: call.name, status, parts: own.flatMap(({ parts }) => parts) };
}
