import type { RetryOptions, Tool, ToolProvider, ToolSpec } from "../kernel/tool.ts";
import { RuntimeError } from "../model/errors.ts";
import { defined, isObject, type JsonObject, toJson } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { documentOf, type InputOf, isStandard, type ToolSchema } from "../model/schema.ts";
import { AVAILABILITIES, type CallPolicy, isToolName, type RetryPolicy, type ToolManifest } from "../model/tool.ts";
import { isToolPath } from "../model/tool-path.ts";
import { validatorOf } from "./validator.ts";

/** Makes a tool that belongs to no plugin. Its schemas give the types of its arguments and its result. */
export function defineTool<
  I extends ToolSchema,
  O = unknown,
  W extends true | undefined = undefined,
  const Name extends string = string,
>(spec: ToolSpec<I, O, undefined, W> & { readonly name: Name }): Tool<undefined, Name, InputOf<I>> {
  return makeTool(spec);
}

/** Checks and builds a tool, for `defineTool` and a plugin's `tool`. */
export function makeTool<I extends ToolSchema, O, S, W extends true | undefined, const Name extends string>(
  spec: ToolSpec<I, O, S, W> & { readonly name: Name },
): Tool<S, Name, InputOf<I>> {
  const { name, description, output } = spec;
  if (!isToolName(name)) throw new RuntimeError("tool.name", { name: String(name) });
  const wrong = (problem: string): never => {
    throw new RuntimeError("tool.invalid", { name, problem });
  };
  if (typeof description !== "string") wrong("it has no description");
  if (typeof spec.execute !== "function") wrong("it has no execute function");
  if (spec.timeoutMs !== undefined && !isAbove0(spec.timeoutMs)) wrong("timeoutMs must be a number above 0");
  const problem = retryProblem(spec.retry);
  if (problem !== undefined) wrong(problem);
  if (spec.onInterrupt !== undefined && !["rerun", "fail", "ask"].includes(spec.onInterrupt))
    wrong("onInterrupt must be rerun, fail or ask");
  const of = `the tool ${name}`;
  requireKnown(of, spec, SPEC);
  if (isObject(spec.retry)) requireKnown(`the retry of ${name}`, spec.retry, RETRY_NAMES);
  if (spec.availability !== undefined && !AVAILABILITIES.includes(spec.availability))
    wrong(`its availability must be one of ${AVAILABILITIES.join(", ")}`);
  if (spec.path !== undefined && !isToolPath(spec.path))
    wrong("its path must have the form module.operation, without a name that has another meaning in code");
  if (spec.audience !== undefined && spec.audience !== "model" && spec.audience !== "runtime")
    wrong("its audience must be model or runtime");
  return {
    name,
    description,
    ...ownManifest(spec, wrong),
    inputSchema: document(spec.input, of),
    policy: policyOf(spec),
    ...(spec.timeoutMs === undefined ? {} : { timeoutMs: spec.timeoutMs }),
    // Cloned, because the caller may change its document later, and the check must not change.
    check: validatorOf(isStandard(spec.input) ? spec.input : structuredClone(spec.input), of),
    run: spec.execute.bind(spec) as Tool["run"],
    ...(output === undefined ? {} : { checkOutput: validatorOf(output, `the output of ${name}`), ...outputOf(output) }),
  };
}

/** A schema without a JSON form checks only the value that the tool returns, not the later answer to a wait. */
function outputOf(output: unknown): { readonly outputSchema?: JsonObject } {
  try {
    const found = toJson(documentOf(output, "output"));
    return "problem" in found ? {} : { outputSchema: found.json as JsonObject };
  } catch {
    return {};
  }
}

const SPEC: Known<ToolSpec<ToolSchema, unknown>> = {
  name: true,
  description: true,
  availability: true,
  audience: true,
  bindings: true,
  examples: true,
  path: true,
  input: true,
  output: true,
  timeoutMs: true,
  isSerial: true,
  writes: true,
  retry: true,
  onInterrupt: true,
  execute: true,
};
const RETRY_NAMES: Known<RetryOptions> = { policy: true, attempts: true, baseMs: true, maxMs: true };

/** The optional fields of a manifest, checked and copied as JSON. */
function ownManifest(spec: ToolManifest, wrong: (problem: string) => never): Omit<Partial<ToolManifest>, "name"> {
  const { availability, audience, bindings, examples, path } = spec;
  const own = { availability, audience, bindings, examples, path };
  if (Object.values(own).every((value) => value === undefined)) return {};
  if (bindings !== undefined && !isObject(bindings)) wrong("its bindings must be an object");
  if (examples !== undefined && !(Array.isArray(examples) && examples.every(isObject)))
    wrong("its examples must be a list of arguments");
  const json = toJson(Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)));
  return "problem" in json ? wrong(`${json.path}: ${json.problem}`) : (json.json as Partial<ToolManifest>);
}

/**
 * Makes a provider of tools that can change at any time. They are listed without schemas and loaded by name on first
 * use.
 */
export function defineToolProvider(spec: ToolProvider): ToolProvider {
  requireProvider(spec);
  requireKnown(`the provider ${spec.id}`, spec, PROVIDER);
  return spec;
}

/** For a provider that another module made, which can have further fields. */
export function requireProvider(spec: ToolProvider): void {
  const wrong = (problem: string): never => {
    throw new RuntimeError("tool.invalid", { name: `the tool provider ${String(spec?.id)}`, problem });
  };
  if (typeof spec?.id !== "string" || !/^[\w.@:/-]{1,128}$/.test(spec.id))
    wrong("its id must be 1 to 128 of letters, digits and . _ - / @ :");
  if (typeof spec.list !== "function" || typeof spec.load !== "function")
    wrong("it must have the functions list and load");
  if (spec.watch !== undefined && typeof spec.watch !== "function") wrong("its watch must be a function");
}

const PROVIDER: Known<ToolProvider> = { id: true, list: true, load: true, watch: true };

/** The schema in the form that model providers accept: an object at the top, and no `$schema`. */
function document(schema: ToolSchema, of: string): JsonObject {
  const { $schema: _, "~standard": __, ...found } = documentOf(schema, of) as { readonly [keyword: string]: unknown };
  const json = toJson(found);
  if ("problem" in json) throw new RuntimeError("schema.invalid", { of, problem: `${json.path}: ${json.problem}` });
  const whole = json.json as JsonObject;
  if (whole.type !== undefined && whole.type !== "object")
    throw new RuntimeError("schema.invalid", { of, problem: "the arguments of a tool must be an object" });
  return whole.type === undefined ? { type: "object", ...whole } : whole;
}

function policyOf(
  spec: Pick<ToolSpec<ToolSchema, unknown>, "isSerial" | "retry" | "onInterrupt"> & {
    readonly writes?: true | undefined;
  },
): CallPolicy {
  const retry = retryOf(spec.retry);
  return {
    ...(spec.isSerial === true ? { isSerial: true } : {}),
    ...(spec.writes === true ? { writes: true } : {}),
    ...(spec.onInterrupt === "fail" || spec.onInterrupt === "ask" ? { onInterrupt: spec.onInterrupt } : {}),
    ...(retry === undefined ? {} : { retry }),
  };
}

const isAbove0 = (value: unknown): boolean => typeof value === "number" && value > 0;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;
const isMs = (value: unknown): boolean => typeof value === "number" && value >= 0;

function retryProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const { policy, attempts, baseMs, maxMs } = (isObject(given) ? given : { policy: given }) as {
    readonly [field: string]: unknown;
  };
  if (policy !== "never" && policy !== "safe" && policy !== "idempotent")
    return "its retry policy is not never, safe or idempotent";
  if (attempts !== undefined && !isCount(attempts)) return "the attempts of its retry must be 1 or more";
  return [baseMs, maxMs].every((ms) => ms === undefined || isMs(ms))
    ? undefined
    : "baseMs and maxMs of its retry must be 0 or more";
}

const RETRY = { attempts: 3, baseMs: 250, maxMs: 5_000 };

function retryOf(given: ToolSpec<ToolSchema, unknown>["retry"]): CallPolicy["retry"] {
  if (given === undefined || given === "never") return undefined;
  const policy: RetryPolicy = typeof given === "string" ? given : given.policy;
  if (policy === "never") return undefined;
  return { ...RETRY, ...(typeof given === "string" ? {} : defined(given)), policy };
}
