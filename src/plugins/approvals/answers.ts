// Answers that a session remembers, so that a person is not asked the same question twice.
import { createHash } from "node:crypto";
import {
  type AskedTrail,
  type Fields,
  hasCode,
  type Json,
  type StateCell,
  shortened,
  type ToolCall,
} from "../../plugin.ts";
import type { Reach } from "./options.ts";

/** An answer that the session remembers. */
export interface RememberedAnswer {
  readonly id: string;
  readonly tool: string;
  /** The arguments of the call, as JSON; shortened. */
  readonly arguments: string;
  /** The reason for asking; shortened. */
  readonly question: string;
  readonly approved: boolean;
  /** The reason of the person who did not approve it; shortened. */
  readonly reason?: string;
  /** The name that the app gave for the person who answered. */
  readonly by?: string;
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number;
  /** When the answer expires. Omitted if it never does. */
  readonly until?: number;
}

export interface ApprovalState {
  /** Oldest first. */
  readonly answers: readonly RememberedAnswer[];
}

const CHARS_MAX = 300;

/**
 * The answer to this question, if the session remembers one whose reach includes this call. A denial outranks an
 * approval.
 */
export function answerTo(
  { answers }: ApprovalState,
  call: ToolCall,
  question: string,
  reach: Reach,
  now: number,
): RememberedAnswer | undefined {
  if (reach === "nothing" || answers.length === 0) return undefined;
  const asked = questionId(call.name, question);
  const exact = answerId(call, question);
  const found = answers.filter(
    ({ id, until }) => isHeld(until, now) && (reach === "tool" ? id.startsWith(asked) : id === exact),
  );
  return found.find(({ approved }) => !approved) ?? found.at(-1);
}

export const isHeld = (until: number | undefined, now: number): boolean => until === undefined || now < until;

/** The answer to the last question about a call, if it should be remembered and this plugin asked. */
export function answerIn(plugin: string, call: ToolCall, asked: readonly AskedTrail[]): RememberedAnswer | undefined {
  const last = asked.findLast(({ kind }) => kind === "approval");
  if (last?.plugin !== plugin || last.answer?.remember === undefined) return undefined;
  const { remember, approved = false, reason, by, at } = last.answer;
  return {
    // The original call: if an approval changes the arguments, it approves the changed ones, not the ones that were
    // shown.
    id: answerId(call, last.reason),
    tool: call.name,
    arguments: shortened(JSON.stringify(call.input), CHARS_MAX),
    question: shortened(last.reason, CHARS_MAX),
    approved,
    ...(reason === undefined ? {} : { reason: shortened(reason, CHARS_MAX) }),
    ...(by === undefined ? {} : { by }),
    at,
    ...(remember === true ? {} : { until: at + remember }),
  };
}

/**
 * Stores an answer and replaces an older one to the same question. If there is no room, it drops the oldest answers.
 */
export function keep(state: StateCell<ApprovalState>, answer: RememberedAnswer, max: number, now: number): void {
  const others = state.get().answers.filter(({ id, until }) => id !== answer.id && isHeld(until, now));
  for (let answers = [...others, answer].slice(-max); answers.length > 0; )
    try {
      return state.update(() => ({ answers }));
    } catch (error) {
      if (!hasCode(error, "state.too-large")) throw error;
      answers = answers.slice(Math.ceil(answers.length / 2));
    }
}

/** Equal for the same question about the same arguments. It begins with a part that is equal for all arguments. */
const answerId = (call: ToolCall, question: string): string =>
  `${questionId(call.name, question)}${hashOf(ordered(call.input))}`;
const questionId = (tool: string, question: string): string => `${hashOf([tool, question])}.`;
const hashOf = (value: Json): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 22);

/** Sorted, because models write the fields of an object in any order. */
function ordered(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => [name, ordered(field)]);
}

export function keptOf(given: Fields): ApprovalState {
  return { answers: given.objects("answers", answerOf, []) };
}

function answerOf(given: Fields): RememberedAnswer {
  const reason = given.text("reason", undefined);
  const by = given.text("by", undefined);
  const until = given.checked("until", isTime, "a time in milliseconds", undefined);
  return {
    id: given.text("id"),
    tool: given.text("tool"),
    arguments: given.text("arguments"),
    question: given.text("question"),
    approved: given.flag("approved"),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
    at: given.checked("at", isTime, "a time in milliseconds"),
    ...(until === undefined ? {} : { until }),
  };
}
const isTime = (given: unknown): given is number => Number.isFinite(given);
