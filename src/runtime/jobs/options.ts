// Checks the options of jobs for untyped callers, and makes jobs from them.

import type { JobCompletion, JobOptions, TaskJobOptions } from "../../kernel/job-options.ts";
import { checkedInput, isWireName, type OperationKind, wireName } from "../../kernel/operation.ts";
import type { JobContext } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asJobId, asSessionId, type SessionId } from "../../model/ids.ts";
import type { JobEnd, NewJob } from "../../model/job.ts";
import { bytesOver, defined, isObject, type Json, type JsonObject, toJson } from "../../model/json.ts";
import { type Known, nearest, requireKnown } from "../../model/known.ts";
import { documentOf } from "../../model/schema.ts";
import { APP } from "../../tools/catalog.ts";
import { requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { type CallerPlace, freshId } from "../services/session-service.ts";

export const JOB: Known<JobOptions> = {
  label: true,
  id: true,
  kind: true,
  visibility: true,
  wake: true,
  onParentEnd: true,
  signals: true,
  childId: true,
  about: true,
};
export const TASK: Known<TaskJobOptions> = { ...JOB, operation: true, isElsewhere: true, input: true, notBefore: true };
const COMPLETION: Known<Exclude<JobCompletion, string>> = { state: true, result: true, error: true };

export const KINDS = ["task", "monitor", "subagent", "code", "external"];
export const VISIBILITIES = ["hidden", "managed"];
const ENDS: readonly unknown[] = ["completed", "failed", "cancelled", "abandoned"] satisfies JobEnd[];
const LABEL_MAX = 1_000;
/** How many characters of a wrong name an error shows. */
const NAME_SHOWN = 80;
export const ID_MAX = 256;

export const invalid = (problem: string): never => {
  throw new RuntimeError("job.invalid", { problem });
};
export const oneOf = (what: string, value: unknown, known: readonly string[]): void => {
  if (!known.includes(value as string)) invalid(`${what} must be one of ${known.join(", ")}`);
};

/**
 * The wire name of a task that `plugin` starts. The shape of the name is checked also when the task is elsewhere: a job
 * with a name that no plugin can have would wait forever. `wrong` gets the problem as the rest of a sentence.
 */
export function taskName(operation: unknown, plugin: string, wrong: (problem: string) => never): string {
  if (typeof operation !== "string" || operation === "") return wrong("is not the name of a task");
  const shown = JSON.stringify(operation.length > NAME_SHOWN ? `${operation.slice(0, NAME_SHOWN)}…` : operation);
  const isWhole = operation.includes(".");
  if (plugin === APP && !isWhole) return wrong(`is ${shown}, without the plugin of the task`);
  const wire = isWhole ? operation : wireName(plugin, operation);
  return isWireName(wire) ? wire : wrong(`is ${shown}, which cannot be the name of a task`);
}

/**
 * Throws when the task or its input is wrong. `mayBeElsewhere` allows a task whose plugin is not installed here: then
 * only the process that runs the job can detect a wrong name or input. `offered`: the value that the task gets if the
 * caller passes no input; `later` if the value is not known yet.
 */
export function requireTask(
  { plugins, background, trace }: Core,
  sessionId: SessionId,
  operation: string,
  mayBeElsewhere: boolean,
  input: Json | undefined,
  offered?: Json | "later",
): void {
  const unknown = (of: { readonly plugin?: string; readonly kind?: OperationKind | undefined } = {}): never => {
    const known = background.operations.filter((name) => !background.jobs.isBuiltIn(name));
    const more = defined({ nearest: nearest(operation, known), ...of });
    throw new RuntimeError("operation.unknown", { name: operation, known, ...more });
  };
  if (background.jobs.isBuiltIn(operation)) unknown();
  const plugin = operation.slice(0, operation.lastIndexOf("."));
  if (!plugins.some(({ id }) => id === plugin)) {
    if (!mayBeElsewhere) unknown({ plugin });
    return trace("job.elsewhere", { operation, problem: "its plugin is not installed here" }, { sessionId });
  }
  const found = background.compositionOf(sessionId).operations.get(operation);
  if (found?.operation.kind !== "task") return unknown({ kind: found?.operation.kind });
  const isFree = input === undefined && offered !== undefined;
  if (isFree && (offered === "later" || found.operation.spec.input === undefined)) return;
  checkedInput(found, isFree ? offered : input);
}

/** A value for the record: JSON of limited size. `wrong` gets the problem as the rest of a sentence. */
export function recordable(
  { limits }: Core,
  what: string,
  value: unknown,
  wrong: (problem: string) => never = (problem) => invalid(`${what} ${problem}`),
  of = "job",
): Json {
  const found = toJson(value);
  if ("problem" in found) return wrong(`is not JSON: ${found.path}: ${found.problem}`);
  const max = limits.inputBytesMax;
  const bytes = bytesOver(JSON.stringify(found.json), max);
  if (bytes !== undefined) throw new RuntimeError("limit.bytes", { what: `The ${of}: ${what}`, bytes, max });
  return found.json;
}

/** The job without its worker. In a turn and in a task its id is derived, so that a rerun finds the same job. */
export function newJob(options: JobOptions, place: CallerPlace): Omit<NewJob, "recovery"> {
  const { core, sessionId, callContext } = place;
  const { label, kind = "task", visibility = "managed", wake = "none", onParentEnd = "keep" } = options;
  if (typeof label !== "string" || label.trim() === "" || label.length > LABEL_MAX)
    invalid(`its label must be a text of 1 to ${LABEL_MAX} characters`);
  oneOf("its kind", kind, KINDS);
  oneOf("its visibility", visibility, VISIBILITIES);
  oneOf("its wake", wake, ["none", "notify", "wake"]);
  oneOf("onParentEnd", onParentEnd, ["cancel", "keep"]);
  if (options.id !== undefined) requireWords("id", options.id, ID_MAX);
  const turnId = callContext?.turn?.live.turnId;
  const parent = turnId === undefined ? callContext?.job && { jobId: callContext.job.id } : { turnId };
  const { about, childId, signals } = options;
  return {
    id: asJobId(options.id ?? freshId(place, "job", "job")),
    sessionId,
    kind,
    label,
    visibility,
    wake,
    onParentEnd,
    at: core.world.now(),
    ...defined({
      parent,
      about: about === undefined ? undefined : recordable(core, "what it is about", about),
      childId: childId === undefined ? undefined : asSessionId(childId),
      signals: signals === undefined ? undefined : signalsOf(signals),
    }),
  };
}

/** Checked where the promise is made, so that a wrong call rejects like every other. */
export const requireWorkLater = (run: unknown): ((job: JobContext) => Awaitable<unknown>) =>
  (typeof run === "function" ? run : (null as never)) as (job: JobContext) => Awaitable<unknown>;

export function requireList(ids: readonly string[]): readonly string[] {
  if (!Array.isArray(ids) || ids.some((id) => typeof id !== "string")) invalid("the ids must be a list of texts");
  return [...new Set(ids)];
}

function signalsOf(signals: NonNullable<JobOptions["signals"]>): { readonly [name: string]: JsonObject } {
  if (!isObject(signals)) return invalid("`signals` must be an object of schemas");
  return Object.fromEntries(
    Object.entries(signals).map(([signal, schema]) => {
      if (!/^[\w-]{1,64}$/.test(signal)) invalid(`${JSON.stringify(signal)} cannot be the name of a signal`);
      return [signal, documentOf(schema, `the signal ${signal}`)];
    }),
  );
}

export function completionOf(how: JobCompletion): Exclude<JobCompletion, string> {
  const given = typeof how === "string" ? { state: how } : how;
  if (!isObject(given)) return invalid("its end must be a state, or an object with a `state`");
  requireKnown("jobs.complete", given, COMPLETION);
  if (!ENDS.includes(given.state)) invalid("its end must be completed, failed, cancelled or abandoned");
  return given as Exclude<JobCompletion, string>;
}
