// Plugins' operations: queries, which run at once, and commands and tasks, which run between turns.
// Not its job: storing what they change (`change.ts`), which services they get (`POWERS` in `kernel/operation.ts`).
// operation-1 A query sees no pending state and changes nothing.
// operation-2 The state changes, events and nodes of a command or a task are stored in one change, or not at all.
// operation-3 The turns that an operation queues are accepted before its change is stored, and withdrawn if it is not stored.
//             They run after the operation, because the operation has the session.
// operation-4 An operation with a name from its caller completes once. Its `once` values are recorded under the name, so a
//             rerun after a crash continues, and a repeat gets the first receipt. A different call of that name is refused.

import type { JobsView, TaskJob } from "../../kernel/job-options.ts";
import {
  type ConfigPatch,
  checkedInput,
  definitionOf,
  isWireName,
  type OperationDefinition,
  type OperationKind,
  type OwnedOperation,
  type PluginEvent,
  POWERS,
  wireName,
} from "../../kernel/operation.ts";
import type { ServiceName, Services } from "../../kernel/services.ts";
import type { Triggers, TriggersView } from "../../kernel/trigger.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import type { InputId, JobId, TurnId } from "../../model/ids.ts";
import { defined, describeThrown, type Json, toJson } from "../../model/json.ts";
import { type Known, nearest } from "../../model/known.ts";
import type { Entry } from "../../model/node.ts";
import { check, type Schema } from "../../model/schema.ts";
import { requireConfig, requireOptions, requireSignal } from "../checks.ts";
import { operationOf } from "../services/graph.ts";
import type { ServiceContext, Working } from "../services/service-context.ts";
import { accept } from "./accept.ts";
import { changeSession, configured, type Worked } from "./change.ts";
import { newInput } from "./input.ts";
import type { LiveSession } from "./session.ts";

/** The result of a command or a task. */
export interface Receipt<O = unknown> {
  readonly plugin: string;
  readonly output: O;
  readonly events: readonly PluginEvent[];
  /** The turns that it queued. */
  readonly queued: readonly TurnId[];
}
export interface OperationOptions {
  /** `null` runs it without a session; an id runs it on that session. Default: the option of the operation. */
  readonly session?: string | null | undefined;
  /**
   * Makes a command or a task repeatable: a second call with the same id gets the first receipt. An interrupted
   * operation continues: it does not repeat its recorded `once` and `complete` calls.
   */
  readonly operationId?: string | undefined;
  /** Withdraws the operation while it waits. When the operation runs, it gets the signal. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: Known<OperationOptions> = { session: true, operationId: true, signal: true };
const QUEUE: Known<{ readonly key?: string }> = { key: true };

export function operationsIn({ composition }: LiveSession): readonly OperationDefinition[] {
  return [...composition.operations.values()].map(definitionOf);
}

/** An operation is unknown under a wrong kind, because callers of a query must not reach a command. */
export function requireOperation(
  { composition, core }: LiveSession,
  kind: OperationKind,
  name: string,
): OwnedOperation {
  const found = composition.operations.get(name);
  if (found?.operation.kind === kind) return found;
  const known = [...composition.operations].flatMap(([each, { operation }]) => (operation.kind === kind ? [each] : []));
  if (typeof name !== "string") throw new RuntimeError("operation.unknown", { name, known });
  const plugin = isWireName(name) ? name.slice(0, name.lastIndexOf(".")) : undefined;
  const isInstalled = plugin === undefined || core.plugins.some(({ id }) => id === plugin);
  const more = { kind: found?.operation.kind, nearest: nearest(name, known), plugin: isInstalled ? undefined : plugin };
  throw new RuntimeError("operation.unknown", { name, known, ...defined(more) });
}

/** Whether the operation gets the session. If a session is forbidden, only a call that names one is refused. */
function runsOnSession({ plugin, name, operation }: OwnedOperation, options: OperationOptions): boolean {
  requireOptions(wireName(plugin, name), options, OPTIONS);
  const rule = operation.spec.session ?? "required";
  if (rule === "required" && options.session === null)
    throw new RuntimeError("operation.missing-session", { name: wireName(plugin, name) });
  if (rule === "forbidden" && typeof options.session === "string")
    throw new RuntimeError("operation.unexpected-session", { name: wireName(plugin, name) });
  return rule !== "forbidden" && options.session !== null;
}

/** operation-1: runs at once, also while a turn or an operation has the session. */
export async function query(
  session: LiveSession,
  name: string,
  input: unknown,
  options: OperationOptions,
): Promise<unknown> {
  requireSignal(options.signal);
  await session.snapshot.catchUp();
  session.useStored();
  const owned = requireOperation(session, "query", name);
  if (options.signal?.aborted === true)
    throw new RuntimeError("operation.cancelled", { name }, { cause: options.signal.reason });
  const isOn = runsOnSession(owned, options);
  const context = contextOf(session, owned, checkedInput(owned, input), isOn, options);
  const { states } = session.snapshot;
  if (isOn && states.has(owned.plugin)) context.state = states.settled(owned.plugin, `the query ${owned.name}`);
  return output(owned, await run(owned, context));
}

/** Runs a command or a task (operation-2, operation-3). */
export async function operate(
  session: LiveSession,
  kind: "command" | "task",
  name: string,
  input: unknown,
  options: OperationOptions = {},
): Promise<Receipt> {
  requireOperation(session, kind, name);
  requireSignal(options.signal);
  requireOptions(name, options, OPTIONS);
  const { operationId } = options;
  const call = operationId === undefined ? undefined : callOf(session, operationId, name, input);
  const work = async (working: Working): Promise<Worked<Receipt>> => {
    const known = call === undefined ? undefined : await doneBefore(session, call, working);
    if (known !== undefined) return { done: () => known };
    const owned = requireOperation(session, kind, name); // The session's options may have changed meanwhile.
    const given = checkedInput(owned, input);
    if (call !== undefined && kind === "task") await begin(session, call);
    const ran = await runOn(session, owned, given, options, working);
    return worked(session, owned, ran, working, call);
  };
  return changeSession(session, name, work, call?.operation, options.signal);
}

/** The result of an operation, as a change of its session (operation-2, operation-3). */
async function worked(
  session: LiveSession,
  owned: OwnedOperation,
  ran: Ran,
  working: Working,
  call: Call | undefined,
): Promise<Worked<Receipt>> {
  const config = ran.config === undefined ? undefined : await configured(session, ran.config);
  const queued = await queue(session, ran.turns, call?.operation);
  const receipt = {
    plugin: owned.plugin,
    output: ran.output,
    events: ran.events,
    queued: queued.map(({ turnId }) => turnId),
  };
  const entries = (ran.isOn ? ran.events : []).map(
    (event): Entry => ({ at: working.at, kind: "plugin", plugin: owned.plugin, type: "event", body: { ...event } }),
  );
  const name = wireName(owned.plugin, owned.name);
  return {
    change: defined({
      entries,
      config: config?.stored,
      receipt: call === undefined ? undefined : keptReceipt(name, call, receipt),
    }),
    done: async () => {
      await config?.notify();
      return receipt;
    },
    undo: async () => {
      // Another process that runs the same call may have stored it, with these turns.
      if (call === undefined || (await doneBefore(session, call)) === undefined) await unqueue(session, queued);
    },
  };
}

// ── A task that runs as a job ───────────────────────────────────────────────────────────────────────────────────────

/** The changes of a task that runs in parallel with turns. They are stored when the task has ended. */
export interface TaskRan extends Ran {
  readonly updates: readonly ((state: Json) => Json)[];
}

/** Runs a task in parallel with the session's turns. The task reads the last committed state with its own changes. */
export async function runTask(
  session: LiveSession,
  owned: OwnedOperation,
  input: unknown,
  callContext: ServiceContext,
  signal: AbortSignal,
  job: TaskJob,
): Promise<TaskRan> {
  const isOn = (owned.operation.spec.session ?? "required") !== "forbidden";
  const context = contextAt(session, owned, input, isOn, callContext, signal);
  const updates: ((state: Json) => Json)[] = [];
  if (isOn && session.snapshot.states.has(owned.plugin)) {
    let own: { readonly state: Json } | undefined;
    const now = (): Json => own?.state ?? session.snapshot.states.settled(owned.plugin, "a job").get();
    const update = (change: (state: Json) => Json): void => {
      own = { state: change(now()) };
      updates.push(change);
    };
    context.state = { ...session.snapshot.states.settled(owned.plugin, "a job"), get: now, update };
  }
  context.job = job;
  const refuse = (): never => {
    throw new RuntimeError("state.parallel", { plugin: owned.plugin, where: "a job" });
  };
  context.membership = { set: refuse, grant: refuse, revoke: refuse };
  const collected = collecting(owned, context, isOn);
  const result = await output(owned, await run(owned, context));
  return { ...collected(), output: result, updates };
}

/** Whether a task wants to change its session. */
export const isChanging = ({ events, turns, config, updates }: TaskRan): boolean =>
  events.length + turns.length + updates.length > 0 || config !== undefined;

/**
 * Stores the task's changes once, under the job's name. It may wait for the session. If the job has ended by then,
 * nothing is stored.
 */
export async function keepTask(
  session: LiveSession,
  owned: OwnedOperation,
  ran: TaskRan,
  { id, isOver }: { readonly id: JobId; isOver(): boolean },
): Promise<void> {
  const { updates } = ran;
  const call: Call = { operationId: id, operation: `/job/${id}`, hash: id };
  const work = async (working: Working): Promise<Worked<Receipt>> => {
    const known = await doneBefore(session, call, working);
    if (known !== undefined) return { done: () => known };
    if (isOver()) throw new RuntimeError("job.over", { id, state: "over" });
    const { states } = session.snapshot;
    if (updates.length > 0) {
      const cell = states.cell(owned.plugin, `the task ${owned.name}`);
      for (const update of updates) cell.update(update);
    }
    return worked(session, owned, ran, working, call);
  };
  await changeSession(session, wireName(owned.plugin, owned.name), work, call.operation);
}

/** A call that its caller named (operation-4). */
interface Call {
  readonly operationId: string;
  readonly operation: string;
  /** The hash of the operation and its input. It distinguishes a repeat from another call under the same id. */
  readonly hash: string;
}

function callOf({ id }: LiveSession, operationId: string, name: string, input: unknown): Call {
  const found = toJson(input ?? null);
  if ("problem" in found) {
    const problem = `it must be JSON to be known again by its operationId: ${found.path}: ${found.problem}`;
    throw new RuntimeError("operation.input", { name, problem });
  }
  return { operationId, operation: operationOf(id, operationId), hash: hashOf(JSON.stringify([name, found.json])) };
}

/** Checks that the record of a task is of the same call. */
async function begin({ core, id }: LiveSession, { operationId, operation, hash }: Call): Promise<void> {
  if ((await core.store.operations.note(id, operation, "call", hash)) !== hash)
    throw new RuntimeError("append.conflict", { operation: operationId });
}

/** operation-4 */
async function doneBefore(
  { core, id }: LiveSession,
  { operation, operationId, hash }: Call,
  working?: Working,
): Promise<Receipt | undefined> {
  const applied = working?.waiting?.live.state.applied?.find((part) => part.operation === operation);
  const found =
    applied === undefined ? await core.store.operations.find(id, operation) : ({ kind: "done", ...applied } as const);
  if (found === undefined) return undefined;
  const stored = (found.kind === "done" ? (found.receipt ?? {}) : {}) as Partial<KeptReceipt>;
  if (stored.receipt === undefined || stored.hash !== hash)
    throw new RuntimeError("append.conflict", { operation: operationId });
  return stored.receipt;
}

interface KeptReceipt {
  readonly hash: string;
  readonly receipt: Receipt;
}

function keptReceipt(name: string, { hash }: Call, receipt: Receipt): Json {
  const stored = toJson({ hash, receipt: { ...receipt, output: receipt.output ?? null } });
  if ("problem" in stored) {
    const problem = `its output must be JSON to be kept under an operationId: ${stored.path}: ${stored.problem}`;
    throw new RuntimeError("operation.failed", { name, problem });
  }
  return stored.json;
}

interface QueuedTurn {
  readonly input: string;
  readonly key?: string;
}
interface Queued {
  readonly turnId: TurnId;
  /** Absent when the key was accepted before: then this operation has no input to withdraw. */
  readonly inputId?: InputId;
}

/** operation-3 */
async function queue(
  session: LiveSession,
  turns: readonly QueuedTurn[],
  operation: string | undefined,
): Promise<readonly Queued[]> {
  const queued: Queued[] = [];
  try {
    for (const [index, { input, key: given }] of turns.entries()) {
      const key = given ?? (operation === undefined ? undefined : hashOf(`${operation}/turn/${index}`));
      const made = await newInput(session.core, session.id, input, key, "turn");
      const turnId = await accept(session, made);
      queued.push(turnId === made.turnId ? { turnId, inputId: made.id } : { turnId });
    }
  } catch (error) {
    await unqueue(session, queued);
    throw error;
  }
  return queued;
}

async function unqueue({ core, id }: LiveSession, queued: readonly Queued[]): Promise<void> {
  for (const { inputId } of queued) if (inputId !== undefined) await core.store.inputs.withdraw(id, { id: inputId });
  core.readers.hinted(id);
}

interface Ran {
  readonly output: unknown;
  readonly isOn: boolean;
  readonly events: readonly PluginEvent[];
  readonly turns: readonly QueuedTurn[];
  readonly config: ConfigPatch | undefined;
}

/** Runs the operation. The new plugin state stays in memory until the store accepts the write. */
async function runOn(
  session: LiveSession,
  owned: OwnedOperation,
  given: unknown,
  options: OperationOptions,
  working: Working,
): Promise<Ran> {
  const isOn = runsOnSession(owned, options);
  const context = contextOf(session, owned, given, isOn, options, working);
  const { states } = session.snapshot;
  if (isOn && states.has(owned.plugin))
    context.state = states.cell(owned.plugin, `the ${owned.operation.kind} ${owned.name}`);
  const collected = collecting(owned, context, isOn);
  const result = await output(owned, await run(owned, context));
  return { ...collected(), output: result };
}

/** Gives the operation `emit`, `queueTurn`, `configure` and `graph`, and collects what it passes to them. */
function collecting(owned: OwnedOperation, context: Context, isOn: boolean): () => Omit<Ran, "output"> {
  const wire = wireName(owned.plugin, owned.name);
  const events: PluginEvent[] = [];
  const turns: QueuedTurn[] = [];
  let config: ConfigPatch | undefined;
  const requireSession = (): void => {
    if (!isOn) throw new RuntimeError("operation.missing-session", { name: wire });
  };
  const refuse = (problem: string): never => {
    throw new RuntimeError("operation.failed", { name: wire, problem });
  };
  context.emit = (name: string, payload: Json = null): void => {
    const found = toJson(payload);
    if (typeof name !== "string" || "problem" in found) return refuse("an event must have a name and a JSON payload");
    events.push({ name, payload: found.json });
  };
  context.queueTurn = (words: string, about: { readonly key?: string } = {}): void => {
    requireSession();
    requireOptions("queueTurn", about, QUEUE);
    if (typeof words !== "string" || words.trim() === "")
      throw new RuntimeError("input.invalid", { problem: "the text of a queued turn is empty" });
    turns.push({ input: words, ...about });
  };
  context.configure = (patch: ConfigPatch): void => {
    requireSession();
    requireConfig(patch);
    config = { ...config, ...patch };
  };
  if (!isOn) context.membership = { set: requireSession, grant: requireSession, revoke: requireSession };
  const { graph } = context as { readonly graph: Services["graph"] };
  if (!isOn)
    context.graph = {
      append: async (nodes, about = {}) => {
        if (about.session === undefined) requireSession();
        return graph.append(nodes, about);
      },
    } satisfies Services["graph"];
  return () => ({ isOn, events, turns, config });
}

type Context = { [field: string]: unknown };

function contextOf(
  session: LiveSession,
  { plugin, operation, name }: OwnedOperation,
  input: unknown,
  isOn: boolean,
  options: OperationOptions,
  working?: Working,
): Context {
  const callContext = session.context(options.signal === undefined ? undefined : { signal: options.signal }, working);
  return contextAt(session, { plugin, operation, name }, input, isOn, callContext, options.signal);
}

function contextAt(
  session: LiveSession,
  { plugin, operation }: OwnedOperation,
  input: unknown,
  isOn: boolean,
  callContext: ServiceContext,
  signal: AbortSignal | undefined,
): Context {
  const context: Context = {
    input,
    signal: signal ?? new AbortController().signal,
    read: (point: Parameters<typeof callContext.read>[0]) => callContext.read(point),
    ...(isOn ? { sessionId: session.id } : {}),
  };
  if (operation.kind === "task")
    context.once = (key: string, run: () => Awaitable<Json>): Promise<Json> => callContext.once(plugin, key, run);
  for (const service of POWERS[operation.kind] as readonly ServiceName[])
    context[service] = callContext.service(service, plugin);
  if (operation.kind === "query") {
    context.jobs = readOnly(context.jobs as Services["jobs"]);
    context.monitors = callContext.core.background.monitorsView({
      core: callContext.core,
      sessionId: callContext.sessionId,
      plugin,
      callContext: callContext,
    });
    context.triggers = viewOf(context.triggers as Triggers);
  }
  return context;
}

/** operation-1 */
const readOnly = (jobs: JobsView): JobsView => ({
  list: (filter) => jobs.list(filter),
  get: (id) => jobs.get(id),
  of: (session) => readOnly(jobs.of(session)),
});
const viewOf = (triggers: Triggers): TriggersView => ({
  declared: () => triggers.declared(),
  list: () => triggers.list(),
  get: (id) => triggers.get(id),
  occurrences: (filter) => triggers.occurrences(filter),
});

async function run({ plugin, name, operation }: OwnedOperation, context: Context): Promise<unknown> {
  try {
    return await operation.spec.run(context as never);
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError(
      "operation.failed",
      { name: wireName(plugin, name), problem: describeThrown(error) },
      { cause: error },
    );
  }
}

function output({ plugin, name, operation }: OwnedOperation, value: unknown): unknown {
  if (operation.spec.output === undefined) return value;
  const wire = wireName(plugin, name);
  const result = check(operation.spec.output as Schema, value, `the output of ${wire}`);
  if (!result.ok)
    throw new RuntimeError("operation.failed", { name: wire, problem: `its output is invalid: ${result.problem}` });
  return result.value;
}
