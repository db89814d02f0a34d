/**
 * Whether trying again can help: `never`; `unchanged`, the same call may succeed later; `reload`, read the current
 * state first; `reopen`, make a new handle or runtime.
 */
type Retry = "never" | "unchanged" | "reload" | "reopen";
interface Said {
  readonly message: string;
  readonly hint: string;
  readonly retry?: Retry;
}
declare const ERRORS: {
  readonly "options.invalid": (d: {
    option: string;
    problem: string;
  }) => Said;
  readonly "options.unknown": (d: {
    where: string;
    name: string;
    nearest?: string;
  }) => Said;
  readonly "runtime.closed": (_: object) => Said;
  readonly "runtime.passive": (d: {
    call: string;
    turnId?: string;
    isOrphaned?: boolean;
    hasFunction?: true;
  }) => Said;
  readonly "session.id": (d: {
    id: string;
    problem: string;
  }) => Said;
  readonly "session.unknown": (d: {
    id: string;
  }) => Said;
  readonly "session.deleted": (d: {
    id: string;
  }) => Said;
  readonly "session.exists": (d: {
    id: string;
  }) => Said;
  readonly "session.waiting": (d: {
    id: string;
    what: string;
  }) => Said;
  readonly "session.closed": (d: {
    id: string;
  }) => Said;
  readonly "session.busy": (d: {
    id: string;
    holder: string;
  }) => Said;
  readonly "input.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "input.conflict": (d: {
    key: string;
  }) => Said;
  readonly "input.withdrawn": (d: {
    turnId: string;
  }) => Said;
  readonly "input.full": (d: {
    max: number;
  }) => Said;
  readonly "extension.unknown": (d: {
    extension: string;
    known: readonly string[];
  }) => Said;
  readonly "extension.invalid": (d: {
    extension: string;
    plugin: string;
    problem: string;
  }) => Said;
  readonly "extension.refused": (d: {
    where: string;
  }) => Said;
  readonly "turn.unknown": (d: {
    turnId: string;
  }) => Said;
  readonly "plugin.duplicate": (d: {
    plugin: string;
  }) => Said;
  readonly "plugin.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  /** `of`: options that are given for one session, or that are stored with it. */
  readonly "plugin.options": (d: {
    plugin: string;
    problem: string;
    of?: "session" | "stored";
  }) => Said;
  readonly "plugin.open": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.close": (d: {
    plugin: string;
    ms: number;
  }) => Said;
  readonly "plugin.setup": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.migrate": (d: {
    plugin: string;
    from: string;
    to: string;
    problem: string;
  }) => Said;
  readonly "hook.unknown": (d: {
    plugin: string;
    hook: string;
    known: readonly string[];
    nearest?: string;
  }) => Said;
  readonly "hook.directive": (d: {
    plugin: string;
    hook: string;
    directive: string;
    allowed: readonly string[];
  }) => Said;
  readonly "hook.answer": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  readonly "hook.exclusive": (d: {
    hook: string;
    plugins: readonly string[];
  }) => Said;
  readonly "hook.contested": (d: {
    hook: string;
    plugins: readonly [string, string];
    tool: string;
    what: string;
  }) => Said;
  readonly "hook.other-tool": (d: {
    plugin: string;
    hook: string;
    tool: string;
  }) => Said;
  readonly "protocol.extension": (d: {
    protocol: string;
    extension: string;
  }) => Said;
  readonly "hook.missing": (d: {
    hook: string;
  }) => Said;
  readonly "hook.deadline": (d: {
    plugin: string;
    hook: string;
    ms: number;
  }) => Said;
  readonly "hook.failed": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  readonly "state.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "state.parallel": (d: {
    plugin: string;
    where: string;
  }) => Said;
  readonly "state.too-large": (d: {
    plugin: string;
    bytes: number;
    max: number;
  }) => Said;
  readonly "service.unavailable": (d: {
    service: string;
    plugin: string;
  }) => Said;
  readonly "operation.unknown": (d: {
    name: string;
    known: readonly string[];
    nearest?: string;
    plugin?: string;
  }) => Said;
  readonly "operation.missing-session": (d: {
    name: string;
  }) => Said;
  readonly "operation.unexpected-session": (d: {
    name: string;
  }) => Said;
  readonly "operation.input": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "operation.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "operation.reentrant": (d: {
    name: string;
  }) => Said;
  readonly "operation.cancelled": (d: {
    name: string;
  }) => Said;
  readonly "tool.name": (d: {
    name: string;
  }) => Said;
  readonly "tool.invalid": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.duplicate": (d: {
    name: string;
    sources: readonly string[];
  }) => Said;
  readonly "tool.unknown": (d: {
    name: string;
    known: readonly string[];
  }) => Said;
  readonly "tool.unavailable": (d: {
    name: string;
    availability: string;
  }) => Said;
  readonly "tool.source": (d: {
    source: string;
    problem: string;
  }) => Said;
  readonly "tool.generation": (d: {
    expected: number;
    actual: number;
  }) => Said;
  readonly "tool.arguments": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.timeout": (d: {
    name: string;
    ms: number;
  }) => Said;
  readonly "tool.cancelled": (d: {
    name: string;
  }) => Said;
  readonly "tool.denied": (d: {
    name: string;
    reason: string;
  }) => Said;
  readonly "tool.interrupted": (d: {
    name: string;
  }) => Said;
  readonly "tool.result": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.too-many": (d: {
    max: number;
  }) => Said;
  readonly "schema.invalid": (d: {
    of: string;
    problem: string;
  }) => Said;
  readonly "schema.undescribed": (d: {
    of: string;
  }) => Said;
  readonly "provider.mismatch": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "provider.unconfigured": (d: {
    name: string;
  }) => Said;
  readonly "provider.unavailable": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "provider.failed": (d: {
    route: string;
    class: string;
    problem: string;
  }) => Said;
  readonly "provider.empty": (d: {
    route: string;
  }) => Said;
  readonly "package.unavailable": (d: {
    package: string;
    problem: string;
  }) => Said;
  readonly "store.stale": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "store.conflict": (d: {
    turnId: string;
  }) => Said;
  readonly "store.corrupt": (d: {
    item: string;
    problem: string;
  }) => Said;
  readonly "store.path": (d: {
    path: string;
    problem: string;
  }) => Said;
  readonly "store.foreign": (d: {
    path: string;
  }) => Said;
  readonly "store.newer": (d: {
    path: string;
    found: number;
    known: number;
  }) => Said;
  readonly "store.old": (d: {
    store: string;
    found: number;
    needed: number;
  }) => Said;
  readonly "store.url": (d: {
    problem: string;
  }) => Said;
  readonly "store.unreachable": (d: {
    store: string;
    problem: string;
    ms: number;
  }) => Said;
  readonly "store.exhausted": (d: {
    store: string;
    problem: string;
  }) => Said;
  readonly "store.refused": (d: {
    store: string;
    problem: string;
    isSocket?: true;
  }) => Said;
  readonly "store.locked": (d: {
    path: string;
    ms: number;
  }) => Said;
  readonly "store.swept": (d: {
    hash: string;
  }) => Said;
  readonly "store.in-use": (d: {
    path: string;
    turns: number;
  }) => Said;
  readonly "store.full": (d: {
    path: string;
  }) => Said;
  readonly "store.readonly": (d: {
    path: string;
  }) => Said;
  readonly "store.failed": (d: {
    path: string;
    problem: string;
  }) => Said;
  readonly "lease.lost": (d: {
    sessionId: string;
    generation: number;
  }) => Said;
  readonly "append.conflict": (d: {
    operation: string;
  }) => Said;
  readonly "fork.unknown": (d: {
    node: string;
  }) => Said;
  readonly "fork.unpaired": (d: {
    node: string;
    legal: readonly string[];
  }) => Said;
  readonly "cursor.foreign": (d: {
    session: string;
  }) => Said;
  readonly "cursor.unknown": (d: {
    cursor: string;
  }) => Said;
  readonly "wait.unknown": (d: {
    id?: string;
    event?: string;
  }) => Said;
  readonly "wait.expired": (_: object) => Said;
  readonly "wait.answer": (d: {
    wants: string;
    problem: string;
  }) => Said;
  readonly "app.missing": (d: {
    path: string;
  }) => Said;
  readonly "app.failed": (d: {
    path: string;
    problem: string;
  }) => Said;
  readonly "app.invalid": (d: {
    path: string;
    found: string;
  }) => Said;
  readonly "job.unknown": (d: {
    id: string;
  }) => Said;
  readonly "job.foreign": (d: {
    id: string;
    session: string;
  }) => Said;
  readonly "job.over": (d: {
    id: string;
    state: string;
  }) => Said;
  readonly "job.conflict": (d: {
    id: string;
  }) => Said;
  readonly "job.full": (d: {
    max: number;
  }) => Said;
  readonly "job.bound": (d: {
    id: string;
  }) => Said;
  readonly "job.unstarted": (d: {
    id: string;
  }) => Said;
  readonly "job.signal": (d: {
    id: string;
    signal: string;
    problem: string;
  }) => Said;
  readonly "job.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "job.failed": (d: {
    id: string;
    problem: string;
  }) => Said;
  readonly "job.cancelled": (d: {
    id: string;
    reason: string;
  }) => Said;
  readonly "job.parked": (d: {
    id: string;
  }) => Said;
  readonly "job.abandoned": (d: {
    id: string;
  }) => Said;
  readonly "job.crash-loop": (d: {
    id: string;
    max: number;
  }) => Said;
  readonly "job.steps": (d: {
    max: number;
  }) => Said;
  readonly "job.diverged": (d: {
    id: string;
    step: string;
  }) => Said;
  readonly "trigger.unknown": (d: {
    event: string;
    known: readonly string[];
  }) => Said;
  readonly "trigger.payload": (d: {
    event: string;
    problem: string;
  }) => Said;
  readonly "trigger.invalid": (d: {
    field: string;
    problem: string;
  }) => Said;
  readonly "trigger.conflict": (d: {
    id: string;
    revision?: number;
  }) => Said;
  readonly "trigger.full": (d: {
    max: number;
  }) => Said;
  readonly "trigger.missing": (d: {
    id: string;
    session: string;
  }) => Said;
  readonly "trigger.occurred": (d: {
    event: string;
    key: string;
  }) => Said;
  readonly "trigger.busy": (d: {
    event: string;
  }) => Said;
  readonly "webhook.method": (d: {
    method: string;
  }) => Said;
  readonly "webhook.signature": (_: object) => Said;
  readonly "webhook.body": (d: {
    problem: string;
  }) => Said;
  readonly "webhook.bytes": (d: {
    max: number;
  }) => Said;
  readonly "webhook.failed": (_: object) => Said;
  readonly "monitor.unknown": (d: {
    id: string;
    session: string;
  }) => Said;
  readonly "monitor.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "monitor.conflict": (d: {
    id: string;
  }) => Said;
  readonly "monitor.full": (d: {
    max: number;
  }) => Said;
  readonly "monitor.failed": (d: {
    problem: string;
  }) => Said;
  readonly "monitor.timeout": (d: {
    ms: number;
  }) => Said;
  readonly "limit.rounds": (d: {
    max: number;
  }) => Said;
  readonly "limit.no-progress": (d: {
    max: number;
  }) => Said;
  readonly "limit.frames": (d: {
    max: number;
  }) => Said;
  readonly "limit.context": (_: object) => Said;
  readonly "limit.tokens": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  readonly "limit.money": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  readonly "limit.usage-unknown": (d: {
    calls: number;
  }) => Said;
  readonly "gate.tool": (d: {
    tool: string;
    nearest?: string;
  }) => Said;
  readonly "usage.estimated": (d: {
    model: string;
  }) => Said;
  readonly "price.unknown": (d: {
    model: string;
  }) => Said;
  readonly "compact.useless": (d: {
    plugin: string;
    before: number;
    after: number;
  }) => Said;
  readonly "limit.bytes": (d: {
    what: string;
    bytes: number;
    max: number;
  }) => Said;
  readonly "reply.truncated": (_: object) => Said;
  readonly "reply.aborted": (_: object) => Said;
  readonly "reply.refused": (_: object) => Said;
  readonly "output.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "turn.left": (d: {
    turnId: string;
  }) => Said;
  readonly "turn.cancelled": (d: {
    reason: string;
  }) => Said;
  readonly "turn.diverged": (d: {
    effect: string;
    kind: string;
  }) => Said;
  readonly "turn.crash-loop": (d: {
    max: number;
  }) => Said;
  readonly "turn.expired": (d: {
    days: number;
  }) => Said;
  readonly "turn.model": (d: {
    turnId: string;
    model: string;
    problem: string;
  }) => Said;
  readonly "turn.host": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "protocol.failed": (d: {
    protocol: string;
    problem: string;
  }) => Said;
  readonly "code.unavailable": (_: object) => Said;
  readonly "code.stopped": (d: {
    problem: string;
  }) => Said;
  readonly "code.engine": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "code.damaged": (d: {
    problem: string;
  }) => Said;
  readonly "code.lost": (_: object) => Said;
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
