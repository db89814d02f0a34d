// Checks arguments of untyped callers. Each check throws a typed error with the name of the option before anything is
// stored, because every later turn of the session would read a wrong config.
import { isPromptPart, PROMPT_PART } from "../kernel/answers.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Section } from "../kernel/prompt.ts";
import { isTool, isToolProvider, type Tool, type ToolProvider } from "../kernel/tool.ts";
import type { Allowance, Budget, SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject, toJson } from "../model/json.ts";
import { type Known, type Optional, requireKnown } from "../model/known.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import { SLOTS } from "../model/prompt.ts";
import type { ModelSettings } from "../model/request.ts";
import type { Price, PriceTable } from "../model/usage.ts";
import type { InputRef } from "../stores/store.ts";
import type { TelemetryListener } from "../telemetry/telemetry.ts";
import { APP } from "../tools/catalog.ts";
import { NO_CHOICES, Registry } from "../tools/registry.ts";
import { staticSource } from "../tools/source.ts";
import type { RuntimeOptions } from "./runtime.ts";
import type { SessionAccess } from "./services/session-service.ts";

const invalid = (option: string, problem: string): never => {
  throw new RuntimeError("options.invalid", { option, problem });
};

// ── The runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────

const RUNTIME: Known<RuntimeOptions> = {
  store: true,
  model: true,
  models: true,
  host: true,
  telemetry: true,
  tools: true,
  plugins: true,
  sessionAccess: true,
  instructions: true,
  prompt: true,
  template: true,
  settings: true,
  limits: true,
  budget: true,
  prices: true,
  keepJournals: true,
  recover: true,
  world: true,
};

export function checkedOptions(options: RuntimeOptions): RuntimeOptions {
  if (typeof options !== "object" || options === null) return invalid("options", "it must be an object");
  requireKnown("createRuntime", options, RUNTIME);
  if (typeof options.store?.accept !== "function")
    invalid("store", "it must be a store, for example memory() of bowline/stores/memory");
  if (options.model === undefined || options.model === null) invalid("model", "it is missing");
  if (typeof options.model === "string" && options.models === undefined)
    invalid("models", "it is missing, and `model` is a name");
  const { recover = "auto" } = options;
  if (!["auto", "manual", "never"].includes(recover)) invalid("recover", "it must be auto, manual or never");
  if (recover === "never" && !options.store.isDurable)
    invalid("recover", "never needs another process that runs the turns, and no other process can use this store");
  for (const list of ["tools", "plugins"] as const)
    if (options[list] !== undefined && !Array.isArray(options[list])) invalid(list, "it must be a list");
  for (const tool of options.tools ?? [])
    if (!isTool(tool) && !isToolProvider(tool))
      invalid("tools", "every item must be made with defineTool or defineToolProvider");
  const { world } = options;
  if (
    world !== undefined &&
    [world?.now, world?.sleep, world?.rest, world?.id, world?.secret].some((it) => typeof it !== "function")
  )
    invalid("world", "it must be a world, for example simulatedWorld() of bowline/testing");
  return options;
}

const METHODS = ["start", "end", "event", "close"] as const;

export function checkedListeners(given: RuntimeOptions["telemetry"]): readonly TelemetryListener[] {
  if (given === undefined) return [];
  const listeners: readonly unknown[] = Array.isArray(given) ? given : [given];
  for (const listener of listeners) {
    if (!isObject(listener)) return invalid("telemetry", "it must be a listener or a list of listeners");
    const methods = METHODS.map((name) => listener[name]);
    if (listener.kinds !== undefined && !Array.isArray(listener.kinds))
      return invalid("telemetry", "the kinds of a listener must be a list");
    if (methods.some((method) => method !== undefined && typeof method !== "function"))
      return invalid("telemetry", "the start, end, event and close of a listener must be functions");
    if (methods.every((method) => method === undefined))
      return invalid("telemetry", "a listener needs start, end or event");
  }
  return listeners as readonly TelemetryListener[];
}

/** Throws `tool.duplicate` at once, and not in the first session that is opened. */
export function requireDistinct(tools: readonly Owned<Tool>[], providers: readonly Owned<ToolProvider>[]): void {
  const listed = providers.map(({ value: { id } }) => ({ id, owner: APP, revision: 0, offers: [], isStatic: false }));
  const app = staticSource(
    APP,
    tools.map(({ value }) => value),
  );
  new Registry([app, ...listed], NO_CHOICES, { clash: () => {}, isHidden: () => false });
}

const PRICE: Known<Price> = { input: true, output: true, cacheRead: true, cacheWrite: true, reasoning: true };
const isPrice = (value: unknown): boolean => typeof value === "number" && value >= 0 && value < Infinity;

export function requirePrices(prices: PriceTable): void {
  const isRight = (price: unknown): boolean =>
    isObject(price) &&
    isPrice(price.input) &&
    isPrice(price.output) &&
    Object.values(price).every((value) => value === undefined || isPrice(value));
  if (isObject(prices))
    for (const [model, price] of Object.entries(prices))
      if (isObject(price)) requireKnown(`prices.${model}`, price, PRICE);
  if (!isObject(prices) || !Object.values(prices).every(isRight))
    invalid("prices", "a price must have the cost of a million tokens, at least `input` and `output`");
}

const SESSION_ACCESS: Known<SessionAccess> = { tree: true, all: true };

export function requireSessionAccess(access: unknown): void {
  if (!isObject(access)) return invalid("sessionAccess", "it must be an object");
  requireKnown("sessionAccess", access, SESSION_ACCESS);
  for (const [field, ids] of Object.entries(access))
    if (ids !== undefined && !(Array.isArray(ids) && ids.every((id) => typeof id === "string")))
      invalid(`sessionAccess.${field}`, "it must be a list of plugin ids");
}

const LIMITS = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((limit) => [limit, true] as const));

/** The limits as turns record them. Journals are JSON, so Infinity is recorded as the largest whole number. */
export function checkedLimits(given: Optional<Limits>): Limits {
  if (!isObject(given)) return invalid("limits", "it must be an object");
  requireKnown("limits", given, LIMITS);
  const limits: { [limit: string]: number } = { ...DEFAULT_LIMITS };
  for (const [limit, value] of Object.entries(given)) {
    if (value === undefined || !Object.hasOwn(DEFAULT_LIMITS, limit)) continue;
    if (typeof value !== "number" || !(value > 0)) invalid(`limits.${limit}`, "it must be a number above 0");
    limits[limit] = Math.min(value, Number.MAX_SAFE_INTEGER);
  }
  return limits as unknown as Limits;
}

// ── A session's config ──────────────────────────────────────────────────────────────────────────────────────────────

const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === "string";

const LABEL_MAX = 256;
const isAmount = (value: unknown): boolean => value === undefined || (typeof value === "number" && value > 0);
const isAllowance = (value: unknown): boolean =>
  value === undefined || (isObject(value) && isAmount(value.tokens) && isAmount(value.cost));
const isBudget = (value: unknown): boolean =>
  isObject(value) &&
  isAllowance(value.turn) &&
  isAllowance(value.tree) &&
  (value.keepsAnswer === undefined || typeof value.keepsAnswer === "boolean") &&
  (value.unknown === undefined || value.unknown === "estimate" || value.unknown === "stop");

const WORDS: { readonly [field: string]: string } = {
  budget:
    "it can have `turn` and `tree` (each with `tokens` and `cost` above 0), `keepsAnswer` (true or false) and `unknown` (estimate or stop)",
  label: `it must be a text of at most ${LABEL_MAX} characters`,
};

const FIELDS: { readonly [K in keyof SessionConfig]-?: (value: unknown) => boolean } = {
  model: (value) => value === undefined || (typeof value === "string" && value !== ""),
  instructions: isTextOrNone,
  prompt: (value) => value === undefined || (Array.isArray(value) && value.every(isPromptPart)),
  settings: (value) => value === undefined || isObject(value),
  budget: (value) => value === undefined || isBudget(value),
  mergesInputs: (value) => value === undefined || typeof value === "boolean",
  label: (value) => value === undefined || (typeof value === "string" && value.length <= LABEL_MAX),
};

const CONFIG = Object.fromEntries(Object.keys(FIELDS).map((field) => [field, true] as const));
const BUDGET: Known<Budget> = { turn: true, tree: true, keepsAnswer: true, unknown: true };
const ALLOWANCE: Known<Allowance> = { tokens: true, cost: true };
const SETTINGS: Known<ModelSettings> = {
  temperature: true,
  maxOutputTokens: true,
  topP: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  cache: true,
  providerOptions: true,
};

function requireKnownWithin({ budget, settings, prompt }: { readonly [field: string]: unknown }, option: string): void {
  if (isObject(settings)) requireKnown(`${option}.settings`, settings, SETTINGS);
  for (const part of Array.isArray(prompt) ? prompt : [])
    if (isObject(part)) requireKnown(`${option}.prompt`, part, PROMPT_PART);
  if (!isObject(budget)) return;
  requireKnown(`${option}.budget`, budget, BUDGET);
  for (const whose of ["turn", "tree"] as const)
    if (isObject(budget[whose])) requireKnown(`${option}.budget.${whose}`, budget[whose], ALLOWANCE);
}

export function requireConfig(config: unknown, option = "config"): void {
  const wrong = (field: string, problem: string): never => invalid(`${option}.${field}`, problem);
  if (!isObject(config)) return invalid(option, "it must be an object");
  requireKnown(option, config, CONFIG);
  requireKnownWithin(config, option);
  for (const [field, value] of Object.entries(config)) {
    // Own fields only, because a config is stored without its class.
    if (!Object.hasOwn(FIELDS, field)) wrong(field, "this field does not exist");
    if (!FIELDS[field as keyof SessionConfig](value))
      wrong(field, WORDS[field] ?? "it does not fit the type SessionConfig");
    if (value !== undefined && "problem" in toJson(value)) wrong(field, "it is not JSON");
  }
}

const SECTION: Known<Section> = { title: true, slots: true };

export function requireTemplate(template: readonly Section[] | undefined): void {
  const isSection = (each: unknown): boolean =>
    isObject(each) &&
    isTextOrNone(each.title) &&
    Array.isArray(each.slots) &&
    each.slots.length > 0 &&
    each.slots.every((slot) => SLOTS.includes(slot as never));
  if (template === undefined) return;
  if (!(Array.isArray(template) && template.every(isSection)))
    invalid("template", "it must be a list of sections with slots");
  for (const section of template) requireKnown("template", section, SECTION);
}

// ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Requires that the options of a call are an object without unknown fields. `where` names the call. */
export function requireOptions(where: string, options: unknown, names: { readonly [name: string]: true }): void {
  if (!isObject(options)) return invalid("options", "it must be an object");
  requireKnown(where, options, names);
}

export function requireSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    invalid("signal", "it must be an AbortSignal");
}

export const REASON_MAX = 4_096;

/** Limits the length of a reason, because it is stored with its turn and shown to all readers. */
export function requireWords(option: string, words: unknown, max = REASON_MAX): void {
  if (typeof words !== "string" || words === "" || words.length > max)
    invalid(option, `it must be text of 1 to ${max} characters`);
}

/** The maximum length of an input's key. */
export const KEY_MAX = 256;

export function requireKey(name: "key" | "id", key: unknown): void {
  if (typeof key !== "string" || key === "" || key.length > KEY_MAX)
    throw new RuntimeError("input.invalid", { problem: `\`${name}\` must be a text of 1 to ${KEY_MAX} characters` });
}

/** Checks a name of a caller, such as an id or a tag. `wrong` throws the error. */
export function checkedName(name: string, bytesMax: number, wrong: (problem: string, name: unknown) => never): string {
  if (typeof name !== "string" || name === "") wrong("it is empty or not a text", name);
  if (name.length > bytesMax || Buffer.byteLength(name) > bytesMax) wrong(`it is longer than ${bytesMax} bytes`, name);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) wrong("it has control characters", name);
  if (!name.isWellFormed()) wrong("it is not valid Unicode", name);
  return name;
}

export const ID_BYTES_MAX = 256;

export function wrongId(problem: string, id: unknown): never {
  throw new RuntimeError("session.id", { id: typeof id === "string" ? id : typeof id, problem });
}

export const checkedOwner = (owner: string): string =>
  checkedName(owner, ID_BYTES_MAX, (problem) => invalid("owner", problem));

const TAG_BYTES_MAX = 64;

export const checkedTag = (tag: string): string =>
  checkedName(tag, TAG_BYTES_MAX, (problem) => invalid("tag", problem));

const TAGS_MAX = 16;

export function checkedTags(tags: readonly string[]): readonly string[] {
  if (!Array.isArray(tags)) return invalid("tags", "it must be a list of texts");
  if (tags.length > TAGS_MAX) return invalid("tags", `it has ${tags.length} tags, and the limit is ${TAGS_MAX}`);
  for (const tag of tags) checkedName(tag, TAG_BYTES_MAX, (problem) => invalid("tags", `of one tag, ${problem}`));
  return [...new Set(tags)];
}

export function requireRef(which: { readonly [field: string]: unknown }): InputRef {
  const [field, ...more] = isObject(which) ? Object.keys(which) : [];
  const value = field === undefined ? undefined : which[field];
  if (more.length > 0 || typeof value !== "string" || value === "" || !["id", "key", "from"].includes(field as string))
    throw new RuntimeError("input.invalid", {
      problem: "an input must be named with exactly one of `id`, `key` and `from`",
    });
  return which as InputRef;
}
