// long: one table of errors
import { FAILURE_HINTS } from "./request.ts";

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

/** What to write for an option of `createRuntime`, a session or a turn that cannot be used. */
const OPTION_HINTS: { readonly [option: string]: string } = {
  store: 'Pass a store, for example sqlite("agent.db") of bowline/stores/sqlite.',
  model: 'Pass an AI SDK model, for example anthropic("claude-sonnet-4-5"), or a name together with `models`.',
  models: "Pass `models: installed()` of bowline/providers/ai-sdk, or a model object as `model`.",
  tools: "Pass a list of what defineTool or defineToolProvider returned.",
  plugins: "Pass a list, for example [plan(), memory({ notesMax: 50 })].",
  recover: 'Pass "auto", "manual", or, on a store that other processes share, "never"; or leave it out for "auto".',
  prices: 'Pass what a million tokens cost, for example { "anthropic/claude-sonnet-4-5": { input: 3, output: 15 } }.',
  template: 'Pass a list of sections, for example [{ title: "Rules", slots: ["guidance"] }].',
  extensions: "Pass a list of values, for example [urgency.of({ level: 2 })].",
  signal: "Pass the `signal` of an AbortController.",
  wait: "Pass a wait of runtime.waits.list() as it is, its id, or only its key: { key }.",
};
const optionHint = (option: string): string => {
  if (option.startsWith("limits.")) return "Write a number above 0, or Infinity; docs/defaults.md lists the limits.";
  return OPTION_HINTS[option] ?? "Write what the message asks for, or leave the option out.";
};

const EVENT_HINT =
  'Write the name of a declared event, for example "mail.received", or pass what defineTrigger returned.';
/** What to write for a field of `triggers.subscribe`, `triggers.update` or `defineTrigger`. */
const TRIGGER_HINTS: { readonly [field: string]: string } = {
  on: 'Write exactly one of `event`, `cron`, `everyMs` and `commits` in `on`, for example `on: { event: "mail.received" }`.',
  event: EVENT_HINT,
  "on.event": EVENT_HINT,
  "on.source": "Write `source` only together with `event`.",
  "on.cron":
    "Write 5 fields: minute (0-59), hour (0-23), day (1-31), month (1-12), weekday (0-7 or MON-SUN); or 6, with the " +
    'second (0-59) first. For example, "30 2 * * *" is 02:30 every day.',
  "on.timeZone": 'Write an IANA time zone, for example "Europe/Berlin", only together with `cron`. Default: UTC.',
  "on.everyMs": "Write a whole number of milliseconds, at least 1,000: for example 3_600_000 for every hour.",
  "on.missed": 'Write "skip", "once" or "all", only together with `cron` or `everyMs`. Default: "once".',
  "on.commits": "Write `commits: true`, or use `event`, `cron` or `everyMs` instead.",
  send: "Write the text that opens a turn in `send`, or the name of a task in `operation`, and not both.",
  isElsewhere: "Write true or false, only together with `operation`. Default: false.",
  operation: 'Write the name of a task with its plugin, for example "acme/mail.file".',
  input: "Write a JSON value in `input`, only together with `operation`. Without it the task gets what happened.",
  wake: 'Write "none", "notify" or "wake", only together with `operation`. Default: "none".',
  isEnabled: "Write true or false. Default: true.",
  name: 'Write a text, for example `defineTrigger({ name: "mail.received" })`.',
};

// One row per error: its code, the details to log, a message, a hint to act on, and whether a retry can help. An
// expected ending of a turn is a value (`TurnOutcome`) with one of these codes; only bugs and broken promises are thrown.
const ERRORS = {
  // Runtime, sessions and inputs
  "options.invalid": (d: { option: string; problem: string }) =>
    said(`The option \`${d.option}\` is not right: ${d.problem}.`, optionHint(d.option)),
  "options.unknown": (d: { where: string; name: string; nearest?: string }) =>
    said(
      `There is no option \`${d.name}\` in ${d.where}.`,
      d.nearest === undefined
        ? "Leave it out, or look its name up in the type of the options."
        : `Did you mean \`${d.nearest}\`? If not, leave it out.`,
    ),
  "runtime.closed": (_: object) =>
    said(
      "The runtime is closed.",
      "Create a new runtime with createRuntime(…). On a durable store, inputs that were accepted are taken up by it.",
      "reopen",
    ),
  "runtime.passive": (d: { call: string; turnId?: string; isOrphaned?: boolean; hasFunction?: true }) => {
    const refused = `This runtime has \`recover: "never"\`, so it refuses ${d.call}`;
    const elsewhere = "Call it in a process whose runtime has another `recover`";
    if (d.turnId !== undefined)
      return said(
        `${refused} while turn ${d.turnId} is ${d.isOrphaned === true ? "orphaned: no process runs it" : "parked"}.`,
        `${elsewhere}, or when the turn has ended.`,
      );
    return said(
      `${refused}.`,
      d.hasFunction === true
        ? "Name a task of a plugin in `operation` in place of the function: another process runs it."
        : `${elsewhere}.`,
    );
  },
  "session.id": (d: { id: string; problem: string }) =>
    said(
      `${JSON.stringify(d.id.slice(0, 80))} cannot be a session id: ${d.problem}.`,
      "Use a text of 1 to 256 bytes without control characters, for example user-42.",
    ),
  "session.unknown": (d: { id: string }) =>
    said(
      `There is no session ${d.id}.`,
      "List the sessions with runtime.sessions.list(); runtime.session(id) makes one that is not there.",
    ),
  "session.deleted": (d: { id: string }) =>
    said(
      `The session ${d.id} was deleted, and ids are used once.`,
      "Use an id that no session has had, or none: runtime.session().",
    ),
  "session.exists": (d: { id: string }) =>
    said(
      `There is a session ${d.id} already.`,
      "Use another id, or open the one that is there with runtime.session(id).",
    ),
  "session.waiting": (d: { id: string; what: string }) =>
    said(
      `The turn of session ${d.id} waits for an answer, and until it has ended the session cannot ${d.what}.`,
      "Answer what it waits for (runtime.waits.list({ session: id })), or cancel the turn; then try again.",
      "unchanged",
    ),
  "session.closed": (d: { id: string }) =>
    said(`This handle of session ${d.id} is closed.`, "Open the session again: await runtime.session(id).", "reopen"),
  "session.busy": (d: { id: string; holder: string }) =>
    said(
      `Session ${d.id} is held by ${d.holder}.`,
      "Try again when that turn has ended. If its process died, its lease lapses within 30 seconds.",
      "unchanged",
    ),
  "input.invalid": (d: { problem: string }) =>
    said(
      `The input is not right: ${d.problem}.`,
      "Pass what the message asks for. The input of a turn is text, or a list of texts and attach(bytes, { mediaType }).",
    ),
  "input.conflict": (d: { key: string }) =>
    said(
      `The key ${JSON.stringify(d.key)} was used before with other content.`,
      "Use a new key for a new input. The same key with the same input joins the turn that is there.",
    ),
  "input.withdrawn": (d: { turnId: string }) =>
    said(
      `The input of turn ${d.turnId} was withdrawn before it had its turn.`,
      "Send the input again, with a new key, if it is still wanted.",
    ),
  "input.full": (d: { max: number }) =>
    said(
      `${d.max} inputs already wait in this session.`,
      "Wait for turns to end, withdraw inputs with session.inputs, or raise limits.pendingInputsMax.",
      "unchanged",
    ),
  "extension.unknown": (d: { extension: string; known: readonly string[] }) =>
    said(
      `No plugin of this session takes the extension ${d.extension.slice(0, 128)}.`,
      `Add the plugin that declares it to \`plugins\`; the plugins here take ${list(d.known)}.`,
    ),
  "extension.invalid": (d: { extension: string; plugin: string; problem: string }) =>
    said(
      `The extension ${d.extension} of plugin ${d.plugin} is not right: ${d.problem}.`,
      "Give it once, made with its `of(value)`; the value fits its schema and is JSON.",
    ),
  "extension.refused": (d: { where: string }) =>
    said(
      `${d.where} takes no extensions: its input may join a running turn, which has those it began with.`,
      "Give them with an input that opens a turn: session.turn(input, { extensions }).",
    ),
  "turn.unknown": (d: { turnId: string }) =>
    said(
      `There is no turn ${d.turnId}.`,
      "Take the id from `await turn.id`, from the answer of session.send(), or from an event.",
    ),

  // Plugins and hooks
  "plugin.duplicate": (d: { plugin: string }) =>
    said(
      `The plugin ${d.plugin} is installed twice.`,
      "Leave one of the two out of `plugins`, or give yours another id.",
    ),
  "plugin.invalid": (d: { plugin: string; problem: string }) =>
    said(
      `The plugin ${d.plugin} is not right: ${d.problem}.`,
      "Make it with definePlugin({ id, setup }) and put what that returns into `plugins`.",
    ),
  /** `of`: options that are given for one session, or that are stored with it. */
  "plugin.options": (d: { plugin: string; problem: string; of?: "session" | "stored" }) =>
    said(
      `The ${d.of === "stored" ? "stored " : ""}options of plugin ${d.plugin} are not right: ${d.problem}.`,
      d.of === "stored"
        ? "Replace them: open the session with `runtime.session(id, { plugins: [plugin.options({ … })] })`."
        : d.of === "session"
          ? "Give small JSON: it is stored with the session. Functions and secrets belong where the plugin is installed."
          : "Correct what the message names; docs/defaults.md lists the options of the bundled plugins.",
    ),
  "plugin.open": (d: { plugin: string; problem: string }) =>
    said(
      `The plugin ${d.plugin} could not open: ${d.problem}`,
      "Provide what its `open` needs (a file, a server, a key), or leave the plugin out of `plugins`.",
    ),
  "plugin.close": (d: { plugin: string; ms: number }) =>
    said(
      `The plugin ${d.plugin} did not close within ${d.ms} ms.`,
      "The runtime closed without it. End in `close` whatever it waits for: timers, connections, child processes.",
    ),
  "plugin.setup": (d: { plugin: string; problem: string }) =>
    said(
      `The setup of plugin ${d.plugin} failed: ${d.problem}`,
      "`setup` must return its hooks at once, without a promise; do I/O in `open`.",
    ),
  "plugin.migrate": (d: { plugin: string; from: string; to: string; problem: string }) =>
    said(
      `Plugin ${d.plugin} could not bring its state from version ${d.from} to ${d.to}: ${d.problem}`,
      "Write a `migrate(state, from)` that returns a state for this version, or install the version that wrote it.",
    ),
  "hook.unknown": (d: { plugin: string; hook: string; known: readonly string[]; nearest?: string }) =>
    said(
      `\`${d.hook}\` of plugin ${d.plugin} is not a hook.`,
      `${d.nearest === undefined ? "" : `Did you mean \`${d.nearest}\`? `}Use one of the hooks ${list(d.known)}.`,
    ),
  "hook.directive": (d: { plugin: string; hook: string; directive: string; allowed: readonly string[] }) =>
    said(
      `Plugin ${d.plugin} answered ${d.directive} to ${d.hook}, which may not.`,
      `Answer with one of ${list(d.allowed)}, or with nothing.`,
    ),
  "hook.answer": (d: { plugin: string; hook: string; problem: string }) =>
    said(
      `Plugin ${d.plugin} gave ${d.hook} an answer it cannot use: ${d.problem}.`,
      "Return what docs/hooks.md lists for this hook, or nothing.",
    ),
  "hook.exclusive": (d: { hook: string; plugins: readonly string[] }) =>
    said(
      `Only one plugin may fill ${d.hook}, but ${d.plugins.join(" and ")} do.`,
      "Leave all but one of them out of `plugins`.",
    ),
  "hook.contested": (d: { hook: string; plugins: readonly [string, string]; tool: string; what: string }) =>
    said(
      `In ${d.hook}, ${d.plugins.join(" and ")} replace each other's ${d.what} of the call of ${d.tool}: it is denied.`,
      "Let one of them keep what the other gave, or install one of them.",
    ),
  "hook.other-tool": (d: { plugin: string; hook: string; tool: string }) =>
    said(
      `Plugin ${d.plugin} cannot judge this call in ${d.hook}: ${d.tool} is another tool here than the one it names.`,
      "Rename one of the two tools, or let the handler take all calls and look at `call.name`.",
    ),
  "protocol.extension": (d: { protocol: string; extension: string }) =>
    said(
      `The protocol ${d.protocol} does not take the extension ${d.extension} for a session.`,
      "Give it with each turn: session.turn(input, { extensions }). Or install a protocol whose `protocolSession.extend` takes it.",
    ),
  "hook.missing": (d: { hook: string }) =>
    said(
      `No plugin fills ${d.hook}.`,
      "Add a protocol to `plugins`, for example toolCalls() of bowline/protocols/tool-calls.",
    ),
  "hook.deadline": (d: { plugin: string; hook: string; ms: number }) =>
    said(
      `Plugin ${d.plugin} did not answer ${d.hook} within ${d.ms} ms.`,
      "Do less in it, or give the handler more time: { deadlineMs: 60_000, run: … }.",
    ),
  "hook.failed": (d: { plugin: string; hook: string; problem: string }) =>
    said(
      `Plugin ${d.plugin} failed in ${d.hook}: ${d.problem}`,
      "Catch in the handler what may fail, or leave the plugin out of `plugins`.",
    ),
  "state.invalid": (d: { plugin: string; problem: string }) =>
    said(
      `The state of plugin ${d.plugin} is not right: ${d.problem}.`,
      "Return JSON that fits the plugin's state schema; the schema must accept {}.",
    ),
  "state.parallel": (d: { plugin: string; where: string }) =>
    said(
      `Plugin ${d.plugin} changed its state in ${d.where}, where it is read only.`,
      'Declare `writes: true` on the tool, or change it in a hook whose state docs/hooks.md calls "read and write".',
    ),
  "state.too-large": (d: { plugin: string; bytes: number; max: number }) =>
    said(
      `The state of plugin ${d.plugin} has ${d.bytes} bytes; ${d.max} are allowed.`,
      "Keep big values with state.blobs.put(name, bytes), or raise limits.stateBytesMax.",
    ),
  "service.unavailable": (d: { service: string; plugin: string }) =>
    said(
      `The service ${d.service}, asked for by ${d.plugin}, is not available here.`,
      "Use a service that docs/hooks.md lists for this hook.",
    ),

  // Operations
  "operation.unknown": (d: { name: string; known: readonly string[]; nearest?: string; plugin?: string }) =>
    said(
      d.plugin === undefined
        ? `There is no operation ${String(d.name).slice(0, 200)}.`
        : `This process has no task ${d.name}: the plugin ${d.plugin} is not installed here.`,
      `${d.nearest === undefined ? "" : `Did you mean ${d.nearest}? `}The operations of this kind are ${list(d.known)}.${
        d.plugin === undefined ? "" : " If another process has the plugin, pass `isElsewhere: true`."
      }`,
    ),
  "operation.missing-session": (d: { name: string }) =>
    said(
      `${d.name} runs on a session, and none was given.`,
      "Leave out { session: null }: session.command(…) runs it on that session.",
    ),
  "operation.unexpected-session": (d: { name: string }) =>
    said(`${d.name} runs without a session, and one was given.`, "Pass { session: null }, or leave it out."),
  "operation.input": (d: { name: string; problem: string }) =>
    said(
      `The input of ${d.name} is not right: ${d.problem}`,
      "Pass an input that fits its schema, which session.operations() lists.",
    ),
  "operation.failed": (d: { name: string; problem: string }) =>
    said(
      `${d.name} failed: ${d.problem}`,
      "Correct what the message names, or catch it in the operation's `run`; `cause` has the error that it threw.",
    ),
  "operation.reentrant": (d: { name: string }) =>
    said(
      `${d.name} cannot be waited for inside a turn or an operation of the same session, or of one below it: each would wait for the other.`,
      "Do not await it there. Let it return first, use the services that it is given (graph, membership, state), or another session.",
    ),
  "operation.cancelled": (d: { name: string }) =>
    said(`${d.name} was withdrawn by its signal before it began.`, "Call it again if it is still wanted."),

  // Tools
  "tool.name": (d: { name: string }) =>
    said(
      `${JSON.stringify(d.name)} cannot be a tool's name.`,
      "Use 1 to 64 of A-Z a-z 0-9 _ and -; submit_output is taken.",
    ),
  "tool.invalid": (d: { name: string; problem: string }) =>
    said(
      `The tool ${d.name} is not right: ${d.problem}.`,
      "Correct what the message names, in the call of defineTool.",
    ),
  "tool.duplicate": (d: { name: string; sources: readonly string[] }) =>
    said(`The tool ${d.name} is given by ${d.sources.join(" and by ")}.`, "Rename one of them, or leave one out."),
  "tool.unknown": (d: { name: string; known: readonly string[] }) =>
    said(`There is no tool ${d.name}.`, `Use the name of a tool that is there: ${list(d.known)}.`),
  "tool.unavailable": (d: { name: string; availability: string }) =>
    said(
      `The tool ${d.name} cannot be called now: it is ${d.availability}.`,
      'Make it callable first: session.tools.set(name, "callable").',
    ),
  "tool.source": (d: { source: string; problem: string }) =>
    said(`The tool source ${d.source} cannot be used: ${d.problem}.`, "Give every source an id of its own."),
  "tool.generation": (d: { expected: number; actual: number }) =>
    said(
      `The tools are at generation ${d.actual}, not ${d.expected}.`,
      "Export the state again and edit that, or use session.tools.restore(state), which takes any.",
      "reload",
    ),
  "tool.arguments": (d: { name: string; problem: string }) =>
    said(`The arguments of ${d.name} are not right: ${d.problem}`, "Call it with arguments that fit its schema."),
  "tool.failed": (d: { name: string; problem: string }) =>
    said(
      `${d.name} failed: ${d.problem}`,
      "Catch in `execute` what may fail; throw ToolError to tell the model what to do.",
    ),
  "tool.timeout": (d: { name: string; ms: number }) =>
    said(
      `${d.name} did not finish within ${d.ms} ms.`,
      "Give the tool a larger timeoutMs, call progress() while it works, or raise limits.toolMs.",
    ),
  "tool.cancelled": (d: { name: string }) => said(`${d.name} was cancelled.`, "Send the input again to have it done."),
  "tool.denied": (d: { name: string; reason: string }) =>
    said(
      `${d.name} was not allowed: ${d.reason}`,
      "Change the gate (beforeToolCall) that denied it, or approve the call.",
    ),
  "tool.interrupted": (d: { name: string }) =>
    said(
      `${d.name} was interrupted; whether it took effect is not known.`,
      "Check what it did before it is called again; use idempotencyKey where a call must not act twice.",
    ),
  "tool.result": (d: { name: string; problem: string }) =>
    said(
      `${d.name} gave a result that cannot be used: ${d.problem}.`,
      "Return text, JSON or attach(bytes, { mediaType }) from `execute`, and what its output schema says.",
    ),
  "tool.too-many": (d: { max: number }) =>
    said(
      `More than ${d.max} calls in one reply.`,
      "Raise limits.callsPerRoundMax, or tell the model to make fewer calls at a time.",
    ),
  "schema.invalid": (d: { of: string; problem: string }) =>
    said(`The schema of ${d.of} is not right: ${d.problem}.`, "Give JSON Schema draft 2020-12 without remote $ref."),
  "schema.undescribed": (d: { of: string }) =>
    said(`The schema of ${d.of} cannot describe itself to a model.`, "Wrap it: described(schema, jsonSchemaDocument)."),

  // Model calls
  "provider.mismatch": (d: { expected: string; actual: string }) =>
    said(
      `The session was made with ${d.expected}, but the model is ${d.actual}.`,
      "Call session.configure({ model }) with the new model, or run it with the old one.",
    ),
  "provider.unconfigured": (d: { name: string }) =>
    said(
      `Nothing resolves the model name ${JSON.stringify(d.name)}.`,
      "Pass `models: installed()` of bowline/providers/ai-sdk to createRuntime, or a model object as `model`.",
    ),
  "provider.unavailable": (d: { name: string; problem: string }) =>
    said(
      `The model ${d.name} cannot be used: ${d.problem}`,
      "Check its name, install its package, for example npm install @ai-sdk/anthropic, and set its key.",
    ),
  "provider.failed": (d: { route: string; class: string; problem: string }) =>
    said(
      `${d.route} failed (${d.class}): ${d.problem}`,
      FAILURE_HINTS[d.class] ?? "Do what the provider's message asks for, or use another model.",
      "unchanged",
    ),
  "provider.empty": (d: { route: string }) =>
    said(`${d.route} replied with nothing.`, "Send the input again, or use another model.", "unchanged"),

  // Stores, leases and waits
  "package.unavailable": (d: { package: string; problem: string }) =>
    said(`The package ${d.package} ${d.problem}.`, `Install it: npm install ${d.package}.`),
  "store.stale": (d: { expected: string; actual: string }) =>
    said(
      `The session moved from ${d.expected} to ${d.actual} during this turn.`,
      "The turn was kept beside the session's history. Send the input again to have it in there.",
      "reload",
    ),
  "store.conflict": (d: { turnId: string }) =>
    said(
      `Turn ${d.turnId} was committed before with other content.`,
      "The first commit stands. This is a defect of the host: report it.",
    ),
  "store.corrupt": (d: { item: string; problem: string }) =>
    said(
      `${d.item} is damaged: ${d.problem}.`,
      "Restore it from a backup; nothing was changed. bowline doctor --db <file> lists what is damaged.",
    ),
  "store.path": (d: { path: string; problem: string }) =>
    said(
      `The database ${d.path} cannot be opened: ${d.problem}.`,
      'Pass the path of a file in a folder that exists and can be written, for example sqlite("agent.db").',
    ),
  "store.foreign": (d: { path: string }) =>
    said(
      `${d.path} is the database of something else.`,
      "Give the store a file of its own, under another path, or another schema; nothing was changed.",
    ),
  "store.newer": (d: { path: string; found: number; known: number }) =>
    said(
      `${d.path} has schema ${d.found}, and this version knows schemas up to ${d.known}.`,
      "Nothing was changed. Update bowline, or open it with the version that wrote it.",
    ),
  "store.old": (d: { store: string; found: number; needed: number }) =>
    said(
      `The server of ${d.store} is PostgreSQL ${Math.floor(d.found / 10_000)}, which is too old.`,
      `Nothing was changed. Use PostgreSQL ${Math.floor(d.needed / 10_000)} or later.`,
    ),
  "store.url": (d: { problem: string }) =>
    said(
      `This is no address of a Postgres database: ${d.problem}.`,
      'Pass a URL such as postgres("postgres://user:password@host:5432/database"), or a pool of pg.',
    ),
  "store.unreachable": (d: { store: string; problem: string; ms: number }) =>
    said(
      `${d.store} could not be reached for ${d.ms} ms: ${d.problem}.`,
      "Check that the server runs and that host and port are right. What was not acknowledged may not be kept: try again, or read the session again.",
      "reload",
    ),
  "store.exhausted": (d: { store: string; problem: string }) =>
    said(
      `No connection to ${d.store} was free: ${d.problem}.`,
      "Nothing was written. Let the store open more connections (`connections`), or the server accept more (max_connections).",
      "unchanged",
    ),
  "store.refused": (d: { store: string; problem: string; isSocket?: true }) =>
    said(
      `${d.store} refused: ${d.problem}.`,
      d.isSocket === true
        ? "Nothing was written. Allow the user of this process to enter the socket's folder and to write to the socket, or connect by host and port."
        : "Nothing was written. Check user, password, database and TLS (sslmode), and that the user may create and use the schema.",
      "unchanged",
    ),
  "store.locked": (d: { path: string; ms: number }) =>
    said(
      `${d.path} was locked by another connection for ${d.ms} ms.`,
      "Nothing was written. Try again; if it stays locked, end the program that holds the file open.",
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
      `Other processes run ${d.turns} turns or jobs on ${d.path}, and would have to wait until it is rewritten.`,
      "Nothing was changed. Compact when they are done, or leave `compact` out: pages are then given back in slices.",
      "unchanged",
    ),
  "store.full": (d: { path: string }) =>
    said(
      `There is no room left for ${d.path}.`,
      "Nothing was written. Free space on its disk, then try again.",
      "unchanged",
    ),
  "store.readonly": (d: { path: string }) =>
    said(
      `${d.path} cannot be written.`,
      "Let this user write it: a file and its folder, for example with chmod or chown, or a server that is no standby and not set to default_transaction_read_only.",
    ),
  "store.failed": (d: { path: string; problem: string }) =>
    said(
      `${d.path} failed: ${d.problem}.`,
      "Check the disk and its file system. What was not acknowledged may not be kept: read the session again.",
      "reload",
    ),
  "lease.lost": (d: { sessionId: string; generation: number }) =>
    said(
      `Another worker has taken session ${d.sessionId} over from generation ${d.generation}.`,
      "Open the session again: await runtime.session(id). The turn goes on at the other worker.",
      "reopen",
    ),
  "append.conflict": (d: { operation: string }) =>
    said(
      `The operation ${d.operation} was called before with other content.`,
      "Use a new operation id for another append, command or task, or for another input.",
    ),
  "fork.unknown": (d: { node: string }) =>
    said(
      `There is no node ${d.node} in this session.`,
      "Take the id of a message from session.read().messages, or of a node from session.history().",
    ),
  "fork.unpaired": (d: { node: string; legal: readonly string[] }) =>
    said(
      `A fork at ${d.node} would part a tool call from its result.`,
      `Pass another \`at\`: ${d.legal.join(" or ")}.`,
    ),
  "cursor.foreign": (d: { session: string }) =>
    said(
      `The cursor belongs to another session than ${d.session}.`,
      "Use a cursor of an event of this session, or leave it out.",
    ),
  "cursor.unknown": (d: { cursor: string }) =>
    said(`${JSON.stringify(d.cursor)} is not a cursor.`, "Use the `cursor` of an event as it is, or leave it out."),
  "wait.unknown": (d: { id?: string; event?: string }) => {
    if (d.event !== undefined)
      return said(`This is an event of kind ${d.event}, not a wait.`, "Pass the id of its wait, `event.wait`.");
    if (d.id !== undefined)
      return said(
        `${d.id.slice(0, 40)} is the id of a wait, and \`{ key }\` takes its key.`,
        "Pass the id itself, runtime.waits.resolve(id, …), where your own code checks who answers.",
      );
    return said(
      "No open turn or job has a wait with this id or key.",
      "List the open waits with runtime.waits.list(). A wait ends with its turn.",
    );
  },
  "wait.expired": (_: object) =>
    said(
      "The answer came after the deadline of the wait.",
      "Its turn goes on without it. Send the input again to ask anew.",
    ),
  "wait.answer": (d: { wants: string; problem: string }) =>
    said(
      `This is no answer to a wait for ${d.wants === "interrupted" ? "a decision" : `${d.wants === "approval" ? "an" : "a"} ${d.wants}`}: ${d.problem}.`,
      d.wants === "approval" || d.wants === "interrupted"
        ? 'Answer with { approved: true }, or { approved: false, reason: "Too much." }.'
        : 'Answer with { value: … }, or { error: "It could not be done." }.',
      "unchanged",
    ),

  // The command line
  "app.missing": (d: { path: string }) =>
    said(`There is no app ${d.path}.`, "Pass the path of a module, for example --app agent.ts."),
  "app.failed": (d: { path: string; problem: string }) =>
    said(`The app ${d.path} cannot be loaded: ${d.problem}`, "BOWLINE_DEBUG=1 shows where it failed."),
  "app.invalid": (d: { path: string; found: string }) =>
    said(
      `The default export of ${d.path} must be a runtime, or a function that makes one. It is ${d.found}.`,
      "Write: export default () => createRuntime({ … });",
    ),

  // Jobs
  "job.unknown": (d: { id: string }) =>
    said(
      `There is no job ${JSON.stringify(d.id.slice(0, 80))}.`,
      "Take an id from jobs.list(), or from what spawn returned.",
    ),
  "job.foreign": (d: { id: string; session: string }) =>
    said(
      `The job ${d.id} does not belong to the session ${d.session}.`,
      "Use it in its own session, or hand it over first with jobs.transfer.",
    ),
  "job.over": (d: { id: string; state: string }) =>
    said(`The job ${d.id} is over: it was ${d.state}.`, "Read its result with jobs.get(id), or begin another job."),
  "job.conflict": (d: { id: string }) =>
    said(`There is another job with the id ${d.id}.`, "Leave the id out, or take one that is new."),
  "job.full": (d: { max: number }) =>
    said(
      `The session has ${d.max} jobs that are not over.`,
      "Wait for some of them, cancel what is not needed, or raise limits.jobsMax.",
      "unchanged",
    ),
  "job.bound": (d: { id: string }) =>
    said(
      `The job ${d.id} is bound to the process that began it.`,
      "Cancel it, or begin a job with `operation` instead of a function: such a job can go on anywhere.",
    ),
  "job.unstarted": (d: { id: string }) =>
    said(
      `The job ${d.id} begins with the answer of the hook or tool that waits for it.`,
      "Await it in a later hook or tool, or return defer({ jobs: [id] }) from the tool.",
    ),
  "job.signal": (d: { id: string; signal: string; problem: string }) =>
    said(
      `The signal ${JSON.stringify(d.signal)} cannot be sent to the job ${d.id}: ${d.problem}.`,
      "Send a signal that the job declares in `signals`, with a payload that fits its schema.",
    ),
  "job.invalid": (d: { problem: string }) =>
    said(
      `This cannot be a job: ${d.problem}.`,
      "Give it a label, and either a function or `operation`, for example `acme/reports.write`, with a JSON `input`.",
    ),
  "job.failed": (d: { id: string; problem: string }) =>
    said(`The job ${d.id} failed: ${d.problem}`, "Look at the cause; what it had done before is in its steps."),
  "job.cancelled": (d: { id: string; reason: string }) =>
    said(`The job ${d.id} was cancelled: ${d.reason}`, "Begin it again if it is still wanted."),
  "job.parked": (d: { id: string }) =>
    said(
      `The job ${d.id} only waits, and was given up here.`,
      "It goes on when what it waits for has come.",
      "unchanged",
    ),
  "job.abandoned": (d: { id: string }) =>
    said(
      `The job ${d.id} was abandoned: the process that did the work is gone.`,
      "Begin it again, or name a task (`operation`): such a job goes on in another process.",
    ),
  "job.crash-loop": (d: { id: string; max: number }) =>
    said(
      `The job ${d.id} was begun again ${d.max} times and did not get on.`,
      "Look at what its task does to the process: it may end it. Then begin the job again.",
    ),
  "job.steps": (d: { max: number }) =>
    said(
      `The job has recorded ${d.max} steps, and may record no more.`,
      "Let it begin another job that goes on, or raise limits.jobStepsMax.",
    ),
  "job.diverged": (d: { id: string; step: string }) =>
    said(
      `The job ${d.id} asks for the step ${d.step} in another way than when it was recorded.`,
      "Keep the order of steps in the task's code, and make what differs between two runs a step itself (`once`).",
    ),

  // Triggers
  "trigger.unknown": (d: { event: string; known: readonly string[] }) =>
    said(
      `No plugin here declares the event ${JSON.stringify(d.event.slice(0, 80))}.`,
      d.known.length === 0
        ? "Declare it: `triggers: [{ name, payload }]` in the `setup` of a plugin."
        : `Declared are ${d.known.join(", ")}. Declare it in the \`triggers\` of a plugin, or install that plugin.`,
    ),
  "trigger.payload": (d: { event: string; problem: string }) =>
    said(
      `The payload does not fit the event ${d.event}: ${d.problem}.`,
      "Send JSON that fits the schema of the event.",
    ),
  "trigger.invalid": (d: { field: string; problem: string }) =>
    said(
      `Invalid trigger: \`${d.field}\` ${d.problem}.`,
      TRIGGER_HINTS[d.field] ?? "Write what the message asks for, or leave the field out.",
    ),
  "trigger.conflict": (d: { id: string; revision?: number }) =>
    d.revision === undefined
      ? said(`There is no subscription ${d.id} at that revision: it was removed.`, "Subscribe again.", "unchanged")
      : said(
          `There is a subscription ${d.id} at revision ${d.revision}, which is not what was asked for.`,
          "Read it again and decide again, change it with triggers.update, or take another id.",
          "unchanged",
        ),
  "trigger.full": (d: { max: number }) =>
    said(
      `The session has ${d.max} subscriptions.`,
      "Remove some of them, or raise limits.subscriptionsMax.",
      "unchanged",
    ),
  "trigger.missing": (d: { id: string; session: string }) =>
    said(
      `The session ${d.session} has no subscription ${JSON.stringify(d.id.slice(0, 80))}.`,
      "Take an id from triggers.list().",
    ),
  "trigger.occurred": (d: { event: string; key: string }) =>
    said(
      `The event ${d.event} has occurred under the key ${JSON.stringify(d.key.slice(0, 80))} with another payload.`,
      "Take a key of its own for everything that happens.",
    ),
  "trigger.busy": (d: { event: string }) =>
    said(
      `The subscriptions to ${d.event} changed again and again, and nothing was kept.`,
      "Emit it again, with the same key.",
      "unchanged",
    ),
  "webhook.method": (d: { method: string }) =>
    said(`A webhook takes POST, not ${d.method.slice(0, 20)}.`, "Send the event with POST to the same address."),
  "webhook.signature": (_: object) =>
    said(
      "The request is not signed as it must be.",
      "Check that both sides have the same secret and scheme, and that the body is passed on as it came.",
    ),
  "webhook.body": (d: { problem: string }) =>
    said(
      `The body cannot be used: ${d.problem}.`,
      "Send what the event's payload is made from, as JSON unless agreed otherwise.",
    ),
  "webhook.bytes": (d: { max: number }) =>
    said(`The body has more than ${d.max} bytes.`, "Send less, or raise `bytesMax` of the webhook."),
  "webhook.failed": (_: object) =>
    said(
      "The event could not be kept.",
      "Send it again, with the same key; the trace of the runtime says what failed.",
      "unchanged",
    ),

  // Monitors
  "monitor.unknown": (d: { id: string; session: string }) =>
    said(
      `The session ${d.session} has no monitor ${JSON.stringify(d.id.slice(0, 80))}.`,
      "Take an id from monitors.snapshot(), or start one with a command.",
    ),
  "monitor.invalid": (d: { problem: string }) =>
    said(`This cannot be a monitor: ${d.problem}.`, "Give it a command, and options as MonitorSpec has them."),
  "monitor.conflict": (d: { id: string }) =>
    said(
      `The name ${d.id} is that of another monitor, or of this one with other options.`,
      "Stop it first, or take another id.",
      "unchanged",
    ),
  "monitor.full": (d: { max: number }) =>
    said(`${d.max} monitors of the session run already.`, "Stop some of them with monitors.stop.", "unchanged"),
  "monitor.failed": (d: { problem: string }) =>
    said(`The command failed: ${d.problem}.`, "Its last lines say more; start the monitor again."),
  "monitor.timeout": (d: { ms: number }) =>
    said(
      `The command was stopped after ${d.ms} ms.`,
      "Give it a longer timeoutMs (up to an hour), or make it persistent.",
    ),

  // Endings of a turn
  "limit.rounds": (d: { max: number }) =>
    said(
      `The turn reached its ${d.max} rounds.`,
      "Raise limits.roundsMax, ask for less in one turn, or set budget.keepsAnswer to get an answer in the last round.",
    ),
  "limit.no-progress": (d: { max: number }) =>
    said(
      `${d.max} rounds in a row achieved nothing.`,
      "Look at the results of the last calls in session.read().messages: the tool or its description may be at fault.",
    ),
  "limit.frames": (d: { max: number }) =>
    said(`The turn opened ${d.max} frames.`, "Raise limits.framesMax, or split the task into several turns."),
  "limit.context": (_: object) =>
    said(
      "The conversation no longer fits the model's context window.",
      "Install rollingHistory() of bowline/plugins/rolling-history, call session.compact(), or begin a new session.",
    ),
  "limit.tokens": (d: { of: string; spent: number; max: number }) =>
    said(`The ${d.of} has spent ${d.spent} tokens of ${d.max}.`, `Raise budget.${d.of}.tokens, or ask for less.`),
  "limit.money": (d: { of: string; spent: number; max: number }) =>
    said(`The ${d.of} has cost ${d.spent} of ${d.max}.`, `Raise budget.${d.of}.cost, or ask for less.`),
  "limit.usage-unknown": (d: { calls: number }) =>
    said(
      `The usage of ${d.calls} model ${d.calls === 1 ? "call" : "calls"} is not known, so the budget cannot be kept.`,
      'Make the provider report usage (openai-compatible: `includeUsage: true`), or leave out `unknown: "stop"`.',
    ),
  "gate.tool": (d: { tool: string; nearest?: string }) =>
    said(
      `A gate names the tool ${d.tool}, and the session has no tool of that name.`,
      d.nearest === undefined
        ? "Correct the name if it is misspelled: the gate does not hold for calls of other tools. Ignore this if the tool is added later."
        : `Did you mean ${d.nearest}? The gate does not hold for its calls. Ignore this if ${d.tool} is added later.`,
    ),
  "usage.estimated": (d: { model: string }) =>
    said(
      `${d.model} does not say what its calls use: tokens are estimated from the bytes sent and received.`,
      "Make the provider report usage; for an openai-compatible one pass `includeUsage: true`.",
    ),
  "price.unknown": (d: { model: string }) =>
    said(
      `There is no price for ${d.model}, so what it costs cannot be limited.`,
      "Add the model to `prices` of createRuntime, or leave out the budget's cost.",
    ),
  "compact.useless": (d: { plugin: string; before: number; after: number }) =>
    said(
      `Plugin ${d.plugin} made ${d.after} bytes of ${d.before}, which is no smaller.`,
      "Return a shorter `seed` from `compact`, or a later `tail`.",
    ),
  "limit.bytes": (d: { what: string; bytes: number; max: number }) =>
    said(
      `${d.what} has ${d.bytes} bytes; ${d.max} are allowed.`,
      "Send or return less, or raise the limit of that name in `limits`; docs/defaults.md lists them.",
    ),
  "reply.truncated": (_: object) =>
    said("The reply reached the model's output limit.", "Ask for a shorter answer, or raise settings.maxOutputTokens."),
  "reply.aborted": (_: object) =>
    said(
      "A plugin ended the reply before anything was said.",
      "Look at the plugins with a `stream` hook: one of them returned { abort: true }.",
    ),
  "reply.refused": (_: object) => said("The model refused to answer.", "Ask in another way, or use another model."),
  "output.invalid": (d: { problem: string }) =>
    said(
      `The model did not give the output that was asked for: ${d.problem}`,
      "Simplify the output schema, describe its fields, or use a stronger model.",
    ),
  "turn.left": (d: { turnId: string }) =>
    said(
      `The runtime was closed before turn ${d.turnId} ended. The turn is kept: it waits, or goes on elsewhere.`,
      "Open a runtime on the same store and follow the turn there: session.follow(turnId).result().",
      "reopen",
    ),
  "turn.cancelled": (d: { reason: string }) =>
    said(`The turn was cancelled: ${d.reason}`, "Send the input again to start over."),
  "turn.diverged": (d: { effect: string; kind: string }) =>
    said(
      `The event ${d.kind} answers ${d.effect}, which is not open.`,
      "The journal was written by another version. What the turn had done is kept; send the input again.",
    ),
  "turn.crash-loop": (d: { max: number }) =>
    said(
      `The turn was resumed ${d.max} times and did not get through.`,
      "Look at what its tools do to the process: one of them may end it. Then send the input again.",
    ),
  "turn.expired": (d: { days: number }) =>
    said(
      `The turn was left ${d.days} days ago, which is too long.`,
      "What it had done is kept. Send the input again, or raise limits.turnAgeMs.",
    ),
  "turn.model": (d: { turnId: string; model: string; problem: string }) =>
    said(
      `This process does not have the model ${d.model} of the open turn ${d.turnId}: ${d.problem}`,
      "The turn stays open for a process that has the model. To resume it here, pass the model to createRuntime, for example with `models`. To end it, call session.cancel(turnId).",
      "unchanged",
    ),
  "turn.host": (d: { expected: string; actual: string }) =>
    said(
      `The turn was begun on the host ${d.expected}, not on ${d.actual}.`,
      "Open the session with the host that began the turn: pass it as `host` to createRuntime.",
    ),
  "protocol.failed": (d: { protocol: string; problem: string }) =>
    said(
      `The protocol ${d.protocol} failed: ${d.problem}`,
      "This is a defect of the protocol: report it with the message, or install another protocol.",
    ),
  "code.unavailable": (_: object) =>
    said(
      "Code cannot be run in this session: no plugin fills the slot codeExecutor.",
      "Add `code` of bowline/plugins/code to `plugins`, or a plugin with an executor of your own.",
    ),
  "code.stopped": (d: { problem: string }) =>
    said(
      `The code executor broke down: ${d.problem}`,
      "What was said is kept. Look into the plugin that fills codeExecutor, then start another turn.",
    ),
  "code.engine": (d: { expected: string; actual: string }) =>
    said(
      `What the code of this session keeps was made by the engine ${d.expected.slice(0, 12)}; this one is ${d.actual.slice(0, 12)}.`,
      'Use the version of Bowline that made it, or begin with nothing: `session.command(code, "reset")`.',
    ),
  "code.damaged": (d: { problem: string }) =>
    said(
      `What the code of this session keeps is damaged: ${d.problem}.`,
      'Restore the file from a copy, or begin with nothing: `session.command(code, "reset")`.',
    ),
  "code.lost": (_: object) =>
    said("What this code ran in is gone.", "Nothing to do: the executor opens another guest and repeats the segments."),
  "code.diverged": (d: { cell: string; problem: string }) =>
    said(
      `The code of ${d.cell} ran differently when it was run again: ${d.problem}`,
      "What was said is kept, and what the code keeps is as it was before the turn. Report it with the cell's code.",
    ),
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
  "store.unreachable",
  "store.exhausted",
  "store.refused",
  "store.full",
  "store.readonly",
  "store.failed",
]);

/** Which store threw a fault. Plugins, tools and providers may use stores of their own, whose faults are not ours. */
const THROWN_BY = new WeakMap<Error, object>();

/** Notes that this store threw the error, and returns it. */
export function faultOf<E>(store: object, error: E): E {
  if (error instanceof RuntimeError && PASSING.has(error.code)) THROWN_BY.set(error, store);
  return error;
}

/** Whether this process cannot run a turn that another one can: the turn stays open. */
export const isForOthers = (error: unknown): error is RuntimeError =>
  hasCode(error, "turn.host") || hasCode(error, "turn.model");

/**
 * The fault of this store, or the lost lease, that led to this error, searched along `cause`; undefined if there is
 * none. Such a fault passes: the turn must be left for another worker or a later try, not ended as failed.
 */
export function passingFault(error: unknown, store: object): RuntimeError | undefined {
  try {
    for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++)
      if (each instanceof RuntimeError && THROWN_BY.get(each) === store) return each;
  } catch {
    // What was thrown may be a proxy or have getters that throw; then it counts as no fault of the store.
  }
  return undefined;
}
