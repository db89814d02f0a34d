// Schemas that servers send. They are untrusted: none is compiled into code, and checking is bounded in size and time.
import { createContext, Script } from "node:vm";
import { type DescribedSchema, described, type JsonSchema } from "../../plugin.ts";

const BYTES_MAX = 65_536;
const DEPTH_MAX = 64;
const CHECK_MS = 250;

/** Makes validators that interpret a schema, without generating code. */
export interface Interpreter {
  getValidator(
    schema: object,
  ): (input: unknown) => { readonly valid: boolean; readonly errorMessage?: string | undefined };
}

/** Why a schema cannot be used; undefined when it can. */
export function refusal(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "its schema is no object";
  try {
    const found = unfit(schema, 0, false);
    if (found !== undefined) return found;
    const { type } = schema as { readonly type?: unknown };
    if (type !== undefined && type !== "object") return "its arguments are no object";
    const bytes = Buffer.byteLength(JSON.stringify(schema));
    return bytes > BYTES_MAX ? `its schema has ${bytes} bytes; ${BYTES_MAX} are allowed` : undefined;
  } catch {
    return "its schema is nested too deep"; // JSON.stringify overflowed the stack, because `unfit` does not check data.
  }
}

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);
/** Keywords whose keys are free names, so that `$ref` there is not a reference. */
const NAMES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);
/** Keywords whose values are data. */
const DATA = new Set(["const", "enum", "default", "examples"]);

function unfit(node: unknown, depth: number, areNames: boolean): string | undefined {
  if (typeof node !== "object" || node === null) return undefined;
  if (depth > DEPTH_MAX) return `its schema is nested more than ${DEPTH_MAX} deep`;
  for (const [key, value] of Object.entries(node)) {
    if (!areNames && REFERENCES.has(key) && typeof value === "string" && !value.startsWith("#"))
      return `its schema refers to ${value.slice(0, 100)}, outside of it`;
    if (!areNames && DATA.has(key)) continue;
    const found = unfit(value, depth + 1, !areNames && NAMES.has(key));
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A server's schema for `defineTool`. Arguments that cannot be checked here pass, because the server checks them again.
 * A check that takes too long fails, because a malicious pattern or nested references must not block the process.
 */
export function foreignSchema(document: JsonSchema, interpreter: (draft: Draft) => Interpreter): DescribedSchema {
  let check: ReturnType<Interpreter["getValidator"]> | undefined;
  const validate = (value: unknown) => {
    try {
      const found = within(CHECK_MS, () => {
        check ??= interpreter(draftOf(document)).getValidator(structuredClone(document));
        return check(value);
      });
      return found.valid ? { value } : { issues: [{ message: found.errorMessage ?? "they do not fit" }] };
    } catch (error) {
      const isLate = (error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      return isLate ? { issues: [{ message: `they could not be checked within ${CHECK_MS} ms` }] } : { value };
    }
  };
  return described({ "~standard": { version: 1, vendor: "mcp", validate } }, document);
}

export type Draft = "4" | "7" | "2019-09" | "2020-12";
const draftOf = ({ $schema }: JsonSchema): Draft => {
  const dialect = String($schema ?? "");
  if (dialect.includes("draft-04")) return "4";
  if (dialect.includes("draft-06") || dialect.includes("draft-07")) return "7";
  return dialect.includes("2019-09") ? "2019-09" : "2020-12";
};

const box = createContext({ run: undefined as unknown });
const script = new Script("run()");
/**
 * Runs a function in a vm, which is the only way to stop an endless computation. It costs 0.3 ms, little beside a remote
 * call.
 */
function within<T>(ms: number, run: () => T): T {
  box.run = run;
  try {
    return script.runInContext(box, { timeout: ms }) as T;
  } finally {
    box.run = undefined;
  }
}
