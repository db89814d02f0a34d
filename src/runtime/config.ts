import { isPromptPart } from "../kernel/answers.ts";
import type { Section } from "../kernel/prompt.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject, toJson } from "../model/json.ts";
import { SLOTS } from "../model/prompt.ts";

const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === "string";

const LABEL_MAX = 256;
const isAmount = (value: unknown): boolean => value === undefined || (typeof value === "number" && value > 0);
/** A misspelt limit would be none. */
const hasOnly = (value: object, ...fields: readonly string[]): boolean =>
  Object.keys(value).every((field) => fields.includes(field));
const isAllowance = (value: unknown): boolean =>
  value === undefined ||
  (isObject(value) && hasOnly(value, "tokens", "cost") && isAmount(value.tokens) && isAmount(value.cost));
const isBudget = (value: unknown): boolean =>
  isObject(value) &&
  hasOnly(value, "turn", "tree", "keepsAnswer") &&
  isAllowance(value.turn) &&
  isAllowance(value.tree) &&
  (value.keepsAnswer === undefined || typeof value.keepsAnswer === "boolean");

const WORDS: { readonly [field: string]: string } = {
  budget: "it has turn and tree, each with tokens and cost above 0, and keepsAnswer, which is true or false",
  label: `it must be text of at most ${LABEL_MAX} characters`,
};

/** What a config's fields must be, for callers without types. */
const FIELDS: { readonly [K in keyof SessionConfig]-?: (value: unknown) => boolean } = {
  model: (value) => value === undefined || (typeof value === "string" && value !== ""),
  instructions: isTextOrNone,
  prompt: (value) => value === undefined || (Array.isArray(value) && value.every(isPromptPart)),
  settings: (value) => value === undefined || isObject(value),
  budget: (value) => value === undefined || isBudget(value),
  mergesInputs: (value) => value === undefined || typeof value === "boolean",
  label: (value) => value === undefined || (typeof value === "string" && value.length <= LABEL_MAX),
};

/** It is kept with the session and read by every later turn, so what is wrong with it is said now. */
export function requireConfig(config: unknown, option = "config"): void {
  const wrong = (field: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option: `${option}.${field}`, problem });
  };
  if (!isObject(config)) throw new RuntimeError("options.invalid", { option, problem: "it is no object" });
  for (const [field, value] of Object.entries(config)) {
    if (!Object.hasOwn(FIELDS, field)) wrong(field, "there is no such field");
    if (!FIELDS[field as keyof SessionConfig](value)) wrong(field, WORDS[field] ?? "it is not what its type says");
    if (value !== undefined && "problem" in toJson(value)) wrong(field, "it is not JSON");
  }
}

export function requireTemplate(template: readonly Section[] | undefined): void {
  const isSection = (each: unknown): boolean =>
    isObject(each) &&
    isTextOrNone(each.title) &&
    Array.isArray(each.slots) &&
    each.slots.length > 0 &&
    each.slots.every((slot) => SLOTS.includes(slot as never));
  if (template !== undefined && !(Array.isArray(template) && template.every(isSection)))
    throw new RuntimeError("options.invalid", {
      option: "template",
      problem: "it must be a list of sections with slots",
    });
}
