// The demo in code mode: finds the tools in the prompt, writes the cell that calls them, and reads the results.
import type { Json, JsonObject } from "../../model/json.ts";
import { type Message, type ToolStatus, textOf } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";

const OPEN = "<typescript>";
const CLOSE = "</typescript>";

/** Whether the model must reply with cells: the request has no native tools, and the prompt explains cells. */
export const isInCode = ({ system, tools }: Pick<ModelRequest, "system" | "tools">): boolean =>
  tools.length === 0 && hasCell(system);

const hasCell = (words: string): boolean => words.split("\n").some((line) => line.trim() === OPEN);

// ── Which tools there are ───────────────────────────────────────────────────────────────────────────────────────────

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/g;
const DECLARED = /\bdeclare const (\w+): \{/g;

/** How code calls each declared tool, by the tool's name: `notes_add` is called as `notes.add`. */
export function calleesIn(system: string): ReadonlyMap<string, string> {
  const text = system.replace(COMMENT, "");
  const found = new Map<string, string>();
  for (const { 0: head, 1: module, index } of text.matchAll(DECLARED)) {
    const block = blockAt(text, index + head.length - 1);
    const prefix = module === "tools" ? "" : `${module}_`;
    for (const [, name = ""] of block.matchAll(/(\w+)\(/g)) found.set(`${prefix}${name}`, `${module}.${name}`);
  }
  return found;
}

/** From the brace at this place to the one that closes it. */
function blockAt(text: string, open: number): string {
  let depth = 0;
  for (const { 0: brace, index } of text.slice(open).matchAll(/[{}]/g)) {
    depth += brace === "{" ? 1 : -1;
    if (depth === 0) return text.slice(open, open + index);
  }
  return text.slice(open);
}

// ── The cell ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface CodeCall {
  readonly callee: string;
  readonly input: JsonObject;
}

/**
 * A cell that makes these calls, those of one group at once, and prints the result of each, so that a failed call does
 * not hide the others.
 */
export function cellOf(groups: readonly (readonly CodeCall[])[]): string {
  const [first = []] = groups;
  const outcomes =
    groups.length === 1
      ? `await ${settled(first, "")}`
      : `[\n${groups.map((group) => `  ...(await ${settled(group, "  ")}),`).join("\n")}\n]`;
  const shown = "error instanceof Error ? { code: error.code, message: error.message } : error";
  return [
    OPEN,
    `const outcomes = ${outcomes};`,
    `print(JSON.stringify(outcomes, (_, error: any) => (${shown})));`,
    CLOSE,
  ].join("\n");
}

function settled(calls: readonly CodeCall[], indent: string): string {
  const lines = calls.map(({ callee, input }) => `${indent}  ${callee}(${literal(input)}),\n`);
  return `Promise.allSettled([\n${lines.join("")}${indent}])`;
}

const literal = (input: JsonObject): string => {
  const fields = Object.entries(input).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return fields.length === 0 ? "" : `{ ${fields.join(", ")} }`;
};

// ── What came of it ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface Outcome {
  readonly status: ToolStatus;
  readonly words: string;
}
/** `outcomes`: the results of the calls, in order. `problem`: the code failed before its end. */
type CellEnd = { readonly outcomes: readonly Outcome[] } | { readonly problem: string };

/** The result of the last cell in these messages; undefined if there is no cell. The demo answers with it. */
export function cellEndIn(messages: readonly Message[]): CellEnd | undefined {
  const cell = messages.findLastIndex(({ role, parts }) => role === "assistant" && hasCell(textOf(parts)));
  const output = cell < 0 ? undefined : messages[cell + 1];
  if (output === undefined) return undefined;
  const words = output.parts.map((part) => textOf(part.kind === "codeOutput" ? part.parts : [part]));
  const lines = words
    .join("")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const printed = lines.map(settledIn).find(Array.isArray);
  if (printed !== undefined) return { outcomes: printed.map(outcomeOf) };
  const [first = "The code came to nothing."] = lines;
  return { problem: first.startsWith('[{"status"') ? "It came to more than I can read." : first.replace(LABEL, "") };
}
/** The label that a protocol writes before an error. */
const LABEL = /^\[[A-Z]+\] /;

type Settled =
  | { readonly status: "fulfilled"; readonly value?: Json }
  | { readonly status: "rejected"; readonly reason: { readonly code?: string; readonly message?: string } };

/** Parses the line that the cell printed; undefined for another line. */
function settledIn(line: string): readonly Settled[] | undefined {
  try {
    const found: unknown = line.startsWith("[") ? JSON.parse(line) : undefined;
    const isIt = Array.isArray(found) && found.every((each) => /^(?:fulfilled|rejected)$/.test(each?.status));
    return isIt ? found : undefined;
  } catch {
    return undefined;
  }
}

const STATUS: { readonly [code: string]: ToolStatus } = {
  "tool.denied": "denied",
  "tool.cancelled": "cancelled",
  "tool.unknown-result": "unknown",
};

function outcomeOf(each: Settled): Outcome {
  if (each.status === "rejected") {
    const { code = "", message = "" } = each.reason;
    return { status: STATUS[code] ?? "failed", words: message };
  }
  const { value = null } = each;
  return { status: "ok", words: typeof value === "string" ? value : JSON.stringify(value) };
}
