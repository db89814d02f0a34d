import { type Awaitable, unwaited } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import { frozen, type Json } from "../model/json.ts";
import { freezeMessage, type Message } from "../model/message.ts";
import type { ModelRequest } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { StateCell } from "../model/tool.ts";
import type { Span } from "../telemetry/telemetry.ts";
import type { Extension } from "./extension.ts";
import type { SeesOf } from "./handlers.ts";
import type { TurnContext } from "./hook-values.ts";
import { HOOKS, type HookName, type RowData } from "./hooks.ts";
import type { JobOptions } from "./job-options.ts";
import type { MonitorSpec, Monitors } from "./monitor.ts";
import type { Installed } from "./plugin.ts";
import type { Point } from "./point.ts";
import type { JobContext, ServiceName, Services } from "./services.ts";
import type { ToolsOfSession } from "./session-requests.ts";
import type { StateAccess } from "./states.ts";
import type {
  EmitOptions,
  OccurrencesFilter,
  RevisionOptions,
  RunTriggerOptions,
  SubscribeOptions,
  SubscriptionPatch,
  Trigger,
  Triggers,
} from "./trigger.ts";

/** Where a hook is called: the session, the turn if there is one, its signal, its services. */
export interface HookCallContext {
  readonly sessionId: SessionId;
  readonly turnId?: TurnId | undefined;
  readonly signal: AbortSignal;
  /** For telemetry: the work that the call is a part of. */
  readonly span?: Span | undefined;
  readonly states: StateAccess;
  /**
   * The context of the session as a whole. Services that belong to no effect are made once in that context, for all
   * turns.
   */
  readonly standing?: HookCallContext | undefined;
  service<N extends ServiceName>(name: N, plugin: string): Services[N];
  read<Out>(point: Point<Any, Out>): Out;
  /** The value that the caller of this turn gave for an extension. */
  extension(id: string): Json | undefined;
  once<T extends Json>(plugin: string, name: string, run: () => Awaitable<T>): Promise<T>;
  /** `once` for this effect only, used by tools. The `once` above is for the whole turn. */
  onceHere<T extends Json>(plugin: string, name: string, run: () => Awaitable<T>): Promise<T>;
}

/**
 * The signal of one handler call: follows the turn's signal, and aborts at the handler's deadline. Made when it is
 * first read.
 */
export class CallScope {
  readonly #here: Pick<HookCallContext, "signal">;
  #controller: AbortController | undefined;
  #follow: (() => void) | undefined;
  #reason: unknown;
  isOver = false;

  constructor(here: Pick<HookCallContext, "signal">) {
    this.#here = here;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      const { signal } = this.#here;
      const follow = (): void => controller.abort(signal.reason);
      this.#controller = controller;
      this.#follow = follow;
      if (signal.aborted) follow();
      else signal.addEventListener("abort", follow, { once: true });
    }
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  #clock: Clock | undefined;
  #waits = 0;

  /** Runs `wait` and stops the handler's clock, because `wait` has its own time limit. */
  async waiting<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#clock?.stop();
    try {
      return await wait();
    } finally {
      if (--this.#waits === 0) this.#clock?.go();
    }
  }

  /** The clock that ends the handler's time. It stops while the handler waits for work that has its own time limit. */
  time(clock: Clock): void {
    this.#clock = clock;
    if (this.#waits === 0) clock.go();
  }

  end(reason?: unknown): void {
    this.isOver = true;
    this.#clock = undefined;
    this.#reason = reason;
    if (this.#follow !== undefined) this.#here.signal.removeEventListener("abort", this.#follow);
    if (reason !== undefined) this.#controller?.abort(reason);
  }
}

export interface Clock {
  go(): void;
  stop(): void;
}

/**
 * The key under which an event stores its call. A private field would not work through a proxy or
 * `Object.create(event)`.
 */
const SCOPE = Symbol("call");
interface Event {
  [field: string]: unknown;
  [SCOPE]: CallScope;
}

/**
 * Makes the event for a handler. All fields are own properties, so that a handler can destructure, spread and pass on
 * the event. All events share one getter for the signal, because a new getter would give each event a separate hidden
 * class, which costs more than all other work here.
 */
export function eventFor(
  hook: HookName,
  plugin: Installed,
  sees: object,
  here: HookCallContext,
  scope: CallScope,
): object {
  const { id, spec } = plugin;
  const { services, state } = HOOKS[hook] as RowData;
  const event: Event = { ...commonOf(hook, plugin, here), [SCOPE]: scope };
  freezeSeen(hook, sees);
  Object.assign(event, sees);
  if (services.includes("complete")) event.complete = completeAt(here, id);
  if (services.includes("sessions")) event.sessions = sessionsAt(scope, here, id, hook);
  if (services.includes("graph")) event.graph = graphUntil(scope, here, id, hook);
  if (services.includes("jobs")) event.jobs = jobsIn(scope, here, id, hook);
  if (services.includes("monitors")) event.monitors = monitorsIn(scope, here, id, hook);
  if (services.includes("triggers")) event.triggers = new TriggersAt(here, id);
  if (services.includes("membership")) event.membership = membershipUntil(scope, here, id, hook);
  if (spec.state !== undefined)
    event.state =
      state === "write" ? cellUntil(scope, here.states.cell(id, hook), id, hook) : here.states.readOnly(id, hook);
  return Object.defineProperty(event, "signal", SIGNAL);
}

/**
 * Freezes the values of an event before the first handler gets it. Otherwise a handler could change the conversation,
 * the outcome or the usage in place, and other handlers would not see the change. Not frozen: tools, which are live
 * objects, and the list of a request's messages, which is a copy for the handlers.
 */
function freezeSeen(hook: HookName, sees: object): void {
  if (hook === "request") return freezeRequest((sees as SeesOf<"request">).request);
  if (hook === "context") return freezeContext((sees as SeesOf<"context">).context);
  const fields = sees as { readonly [field: string]: unknown };
  for (const field in fields) frozen(fields[field]);
}

function freezeRequest(request: ModelRequest): void {
  const { messages, tools, settings, toolChoice } = request;
  for (let index = 0; index < messages.length; index++) freezeMessage(messages[index] as Message);
  frozen(tools);
  frozen(settings);
  frozen(toolChoice);
  Object.freeze(request);
}

function freezeContext(context: TurnContext): void {
  frozen(context.messages);
  frozen(context.prompt);
  Object.freeze(context.tools);
  Object.freeze(context);
}

/** A getter, because most handlers never read the signal. */
const SIGNAL: PropertyDescriptor & ThisType<Event> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[SCOPE].signal;
  },
};

type Common = { readonly [field: string]: unknown };
/**
 * Stored in the context and not in a WeakMap, because contexts live only for a short time, and a WeakMap would slow
 * down garbage collection.
 */
const COMMON = Symbol("common");
interface Known extends HookCallContext {
  [COMMON]?: Map<Installed, { [N in HookName]?: Common }>;
}
/**
 * Services that are made again for each effect, because the answer of the effect records their writes and costs, and
 * the effect's name identifies what they send.
 */
const OF_EFFECT: ReadonlySet<ServiceName> = new Set([
  "complete",
  "membership",
  "sessions",
  "graph",
  "jobs",
  "monitors",
  "triggers",
]);

/** The fields that are equal in every call of a handler: services that belong to no effect. Made once per context. */
function commonOf(hook: HookName, plugin: Installed, here: HookCallContext): Common {
  const callContext: Known = here.standing ?? here;
  callContext[COMMON] ??= new Map();
  let hooks = callContext[COMMON].get(plugin);
  if (hooks === undefined) {
    hooks = {};
    callContext[COMMON].set(plugin, hooks);
  }
  hooks[hook] ??= makeCommon(hook, plugin, callContext);
  return hooks[hook];
}

/**
 * Makes those fields, and empty ones for the values of each event, because adding a field later would change the hidden
 * class.
 */
function makeCommon(hook: HookName, { id, spec }: Installed, callContext: HookCallContext): Common {
  const common: { [field: string]: unknown } = { sessionId: callContext.sessionId };
  if (callContext.turnId !== undefined) common.turnId = callContext.turnId;
  common.read = (point: Point<Any, unknown>): unknown => callContext.read(point);
  common.extension = ({ id: of }: Extension<Any>): unknown => callContext.extension(of);
  common.once = (name: string, run: () => Awaitable<Json>): Promise<Json> => callContext.once(id, name, run);
  for (const service of (HOOKS[hook] as RowData).services)
    common[service] = OF_EFFECT.has(service) ? undefined : callContext.service(service, id);
  if (spec.state !== undefined) common.state = undefined;
  return common;
}

const late = (plugin: string, where: string): RuntimeError =>
  new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
const requireTime = (scope: CallScope, plugin: string, where: string): void => {
  if (scope.isOver) throw late(plugin, where);
};

const requireEffect = (
  scope: CallScope,
  here: HookCallContext,
  epoch: number | undefined,
  plugin: string,
  where: string,
): void => {
  requireTime(scope, plugin, where);
  if (here.states.epoch !== epoch) throw late(plugin, where);
};

/**
 * The session's choice of tools is state. It can change only in the effect that calls the handler, and not after the
 * handler's deadline.
 */
export function membershipUntil(
  scope: CallScope,
  here: HookCallContext,
  plugin: string,
  where: string,
): Services["membership"] {
  const { epoch } = here.states;
  const inTime = (): Services["membership"] => {
    requireEffect(scope, here, epoch, plugin, where);
    return here.service("membership", plugin);
  };
  return {
    set: (names, availability) => inTime().set(names, availability),
    grant: (name, grant) => inTime().grant(name, grant),
    revoke: (name) => inTime().revoke(name),
  };
}

/** The answer of the effect stores what a handler appends, so the handler must append before it. */
export function graphUntil(scope: CallScope, here: HookCallContext, plugin: string, where: string): Services["graph"] {
  const { epoch } = here.states;
  return {
    append: (nodes, options) =>
      unwaited(async () => {
        requireTime(scope, plugin, where);
        if (here.turnId !== undefined && here.states.epoch !== epoch) throw late(plugin, where);
        return here.service("graph", plugin).append(nodes, options);
      }),
  };
}

/** The answer of the effect stores what a handler starts, so the handler must start it before. */
function beforeAnswer(scope: CallScope, here: HookCallContext, plugin: string, where: string): () => void {
  const { epoch } = here.states;
  return () => {
    requireTime(scope, plugin, where);
    if (here.turnId !== undefined && here.states.epoch !== epoch) throw late(plugin, where);
  };
}

/** The handler's clock stops while it waits for jobs. */
export function jobsIn(scope: CallScope, here: HookCallContext, plugin: string, where: string): Services["jobs"] {
  return jobsUntil(
    () => here.service("jobs", plugin),
    beforeAnswer(scope, here, plugin, where),
    (wait) => scope.waiting(wait),
  );
}

const monitorsIn = (scope: CallScope, here: HookCallContext, plugin: string, where: string): Services["monitors"] =>
  new MonitorsUntil(() => here.service("monitors", plugin), beforeAnswer(scope, here, plugin, where));

/** The service, made on first use. Reading can start armed monitors, so reads are refused too when `inTime` throws. */
export class MonitorsUntil implements Monitors {
  readonly #service: () => Monitors;
  readonly #inTime: () => void;
  constructor(service: () => Monitors, inTime: () => void) {
    this.#inTime = inTime;
    this.#service = () => {
      inTime();
      return service();
    };
  }
  snapshot() {
    return unwaited(async () => this.#service().snapshot());
  }
  takeUpdates() {
    return unwaited(async () => this.#service().takeUpdates());
  }
  start(spec: MonitorSpec | string) {
    return unwaited(async () => this.#service().start(spec));
  }
  stop(id: string, reason?: string) {
    return unwaited(async () => this.#service().stop(id, reason));
  }
  of(session: string) {
    const other = this.#service().of(session);
    return new MonitorsUntil(() => other, this.#inTime);
  }
}

/** Makes the service on first use, because most handlers do not use it. */
class TriggersAt implements Triggers {
  readonly #here: HookCallContext;
  readonly #plugin: string;
  constructor(here: HookCallContext, plugin: string) {
    this.#here = here;
    this.#plugin = plugin;
  }
  get #service(): Triggers {
    return this.#here.service("triggers", this.#plugin);
  }
  declared() {
    return this.#service.declared();
  }
  list() {
    return this.#service.list();
  }
  get(id: string) {
    return this.#service.get(id);
  }
  occurrences(filter?: OccurrencesFilter) {
    return this.#service.occurrences(filter);
  }
  subscribe(options: SubscribeOptions) {
    return this.#service.subscribe(options);
  }
  update(id: string, patch: SubscriptionPatch, options?: RevisionOptions) {
    return this.#service.update(id, patch, options);
  }
  remove(id: string, options?: RevisionOptions) {
    return this.#service.remove(id, options);
  }
  run(id: string, options?: RunTriggerOptions) {
    return this.#service.run(id, options);
  }
  emit<P = Json>(event: string | Trigger<P>, payload: NoInfer<P>, options?: EmitOptions) {
    return this.#service.emit(event, payload, options);
  }
}

/** The service, made on first use. Calls that start jobs or add nodes are refused when `inTime` throws. */
export function jobsUntil(
  jobs: () => Services["jobs"],
  inTime: () => void,
  waiting: <T>(wait: () => Promise<T>) => Promise<T> = (wait) => wait(),
): Services["jobs"] {
  const begin = <T>(run: () => Promise<T>): Promise<T> =>
    unwaited(async () => {
      inTime();
      return run();
    });
  return {
    spawn: (options: JobOptions, run?: (job: JobContext) => Awaitable<unknown>) =>
      begin(() => jobs().spawn(options, run as never)),
    spawnHidden: (label, run) => begin(() => jobs().spawnHidden(label, run)),
    register: (options, cancel) => begin(() => jobs().register(options, cancel)),
    awaitHidden: (options) => begin(() => waiting(() => jobs().awaitHidden(options))),
    await: (ids, options) => unwaited(() => waiting(() => jobs().await(ids, options))),
    list: (filter) => jobs().list(filter),
    get: (id) => jobs().get(id),
    unregister: (id) => jobs().unregister(id),
    complete: (id, how) => jobs().complete(id, how),
    transition: (id, state) => jobs().transition(id, state),
    cancel: (id, reason) => jobs().cancel(id, reason),
    cancelAll: (filter, reason) => jobs().cancelAll(filter, reason),
    validate: (handles) => jobs().validate(handles),
    transfer: (from, to, handles) => jobs().transfer(from, to, handles),
    cancelUnreferenced: (keep) => jobs().cancelUnreferenced(keep),
    signal: (id, name, payload, options) => jobs().signal(id, name, payload, options),
    changes: (after, options) => jobs().changes(after, options),
    of: (session) => {
      const other = jobs().of(session);
      return jobsUntil(() => other, inTime, waiting);
    },
  };
}

/** Makes the service on first use, because most handlers do not use it. */
const completeAt = (here: HookCallContext, plugin: string): Services["complete"] => ({
  text: (prompt, options) => here.service("complete", plugin).text(prompt, options),
  object: (prompt, schema, options) => here.service("complete", plugin).object(prompt, schema, options),
  reply: (request, options) => here.service("complete", plugin).reply(request, options),
});

/**
 * Made like `completeAt`. The tools of this session can change only before the handler's deadline, as with
 * `membership`.
 */
function sessionsAt(scope: CallScope, here: HookCallContext, plugin: string, where: string): Services["sessions"] {
  const { epoch } = here.states;
  const sessions = (): Services["sessions"] => here.service("sessions", plugin);
  const tools = (id: string): ToolsOfSession => {
    const made = sessions().tools(id);
    if (id !== here.sessionId) return made;
    const inTime = async <T>(change: () => Promise<T>): Promise<T> => {
      requireEffect(scope, here, epoch, plugin, where);
      return change();
    };
    return {
      ...made,
      apply: (state) => unwaited(() => inTime(() => made.apply(state))),
      set: (names, availability) => unwaited(() => inTime(() => made.set(names, availability))),
    };
  };
  return {
    create: (request) => sessions().create(request),
    takeFirstInput: (id) => sessions().takeFirstInput(id),
    turn: (id, input, options) => sessions().turn(id, input, options),
    send: (id, input, options) => sessions().send(id, input, options),
    result: (id, turnId, options) => sessions().result(id, turnId, options),
    cancel: (id, turnId, reason) => sessions().cancel(id, turnId, reason),
    inject: (id, message, options) => sessions().inject(id, message, options),
    close: (id) => sessions().close(id),
    tools,
    children: (id) => sessions().children(id),
  };
}

/** A cell that refuses writes after the handler's deadline, even if its effect still runs. */
function cellUntil(scope: CallScope, cell: StateCell<Json>, plugin: string, where: string): StateCell<Json> {
  const requireOpen = (): void => requireTime(scope, plugin, where);
  return {
    get: () => cell.get(),
    update: (change) => {
      requireOpen();
      cell.update(change);
    },
    blobs: {
      ...cell.blobs,
      put: (name, data) => {
        if (!scope.isOver) return cell.blobs.put(name, data);
        const refused = Promise.reject(late(plugin, where));
        refused.catch(() => {}); // A caller that does not await this must not cause an unhandled rejection.
        return refused;
      },
      remove: (name) => {
        requireOpen();
        cell.blobs.remove(name);
      },
    },
  };
}
