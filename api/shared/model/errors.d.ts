import { Usage } from "./usage.js";
/**
 * Whether trying again can help: `never`; `unchanged`, the same call may succeed later; `reload`, read the current
 * state first; `reopen`, make a new handle or runtime.
 */
type Retry = "never" | "unchanged" | "reload" | "reopen";
/** The result of a turn that was stopped or failed. Its outcome is written out, because `outcome.ts` imports this file. */
interface Unanswered {
  readonly turnId: string;
  readonly outcome: {
    readonly kind: "stopped" | "failed";
    readonly by: string;
    readonly code: string;
    readonly reason: string;
    readonly text: string;
  };
  readonly usage: Usage;
}
interface ErrorText {
  readonly message: string;
  readonly hint: string;
  readonly retry?: Retry;
}
declare const ERRORS: {
  /** An option has a value that it cannot have. */
  readonly "options.invalid": (d: {
    option: string;
    problem: string;
  }) => ErrorText;
  /** An option has a name that does not exist, for example because it is misspelled. */
  readonly "options.unknown": (d: {
    where: string;
    name: string;
    nearest?: string;
  }) => ErrorText;
  /** Something is called on a runtime or a store after it was closed. */
  readonly "runtime.closed": (_: object) => ErrorText;
  /** A runtime with `recover: "never"` is asked for work that only a process that runs turns can do. */
  readonly "runtime.passive": (d: {
    call: string;
    turnId?: string;
    isOrphaned?: boolean;
    hasFunction?: true;
  }) => ErrorText;
  /** A session is opened or made with an id that cannot be used. */
  readonly "session.id": (d: {
    id: string;
    problem: string;
  }) => ErrorText;
  /** The session is needed and was never made. */
  readonly "session.unknown": (d: {
    id: string;
  }) => ErrorText;
  /** A plugin uses jobs or monitors of a session out of its reach. */
  readonly "session.foreign": (d: {
    id: string;
    from: string;
    plugin: string;
  }) => ErrorText;
  /** Plugin states that are given to a new session cannot be used. */
  readonly "session.states": (d: {
    plugin: string;
    problem: string;
  }) => ErrorText;
  /** The session was deleted, here or by another process. */
  readonly "session.deleted": (d: {
    id: string;
  }) => ErrorText;
  /** A session is made under the id of another one. */
  readonly "session.exists": (d: {
    id: string;
  }) => ErrorText;
  /** A session is opened or taken for an owner, and it belongs to another owner or to none. */
  readonly "session.owner": (d: {
    id: string;
  }) => ErrorText;
  /** The turn of the session is parked on a wait, and the call needs a session without a turn. */
  readonly "session.waiting": (d: {
    id: string;
    what: string;
  }) => ErrorText;
  /** A handle is used after its `close()`. */
  readonly "session.closed": (d: {
    id: string;
  }) => ErrorText;
  /** The session runs a turn, and the call needs a session without one, for example to delete it. */
  readonly "session.busy": (d: {
    id: string;
    holder: string;
  }) => ErrorText;
  /** The input of a turn, or another value that a call takes, cannot be used. */
  readonly "input.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** An idempotency key is used a second time, with another input. */
  readonly "input.conflict": (d: {
    key: string;
  }) => ErrorText;
  /** The result of an input is awaited that was withdrawn from the queue. */
  readonly "input.withdrawn": (d: {
    turnId: string;
  }) => ErrorText;
  /** The queue of the session is at `limits.pendingInputsMax`. */
  readonly "input.full": (d: {
    max: number;
  }) => ErrorText;
  /** A turn or a session gets an extension that none of its plugins declares. */
  readonly "extension.unknown": (d: {
    extension: string;
    known: readonly string[];
  }) => ErrorText;
  /** The value of an extension does not fit the schema, or one extension is given twice. */
  readonly "extension.invalid": (d: {
    extension: string;
    plugin: string;
    problem: string;
  }) => ErrorText;
  /** Extensions are passed with an input that may join a running turn. */
  readonly "extension.refused": (d: {
    where: string;
  }) => ErrorText;
  /** The id belongs to no turn of this session. */
  readonly "turn.unknown": (d: {
    turnId: string;
  }) => ErrorText;
  /** The timeline or the journal of a turn is requested, and its journal is not kept. */
  readonly "turn.no-journal": (d: {
    turnId: string;
    problem: string;
  }) => ErrorText;
  /** `metadata` of an input is not a JSON object, or it is too large. */
  readonly "metadata.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** `plugins` has two plugins with one id. */
  readonly "plugin.duplicate": (d: {
    plugin: string;
  }) => ErrorText;
  /** A plugin, or what its `setup` returns, has a wrong shape. */
  readonly "plugin.invalid": (d: {
    plugin: string;
    problem: string;
  }) => ErrorText;
  /**
   * The options of a plugin do not fit its schema. `of`: options of one session, or options that are stored with a
   * session and do not fit this version of the plugin.
   */
  readonly "plugin.options": (d: {
    plugin: string;
    problem: string;
    of?: "session" | "stored";
  }) => ErrorText;
  /** The `open` of a plugin throws. */
  readonly "plugin.open": (d: {
    plugin: string;
    problem: string;
  }) => ErrorText;
  /** The `close` of a plugin takes too long. */
  readonly "plugin.close": (d: {
    plugin: string;
    ms: number;
  }) => ErrorText;
  /** The `setup` of a plugin throws, or returns something else than an object of hooks. */
  readonly "plugin.setup": (d: {
    plugin: string;
    problem: string;
  }) => ErrorText;
  /** A session has state of another version of the plugin, and `migrate` is missing or fails. */
  readonly "plugin.migrate": (d: {
    plugin: string;
    from: string;
    to: string;
    problem: string;
  }) => ErrorText;
  /** `setup` returns a key that is the name of no hook. */
  readonly "hook.unknown": (d: {
    plugin: string;
    hook: string;
    known: readonly string[];
    nearest?: string;
  }) => ErrorText;
  /** A hook returns a directive that this hook does not allow. */
  readonly "hook.directive": (d: {
    plugin: string;
    hook: string;
    directive: string;
    allowed: readonly string[];
  }) => ErrorText;
  /** A hook returns something that the runtime cannot use. */
  readonly "hook.answer": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => ErrorText;
  /** Two plugins fill a slot that holds one, for example two protocols. */
  readonly "hook.exclusive": (d: {
    hook: string;
    plugins: readonly string[];
  }) => ErrorText;
  /** Two gates replace the same thing of a call with different values. The call is denied. */
  readonly "hook.contested": (d: {
    hook: string;
    plugins: readonly [string, string];
    tool: string;
    what: string;
  }) => ErrorText;
  /** A gate is bound to a tool object, and the session has another tool of that name. */
  readonly "hook.other-tool": (d: {
    plugin: string;
    hook: string;
    tool: string;
  }) => ErrorText;
  /** A session gets an extension that its protocol takes only with a turn. */
  readonly "protocol.extension": (d: {
    protocol: string;
    extension: string;
  }) => ErrorText;
  /** A slot that every session needs is empty. */
  readonly "hook.missing": (d: {
    hook: string;
  }) => ErrorText;
  /** A hook takes longer than its deadline. */
  readonly "hook.deadline": (d: {
    plugin: string;
    hook: string;
    ms: number;
  }) => ErrorText;
  /** A hook throws. */
  readonly "hook.failed": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => ErrorText;
  /** A plugin writes a state that does not fit its schema or is not JSON. */
  readonly "state.invalid": (d: {
    plugin: string;
    problem: string;
  }) => ErrorText;
  /** A plugin writes its state where other calls may run at the same time. */
  readonly "state.parallel": (d: {
    plugin: string;
    where: string;
  }) => ErrorText;
  /** A state grows over `limits.stateBytesMax`. */
  readonly "state.too-large": (d: {
    plugin: string;
    bytes: number;
    max: number;
  }) => ErrorText;
  /** A hook or a tool uses a service that it does not have there. */
  readonly "service.unavailable": (d: {
    service: string;
    plugin: string;
  }) => ErrorText;
  /** No installed plugin has a query, command or task of this name. */
  readonly "operation.unknown": (d: {
    name: string;
    known: readonly string[];
    nearest?: string;
    plugin?: string;
  }) => ErrorText;
  /** An operation that needs a session is called with `{ session: null }`. */
  readonly "operation.missing-session": (d: {
    name: string;
  }) => ErrorText;
  /** An operation that has no session is called on one. */
  readonly "operation.unexpected-session": (d: {
    name: string;
  }) => ErrorText;
  /** The input of an operation does not fit its schema. */
  readonly "operation.input": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** The `run` of an operation throws, or its output does not fit its schema. */
  readonly "operation.failed": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** A turn or an operation awaits something that can only run after itself. */
  readonly "operation.reentrant": (d: {
    name: string;
  }) => ErrorText;
  /** The `signal` of an operation is aborted before the operation begins. */
  readonly "operation.cancelled": (d: {
    name: string;
  }) => ErrorText;
  /** A tool is defined with a name that models cannot call. */
  readonly "tool.name": (d: {
    name: string;
  }) => ErrorText;
  /** `defineTool` or `defineToolProvider` gets a wrong definition. */
  readonly "tool.invalid": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** Two sources give a session tools of one name. */
  readonly "tool.duplicate": (d: {
    name: string;
    sources: readonly string[];
  }) => ErrorText;
  /** The session has no tool of this name. */
  readonly "tool.unknown": (d: {
    name: string;
    known: readonly string[];
  }) => ErrorText;
  /** A tool is called that the session has and does not offer now. */
  readonly "tool.unavailable": (d: {
    name: string;
    availability: string;
  }) => ErrorText;
  /** A source of tools cannot be added. */
  readonly "tool.source": (d: {
    source: string;
    problem: string;
  }) => ErrorText;
  /** The tools of the session changed after the state that is imported was exported. */
  readonly "tool.generation": (d: {
    expected: number;
    actual: number;
  }) => ErrorText;
  /** The arguments of a call do not fit the schema of the tool. */
  readonly "tool.arguments": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** The `execute` of a tool throws. */
  readonly "tool.failed": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** A call takes longer than `timeoutMs` of the tool or `limits.toolMs`. */
  readonly "tool.timeout": (d: {
    name: string;
    ms: number;
  }) => ErrorText;
  /** The turn is cancelled while a call runs or waits to run. */
  readonly "tool.cancelled": (d: {
    name: string;
  }) => ErrorText;
  /** A gate or a person denies a call. */
  readonly "tool.denied": (d: {
    name: string;
    reason: string;
  }) => ErrorText;
  /** A process ends while a call runs, and the tool does not allow a rerun. */
  readonly "tool.interrupted": (d: {
    name: string;
  }) => ErrorText;
  /** A tool returns something that cannot be a result. */
  readonly "tool.result": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** A reply has more calls than `limits.callsPerRoundMax`. */
  readonly "tool.too-many": (d: {
    max: number;
  }) => ErrorText;
  /** A schema cannot be used: it is neither a Standard Schema nor JSON Schema, it is asynchronous, or it is wrong. */
  readonly "schema.invalid": (d: {
    of: string;
    problem: string;
  }) => ErrorText;
  /** A model needs the schema as JSON Schema, and its library cannot make that. */
  readonly "schema.undescribed": (d: {
    of: string;
  }) => ErrorText;
  /** Traced when a session is opened whose earlier turns used another model than the runtime's default of now. */
  readonly "model.changed": (d: {
    expected: string;
    actual: string;
  }) => ErrorText;
  /** A session names a model, and the runtime has another one and no `models` that finds models by their names. */
  readonly "provider.mismatch": (d: {
    expected: string;
    actual: string;
  }) => ErrorText;
  /** A model is named, and the runtime has no `models` that finds a model by its name. */
  readonly "provider.unconfigured": (d: {
    name: string;
  }) => ErrorText;
  /** `models` finds no model of this name, or the package or the key of its provider is missing. */
  readonly "provider.unavailable": (d: {
    name: string;
    problem: string;
  }) => ErrorText;
  /** The model call failed, after all retries. The message names the class of the failure. */
  readonly "provider.failed": (d: {
    route: string;
    class: string;
    problem: string;
  }) => ErrorText;
  /** A reply has neither text nor calls. */
  readonly "provider.empty": (d: {
    route: string;
  }) => ErrorText;
  /** An optional package is missing, or cannot be loaded. */
  readonly "package.unavailable": (d: {
    package: string;
    problem: string;
  }) => ErrorText;
  /** The session got other commits during the turn, so the turn is kept as a branch. */
  readonly "store.stale": (d: {
    expected: string;
    actual: string;
  }) => ErrorText;
  /** A host commits a turn twice, with different endings. The first one is kept. */
  readonly "store.conflict": (d: {
    turnId: string;
  }) => ErrorText;
  /** What the store reads is incomplete, or its checksum is wrong. Nothing is changed. */
  readonly "store.corrupt": (d: {
    item: string;
    problem: string;
  }) => ErrorText;
  /** The file of a store cannot be opened or made. */
  readonly "store.path": (d: {
    path: string;
    problem: string;
  }) => ErrorText;
  /** The file or the schema belongs to another program. Nothing is changed. */
  readonly "store.foreign": (d: {
    path: string;
  }) => ErrorText;
  /** A later version of Bowline wrote the database. Nothing is changed. */
  readonly "store.newer": (d: {
    path: string;
    found: number;
    known: number;
  }) => ErrorText;
  /** The server is too old. Nothing is changed. */
  readonly "store.old": (d: {
    store: string;
    found: number;
    needed: number;
  }) => ErrorText;
  /** `postgres(…)` gets something else than a usable URL or a pool. */
  readonly "store.url": (d: {
    problem: string;
  }) => ErrorText;
  /** The server cannot be reached, or a connection breaks, for longer than `retryMs`. */
  readonly "store.unreachable": (d: {
    store: string;
    problem: string;
    ms: number;
  }) => ErrorText;
  /** All connections are in use. Nothing is written. */
  readonly "store.exhausted": (d: {
    store: string;
    problem: string;
  }) => ErrorText;
  /** The server refuses the connection, or the user lacks permissions that the store needs. Nothing is written. */
  readonly "store.refused": (d: {
    store: string;
    problem: string;
    isSocket?: true;
  }) => ErrorText;
  /** Another connection holds the database for longer than `busyTimeoutMs`. Nothing is written. */
  readonly "store.locked": (d: {
    path: string;
    ms: number;
  }) => ErrorText;
  /** The store removes bytes that nothing refers to; a reference to them came too late. Nothing is written. */
  readonly "store.swept": (d: {
    hash: string;
  }) => ErrorText;
  /** The database is to be compacted while other processes work on it. Nothing is changed. */
  readonly "store.in-use": (d: {
    path: string;
    turns: number;
  }) => ErrorText;
  /** The disk or the quota is full. Nothing is written. */
  readonly "store.full": (d: {
    path: string;
  }) => ErrorText;
  /** The file, its folder or the server allows no writes. */
  readonly "store.readonly": (d: {
    path: string;
  }) => ErrorText;
  /** The disk, the file system or the server fails in another way. */
  readonly "store.failed": (d: {
    path: string;
    problem: string;
  }) => ErrorText;
  /** This process stood still for so long that another one took over its session or job. What it still does is not stored. */
  readonly "lease.lost": (d: {
    sessionId: string;
    generation: number;
  }) => ErrorText;
  /** An operation id is used a second time, with other content. */
  readonly "append.conflict": (d: {
    operation: string;
  }) => ErrorText;
  /** A fork, a branch or a page of the history begins at a node that this session does not have. */
  readonly "fork.unknown": (d: {
    node: string;
  }) => ErrorText;
  /** A fork is made between a tool call and its result. */
  readonly "fork.unpaired": (d: {
    node: string;
    legal: readonly string[];
  }) => ErrorText;
  /** A cursor of one session is used to read another one. */
  readonly "cursor.foreign": (d: {
    session?: string;
  }) => ErrorText;
  /** A cursor is malformed, or points to nothing. */
  readonly "cursor.unknown": (d: {
    cursor: string;
  }) => ErrorText;
  /** The id or the key belongs to no open wait. */
  readonly "wait.unknown": (d: {
    id?: string;
    event?: string;
  }) => ErrorText;
  /** An answer comes after the deadline of its wait. */
  readonly "wait.expired": (_: object) => ErrorText;
  /** An answer has the wrong shape, or does not fit the schema of the wait. */
  readonly "wait.answer": (d: {
    wants: string;
    problem: string;
  }) => ErrorText;
  /** `--app` names a file that does not exist. */
  readonly "app.missing": (d: {
    path: string;
  }) => ErrorText;
  /** The module of `--app` throws while it is loaded. */
  readonly "app.failed": (d: {
    path: string;
    problem: string;
  }) => ErrorText;
  /** The module of `--app` exports something else than a runtime. */
  readonly "app.invalid": (d: {
    path: string;
    found: string;
  }) => ErrorText;
  /** The id belongs to no job. */
  readonly "job.unknown": (d: {
    id: string;
  }) => ErrorText;
  /** A job of another session is used. */
  readonly "job.foreign": (d: {
    id: string;
    session: string;
  }) => ErrorText;
  /** A job that has ended is changed, awaited by a signal, or transferred. */
  readonly "job.over": (d: {
    id: string;
    state: string;
  }) => ErrorText;
  /** A job is started under the id of another one. */
  readonly "job.conflict": (d: {
    id: string;
  }) => ErrorText;
  /** The session is at `limits.jobsMax`. */
  readonly "job.full": (d: {
    max: number;
  }) => ErrorText;
  /** A job with a function is completed, or its state is changed, in another process than the one that runs it. */
  readonly "job.bound": (d: {
    id: string;
  }) => ErrorText;
  /** A job is awaited in the hook or tool that started it. It starts when that one has returned. */
  readonly "job.unstarted": (d: {
    id: string;
  }) => ErrorText;
  /** A signal is not declared by the job, or its payload does not fit. */
  readonly "job.signal": (d: {
    id: string;
    signal: string;
    problem: string;
  }) => ErrorText;
  /** `spawn`, or a call inside a job, gets something that it cannot use. */
  readonly "job.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** The work of a job throws. */
  readonly "job.failed": (d: {
    id: string;
    problem: string;
  }) => ErrorText;
  /** A job is cancelled. */
  readonly "job.cancelled": (d: {
    id: string;
    reason: string;
  }) => ErrorText;
  /** A job waits durably, and its promise in this process ends. */
  readonly "job.parked": (d: {
    id: string;
  }) => ErrorText;
  /** The process that ran the function of a job is gone. */
  readonly "job.abandoned": (d: {
    id: string;
  }) => ErrorText;
  /** A job ends its process again and again. */
  readonly "job.crash-loop": (d: {
    id: string;
    max: number;
  }) => ErrorText;
  /** A job is at the limit of recorded steps. */
  readonly "job.steps": (d: {
    max: number;
  }) => ErrorText;
  /** A job that was resumed takes another path than the one it recorded. */
  readonly "job.diverged": (d: {
    id: string;
    step: string;
  }) => ErrorText;
  /** An event is used that no installed plugin declares. */
  readonly "trigger.unknown": (d: {
    event: string;
    known: readonly string[];
  }) => ErrorText;
  /** The payload of an event is not JSON, or does not fit the schema of the event. */
  readonly "trigger.payload": (d: {
    event: string;
    problem: string;
  }) => ErrorText;
  /** A field of a subscription or of `defineTrigger` cannot be used. */
  readonly "trigger.invalid": (d: {
    field: string;
    problem: string;
  }) => ErrorText;
  /** Another call changed or removed the subscription in the meantime, or made another one with its id. */
  readonly "trigger.conflict": (d: {
    id: string;
    revision?: number;
  }) => ErrorText;
  /** The session is at `limits.subscriptionsMax`. */
  readonly "trigger.full": (d: {
    max: number;
  }) => ErrorText;
  /** The session has no subscription of this id. */
  readonly "trigger.missing": (d: {
    id: string;
    session: string;
  }) => ErrorText;
  /** A subscription that waits for no time is to run now. */
  readonly "trigger.no-schedule": (d: {
    id: string;
    waitsFor: string;
  }) => ErrorText;
  /** A disabled subscription is to run now. */
  readonly "trigger.disabled": (d: {
    id: string;
  }) => ErrorText;
  /** One key is used for two different events. */
  readonly "trigger.occurred": (d: {
    event: string;
    key: string;
  }) => ErrorText;
  /** The subscriptions change so often that an event cannot be stored. */
  readonly "trigger.busy": (d: {
    event: string;
  }) => ErrorText;
  /** A webhook gets a request that is not a POST. */
  readonly "webhook.method": (d: {
    method: string;
  }) => ErrorText;
  /** The signature of a request to a webhook is missing or wrong. */
  readonly "webhook.signature": (_: object) => ErrorText;
  /** The body of a request to a webhook cannot be read as an event. */
  readonly "webhook.body": (d: {
    problem: string;
  }) => ErrorText;
  /** The body of a request is longer than `bytesMax` of the webhook. */
  readonly "webhook.bytes": (d: {
    max: number;
  }) => ErrorText;
  /** The event of a webhook could not be stored. */
  readonly "webhook.failed": (_: object) => ErrorText;
  /** A request has no token, or a wrong one. */
  readonly "server.unauthorized": (_: object) => ErrorText;
  /** The caller is not allowed to do this. */
  readonly "server.forbidden": (d: {
    action: string;
  }) => ErrorText;
  /** The request names a host that the server does not have. */
  readonly "server.host": (d: {
    host: string;
  }) => ErrorText;
  /** A page of another origin sends the request. */
  readonly "server.origin": (d: {
    origin: string;
  }) => ErrorText;
  /** There is no such path, or not with this method. */
  readonly "server.route": (d: {
    method: string;
    path: string;
  }) => ErrorText;
  /** The body is longer than the bound. */
  readonly "server.body": (d: {
    max: number;
  }) => ErrorText;
  /** The body is not declared as JSON. */
  readonly "server.media": (d: {
    type: string;
  }) => ErrorText;
  /** The body or a parameter cannot be read. */
  readonly "server.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** The caller has too many open streams, or changes too much in a minute. */
  readonly "server.busy": (d: {
    limit: string;
    max: number;
  }) => ErrorText;
  /** The server would be reachable from other machines without authentication. */
  readonly "server.bind": (d: {
    host: string;
  }) => ErrorText;
  /** The port cannot be used. */
  readonly "server.listen": (d: {
    problem: string;
  }) => ErrorText;
  /** A fault of the server. `onError` of serve() has it. */
  readonly "server.failed": (_: object) => ErrorText;
  /** The session has no monitor of this id. */
  readonly "monitor.unknown": (d: {
    id: string;
    session: string;
  }) => ErrorText;
  /** The options of a monitor cannot be used. */
  readonly "monitor.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** A monitor is started under the id of another one, or again with other options. */
  readonly "monitor.conflict": (d: {
    id: string;
  }) => ErrorText;
  /** The session runs as many monitors as it may. */
  readonly "monitor.full": (d: {
    max: number;
  }) => ErrorText;
  /** The command of a monitor cannot start, or ends with an error. */
  readonly "monitor.failed": (d: {
    problem: string;
  }) => ErrorText;
  /** The command of a monitor runs longer than `timeoutMs`. */
  readonly "monitor.timeout": (d: {
    ms: number;
  }) => ErrorText;
  /** The turn made as many model calls as `limits.roundsMax` allows. */
  readonly "limit.rounds": (d: {
    max: number;
  }) => ErrorText;
  /** In `limits.noProgressMax` rounds in a row, no call succeeded. */
  readonly "limit.no-progress": (d: {
    max: number;
  }) => ErrorText;
  /** The turn was compacted as often as `limits.framesMax` allows. */
  readonly "limit.frames": (d: {
    max: number;
  }) => ErrorText;
  /** The conversation is longer than the model's context window, and no plugin could shorten it. */
  readonly "limit.context": (_: object) => ErrorText;
  /** A turn or a session used more tokens than its budget allows. */
  readonly "limit.tokens": (d: {
    of: string;
    spent: number;
    max: number;
  }) => ErrorText;
  /** A turn or a session cost more than its budget allows. */
  readonly "limit.money": (d: {
    of: string;
    spent: number;
    max: number;
  }) => ErrorText;
  /** A budget with `unknown: "stop"` meets a model that reports no usage. */
  readonly "limit.usage-unknown": (d: {
    calls: number;
  }) => ErrorText;
  /** An issue, not an ending: a gate is bound to a tool name that the session does not have. */
  readonly "gate.tool": (d: {
    tool: string;
    nearest?: string;
  }) => ErrorText;
  /** An issue, not an ending: the budget counts with an estimate. */
  readonly "usage.estimated": (d: {
    model: string;
  }) => ErrorText;
  /** A budget in money meets a model without a price. */
  readonly "price.unknown": (d: {
    model: string;
  }) => ErrorText;
  /** A plugin compacts a conversation to at least its old size. */
  readonly "compact.useless": (d: {
    plugin: string;
    before: number;
    after: number;
  }) => ErrorText;
  /** An input, a reply, a result or a prompt is longer than its limit. */
  readonly "limit.bytes": (d: {
    what: string;
    bytes: number;
    max: number;
  }) => ErrorText;
  /** The model stopped in the middle of its reply, because the reply was too long. */
  readonly "reply.truncated": (_: object) => ErrorText;
  /** A `stream` hook returned `{ abort: true }`. */
  readonly "reply.aborted": (_: object) => ErrorText;
  /** The provider reports that the model refused, or that a content filter stopped it. */
  readonly "reply.refused": (_: object) => ErrorText;
  /** The turn has an output schema, and the model gave nothing that fits it. */
  readonly "output.invalid": (d: {
    problem: string;
  }) => ErrorText;
  /** The runtime is closed while the result of a turn is awaited. */
  readonly "turn.left": (d: {
    turnId: string;
  }) => ErrorText;
  /** `text()` is called for a turn that ended without an answer. */
  readonly "turn.unanswered": (d: Unanswered) => ErrorText;
  /** `cancel()` or an aborted signal ended the turn. */
  readonly "turn.cancelled": (d: {
    reason: string;
  }) => ErrorText;
  /** The recorded events of a turn do not fit this version of the protocol or the runtime. */
  readonly "turn.diverged": (d: {
    effect: string;
    kind: string;
  }) => ErrorText;
  /** A turn ends its process again and again. */
  readonly "turn.crash-loop": (d: {
    max: number;
  }) => ErrorText;
  /** A turn was not resumed for longer than `limits.turnAgeMs`. */
  readonly "turn.expired": (d: {
    days: number;
  }) => ErrorText;
  /** A turn cannot be resumed in this process, because its model is missing here. */
  readonly "turn.model": (d: {
    turnId: string;
    model: string;
    problem: string;
  }) => ErrorText;
  /** A turn cannot be resumed in this process, because another kind of host began it. */
  readonly "turn.host": (d: {
    expected: string;
    actual: string;
  }) => ErrorText;
  /** The protocol throws, or breaks its contract. */
  readonly "protocol.failed": (d: {
    protocol: string;
    problem: string;
  }) => ErrorText;
  /** A turn is to run code, and the session has no executor. */
  readonly "code.unavailable": (_: object) => ErrorText;
  /** The executor that runs code fails. The session keeps the conversation. */
  readonly "code.stopped": (d: {
    problem: string;
  }) => ErrorText;
  /** The heap of the session's code was written by another version of the sandbox. */
  readonly "code.engine": (d: {
    expected: string;
    actual: string;
  }) => ErrorText;
  /** The heap of the session's code is incomplete, or its checksum is wrong. */
  readonly "code.damaged": (d: {
    problem: string;
  }) => ErrorText;
  /** A sandbox ended while code ran in it. */
  readonly "code.lost": (_: object) => ErrorText;
  /** Code that was resumed takes another path than the one it recorded. */
  readonly "code.diverged": (d: {
    cell: string;
    problem: string;
  }) => ErrorText;
};
/** The codes of all errors, such as `session.unknown`. */
type Code = keyof typeof ERRORS;
type Details<C extends Code> = Parameters<(typeof ERRORS)[C]>[0];
/**
 * An error with a `code` to match, `details` to log, a `hint` to act on, and `retry` to tell whether trying again can
 * help.
 */
declare class RuntimeError<C extends Code = Code> extends Error {
  readonly code: C;
  readonly details: Details<C>;
  readonly hint: string;
  readonly retry: Retry;
  constructor(code: C, details: Details<C>, options?: ErrorOptions);
}
/** Whether this is a `RuntimeError` with this code. Narrows `details` too: `hasCode(e, "tool.unknown") && e.details.known`. */
declare const hasCode: <C extends Code>(error: unknown, code: C) => error is RuntimeError<C>;
export { Code, RuntimeError, hasCode };
