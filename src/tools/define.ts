import { RuntimeError } from "../model/errors.ts";
import { type JsonObject, toJson } from "../model/json.ts";
import { documentOf, type ToolSchema } from "../model/schema.ts";
import { type CallPolicy, OUTPUT_TOOL, type RetryPolicy, type Tool, type ToolSpec } from "../model/tool.ts";
import { validatorOf } from "./validator.ts";

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A tool without a plugin. Its arguments and its result are typed by its schemas. */
export function defineTool<I extends ToolSchema, O = unknown>(spec: ToolSpec<I, O>): Tool {
  return makeTool(spec);
}

/** What `defineTool` and a plugin's `tool` both do. */
export function makeTool<I extends ToolSchema, O, S, W extends true | undefined>(spec: ToolSpec<I, O, S, W>): Tool<S> {
  const { name, description, output } = spec;
  if (typeof name !== "string" || !NAME.test(name) || name === OUTPUT_TOOL)
    throw new RuntimeError("tool.name", { name: String(name) });
  const wrong = (problem: string): never => {
    throw new RuntimeError("tool.invalid", { name, problem });
  };
  if (typeof description !== "string") wrong("it has no description");
  if (typeof spec.execute !== "function") wrong("it has no execute function");
  if (spec.timeoutMs !== undefined && !(spec.timeoutMs > 0)) wrong("timeoutMs must be above 0");
  const of = `the tool ${name}`;
  return {
    name,
    description,
    inputSchema: document(spec.input, of),
    policy: policyOf(spec),
    ...(spec.timeoutMs === undefined ? {} : { timeoutMs: spec.timeoutMs }),
    check: validatorOf(spec.input, of),
    run: spec.execute.bind(spec) as Tool["run"],
    ...(output === undefined ? {} : { checkOutput: validatorOf(output, `the output of ${name}`) }),
  };
}

/** Providers want an object at the top; `$schema` means nothing to them. */
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
    ...(spec.onInterrupt === "fail" ? { onInterrupt: "fail" } : {}),
    ...(retry === undefined ? {} : { retry }),
  };
}

const RETRY = { attempts: 3, baseMs: 250, maxMs: 5_000 };

function retryOf(given: ToolSpec<ToolSchema, unknown>["retry"]): CallPolicy["retry"] {
  if (given === undefined || given === "never") return undefined;
  const policy: RetryPolicy = typeof given === "string" ? given : given.policy;
  if (policy === "never") return undefined;
  return { ...RETRY, ...(typeof given === "string" ? {} : given), policy };
}
