import { isObject, toJson } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { type PromptPart, SLOTS } from "../model/prompt.ts";
import { AVAILABILITIES } from "../model/tool.ts";
import { type Directive, type DirectiveKind, type DirectiveOf, INSTRUCTIONS_MAX } from "./directive.ts";
import type { CatalogEdit, Compaction, TurnContext } from "./hook-values.ts";
import type { HookName } from "./hooks.ts";
import { NEW_SESSION } from "./session-requests.ts";
import { isTool, isToolProvider } from "./tool.ts";

/** Returns the problem of an answer; undefined if the answer is valid. */
type Check = (answer: { readonly [field: string]: unknown }) => string | undefined;

const isText = (value: unknown): boolean => typeof value === "string";
const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value);
const text =
  (...fields: readonly string[]): Check =>
  (answer) =>
    fields.every((field) => isText(answer[field])) ? undefined : `${fields.join(" and ")} must be text`;
const json =
  (field: string): Check =>
  (answer) => {
    if (answer[field] === undefined) return `${field} is missing`;
    const found = toJson(answer[field]);
    return "problem" in found ? `${field} must be JSON, but ${found.path}: ${found.problem}` : undefined;
  };
const all =
  (...checks: readonly Check[]): Check =>
  (answer) => {
    for (const check of checks) {
      const problem = check(answer);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };

const isPart = (part: unknown): boolean =>
  isObject(part) &&
  ((part.kind === "text" && isText(part.text)) ||
    (part.kind === "attachment" && isText(part.hash) && isText(part.mediaType)));
const isReplyPart = (part: unknown): boolean =>
  isPart(part) ||
  (isObject(part) &&
    ((part.kind === "reasoning" && isText(part.text)) ||
      (part.kind === "toolCall" && isText(part.callId) && isText(part.name))));
const isList = (value: unknown, is: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(is);

/**
 * Plugins can add messages of the user or the system, never as the model or a tool: the pairing of calls and results
 * and the replay to providers rely on those roles.
 */
const isSayable = (message: unknown): boolean =>
  isObject(message) && (message.role === "user" || message.role === "system") && isList(message.parts, isPart);
const messages =
  (field: string): Check =>
  (answer) =>
    isList(answer[field], isSayable)
      ? undefined
      : "a message must have the role user or system, and only text and attachments";
const isMessage = (message: unknown): boolean =>
  isObject(message) && isText(message.id) && isText(message.role) && Array.isArray(message.parts);
const isEvent = (event: unknown): boolean => isObject(event) && isText(event.name);
export const PROMPT_PART: Known<PromptPart> = {
  slot: true,
  text: true,
  priority: true,
  title: true,
  replaces: true,
  isVolatile: true,
  tools: true,
};
export const isPromptPart = (part: unknown): boolean =>
  isObject(part) &&
  isText(part.text) &&
  SLOTS.includes(part.slot as never) &&
  isOptional(part.priority, Number.isFinite) &&
  isOptional(part.title, isText) &&
  isOptional(part.replaces, (value) => value === true) &&
  isOptional(part.isVolatile, (value) => value === true) &&
  isOptional(part.tools, (tools) => isList(tools, isText));

const isToolOrProvider = (given: unknown): boolean => isTool(given) || isToolProvider(given);

const DIRECTIVES: { readonly [K in Directive["kind"]]: Check } = {
  abortTurn: text("code", "message"),
  answer: ({ text: said }) => (isText(said) && said !== "" ? undefined : "text must be a text that is not empty"),
  enqueueMessages: messages("messages"),
  compactHistory: ({ instructions: given }) =>
    isOptional(given, (words) => isText(words) && words !== "" && (words as string).length <= INSTRUCTIONS_MAX)
      ? undefined
      : `instructions must be text of 1 to ${INSTRUCTIONS_MAX} characters`,
  createSession: ({ request }) => (isObject(request) ? undefined : "it must have a request"),
  emitEvent: all(text("name"), json("payload")),
  emitTrace: all(text("name"), json("payload")),
  abort: text("code", "message"),
  deny: text("reason"),
  ask: all(text("reason"), ({ waitMs }) =>
    isOptional(waitMs, (ms) => Number.isFinite(ms) && (ms as number) > 0)
      ? undefined
      : "waitMs must be a number above 0",
  ),
  shortCircuit: json("value"),
  replaceArgs: json("args"),
  replaceResult: json("value"),
};

/** The fields of each directive, so that a misspelt field is an error and is not ignored. */
const DIRECTIVE_FIELDS: { readonly [K in DirectiveKind]: Known<DirectiveOf<K>> } = {
  abortTurn: { kind: true, code: true, message: true },
  answer: { kind: true, text: true },
  enqueueMessages: { kind: true, messages: true },
  compactHistory: { kind: true, instructions: true },
  createSession: { kind: true, request: true },
  emitEvent: { kind: true, name: true, payload: true },
  emitTrace: { kind: true, name: true, payload: true },
  abort: { kind: true, code: true, message: true },
  deny: { kind: true, reason: true },
  ask: { kind: true, reason: true, waitMs: true },
  shortCircuit: { kind: true, value: true },
  replaceArgs: { kind: true, args: true },
  replaceResult: { kind: true, value: true },
};

const COMPACTION: Known<Compaction> = { seed: true, tail: true };
const CATALOG_EDIT: Known<CatalogEdit> = { tool: true, hide: true, availability: true, description: true, note: true };
const CONTEXT: Known<TurnContext> = { messages: true, prompt: true, tools: true, includeBaseTools: true };
/**
 * Requests, chunks and replies are not checked, because an answer can copy further fields from a provider or a
 * protocol.
 */
const ANSWER_FIELDS: { readonly [N in HookName]?: { readonly [field: string]: true } } = {
  context: CONTEXT,
  prompt: PROMPT_PART,
  toolCatalog: CATALOG_EDIT,
  compact: COMPACTION,
};

const ANSWERS: { readonly [N in HookName]?: Check } = {
  context: ({ messages: shown, prompt, tools, includeBaseTools }) => {
    if (!isList(shown, isMessage) || !isList(prompt, isPromptPart))
      return "a context must have messages and prompt parts";
    if (!isOptional(includeBaseTools, (value) => typeof value === "boolean"))
      return "includeBaseTools must be true or false";
    return isOptional(tools, (list) => isList(list, isToolOrProvider))
      ? undefined
      : "tools must be made with defineTool, tool or defineToolProvider";
  },
  prompt: (part) => (isPromptPart(part) ? undefined : `a part must have a text and a slot: ${SLOTS.join(", ")}`),
  toolCatalog: ({ tool, description, note, availability }) => {
    if (!isText(tool) || !isOptional(description, isText) || !isOptional(note, isText))
      return "an edit must name its tool";
    return isOptional(availability, (value) => AVAILABILITIES.includes(value as never))
      ? undefined
      : `availability must be one of ${AVAILABILITIES.join(", ")}`;
  },
  request: ({ system, messages: sent, tools, model, stable }) => {
    if (!isText(system) || !isList(sent, isMessage) || !isList(tools, isObject))
      return "a request must have system, messages and tools";
    if (!isOptional(model, (value) => isText(value) && value !== "")) return "model must be the name of a model";
    return isOptional(stable, Number.isSafeInteger) ? undefined : "stable must be a number of messages";
  },
  stream: ({ delta, reasoning, events }) =>
    isOptional(delta, isText) && isOptional(reasoning, isText) && isOptional(events, (list) => isList(list, isEvent))
      ? undefined
      : "delta and reasoning must be text",
  response: ({ parts, events }) =>
    isList(parts, isReplyPart) && isOptional(events, (list) => isList(list, isEvent))
      ? undefined
      : "a reply must have parts",
  config: ({ model }) => (isText(model) ? undefined : "a config must name its model"),
};

function compactionProblem(answer: unknown): string | undefined {
  const { seed, tail } = isObject(answer) ? answer : { seed: answer };
  if (!isList(seed, isSayable)) return "its seed must be a list of user and system messages";
  return isOptional(tail, isText) ? undefined : "its tail must be the id of a message";
}

/**
 * Checks an answer at run time, for plugins that were written without the types. Returns the problem, or undefined.
 * Throws `options.unknown` for an unknown field. `whose` names the plugin and hook in that error.
 */
export function answerProblem(hook: HookName, answer: unknown, whose: string): string | undefined {
  const known = ANSWER_FIELDS[hook];
  if (known !== undefined && isObject(answer)) {
    requireKnown(`${hook} of ${whose}`, answer, known);
    if (hook === "context" && Array.isArray(answer.prompt))
      for (const part of answer.prompt) if (isObject(part)) requireKnown(`prompt of ${whose}`, part, PROMPT_PART);
  }
  if (hook === "input")
    return isText(answer) || isList(answer, isPart) ? undefined : "it must be text, or a list of text and attachments";
  if (hook === "compact") return compactionProblem(answer);
  if (hook === "projectResult") return isList(answer, isPart) ? undefined : "it must be a list of text and attachments";
  if (!isObject(answer)) return `it must be an object, and is ${answer === null ? "null" : `a ${typeof answer}`}`;
  return ANSWERS[hook]?.(answer);
}

/** Like `answerProblem`. */
export function directiveProblem(directive: Directive, whose: string): string | undefined {
  const { kind } = directive;
  requireKnown(`${kind} of ${whose}`, directive, DIRECTIVE_FIELDS[kind]);
  if (kind === "createSession" && isObject(directive.request))
    requireKnown(`${kind} of ${whose}`, directive.request, NEW_SESSION);
  return DIRECTIVES[kind]({ ...directive });
}
