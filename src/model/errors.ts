/**
 * Whether trying again can help: `never`; `unchanged`, the same call may succeed later; `reload`, read the current
 * state first; `reopen`, make a new handle or runtime.
 */
export type Retry = "never" | "unchanged" | "reload" | "reopen";

interface Said {
  readonly message: string;
  readonly hint: string;
  readonly retry?: Retry;
}

const said = (message: string, hint: string, retry: Retry = "never"): Said => ({ message, hint, retry });
const list = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));

// One row per error: its code, the details to log, a message, a hint to act on, and whether a retry can help. An
// expected ending of a turn is a value (`TurnOutcome`) with one of these codes; only bugs and broken promises are thrown.
const ERRORS = {
  // Runtime, sessions and inputs
  "options.invalid": (d: { option: string; problem: string }) =>
    said(`The option \`${d.option}\` is not right: ${d.problem}.`, "Check it against its type."),
  "options.unknown": (d: { where: string; name: string; nearest?: string }) =>
    said(
      `There is no option \`${d.name}\` in ${d.where}.`,
      d.nearest === undefined
        ? "Leave it out, or look its name up in the type of the options."
        : `Did you mean \`${d.nearest}\`?`,
    ),
  "runtime.closed": (_: object) =>
    said("The runtime is closed.", "Create a new one; accepted work is kept by the store.", "reopen"),
  "session.id": (d: { id: string; problem: string }) =>
    said(
      `${JSON.stringify(d.id.slice(0, 80))} cannot be a session id: ${d.problem}.`,
      "Use up to 256 bytes without control characters.",
    ),
  "session.unknown": (d: { id: string }) =>
    said(`There is no session ${d.id}.`, "List them with runtime.sessions.list()."),
  "session.deleted": (d: { id: string }) =>
    said(`The session ${d.id} was deleted, and ids are used once.`, "Use another id."),
  "session.exists": (d: { id: string }) =>
    said(`There is a session ${d.id} already.`, "Use another id, or open that one."),
  "session.closed": (d: { id: string }) =>
    said(`This handle of session ${d.id} is closed.`, "Open the session again.", "reopen"),
  "session.busy": (d: { id: string; holder: string }) =>
    said(`Session ${d.id} is held by ${d.holder}.`, "Wait for it, or for its lease to lapse.", "unchanged"),
  "input.invalid": (d: { problem: string }) =>
    said(`The input is not right: ${d.problem}.`, "Check it against its type."),
  "input.conflict": (d: { key: string }) =>
    said(`The key ${JSON.stringify(d.key)} was used before with other content.`, "Use a new key for a new input."),
  "input.withdrawn": (d: { turnId: string }) =>
    said(`The input of turn ${d.turnId} was withdrawn before it had its turn.`, "Send it again if it is wanted."),
  "input.full": (d: { max: number }) =>
    said(
      `${d.max} inputs already wait in this session.`,
      "Wait for turns to end, or raise limits.pendingInputsMax.",
      "unchanged",
    ),
  "turn.unknown": (d: { turnId: string }) => said(`There is no turn ${d.turnId}.`, "Take the id from `await turn.id`."),

  // Plugins and hooks
  "plugin.duplicate": (d: { plugin: string }) => said(`The plugin ${d.plugin} is installed twice.`, "Install it once."),
  "plugin.invalid": (d: { plugin: string; problem: string }) =>
    said(`The plugin ${d.plugin} is not right: ${d.problem}.`, "Make plugins with definePlugin."),
  "plugin.options": (d: { plugin: string; problem: string }) =>
    said(`The options of plugin ${d.plugin} are not right: ${d.problem}.`, "Check them against its options schema."),
  "plugin.open": (d: { plugin: string; problem: string }) =>
    said(`The plugin ${d.plugin} could not open: ${d.problem}`, "Fix what its `open` needs, or leave the plugin out."),
  "plugin.close": (d: { plugin: string; ms: number }) =>
    said(
      `The plugin ${d.plugin} did not close within ${d.ms} ms.`,
      "It was left behind; see what its `close` waits for.",
    ),
  "plugin.setup": (d: { plugin: string; problem: string }) =>
    said(`The setup of plugin ${d.plugin} failed: ${d.problem}`, "`setup` must return its hooks and do no I/O."),
  "plugin.migrate": (d: { plugin: string; from: string; to: string; problem: string }) =>
    said(
      `Plugin ${d.plugin} could not bring its state from version ${d.from} to ${d.to}: ${d.problem}`,
      "Give it a `migrate` that can.",
    ),
  "hook.unknown": (d: { plugin: string; hook: string; known: readonly string[] }) =>
    said(`\`${d.hook}\` of plugin ${d.plugin} is not a hook.`, `The hooks are ${list(d.known)}.`),
  "hook.directive": (d: { plugin: string; hook: string; directive: string; allowed: readonly string[] }) =>
    said(
      `Plugin ${d.plugin} answered ${d.directive} to ${d.hook}, which may not.`,
      `It may answer ${list(d.allowed)}.`,
    ),
  "hook.answer": (d: { plugin: string; hook: string; problem: string }) =>
    said(
      `Plugin ${d.plugin} gave ${d.hook} an answer it cannot use: ${d.problem}.`,
      "Return what the hook's type says, or nothing.",
    ),
  "hook.exclusive": (d: { hook: string; plugins: readonly string[] }) =>
    said(`Only one plugin may fill ${d.hook}, but ${d.plugins.join(" and ")} do.`, "Install one of them."),
  "hook.missing": (d: { hook: string }) =>
    said(`No plugin fills ${d.hook}.`, "Install a protocol, such as toolCalls()."),
  "hook.deadline": (d: { plugin: string; hook: string; ms: number }) =>
    said(
      `Plugin ${d.plugin} did not answer ${d.hook} within ${d.ms} ms.`,
      "Make it quicker, or give the handler its own deadlineMs.",
    ),
  "hook.failed": (d: { plugin: string; hook: string; problem: string }) =>
    said(`Plugin ${d.plugin} failed in ${d.hook}: ${d.problem}`, "Fix the plugin, or leave it out."),
  "state.invalid": (d: { plugin: string; problem: string }) =>
    said(
      `The state of plugin ${d.plugin} is not right: ${d.problem}.`,
      "State must be JSON and fit the plugin's state schema.",
    ),
  "state.parallel": (d: { plugin: string; where: string }) =>
    said(
      `Plugin ${d.plugin} changed its state in ${d.where}, where it is read only.`,
      "Declare `writes: true` on the tool, or change it in a hook that may.",
    ),
  "state.too-large": (d: { plugin: string; bytes: number; max: number }) =>
    said(
      `The state of plugin ${d.plugin} has ${d.bytes} bytes; ${d.max} are allowed.`,
      "Keep big things in blobs and their hashes in the state.",
    ),
  "service.unavailable": (d: { service: string; plugin: string }) =>
    said(
      `The service ${d.service}, asked for by ${d.plugin}, is not available here.`,
      "See the hook table for what each hook is given.",
    ),

  // Operations
  "operation.unknown": (d: { name: string; known: readonly string[] }) =>
    said(`There is no operation ${d.name}.`, `The operations of this kind are ${list(d.known)}.`),
  "operation.missing-session": (d: { name: string }) =>
    said(`${d.name} runs on a session, and none was given.`, "Call it on a session."),
  "operation.unexpected-session": (d: { name: string }) =>
    said(`${d.name} runs without a session, and one was given.`, "Pass { session: null }, or leave it out."),
  "operation.input": (d: { name: string; problem: string }) =>
    said(`The input of ${d.name} is not right: ${d.problem}`, "Its schema is in session.operations()."),
  "operation.failed": (d: { name: string; problem: string }) =>
    said(`${d.name} failed: ${d.problem}`, "See what it says."),
  "operation.reentrant": (d: { name: string }) =>
    said(
      `${d.name} cannot run inside a turn of the same session.`,
      "Queue it for after the turn, or do it in a hook that may.",
    ),

  // Tools
  "tool.name": (d: { name: string }) =>
    said(
      `${JSON.stringify(d.name)} cannot be a tool's name.`,
      "Use 1 to 64 of A-Z a-z 0-9 _ and -; submit_output is taken.",
    ),
  "tool.invalid": (d: { name: string; problem: string }) =>
    said(`The tool ${d.name} is not right: ${d.problem}.`, "Make tools with defineTool."),
  "tool.duplicate": (d: { name: string; sources: readonly string[] }) =>
    said(`The tool ${d.name} is given by ${d.sources.join(" and by ")}.`, "Rename one of them."),
  "tool.unknown": (d: { name: string; known: readonly string[] }) =>
    said(`There is no tool ${d.name}.`, `The tools are ${list(d.known)}.`),
  "tool.unavailable": (d: { name: string; availability: string }) =>
    said(`The tool ${d.name} cannot be called now: it is ${d.availability}.`, "Make it callable first."),
  "tool.source": (d: { source: string; problem: string }) =>
    said(`The tool source ${d.source} cannot be used: ${d.problem}.`, "Give every source an id of its own."),
  "tool.generation": (d: { expected: number; actual: number }) =>
    said(
      `The tools are at generation ${d.actual}, not ${d.expected}.`,
      "Export the state again, edit that one, or use `restore`.",
      "reload",
    ),
  "tool.arguments": (d: { name: string; problem: string }) =>
    said(`The arguments of ${d.name} are not right: ${d.problem}`, "Call it again with arguments that fit its schema."),
  "tool.failed": (d: { name: string; problem: string }) =>
    said(`${d.name} failed: ${d.problem}`, "Try something else, or say that it failed."),
  "tool.timeout": (d: { name: string; ms: number }) =>
    said(`${d.name} did not finish within ${d.ms} ms.`, "Ask for less, or give the tool a larger timeoutMs."),
  "tool.cancelled": (d: { name: string }) => said(`${d.name} was cancelled.`, "It was not finished."),
  "tool.denied": (d: { name: string; reason: string }) =>
    said(`${d.name} was not allowed: ${d.reason}`, "Do without it, or ask the user."),
  "tool.interrupted": (d: { name: string }) =>
    said(`${d.name} was interrupted; whether it took effect is not known.`, "Check before you call it again."),
  "tool.result": (d: { name: string; problem: string }) =>
    said(`${d.name} gave a result that cannot be used: ${d.problem}.`, "Return JSON, text or attachments."),
  "tool.too-many": (d: { max: number }) =>
    said(`More than ${d.max} calls in one reply.`, "Make fewer calls at a time."),
  "schema.invalid": (d: { of: string; problem: string }) =>
    said(`The schema of ${d.of} is not right: ${d.problem}.`, "Give JSON Schema draft 2020-12 without remote $ref."),
  "schema.undescribed": (d: { of: string }) =>
    said(`The schema of ${d.of} cannot describe itself to a model.`, "Wrap it: described(schema, jsonSchemaDocument)."),

  // Model calls
  "provider.mismatch": (d: { expected: string; actual: string }) =>
    said(
      `The session was made with ${d.expected}, but the model is ${d.actual}.`,
      "Configure the session for the new model.",
    ),
  "provider.unconfigured": (d: { name: string }) =>
    said(
      `Nothing resolves the model name ${JSON.stringify(d.name)}.`,
      "Pass `models` to createRuntime, for example installed().",
    ),
  "provider.unavailable": (d: { name: string; problem: string }) =>
    said(`The model ${d.name} cannot be used: ${d.problem}`, "Install its package and set its key."),
  "provider.failed": (d: { route: string; class: string; problem: string }) =>
    said(
      `${d.route} failed (${d.class}): ${d.problem}`,
      "See the class: credentials, limits and network are the caller's.",
      "unchanged",
    ),
  "provider.empty": (d: { route: string }) =>
    said(`${d.route} replied with nothing.`, "Ask again, or use another model.", "unchanged"),

  // Stores, leases and waits
  "store.stale": (d: { expected: string; actual: string }) =>
    said(
      `The session moved from ${d.expected} to ${d.actual} during this turn.`,
      "The turn was kept as a branch; open that, or send the input again.",
      "reload",
    ),
  "store.conflict": (d: { turnId: string }) =>
    said(
      `Turn ${d.turnId} was committed before with other content.`,
      "This is a defect of the host; the first commit stands.",
    ),
  "store.corrupt": (d: { item: string; problem: string }) =>
    said(`${d.item} is damaged: ${d.problem}.`, "Restore it from a backup; nothing was changed."),
  "store.path": (d: { path: string; problem: string }) =>
    said(`The database ${d.path} cannot be opened: ${d.problem}.`, "Give a file in a folder that is there."),
  "store.foreign": (d: { path: string }) =>
    said(`${d.path} is the database of something else.`, "Give the store a file of its own; nothing was changed."),
  "store.newer": (d: { path: string; found: number; known: number }) =>
    said(
      `${d.path} has schema ${d.found}, and this version knows schemas up to ${d.known}.`,
      "Update bowline, or open it with the version that wrote it; nothing was changed.",
    ),
  "store.locked": (d: { path: string; ms: number }) =>
    said(
      `${d.path} was locked by another connection for ${d.ms} ms.`,
      "Nothing was written. End what holds it, or try again.",
      "unchanged",
    ),
  "store.swept": (d: { hash: string }) =>
    said(
      `The bytes ${d.hash} were swept before anything named them.`,
      "Nothing was written. Put the bytes again, then write again.",
      "reload",
    ),
  "store.in-use": (d: { path: string; turns: number }) =>
    said(
      `Other processes run ${d.turns} turns on ${d.path}, and would have to wait until it is rewritten.`,
      "Nothing was changed. Compact when they are done, or leave `compact` out: pages are then given back in slices.",
      "unchanged",
    ),
  "store.full": (d: { path: string }) =>
    said(`There is no room left for ${d.path}.`, "Nothing was written. Free some space, then try again.", "unchanged"),
  "store.readonly": (d: { path: string }) =>
    said(`${d.path} cannot be written.`, "Let this user write the file and its folder."),
  "store.failed": (d: { path: string; problem: string }) =>
    said(`${d.path} failed: ${d.problem}.`, "Look at the disk; what was not acknowledged may not be kept.", "reload"),
  "lease.lost": (d: { sessionId: string; generation: number }) =>
    said(
      `Another worker has taken session ${d.sessionId} over from generation ${d.generation}.`,
      "Open the session again.",
      "reopen",
    ),
  "append.conflict": (d: { operation: string }) =>
    said(
      `The operation ${d.operation} was done before with other content.`,
      "Use a new operation id for a new append.",
    ),
  "fork.unknown": (d: { node: string }) =>
    said(`There is no node ${d.node} in this session.`, "Take a node id from read()."),
  "fork.unpaired": (d: { node: string; legal: readonly string[] }) =>
    said(`A fork at ${d.node} would part a tool call from its result.`, `Fork at ${d.legal.join(" or ")}.`),
  "cursor.foreign": (d: { session: string }) =>
    said(`The cursor belongs to another session than ${d.session}.`, "Use a cursor of this session."),
  "cursor.unknown": (d: { cursor: string }) =>
    said(`${JSON.stringify(d.cursor)} is not a cursor.`, "Use one that an event carried."),
  "wait.unknown": (_: object) =>
    said("No wait has this key, or it was revoked.", "Take the key from the `waiting` event."),

  // Endings of a turn
  "limit.rounds": (d: { max: number }) =>
    said(`The turn reached its ${d.max} rounds.`, "Raise limits.roundsMax, or ask for less."),
  "limit.no-progress": (d: { max: number }) =>
    said(`${d.max} rounds in a row achieved nothing.`, "Look at the failing calls."),
  "limit.frames": (d: { max: number }) =>
    said(`The turn opened ${d.max} frames.`, "Raise limits.framesMax, or split the task."),
  "limit.context": (_: object) =>
    said("The conversation no longer fits the model's context window.", "Compact the session, or start a new one."),
  "limit.tokens": (d: { of: string; spent: number; max: number }) =>
    said(`The ${d.of} has spent ${d.spent} tokens of ${d.max}.`, `Raise budget.${d.of}.tokens, or ask for less.`),
  "limit.money": (d: { of: string; spent: number; max: number }) =>
    said(`The ${d.of} has cost ${d.spent} of ${d.max}.`, `Raise budget.${d.of}.cost, or ask for less.`),
  "price.unknown": (d: { model: string }) =>
    said(
      `There is no price for ${d.model}, so what it costs cannot be limited.`,
      "Add the model to `prices` of createRuntime, or leave out the budget's cost.",
    ),
  "compact.useless": (d: { plugin: string; before: number; after: number }) =>
    said(
      `Plugin ${d.plugin} made ${d.after} bytes of ${d.before}, which is no smaller.`,
      "Summarise more, or carry over less.",
    ),
  "limit.bytes": (d: { what: string; bytes: number; max: number }) =>
    said(`${d.what} has ${d.bytes} bytes; ${d.max} are allowed.`, "Send less, or raise the limit."),
  "reply.truncated": (_: object) =>
    said("The reply reached the model's output limit.", "Ask for a shorter answer, or raise maxOutputTokens."),
  "reply.aborted": (_: object) =>
    said("A plugin ended the reply before anything was said.", "See the plugins that have a stream hook."),
  "reply.refused": (_: object) => said("The model refused to answer.", "Ask in another way."),
  "output.invalid": (d: { problem: string }) =>
    said(
      `The model did not give the output that was asked for: ${d.problem}`,
      "Loosen the output schema, or use a stronger model.",
    ),
  "turn.cancelled": (d: { reason: string }) =>
    said(`The turn was cancelled: ${d.reason}`, "Send the input again to start over."),
  "turn.diverged": (d: { effect: string; kind: string }) =>
    said(
      `The event ${d.kind} answers ${d.effect}, which is not open.`,
      "The journal was written by another version; the turn is salvaged.",
    ),
  "turn.crash-loop": (d: { max: number }) =>
    said(`The turn was resumed ${d.max} times and did not get through.`, "Look at what its tools do to the process."),
  "turn.expired": (d: { days: number }) =>
    said(`The turn was left ${d.days} days ago, which is too long.`, "What it had done is kept; send the input again."),
  "turn.host": (d: { expected: string; actual: string }) =>
    said(`The turn was begun on the host ${d.expected}, not on ${d.actual}.`, "Finish it on the host that began it."),
  "protocol.failed": (d: { protocol: string; problem: string }) =>
    said(`The protocol ${d.protocol} failed: ${d.problem}`, "This is a defect of the protocol."),
  "code.unavailable": (_: object) =>
    said("Code cannot be run in this session.", "Install a protocol with a code executor."),
  "code.stopped": (d: { problem: string }) => said(`The code was stopped: ${d.problem}`, "Do less in one cell."),
} as const satisfies { readonly [code: string]: (details: never) => Said };

/** The codes of all errors, such as `session.unknown`. */
export type Code = keyof typeof ERRORS;
export type Details<C extends Code> = Parameters<(typeof ERRORS)[C]>[0];

/**
 * An error with a `code` to match, `details` to log, a `hint` to act on, and `retry` to tell whether trying again can
 * help.
 */
export class RuntimeError<C extends Code = Code> extends Error {
  readonly code: C;
  readonly details: Details<C>;
  readonly hint: string;
  readonly retry: Retry;

  constructor(code: C, details: Details<C>, options?: ErrorOptions) {
    const { message, hint, retry } = describe(code, details);
    super(message, options);
    this.name = "RuntimeError";
    this.code = code;
    this.details = details;
    this.hint = hint;
    this.retry = retry ?? "never";
  }
}

/** Message and hint of a code without an Error, for outcomes and for results that the model reads. */
export const describe = <C extends Code>(code: C, details: Details<C>): Said =>
  (ERRORS[code] as (details: Details<C>) => Said)(details);

/** Whether this is a `RuntimeError` with this code. Narrows `details` too: `hasCode(e, "tool.unknown") && e.details.known`. */
export const hasCode = <C extends Code>(error: unknown, code: C): error is RuntimeError<C> =>
  error instanceof RuntimeError && error.code === code;

const PASSING: ReadonlySet<string> = new Set([
  "lease.lost",
  "store.locked",
  "store.full",
  "store.readonly",
  "store.failed",
]);

/**
 * The store's fault or lost lease that led to this error, searched along `cause`; undefined if there is none. Such a
 * fault passes: the turn must be left for another worker or a later try, not ended as failed.
 */
export function passingFault(error: unknown): RuntimeError | undefined {
  try {
    for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++)
      if (each instanceof RuntimeError && PASSING.has(each.code)) return each;
  } catch {
    // What was thrown may be a proxy or have getters that throw; then it counts as no fault of the store.
  }
  return undefined;
}
