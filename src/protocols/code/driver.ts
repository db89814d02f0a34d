// Decides what a reply and the end of a cell mean. Pure, because a resumed turn is decided again from its record.
// code-driver-1: A complete cell is run. A reply without one can only be an answer by its prose.
// code-driver-2: A correction for the model is a separate message, a `codeOutput` with the status `refused`, so that
// the view of the conversation can omit it once the model has followed it (`view.ts`).
import { describe } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";
import { callsOf, type Draft, type ToolResultPart, text, textOf } from "../../model/message.ts";
import type { Reply } from "../../model/request.ts";
import { OUTPUT_TOOL, type ResultPart, statusOf } from "../../model/tool.ts";
import { shortened } from "../../model/transcript-text.ts";
import type { Decision, PlacedResult, ProtocolDriver, RoundView } from "../../turn/driver.ts";
import type { Cell } from "../../turn/effect.ts";
import type { CellOutput } from "../../turn/event.ts";
import { CLOSE, OPEN, read } from "./grammar.ts";
import { optionsIn } from "./options.ts";
import { TEXTS } from "./texts.ts";
import { request } from "./view.ts";

/** How often a model may repair a wrong or missing typed result before the turn fails. */
const REPAIRS_MAX = 2;
const FINISH_CHARS_MAX = 4_000;
const SEED_CHARS_MAX = 2_000;

export const driver: ProtocolDriver = { id: "bowline/code-mode", version: 1, request, onReply, onResults, onExec };

function onReply(view: RoundView, reply: Reply): Decision {
  const said = textOf(reply.parts);
  const { prose, code, isClosed, end } = read(said);
  if (reply.finish === "refused") return ended("stopped", "incomplete", "reply.refused");
  if (callsOf(reply.parts).length > 0) return refuseCalls(reply);
  // If the reply was cut off, its last line may be incomplete, so it must not close the cell.
  const isSure = reply.finish !== "length" || said.includes("\n", end);
  if (code !== undefined && isClosed && isSure) {
    if (code.trim() !== "") return { kind: "cell", cell: cellOf(view, code) };
    return retry(needsFinish(view) ? TEXTS.emptyCellFinish : TEXTS.emptyCell);
  }
  if (code !== undefined) return retry(reply.finish === "length" ? TEXTS.cutOff : TEXTS.unclosed);
  if (prose.trim() === "") return decideEmptyReply(view, reply);
  if (reply.finish === "length") return retry(needsFinish(view) ? TEXTS.cutOff : TEXTS.longAnswer);
  if (needsFinish(view)) return repair(view, whyNoCell(said));
  return STRAY_END.test(said) ? retry(TEXTS.strayTag) : { kind: "answer" };
}

/** The end of a cell without a beginning: the model tried to write a cell, so the reply is not an answer. */
const STRAY_END = /(?:^|\n)[ \t]{0,100}<\/typescript>[ \t\r]{0,100}(?:\n|$)/i;

/** Only `finish` ends the turn, because its caller wants a typed result or no prose. */
const needsFinish = (view: RoundView): boolean => view.output !== undefined || optionsIn(view).ending === "finish";

const cellOf = ({ output, unwraps }: RoundView, code: string): Cell => ({
  language: "typescript",
  code,
  acceptFinish: true,
  isWhole: true,
  ...(output === undefined
    ? {}
    : { finishBy: unwraps === true ? { tool: OUTPUT_TOOL, field: "value" } : { tool: OUTPUT_TOOL } }),
});

/** Some models send an empty reply once their code has done the work. After a cell, that is an answer. */
function decideEmptyReply(view: RoundView, { finish, route }: Reply): Decision {
  if (finish === "length") return retry(TEXTS.cutOff);
  if (needsFinish(view)) return repair(view, TEXTS.finishMissing);
  if (view.log.some((entry) => entry.kind === "message" && isOutput(entry.message))) return { kind: "answer" };
  if (finish === "aborted") return ended("stopped", "plugin", "reply.aborted");
  const reason = describe("provider.empty", { route }).message;
  return { kind: "end", ending: { kind: "failed", by: "provider", code: "provider.empty", reason } };
}

const isOutput = ({ parts }: Draft): boolean => parts.some((part) => part.kind === "codeOutput");

function whyNoCell(said: string): string {
  if (/```[ \t]*(?:ts|typescript|js|javascript)\b/i.test(said)) return TEXTS.fence;
  const lower = said.toLowerCase();
  return lower.includes(OPEN) || lower.includes(CLOSE) ? TEXTS.strayTag : TEXTS.finishMissing;
}

const ended = (kind: "stopped", by: "incomplete" | "plugin", code: "reply.refused" | "reply.aborted"): Decision => ({
  kind: "end",
  ending: { kind, by, code, reason: describe(code, {}).message },
});

/** code-driver-2 */
const correction = (words: string): Draft => ({
  role: "user",
  parts: [{ kind: "codeOutput", status: "refused", parts: [text(words)] }],
  origin: { kind: "runtime" },
});

const retry = (words: string): Decision => ({ kind: "retry", add: [correction(words)] });

/** The typed result is missing or wrong: the model has a few tries, as with native calls. */
function repair(view: RoundView, words: string, add: readonly Draft[] = [correction(words)]): Decision {
  if (view.output === undefined) return { kind: "retry", add };
  const repairs = ((view.memo as { repairs?: number } | null)?.repairs ?? 0) + 1;
  if (repairs <= REPAIRS_MAX) return { kind: "retry", memo: { repairs }, add };
  const problem = words.replace(/^\[\w+\] /, "");
  const reason = describe("output.invalid", { problem }).message;
  return { kind: "end", add, ending: { kind: "failed", by: "provider", code: "output.invalid", reason } };
}

/** Refuses native calls of a provider: each gets a result that explains how to use code. */
const refuseCalls = ({ parts }: Reply): Decision => ({
  kind: "retry",
  add: [
    {
      role: "tool",
      parts: callsOf(parts).map(({ callId, name }) => ({
        kind: "toolResult",
        callId,
        name,
        status: "failed",
        parts: [text(TEXTS.nativeCall)],
      })),
    },
  ],
});

/** This protocol makes no native calls. If there are results of such calls, they go back to the model. */
function onResults(_: RoundView, __: Reply, results: readonly PlacedResult[]): Decision {
  return { kind: "ask", add: [{ role: "tool", parts: results.map(resultPart) }] };
}

const resultPart = ({ call, output, parts }: PlacedResult): ToolResultPart => ({
  kind: "toolResult",
  callId: call.id,
  name: call.name,
  status: statusOf(output),
  parts,
});

function onExec(view: RoundView, _: Reply, output: CellOutput, results: readonly PlacedResult[]): Decision {
  const { finish, continues } = output;
  const submitted = results.find(({ call }) => call.name === OUTPUT_TOOL)?.output;
  if (submitted?.kind === "failure") {
    const problem = TEXTS.notFitting(problemIn(submitted.failure.message));
    return repair(view, problem, [outputMessage(output, results, TEXTS.error(problem, TEXTS.finishAgain))]);
  }
  if (submitted?.kind === "value") {
    const value = submitted.control?.kind === "finish" ? submitted.control.value : submitted.value;
    return { kind: "ask", add: [outputMessage(output, results, finished(value))] };
  }
  if (finish !== undefined)
    return { kind: "finish", value: finish, add: [outputMessage(output, results, finished(finish))] };
  if (continues === undefined) return { kind: "ask", add: [outputMessage(output, results)] };
  const { task, seed } = continues;
  const handed = seed === undefined ? "" : `\n\n${TEXTS.seed(shortened(JSON.stringify(seed), SEED_CHARS_MAX))}`;
  return { kind: "switchFrame", task: `${task}${handed}`, add: [outputMessage(output, results, TEXTS.goesOn)] };
}

const finished = (value: Json): string => TEXTS.finished(shortened(JSON.stringify(value), FINISH_CHARS_MAX));

/** The message for a native call: code has no tool of that name. */
const problemIn = (message: string): string => {
  const [, problem] = /are not valid: (.*?)(?: Correct them so that .*)?$/s.exec(message) ?? [];
  return problem ?? message;
};

/** The message about an ended cell for the model: its output, how it ended, and its calls. */
function outputMessage(output: CellOutput, results: readonly PlacedResult[], more = ""): Draft {
  const { state: status, parts } = output;
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  const end = status === "done" ? "" : labelled(status, texts.pop() ?? "");
  const words = [...texts, end, more, ledger(status, results)].filter((each) => each !== "");
  const others = parts.filter((part): part is ResultPart => part.kind !== "text");
  const calls = results.filter(mayHaveActed).length;
  const isNothing = words.length + others.length === 0;
  const all = isNothing ? TEXTS.nothing : words.join("\n");
  return {
    role: "user",
    parts: [
      {
        kind: "codeOutput",
        status,
        parts: [...(all === "" ? [] : [text(all)]), ...others],
        ...(calls === 0 ? {} : { calls }),
      },
    ],
    origin: { kind: "runtime" },
  };
}

function labelled(status: CellOutput["state"], words: string): string {
  if (status === "stopped") return TEXTS.policy(words);
  return TEXTS.error(words, words.startsWith("ToolError [") ? TEXTS.callFailed : TEXTS.fix);
}

/** A denial counts too: a model that forgets it asks the same person again. */
function mayHaveActed({ output }: PlacedResult): boolean {
  if (output.kind !== "failure") return output.kind !== "cancelled";
  return ["denied", "failed", "timeout", "internal"].includes(output.failure.class);
}

/** The calls of a cell, by tool and how they ended. For a successful cell only the calls that failed. */
function ledger(status: CellOutput["state"], results: readonly PlacedResult[]): string {
  const counts = new Map<string, number>();
  for (const { call, output } of results) {
    const how = statusOf(output);
    if (call.name === OUTPUT_TOOL || (status === "done" && how === "ok")) continue;
    const why = output.kind === "failure" ? `${how} (${output.failure.code})` : how;
    const line = `${call.name} ${why}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const lines = [...counts].map(([line, count]) => (count === 1 ? line : `${line} ${count} times`));
  return lines.length === 0 ? "" : TEXTS.calls(lines.slice(0, 32).join(", "));
}
