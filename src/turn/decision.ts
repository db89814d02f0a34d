import { isObject } from "../model/json.ts";
import type { Draft } from "../model/message.ts";
import { pairingProblem } from "../model/pairing.ts";
import type { Decision } from "./driver.ts";

const KINDS: ReadonlySet<string> = new Set<Decision["kind"]>([
  "calls",
  "cell",
  "answer",
  "finish",
  "ask",
  "retry",
  "switchFrame",
  "end",
]);
const ROLES: ReadonlySet<unknown> = new Set<Draft["role"]>(["system", "user", "assistant", "tool"]);

/**
 * Checks a protocol's decision, given the last message of the log. Returns what is wrong, or undefined. A protocol is a
 * plugin: an unchecked decision could leave a session that no model accepts.
 */
export function decisionProblem(decision: Decision, last: Draft | undefined): string | undefined {
  if (!isObject(decision) || !KINDS.has(decision.kind)) return "it decided nothing that is known";
  let before = last;
  const { add = [] } = decision;
  for (let index = 0; index < add.length; index++) {
    const draft = add[index] as Draft;
    if (!isObject(draft) || !ROLES.has(draft.role) || !Array.isArray(draft.parts) || !draft.parts.every(isObject))
      return "it added something that is not a message";
    const problem = draft.role === "tool" ? pairingProblem(before, draft) : undefined;
    if (problem !== undefined) return problem;
    before = draft;
  }
  switch (decision.kind) {
    case "calls":
      return callsProblem(decision.calls);
    case "cell":
      return isObject(decision.cell) && typeof decision.cell.code === "string" ? undefined : "its cell has no code";
    case "end":
      return isObject(decision.ending) && typeof decision.ending.code === "string"
        ? undefined
        : "its ending has no code";
    default:
      return undefined;
  }
}

function callsProblem(calls: Extract<Decision, { kind: "calls" }>["calls"]): string | undefined {
  if (!Array.isArray(calls) || calls.length === 0) return "it wants calls and names none";
  const places = calls.length === 1 ? undefined : new Set<unknown>();
  for (let index = 0; index < calls.length; index++) {
    const placed = calls[index];
    if (
      !isObject(placed) ||
      typeof placed.at !== "string" ||
      !isObject(placed.call) ||
      typeof placed.call.name !== "string"
    )
      return "it asked for something that is not a call";
    if (places?.has(placed.at)) return `two of its calls are at ${placed.at}`;
    places?.add(placed.at);
  }
  return undefined;
}
