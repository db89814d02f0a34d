import { Any, InputOf, OutputOf, Schema } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { JobsView, TaskJob } from "./job-options.js";
import { Json } from "../model/json.js";
import { MonitorsView } from "./monitor.js";
import { Optional } from "../model/known.js";
import { Point } from "./point.js";
import { Services } from "./services.js";
import { SessionConfig } from "../model/config.js";
import { SessionId } from "../model/ids.js";
import { StateCell, StateView } from "../model/tool.js";
import { TriggersView } from "./trigger.js";
/** A query reads. A command changes. A task can also take long, call models and be cancelled. */
type OperationKind = "query" | "command" | "task";
/** The services that each kind of operation gets. */
declare const POWERS: {
  readonly query: readonly ["session", "catalog", "blobs", "jobs", "monitors", "triggers"];
  readonly command: readonly ["session", "catalog", "blobs", "jobs", "monitors", "triggers", "sessions", "graph", "membership", "trace"];
  readonly task: readonly ["session", "catalog", "blobs", "jobs", "monitors", "triggers", "sessions", "graph", "membership", "trace", "complete"];
};
/** An event that a plugin emitted while an operation ran. */
interface PluginEvent {
  readonly name: string;
  readonly payload: Json;
}
/** A field set to `undefined` gets the default of the runtime. */
type ConfigPatch = Optional<SessionConfig>;
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
  queueTurn(input: string, options?: {
    readonly key?: string | undefined;
  }): void;
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
type StateFor<K extends OperationKind, S> = [S] extends [undefined] ? object : {
  readonly state: K extends "query" ? StateView<S> : StateCell<S>;
};
type OperationContext<K extends OperationKind, I, S> = Common<I> & (K extends "query" ? Omit<Pick<Services, (typeof POWERS)[K][number]>, keyof Views> & Views : Pick<Services, (typeof POWERS)[K][number]>) & StateFor<K, S> & (K extends "query" ? object : Changing) & (K extends "task" ? Lasting : object);
interface OperationSpec<K extends OperationKind, I extends Schema | undefined, O, S> {
  readonly description?: string | undefined;
  /** Whether the operation needs a session. Default: `required`. */
  readonly session?: "required" | "optional" | "forbidden" | undefined;
  readonly input?: I | undefined;
  readonly output?: Schema<Any, O> | undefined;
  run(context: OperationContext<K, I, S>): Awaitable<O>;
}
interface Operation<K extends OperationKind = OperationKind, In = Any, Out = Any, S = Any> {
  readonly kind: K;
  readonly spec: OperationSpec<K, Any, Any, Any>;
  readonly "~types"?: {
    readonly input: In;
    readonly output: Out;
    readonly state: S;
  };
}
/** Makes an operation whose `state` has the plugin's type. `setup` gets one maker of each kind. */
type OperationMaker<K extends OperationKind, S> = <O, I extends Schema | undefined = undefined>(spec: OperationSpec<K, I, O, S>) => Operation<K, I extends Schema ? InputOf<I> : undefined, O, S>;
/** The types of a plugin's operations, for callers. They are part of the plugin's type. */
type SignaturesOf<Parts> = Parts extends {
  readonly operations: infer Ops;
} ? { readonly [N in keyof Ops]: Ops[N] extends Operation<infer K, infer In, infer Out, Any> ? {
  readonly kind: K;
  readonly input: In;
  readonly output: Out;
} : never; } : object;
type NamesOf<Ops, K extends OperationKind> = { [N in keyof Ops]: Ops[N] extends {
  readonly kind: K;
} ? N : never; }[keyof Ops] & string;
type Signature<Ops, N extends string> = N extends keyof Ops ? Ops[N] : never;
type InputFor<Ops, N extends string> = Signature<Ops, N> extends {
  readonly input: infer In;
} ? In : never;
type OutputFor<Ops, N extends string> = Signature<Ops, N> extends {
  readonly output: infer Out;
} ? Out : never;
/** Makes the input optional where `undefined` or {} fits its type. */
type InputArgs<In, Options> = undefined extends In ? [input?: In, options?: Options] : object extends In ? [input?: In, options?: Options] : [input: In, options?: Options];
/** An operation as a session lists it. */
interface OperationDefinition {
  /** `plugin.operation`, the name that `invoke` takes. */
  readonly name: string;
  readonly plugin: string;
  readonly kind: OperationKind;
  readonly description: string;
  readonly session: "required" | "optional" | "forbidden";
  readonly input?: Json;
  readonly output?: Json;
}
export {
  ConfigPatch,
  InputArgs,
  InputFor,
  NamesOf,
  Operation,
  OperationDefinition,
  OperationKind,
  OperationMaker,
  OutputFor,
  PluginEvent,
  SignaturesOf,
};
