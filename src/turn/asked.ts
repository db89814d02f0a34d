// Job: what somebody is asked about a call, what the answer says, and the trail that both leave in history.
// Not its job: what becomes of the call (`work.ts`).
import type { Json, JsonObject } from "../model/json.ts";
import type { AnsweredTrail, AskedTrail, Draft, Part } from "../model/message.ts";
import { TEXTS } from "../model/texts.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import { argsHashOf, type WaitAbout, type WaitAnswer } from "../model/wait.ts";
import type { CallState, Work } from "./state.ts";

const NOTHING = {};
export const NO_TRAIL: readonly AskedTrail[] = [];

/** What somebody is told who is asked about a call. */
export const askAbout = (kind: WaitAbout["kind"], call: ToolCall, reason: string, schema?: JsonObject): WaitAbout => ({
  kind,
  call,
  reason,
  ...(schema === undefined ? NOTHING : { schema }),
  argsHash: argsHashOf(call.input),
});

/** What is told about a result that comes later. */
export const awaited = (call: ToolCall, question: string | undefined, schema?: JsonObject): WaitAbout =>
  askAbout(question === undefined ? "result" : "question", call, question ?? TEXTS.awaited(call.name), schema);

/** What changes in a call about which somebody is asked from now on. */
export const asking = (
  at: number,
  { asked = NO_TRAIL }: CallState,
  { kind, reason, argsHash }: WaitAbout,
  plugin?: string,
): { readonly asked: readonly AskedTrail[] } => ({
  asked: [...asked, { kind, reason, argsHash, at, ...(plugin === undefined ? NOTHING : { plugin }) }],
});

/** What changes in a call whose last question was answered. */
export function answered(
  now: number,
  { asked = NO_TRAIL }: CallState,
  answer: WaitAnswer,
): { asked?: readonly AskedTrail[] } {
  const last = asked.at(-1);
  if (last === undefined) return NOTHING; // Asked for under an earlier version.
  const by = answer.kind === "timeout" || answer.by === undefined ? NOTHING : { by: answer.by };
  const how = answer.kind === "value" ? "answered" : answer.kind;
  const isDecision = last.kind === "approval" || last.kind === "interrupted";
  const decided = isDecision && answer.kind === "value" ? decisionIn(answer.value) : NOTHING;
  return { asked: asked.with(-1, { ...last, answer: { how, at: now, ...by, ...decided } }) };
}

/** What an approval or a denial says, for the trail. */
function decisionIn(value: Json): Omit<AnsweredTrail, "how" | "at" | "by"> {
  const { approved, reason, args, remember } = saidIn(value);
  return {
    approved: approved === true,
    ...(typeof reason === "string" ? { reason } : NOTHING),
    ...(args === undefined ? NOTHING : { isEdited: true }),
    ...(remember === true || typeof remember === "number" ? { remember } : NOTHING),
  };
}
export const saidIn = (value: Json): { readonly [field: string]: Json | undefined } =>
  (value ?? {}) as { readonly [field: string]: Json | undefined };

/** What was given as the result of a call: `{ value }`, or `{ error, code }`. */
export function delivered(given: Json): ToolOutput {
  const { value, error, code } = saidIn(given);
  if (error === undefined) return { kind: "value", value: value ?? null };
  return {
    kind: "failure",
    failure: { class: "failed", code: typeof code === "string" ? code : "tool.rejected", message: String(error) },
  };
}

/**
 * A message of results, or of what came of a code cell, with what else happened to its calls; the calls of a batch are
 * part of one result.
 */
export function withTrail({ calls, cell }: Work, draft: Draft): Draft {
  if (draft.role !== "tool" && cell === undefined) return draft;
  const trails = calls.flatMap(({ call, asked, isReplaced }) =>
    asked === undefined && isReplaced === undefined
      ? []
      : [
          {
            of: call.parentId ?? call.id,
            callId: call.id,
            name: call.name,
            ...(isReplaced === true ? { input: call.input } : NOTHING),
            ...(asked === undefined ? NOTHING : { asked }),
          },
        ],
  );
  if (trails.length === 0) return draft;
  const parts = draft.parts.map((part): Part => {
    if (part.kind === "codeOutput" && cell !== undefined)
      return { ...part, trail: trails.map(({ of: _, ...trail }) => trail) };
    if (part.kind !== "toolResult") return part;
    const own = trails.filter(({ of }) => of === part.callId).map(({ of: _, ...trail }) => trail);
    return own.length === 0 ? part : { ...part, trail: own };
  });
  return { ...draft, parts };
}
