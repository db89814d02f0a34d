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
interface Said {
  readonly message: string;
  readonly hint: string;
  readonly retry?: Retry;
}
declare const ERRORS: {
  /** An option has a value that it cannot have. */
  readonly "options.invalid": (d: {
    option: string;
    problem: string;
  }) => Said;
  /** An option has a name that does not exist, for example because it is misspelled. */
  readonly "options.unknown": (d: {
    where: string;
    name: string;
    nearest?: string;
  }) => Said;
  /** Something is called on a runtime or a store after it was closed. */
  readonly "runtime.closed": (_: object) => Said;
  /** A runtime with `recover: "never"` is asked for work that only a process that runs turns can do. */
  readonly "runtime.passive": (d: {
    call: string;
    turnId?: string;
    isOrphaned?: boolean;
    hasFunction?: true;
  }) => Said;
  /** A session is opened or made with an id that cannot be used. */
  readonly "session.id": (d: {
    id: string;
    problem: string;
  }) => Said;
  /** The session is needed and was never made. */
  readonly "session.unknown": (d: {
    id: string;
  }) => Said;
  /** A plugin uses jobs or monitors of a session out of its reach. */
  readonly "session.foreign": (d: {
    id: string;
    from: string;
    plugin: string;
  }) => Said;
  /** Plugin states that are given to a new session cannot be used. */
  readonly "session.states": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /** The session was deleted, here or by another process. */
  readonly "session.deleted": (d: {
    id: string;
  }) => Said;
  /** A session is made under the id of another one. */
  readonly "session.exists": (d: {
    id: string;
  }) => Said;
  /** A session is opened or taken for an owner, and it belongs to another owner or to none. */
  readonly "session.owner": (d: {
    id: string;
  }) => Said;
  /** The turn of the session is parked on a wait, and the call needs a session without a turn. */
  readonly "session.waiting": (d: {
    id: string;
    what: string;
  }) => Said;
  /** A handle is used after its `close()`. */
  readonly "session.closed": (d: {
    id: string;
  }) => Said;
  /** The session runs a turn, and the call needs a session without one, for example to delete it. */
  readonly "session.busy": (d: {
    id: string;
    holder: string;
  }) => Said;
  /** The input of a turn, or another value that a call takes, cannot be used. */
  readonly "input.invalid": (d: {
    problem: string;
  }) => Said;
  /** An idempotency key is used a second time, with another input. */
  readonly "input.conflict": (d: {
    key: string;
  }) => Said;
  /** The result of an input is awaited that was withdrawn from the queue. */
  readonly "input.withdrawn": (d: {
    turnId: string;
  }) => Said;
  /** The queue of the session is at `limits.pendingInputsMax`. */
  readonly "input.full": (d: {
    max: number;
  }) => Said;
  /** A turn or a session gets an extension that none of its plugins declares. */
  readonly "extension.unknown": (d: {
    extension: string;
    known: readonly string[];
  }) => Said;
  /** The value of an extension does not fit the schema, or one extension is given twice. */
  readonly "extension.invalid": (d: {
    extension: string;
    plugin: string;
    problem: string;
  }) => Said;
  /** Extensions are passed with an input that may join a running turn. */
  readonly "extension.refused": (d: {
    where: string;
  }) => Said;
  /** The id belongs to no turn of this session. */
  readonly "turn.unknown": (d: {
    turnId: string;
  }) => Said;
  /** The timeline or the journal of a turn is requested, and its journal is not kept. */
  readonly "turn.no-journal": (d: {
    turnId: string;
    problem: string;
  }) => Said;
  /** `metadata` of an input is not a JSON object, or it is too large. */
  readonly "metadata.invalid": (d: {
    problem: string;
  }) => Said;
  /** `plugins` has two plugins with one id. */
  readonly "plugin.duplicate": (d: {
    plugin: string;
  }) => Said;
  /** A plugin, or what its `setup` returns, has a wrong shape. */
  readonly "plugin.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /**
   * The options of a plugin do not fit its schema. `of`: options of one session, or options that are stored with a
   * session and do not fit this version of the plugin.
   */
  readonly "plugin.options": (d: {
    plugin: string;
    problem: string;
    of?: "session" | "stored";
  }) => Said;
  /** The `open` of a plugin throws. */
  readonly "plugin.open": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /** The `close` of a plugin takes too long. */
  readonly "plugin.close": (d: {
    plugin: string;
    ms: number;
  }) => Said;
  /** The `setup` of a plugin throws, or returns something else than an object of hooks. */
  readonly "plugin.setup": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /** A session has state of another version of the plugin, and `migrate` is missing or fails. */
  readonly "plugin.migrate": (d: {
    plugin: string;
    from: string;
    to: string;
    problem: string;
  }) => Said;
  /** `setup` returns a key that is the name of no hook. */
  readonly "hook.unknown": (d: {
    plugin: string;
    hook: string;
    known: readonly string[];
    nearest?: string;
  }) => Said;
  /** A hook returns a directive that this hook does not allow. */
  readonly "hook.directive": (d: {
    plugin: string;
    hook: string;
    directive: string;
    allowed: readonly string[];
  }) => Said;
  /** A hook returns something that the runtime cannot use. */
  readonly "hook.answer": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  /** Two plugins fill a slot that holds one, for example two protocols. */
  readonly "hook.exclusive": (d: {
    hook: string;
    plugins: readonly string[];
  }) => Said;
  /** Two gates replace the same thing of a call with different values. The call is denied. */
  readonly "hook.contested": (d: {
    hook: string;
    plugins: readonly [string, string];
    tool: string;
    what: string;
  }) => Said;
  /** A gate is bound to a tool object, and the session has another tool of that name. */
  readonly "hook.other-tool": (d: {
    plugin: string;
    hook: string;
    tool: string;
  }) => Said;
  /** A session gets an extension that its protocol takes only with a turn. */
  readonly "protocol.extension": (d: {
    protocol: string;
    extension: string;
  }) => Said;
  /** A slot that every session needs is empty. */
  readonly "hook.missing": (d: {
    hook: string;
  }) => Said;
  /** A hook takes longer than its deadline. */
  readonly "hook.deadline": (d: {
    plugin: string;
    hook: string;
    ms: number;
  }) => Said;
  /** A hook throws. */
  readonly "hook.failed": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  /** A plugin writes a state that does not fit its schema or is not JSON. */
  readonly "state.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /** A plugin writes its state where other calls may run at the same time. */
  readonly "state.parallel": (d: {
    plugin: string;
    where: string;
  }) => Said;
  /** A state grows over `limits.stateBytesMax`. */
  readonly "state.too-large": (d: {
    plugin: string;
    bytes: number;
    max: number;
  }) => Said;
  /** A hook or a tool uses a service that it does not have there. */
  readonly "service.unavailable": (d: {
    service: string;
    plugin: string;
  }) => Said;
  /** No installed plugin has a query, command or task of this name. */
  readonly "operation.unknown": (d: {
    name: string;
    known: readonly string[];
    nearest?: string;
    plugin?: string;
  }) => Said;
  /** An operation that needs a session is called with `{ session: null }`. */
  readonly "operation.missing-session": (d: {
    name: string;
  }) => Said;
  /** An operation that has no session is called on one. */
  readonly "operation.unexpected-session": (d: {
    name: string;
  }) => Said;
  /** The input of an operation does not fit its schema. */
  readonly "operation.input": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** The `run` of an operation throws, or its output does not fit its schema. */
  readonly "operation.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** A turn or an operation awaits something that can only run after itself. */
  readonly "operation.reentrant": (d: {
    name: string;
  }) => Said;
  /** The `signal` of an operation is aborted before the operation begins. */
  readonly "operation.cancelled": (d: {
    name: string;
  }) => Said;
  /** A tool is defined with a name that models cannot call. */
  readonly "tool.name": (d: {
    name: string;
  }) => Said;
  /** `defineTool` or `defineToolProvider` gets a wrong definition. */
  readonly "tool.invalid": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** Two sources give a session tools of one name. */
  readonly "tool.duplicate": (d: {
    name: string;
    sources: readonly string[];
  }) => Said;
  /** The session has no tool of this name. */
  readonly "tool.unknown": (d: {
    name: string;
    known: readonly string[];
  }) => Said;
  /** A tool is called that the session has and does not offer now. */
  readonly "tool.unavailable": (d: {
    name: string;
    availability: string;
  }) => Said;
  /** A source of tools cannot be added. */
  readonly "tool.source": (d: {
    source: string;
    problem: string;
  }) => Said;
  /** The tools of the session changed after the state that is imported was exported. */
  readonly "tool.generation": (d: {
    expected: number;
    actual: number;
  }) => Said;
  /** The arguments of a call do not fit the schema of the tool. */
  readonly "tool.arguments": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** The `execute` of a tool throws. */
  readonly "tool.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** A call takes longer than `timeoutMs` of the tool or `limits.toolMs`. */
  readonly "tool.timeout": (d: {
    name: string;
    ms: number;
  }) => Said;
  /** The turn is cancelled while a call runs or waits to run. */
  readonly "tool.cancelled": (d: {
    name: string;
  }) => Said;
  /** A gate or a person denies a call. */
  readonly "tool.denied": (d: {
    name: string;
    reason: string;
  }) => Said;
  /** A process ends while a call runs, and the tool does not allow a rerun. */
  readonly "tool.interrupted": (d: {
    name: string;
  }) => Said;
  /** A tool returns something that cannot be a result. */
  readonly "tool.result": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** A reply has more calls than `limits.callsPerRoundMax`. */
  readonly "tool.too-many": (d: {
    max: number;
  }) => Said;
  /** A schema cannot be used: it is neither a Standard Schema nor JSON Schema, it is asynchronous, or it is wrong. */
  readonly "schema.invalid": (d: {
    of: string;
    problem: string;
  }) => Said;
  /** A model needs the schema as JSON Schema, and its library cannot make that. */
  readonly "schema.undescribed": (d: {
    of: string;
  }) => Said;
  /** Traced when a session is opened whose earlier turns used another model than the runtime's default of now. */
  readonly "model.changed": (d: {
    expected: string;
    actual: string;
  }) => Said;
  /** A session names a model, and the runtime has another one and no `models` that finds models by their names. */
  readonly "provider.mismatch": (d: {
    expected: string;
    actual: string;
  }) => Said;
  /** A model is named, and the runtime has no `models` that finds a model by its name. */
  readonly "provider.unconfigured": (d: {
    name: string;
  }) => Said;
  /** `models` finds no model of this name, or the package or the key of its provider is missing. */
  readonly "provider.unavailable": (d: {
    name: string;
    problem: string;
  }) => Said;
  /** The model call failed, after all retries. The message names the class of the failure. */
  readonly "provider.failed": (d: {
    route: string;
    class: string;
    problem: string;
  }) => Said;
  /** A reply has neither text nor calls. */
  readonly "provider.empty": (d: {
    route: string;
  }) => Said;
  /** An optional package is missing, or cannot be loaded. */
  readonly "package.unavailable": (d: {
    package: string;
    problem: string;
  }) => Said;
  /** The session got other commits during the turn, so the turn is kept as a branch. */
  readonly "store.stale": (d: {
    expected: string;
    actual: string;
  }) => Said;
  /** A host commits a turn twice, with different endings. The first one is kept. */
  readonly "store.conflict": (d: {
    turnId: string;
  }) => Said;
  /** What the store reads is incomplete, or its checksum is wrong. Nothing is changed. */
  readonly "store.corrupt": (d: {
    item: string;
    problem: string;
  }) => Said;
  /** The file of a store cannot be opened or made. */
  readonly "store.path": (d: {
    path: string;
    problem: string;
  }) => Said;
  /** The file or the schema belongs to another program. Nothing is changed. */
  readonly "store.foreign": (d: {
    path: string;
  }) => Said;
  /** A later version of Bowline wrote the database. Nothing is changed. */
  readonly "store.newer": (d: {
    path: string;
    found: number;
    known: number;
  }) => Said;
  /** The server is too old. Nothing is changed. */
  readonly "store.old": (d: {
    store: string;
    found: number;
    needed: number;
  }) => Said;
  /** `postgres(…)` gets something else than a usable URL or a pool. */
  readonly "store.url": (d: {
    problem: string;
  }) => Said;
  /** The server cannot be reached, or a connection breaks, for longer than `retryMs`. */
  readonly "store.unreachable": (d: {
    store: string;
    problem: string;
    ms: number;
  }) => Said;
  /** All connections are in use. Nothing is written. */
  readonly "store.exhausted": (d: {
    store: string;
    problem: string;
  }) => Said;
  /** The server refuses the connection, or the user lacks permissions that the store needs. Nothing is written. */
  readonly "store.refused": (d: {
    store: string;
    problem: string;
    isSocket?: true;
  }) => Said;
  /** Another connection holds the database for longer than `busyTimeoutMs`. Nothing is written. */
  readonly "store.locked": (d: {
    path: string;
    ms: number;
  }) => Said;
  /** The store removes bytes that nothing refers to; a reference to them came too late. Nothing is written. */
  readonly "store.swept": (d: {
    hash: string;
  }) => Said;
  /** The database is to be compacted while other processes work on it. Nothing is changed. */
  readonly "store.in-use": (d: {
    path: string;
    turns: number;
  }) => Said;
  /** The disk or the quota is full. Nothing is written. */
  readonly "store.full": (d: {
    path: string;
  }) => Said;
  /** The file, its folder or the server allows no writes. */
  readonly "store.readonly": (d: {
    path: string;
  }) => Said;
  /** The disk, the file system or the server fails in another way. */
  readonly "store.failed": (d: {
    path: string;
    problem: string;
  }) => Said;
  /** This process stood still for so long that another one took over its session or job. What it still does is not stored. */
  readonly "lease.lost": (d: {
    sessionId: string;
    generation: number;
  }) => Said;
  /** An operation id is used a second time, with other content. */
  readonly "append.conflict": (d: {
    operation: string;
  }) => Said;
  /** A fork, a branch or a page of the history begins at a node that this session does not have. */
  readonly "fork.unknown": (d: {
    node: string;
  }) => Said;
  /** A fork is made between a tool call and its result. */
  readonly "fork.unpaired": (d: {
    node: string;
    legal: readonly string[];
  }) => Said;
  /** A cursor of one session is used to read another one. */
  readonly "cursor.foreign": (d: {
    session?: string;
  }) => Said;
  /** A cursor is malformed, or points to nothing. */
  readonly "cursor.unknown": (d: {
    cursor: string;
  }) => Said;
  /** The id or the key belongs to no open wait. */
  readonly "wait.unknown": (d: {
    id?: string;
    event?: string;
  }) => Said;
  /** An answer comes after the deadline of its wait. */
  readonly "wait.expired": (_: object) => Said;
  /** An answer has the wrong shape, or does not fit the schema of the wait. */
  readonly "wait.answer": (d: {
    wants: string;
    problem: string;
  }) => Said;
  /** `--app` names a file that does not exist. */
  readonly "app.missing": (d: {
    path: string;
  }) => Said;
  /** The module of `--app` throws while it is loaded. */
  readonly "app.failed": (d: {
    path: string;
    problem: string;
  }) => Said;
  /** The module of `--app` exports something else than a runtime. */
  readonly "app.invalid": (d: {
    path: string;
    found: string;
  }) => Said;
  /** The id belongs to no job. */
  readonly "job.unknown": (d: {
    id: string;
  }) => Said;
  /** A job of another session is used. */
  readonly "job.foreign": (d: {
    id: string;
    session: string;
  }) => Said;
  /** A job that has ended is changed, awaited by a signal, or transferred. */
  readonly "job.over": (d: {
    id: string;
    state: string;
  }) => Said;
  /** A job is started under the id of another one. */
  readonly "job.conflict": (d: {
    id: string;
  }) => Said;
  /** The session is at `limits.jobsMax`. */
  readonly "job.full": (d: {
    max: number;
  }) => Said;
  /** A job with a function is completed, or its state is changed, in another process than the one that runs it. */
  readonly "job.bound": (d: {
    id: string;
  }) => Said;
  /** A job is awaited in the hook or tool that started it. It starts when that one has returned. */
  readonly "job.unstarted": (d: {
    id: string;
  }) => Said;
  /** A signal is not declared by the job, or its payload does not fit. */
  readonly "job.signal": (d: {
    id: string;
    signal: string;
    problem: string;
  }) => Said;
  /** `spawn`, or a call inside a job, gets something that it cannot use. */
  readonly "job.invalid": (d: {
    problem: string;
  }) => Said;
  /** The work of a job throws. */
  readonly "job.failed": (d: {
    id: string;
    problem: string;
  }) => Said;
  /** A job is cancelled. */
  readonly "job.cancelled": (d: {
    id: string;
    reason: string;
  }) => Said;
  /** A job waits durably, and its promise in this process ends. */
  readonly "job.parked": (d: {
    id: string;
  }) => Said;
  /** The process that ran the function of a job is gone. */
  readonly "job.abandoned": (d: {
    id: string;
  }) => Said;
  /** A job ends its process again and again. */
  readonly "job.crash-loop": (d: {
    id: string;
    max: number;
  }) => Said;
  /** A job is at the limit of recorded steps. */
  readonly "job.steps": (d: {
    max: number;
  }) => Said;
  /** A job that was resumed takes another path than the one it recorded. */
  readonly "job.diverged": (d: {
    id: string;
    step: string;
  }) => Said;
  /** An event is used that no installed plugin declares. */
  readonly "trigger.unknown": (d: {
    event: string;
    known: readonly string[];
  }) => Said;
  /** The payload of an event is not JSON, or does not fit the schema of the event. */
  readonly "trigger.payload": (d: {
    event: string;
    problem: string;
  }) => Said;
  /** A field of a subscription or of `defineTrigger` cannot be used. */
  readonly "trigger.invalid": (d: {
    field: string;
    problem: string;
  }) => Said;
  /** Another call changed or removed the subscription in the meantime, or made another one with its id. */
  readonly "trigger.conflict": (d: {
    id: string;
    revision?: number;
  }) => Said;
  /** The session is at `limits.subscriptionsMax`. */
  readonly "trigger.full": (d: {
    max: number;
  }) => Said;
  /** The session has no subscription of this id. */
  readonly "trigger.missing": (d: {
    id: string;
    session: string;
  }) => Said;
  /** One key is used for two different events. */
  readonly "trigger.occurred": (d: {
    event: string;
    key: string;
  }) => Said;
  /** The subscriptions change so often that an event cannot be stored. */
  readonly "trigger.busy": (d: {
    event: string;
  }) => Said;
  /** A webhook gets a request that is not a POST. */
  readonly "webhook.method": (d: {
    method: string;
  }) => Said;
  /** The signature of a request to a webhook is missing or wrong. */
  readonly "webhook.signature": (_: object) => Said;
  /** The body of a request to a webhook cannot be read as an event. */
  readonly "webhook.body": (d: {
    problem: string;
  }) => Said;
  /** The body of a request is longer than `bytesMax` of the webhook. */
  readonly "webhook.bytes": (d: {
    max: number;
  }) => Said;
  /** The event of a webhook could not be stored. */
  readonly "webhook.failed": (_: object) => Said;
  /** A request has no token, or a wrong one. */
  readonly "server.unauthorized": (_: object) => Said;
  /** The caller may not do this. */
  readonly "server.forbidden": (d: {
    action: string;
  }) => Said;
  /** The request names a host that the server does not have. */
  readonly "server.host": (d: {
    host: string;
  }) => Said;
  /** A page of another origin sends the request. */
  readonly "server.origin": (d: {
    origin: string;
  }) => Said;
  /** There is no such path, or not with this method. */
  readonly "server.route": (d: {
    method: string;
    path: string;
  }) => Said;
  /** The body is longer than the bound. */
  readonly "server.body": (d: {
    max: number;
  }) => Said;
  /** The body is not declared as JSON. */
  readonly "server.media": (d: {
    type: string;
  }) => Said;
  /** The body or a parameter cannot be read. */
  readonly "server.invalid": (d: {
    problem: string;
  }) => Said;
  /** The caller has too many open streams, or changes too much in a minute. */
  readonly "server.busy": (d: {
    limit: string;
    max: number;
  }) => Said;
  /** The server would be reachable from other machines without authentication. */
  readonly "server.bind": (d: {
    host: string;
  }) => Said;
  /** The port cannot be used. */
  readonly "server.listen": (d: {
    problem: string;
  }) => Said;
  /** A fault of the server. `onError` of serve() has it. */
  readonly "server.failed": (_: object) => Said;
  /** The session has no monitor of this id. */
  readonly "monitor.unknown": (d: {
    id: string;
    session: string;
  }) => Said;
  /** The options of a monitor cannot be used. */
  readonly "monitor.invalid": (d: {
    problem: string;
  }) => Said;
  /** A monitor is started under the id of another one, or again with other options. */
  readonly "monitor.conflict": (d: {
    id: string;
  }) => Said;
  /** The session runs as many monitors as it may. */
  readonly "monitor.full": (d: {
    max: number;
  }) => Said;
  /** The command of a monitor cannot start, or ends with an error. */
  readonly "monitor.failed": (d: {
    problem: string;
  }) => Said;
  /** The command of a monitor runs longer than `timeoutMs`. */
  readonly "monitor.timeout": (d: {
    ms: number;
  }) => Said;
  /** The turn made as many model calls as `limits.roundsMax` allows. */
  readonly "limit.rounds": (d: {
    max: number;
  }) => Said;
  /** In `limits.noProgressMax` rounds in a row, no call succeeded. */
  readonly "limit.no-progress": (d: {
    max: number;
  }) => Said;
  /** The turn was compacted as often as `limits.framesMax` allows. */
  readonly "limit.frames": (d: {
    max: number;
  }) => Said;
  /** The conversation is longer than the model's context window, and no plugin could shorten it. */
  readonly "limit.context": (_: object) => Said;
  /** A turn or a session used more tokens than its budget allows. */
  readonly "limit.tokens": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  /** A turn or a session cost more than its budget allows. */
  readonly "limit.money": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  /** A budget with `unknown: "stop"` meets a model that reports no usage. */
  readonly "limit.usage-unknown": (d: {
    calls: number;
  }) => Said;
  /** An issue, not an ending: a gate is bound to a tool name that the session does not have. */
  readonly "gate.tool": (d: {
    tool: string;
    nearest?: string;
  }) => Said;
  /** An issue, not an ending: the budget counts with an estimate. */
  readonly "usage.estimated": (d: {
    model: string;
  }) => Said;
  /** A budget in money meets a model without a price. */
  readonly "price.unknown": (d: {
    model: string;
  }) => Said;
  /** A plugin compacts a conversation to at least its old size. */
  readonly "compact.useless": (d: {
    plugin: string;
    before: number;
    after: number;
  }) => Said;
  /** An input, a reply, a result or a prompt is longer than its limit. */
  readonly "limit.bytes": (d: {
    what: string;
    bytes: number;
    max: number;
  }) => Said;
  /** The model stopped in the middle of its reply, because the reply was too long. */
  readonly "reply.truncated": (_: object) => Said;
  /** A `stream` hook returned `{ abort: true }`. */
  readonly "reply.aborted": (_: object) => Said;
  /** The provider reports that the model refused, or that a content filter stopped it. */
  readonly "reply.refused": (_: object) => Said;
  /** The turn has an output schema, and the model gave nothing that fits it. */
  readonly "output.invalid": (d: {
    problem: string;
  }) => Said;
  /** The runtime is closed while the result of a turn is awaited. */
  readonly "turn.left": (d: {
    turnId: string;
  }) => Said;
  /** `text()` is called for a turn that ended without an answer. */
  readonly "turn.unanswered": (d: Unanswered) => Said;
  /** `cancel()` or an aborted signal ended the turn. */
  readonly "turn.cancelled": (d: {
    reason: string;
  }) => Said;
  /** The recorded events of a turn do not fit this version of the protocol or the runtime. */
  readonly "turn.diverged": (d: {
    effect: string;
    kind: string;
  }) => Said;
  /** A turn ends its process again and again. */
  readonly "turn.crash-loop": (d: {
    max: number;
  }) => Said;
  /** A turn was not resumed for longer than `limits.turnAgeMs`. */
  readonly "turn.expired": (d: {
    days: number;
  }) => Said;
  /** A turn cannot be resumed in this process, because its model is missing here. */
  readonly "turn.model": (d: {
    turnId: string;
    model: string;
    problem: string;
  }) => Said;
  /** A turn cannot be resumed in this process, because another kind of host began it. */
  readonly "turn.host": (d: {
    expected: string;
    actual: string;
  }) => Said;
  /** The protocol throws, or breaks its contract. */
  readonly "protocol.failed": (d: {
    protocol: string;
    problem: string;
  }) => Said;
  /** A turn is to run code, and the session has no executor. */
  readonly "code.unavailable": (_: object) => Said;
  /** The executor that runs code fails. The session keeps the conversation. */
  readonly "code.stopped": (d: {
    problem: string;
  }) => Said;
  /** The heap of the session's code was written by another version of the sandbox. */
  readonly "code.engine": (d: {
    expected: string;
    actual: string;
  }) => Said;
  /** The heap of the session's code is incomplete, or its checksum is wrong. */
  readonly "code.damaged": (d: {
    problem: string;
  }) => Said;
  /** A sandbox ended while code ran in it. */
  readonly "code.lost": (_: object) => Said;
  /** Code that was resumed takes another path than the one it recorded. */
  readonly "code.diverged": (d: {
    cell: string;
    problem: string;
  }) => Said;
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
