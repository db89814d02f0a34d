import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionId } from "../model/ids.ts";
import { isObject, type Json } from "../model/json.ts";
import { type Known, type Optional, requireKnown } from "../model/known.ts";
import { type Any, check, documentOf, type InputOf, isStandard, type OutputOf, type Schema } from "../model/schema.ts";
import type { StateCell, StateView } from "../model/tool.ts";
import type { JobsView, TaskJob } from "./job-options.ts";
import type { MonitorsView } from "./monitor.ts";
import type { Point } from "./point.ts";
import type { Services } from "./services.ts";
import type { TriggersView } from "./trigger.ts";

/** A query reads. A command changes. A task can also take long, call models and be cancelled. */
export type OperationKind = "query" | "command" | "task";

const READS = ["session", "catalog", "blobs", "jobs", "monitors", "triggers"] as const;
const CHANGES = [...READS, "sessions", "graph", "membership", "trace"] as const;
/** The services that each kind of operation gets. */
export const POWERS = {
  query: READS,
  command: CHANGES,
  task: [...CHANGES, "complete"],
} as const satisfies { readonly [K in OperationKind]: readonly (keyof Services)[] };

/** An event that a plugin emitted while an operation ran. */
export interface PluginEvent {
  readonly name: string;
  readonly payload: Json;
}

/** A field set to `undefined` gets the default of the runtime. */
export type ConfigPatch = Optional<SessionConfig>;

interface Common<I> {
  readonly input: I extends Schema ? OutputOf<I> : undefined;
  /** Left out when the operation was called without a session. */
  readonly sessionId?: SessionId;
  readonly signal: AbortSignal;
  read<Out>(point: Point<Any, Out>): Out;
}
interface Changing {
  /** Emits an event. The session's history keeps it, and the caller gets it back. */
  emit(name: string, payload?: Json): void;
  /** Queues a turn of this session. It starts after the operation. The same key is queued once. */
  queueTurn(input: string, options?: { readonly key?: string | undefined }): void;
  /**
   * Changes the session's settings together with all other changes of the operation. The last call for a field counts.
   */
  configure(patch: ConfigPatch): void;
}
interface Lasting {
  /**
   * Runs `run` once under this name. If a task with an `operationId` runs again after a crash or a failure, it gets the
   * recorded value.
   */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
  /**
   * Set only if the task runs as a job: durable sleep, tool calls, signals. Such a task runs in parallel with turns,
   * and its changes are stored when it ends.
   */
  readonly job?: TaskJob;
}
/** The read-only parts of services, for queries. */
interface Views {
  readonly jobs: JobsView;
  readonly monitors: MonitorsView;
  readonly triggers: TriggersView;
}
type StateFor<K extends OperationKind, S> = [S] extends [undefined]
  ? object
  : { readonly state: K extends "query" ? StateView<S> : StateCell<S> };

export type OperationContext<K extends OperationKind, I, S> = Common<I> &
  (K extends "query"
    ? Omit<Pick<Services, (typeof POWERS)[K][number]>, keyof Views> & Views
    : Pick<Services, (typeof POWERS)[K][number]>) &
  StateFor<K, S> &
  (K extends "query" ? object : Changing) &
  (K extends "task" ? Lasting : object);

export interface OperationSpec<K extends OperationKind, I extends Schema | undefined, O, S> {
  readonly description?: string | undefined;
  /** Whether the operation needs a session. Default: `required`. */
  readonly session?: "required" | "optional" | "forbidden" | undefined;
  readonly input?: I | undefined;
  readonly output?: Schema<Any, O> | undefined;
  run(context: OperationContext<K, I, S>): Awaitable<O>;
}

export interface Operation<K extends OperationKind = OperationKind, In = Any, Out = Any, S = Any> {
  readonly kind: K;
  readonly spec: OperationSpec<K, Any, Any, Any>;
  readonly "~types"?: { readonly input: In; readonly output: Out; readonly state: S };
}

/** Makes an operation whose `state` has the plugin's type. `setup` gets one maker of each kind. */
export type OperationMaker<K extends OperationKind, S> = <O, I extends Schema | undefined = undefined>(
  spec: OperationSpec<K, I, O, S>,
) => Operation<K, I extends Schema ? InputOf<I> : undefined, O, S>;

export const makeOperation =
  <K extends OperationKind>(kind: K): OperationMaker<K, Any> =>
  (spec) => {
    if (isObject(spec)) requireKnown(`a ${kind}`, spec, SPEC);
    return { kind, spec };
  };
const SPEC: Known<OperationSpec<OperationKind, Schema, unknown, unknown>> = {
  description: true,
  session: true,
  input: true,
  output: true,
  run: true,
};

/** The types of a plugin's operations, for callers. They are part of the plugin's type. */
export type SignaturesOf<Parts> = Parts extends { readonly operations: infer Ops }
  ? {
      readonly [N in keyof Ops]: Ops[N] extends Operation<infer K, infer In, infer Out, Any>
        ? { readonly kind: K; readonly input: In; readonly output: Out }
        : never;
    }
  : object;

export type NamesOf<Ops, K extends OperationKind> = {
  [N in keyof Ops]: Ops[N] extends { readonly kind: K } ? N : never;
}[keyof Ops] &
  string;
type Signature<Ops, N extends string> = N extends keyof Ops ? Ops[N] : never;
export type InputFor<Ops, N extends string> = Signature<Ops, N> extends { readonly input: infer In } ? In : never;
export type OutputFor<Ops, N extends string> = Signature<Ops, N> extends { readonly output: infer Out } ? Out : never;
/** Makes the input optional where `undefined` or {} fits its type. */
export type InputArgs<In, Options> = undefined extends In
  ? [input?: In, options?: Options]
  : object extends In
    ? [input?: In, options?: Options]
    : [input: In, options?: Options];

/** An operation as a session lists it. */
export interface OperationDefinition {
  /** `plugin.operation`, the name that `invoke` takes. */
  readonly name: string;
  readonly plugin: string;
  readonly kind: OperationKind;
  readonly description: string;
  readonly session: "required" | "optional" | "forbidden";
  readonly input?: Json;
  readonly output?: Json;
}

export interface OwnedOperation {
  readonly plugin: string;
  readonly name: string;
  readonly operation: Operation;
}

export const wireName = (plugin: string, name: string): string => `${plugin}.${name}`;

/** Whether this can be the id of a plugin. `__proto__` cannot: plugins are looked up by id in plain objects. */
export const isPluginId = (id: unknown): id is string =>
  typeof id === "string" && id !== "__proto__" && /^[\w.@/-]{1,128}$/.test(id);

const isOperationName = (name: string): boolean => /^[\w-]{1,64}$/.test(name);

/** Whether some plugin can have an operation with this wire name. */
export function isWireName(wire: string): boolean {
  const dot = wire.lastIndexOf(".");
  return isPluginId(wire.slice(0, Math.max(0, dot))) && isOperationName(wire.slice(dot + 1));
}

export function definitionOf({ plugin, name, operation: { kind, spec } }: OwnedOperation): OperationDefinition {
  const described = (schema: unknown): Json | undefined => {
    try {
      return schema === undefined || !isStandard(schema) ? undefined : (documentOf(schema, name) as Json);
    } catch {
      return undefined; // The schema cannot describe itself, so the operation is listed without it.
    }
  };
  const input = described(spec.input);
  const output = described(spec.output);
  return {
    name: wireName(plugin, name),
    plugin,
    kind,
    description: spec.description ?? "",
    session: spec.session ?? "required",
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
  };
}

export function operationsOf(plugin: string, part: unknown): readonly OwnedOperation[] {
  const wrong = (problem: string): never => {
    throw new RuntimeError("plugin.invalid", { plugin, problem });
  };
  if (typeof part !== "object" || part === null || Array.isArray(part))
    return wrong("its operations must be an object");
  return Object.entries(part as { readonly [name: string]: Operation | undefined }).map(([name, operation]) => {
    if (!isOperationName(name)) wrong(`${JSON.stringify(name)} cannot be the name of an operation`);
    if (operation === undefined || !(operation.kind in POWERS) || typeof operation.spec?.run !== "function")
      return wrong(`the operation ${name} was not made with query, command or task`);
    for (const field of ["input", "output"] as const)
      if (operation.spec[field] !== undefined && !isStandard(operation.spec[field]))
        wrong(`the ${field} of the operation ${name} must be a Standard Schema, such as z.object({ … })`);
    return { plugin, name, operation };
  });
}

/** The input after the operation's schema has parsed it. Throws `operation.input`. */
export function checkedInput({ plugin, name, operation }: OwnedOperation, input: unknown): unknown {
  const wire = wireName(plugin, name);
  if (operation.spec.input === undefined) {
    if (input !== undefined) throw new RuntimeError("operation.input", { name: wire, problem: "it takes none" });
    return undefined;
  }
  const result = check(operation.spec.input as Schema, input ?? {}, `the input of ${wire}`);
  if (!result.ok) throw new RuntimeError("operation.input", { name: wire, problem: result.problem });
  return result.value;
}
