// Questions about a call: their text, their answers, and the trail that both leave in history. `work.ts` decides what
// happens to the call.
import type { Json, JsonObject } from "../model/json.ts";
import type { AnsweredTrail, AskedTrail, Draft, Part } from "../model/message.ts";
import { TEXTS } from "../model/texts.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import { argsHashOf, type WaitAbout, type WaitAnswer } from "../model/wait.ts";
import type { Judged, Verdict } from "./event.ts";
import type { CallState, Work } from "./state.ts";

const NOTHING = {};
export const NO_TRAIL: readonly AskedTrail[] = [];

/** Returns the question about a call. */
export const askAbout = (kind: WaitAbout["kind"], call: ToolCall, reason: string, schema?: JsonObject): WaitAbout => ({
  kind,
  call,
  reason,
  ...(schema === undefined ? NOTHING : { schema }),
  argsHash: argsHashOf(call.input),
});

/** Sets the end of a verdict's wait, counted from the time of the question. */
export function verdictAt(judged: Judged, at: number): Verdict {
  if (judged.kind !== "wait") return judged;
  const { waitMs, ...wait } = judged;
  return { ...wait, until: at + waitMs };
}

/** Returns the question for a result that comes later. */
export const awaited = (call: ToolCall, question: string | undefined, schema?: JsonObject): WaitAbout =>
  askAbout(question === undefined ? "result" : "question", call, question ?? TEXTS.awaited(call.name), schema);

/** Returns the changed fields of a call when a question about it is asked. */
export const asking = (
  at: number,
  { asked = NO_TRAIL }: CallState,
  { kind, reason, argsHash }: WaitAbout,
  plugin?: string,
): { readonly asked: readonly AskedTrail[] } => ({
  asked: [...asked, { kind, reason, argsHash, at, ...(plugin === undefined ? NOTHING : { plugin }) }],
});

/** Returns the changed fields of a call when its last question is answered. */
export function answered(
  now: number,
  { asked = NO_TRAIL }: CallState,
  answer: WaitAnswer,
): { asked?: readonly AskedTrail[] } {
  const last = asked.at(-1);
  if (last === undefined) return NOTHING; // Asked by an earlier version.
  const by = answer.kind === "timeout" || answer.by === undefined ? NOTHING : { by: answer.by };
  const how = answer.kind === "value" ? "answered" : answer.kind;
  const isDecision = last.kind === "approval" || last.kind === "interrupted";
  const decided = isDecision && answer.kind === "value" ? decisionIn(answer.value) : NOTHING;
  return { asked: asked.with(-1, { ...last, answer: { how, at: now, ...by, ...decided } }) };
}

/** Returns the content of an approval or a denial for the trail. */
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

/** Returns the result that an answer gives to a call: `{ value }`, or `{ error, code }`. */
export function delivered(given: Json): ToolOutput {
  const { value, error, code } = saidIn(given);
  if (error === undefined) return { kind: "value", value: value ?? null };
  return {
    kind: "failure",
    failure: { class: "failed", code: typeof code === "string" ? code : "tool.rejected", message: String(error) },
  };
}

/**
 * Adds the trail of the calls to a message of results, or to the result of a code cell. The calls of a batch are part
 * of one result.
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
