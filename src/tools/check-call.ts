// Finds the tool of a call and checks its arguments. The gate, the attempt and the after-hooks use the same checks.
import { within } from "../kernel/deadline.ts";
import type { Tool } from "../kernel/tool.ts";
import type { Target } from "../kernel/tool-gates.ts";
import { type Awaitable, andThen, isThenable } from "../model/awaitable.ts";
import { describeThrown, toJson } from "../model/json.ts";
import type { Checked } from "../model/schema.ts";
import { TEXTS } from "../model/texts.ts";
import { BATCH_TOOL, type ToolCall, type ToolOutput } from "../model/tool.ts";
import type { Member } from "./catalog.ts";
import type { Dispatch } from "./dispatch.ts";
import { failure } from "./result.ts";
import type { Validate } from "./validator.ts";

/** Calls inside a batch are possible only if the batch tool itself can be called. */
export const memberFor = ({ catalog }: Dispatch, { name, parentId }: ToolCall): Member | undefined =>
  parentId !== undefined && catalog.find(BATCH_TOOL) === undefined ? undefined : catalog.find(name);

export function unknownTool(dispatch: Dispatch, call: ToolCall): ToolOutput {
  const name = call.parentId !== undefined && dispatch.catalog.find(BATCH_TOOL) === undefined ? BATCH_TOOL : call.name;
  const known = dispatch.availability(name);
  return known === undefined
    ? failure("unavailable", "tool.unknown", TEXTS.unknownTool(name, dispatch.catalog.names))
    : failure("unavailable", "tool.unavailable", TEXTS.unavailableTool(name, known));
}

/**
 * Takes the typed result of the turn, which arrives as a call. Checks it and ends the turn with it. The store keeps the
 * result, so it must be JSON.
 */
export function handedIn(check: Validate, call: ToolCall): Awaitable<ToolOutput> {
  if (call.malformed !== undefined) return wrongArguments(call, TEXTS.notJson);
  return andThen(check(call.input), (result) => {
    if (!result.ok) return wrongArguments(call, result.problem);
    const found = toJson(result.value);
    if ("problem" in found) return wrongArguments(call, `${found.path}: ${found.problem}`);
    return { kind: "value", value: null, control: { kind: "finish", by: "model", value: found.json } };
  });
}

/** Checks each input once, although handlers and the end of the gate ask for the same check. */
export function targetOf(tool: Tool | undefined, isKnownToFit = false): Target {
  let last: ToolCall | undefined;
  let result: Awaitable<Checked> = FITS;
  return {
    tool,
    check(call, other) {
      if (other !== undefined) return checked(other, call);
      if (tool === undefined || isKnownToFit || call === last) return result;
      last = call;
      result = checked(tool, call);
      return result;
    },
  };
}
const FITS: Checked = { ok: true, value: undefined };

export function checked(tool: Tool, call: ToolCall): Awaitable<Checked> {
  try {
    const result = tool.check(call.input);
    return isThenable(result) ? checkedInTime(result) : result;
  } catch (error) {
    return broken(error);
  }
}

/** Limits the time of an asynchronous schema, because nothing else would end a turn that waits for it. */
function checkedInTime(result: PromiseLike<Checked>): Promise<Checked> {
  return new Promise((resolve) => {
    const deadline = within(CHECK_MS, () => resolve({ ok: false, problem: TEXTS.uncheckable(CHECK_MS) }));
    const end = (found: Checked): void => {
      deadline.clear();
      resolve(found);
    };
    result.then(end, (error: unknown) => end(broken(error)));
  });
}
const CHECK_MS = 30_000;
const broken = (error: unknown): Checked => ({ ok: false, problem: describeThrown(error) });

export const wrongArguments = ({ name }: ToolCall, problem: string): ToolOutput =>
  failure("arguments", "tool.arguments", TEXTS.wrongArguments(name, problem));
