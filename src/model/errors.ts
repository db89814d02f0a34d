// long: one table of errors
import { FAILURE_HINTS } from "./request.ts";
import type { Usage } from "./usage.ts";

/**
 * Whether trying again can help: `never`; `unchanged`, the same call can succeed later; `reload`, read the current
 * state first; `reopen`, make a new handle or runtime.
 */
export type Retry = "never" | "unchanged" | "reload" | "reopen";

/**
 * The result of a turn that was stopped or failed. Its outcome is declared here again, because `outcome.ts` imports
 * this file.
 */
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

const text = (message: string, hint: string, retry: Retry = "never"): ErrorText => ({ message, hint, retry });
const list = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));

/** What to write for an option of `createRuntime`, a session or a turn. */
export const OPTION_HINTS: { readonly [option: string]: string } = {
  store: 'Pass a store, for example sqlite("agent.db") of bowline/stores/sqlite.',
  model: 'Pass an AI SDK model, for example anthropic("claude-sonnet-4-5"), or a name together with `models`.',
  models: "Pass `models: installed()` of bowline/providers/ai-sdk, or a model object as `model`.",
  tools: "Pass a list of tools, each made with defineTool or defineToolProvider.",
  plugins: "Pass a list, for example [plan(), memory({ notesMax: 50 })].",
  recover: 'Pass "auto" (the default), "manual", or, on a store that other processes share, "never".',
  prices: 'Pass prices per million tokens, for example { "anthropic/claude-sonnet-4-5": { input: 3, output: 15 } }.',
  template: 'Pass a list of sections, for example [{ title: "Rules", slots: ["guidance"] }].',
  extensions: "Pass a list of values, for example [urgency.of({ level: 2 })].",
  signal: "Pass the `signal` of an AbortController.",
  runtime: "Pass what `await createRuntime({ … })` returns.",
  token: "Pass a secret of at least 16 characters. Leave the option out to answer every program of this machine.",
  authorize: "Pass a function. Leave the option out to answer every program of this machine.",
  by: 'Pass the name as an option: { by: "ann" }.',
  wait: "Pass a wait of runtime.waits.list() unchanged, its id, or only its key: { key }.",
};
const optionHint = (option: string): string => {
  if (option.startsWith("limits.")) return "Write a number above 0, or Infinity; docs/defaults.md lists the limits.";
  return OPTION_HINTS[option] ?? "Correct the value, or leave the option out.";
};

const EVENT_HINT =
  'Write the name of a declared event, for example "mail.received", or pass a trigger made with defineTrigger.';
/** What to write for a field of `triggers.subscribe`, `triggers.update` or `defineTrigger`. */
export const TRIGGER_HINTS: { readonly [field: string]: string } = {
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
  send: "Write either the text that opens a turn in `send`, or the name of a task in `operation`.",
  isElsewhere: "Write true or false, only together with `operation`. Default: false.",
  operation: 'Write the name of a task with its plugin, for example "acme/mail.file".',
  input: "Write a JSON value in `input`, only together with `operation`. Default: the event itself.",
  wake: 'Write "none", "notify" or "wake", only together with `operation`. Default: "none".',
  isEnabled: "Write true or false. Default: true.",
  name: 'Write a text, for example `defineTrigger({ name: "mail.received" })`.',
};

// One row per error: when it happens, its code, the details to log, a message, a hint to act on, and whether a retry
// can help. An expected ending of a turn is a value (`TurnOutcome`) with one of these codes; only bugs and wrong calls
// throw. `npm run docs` makes docs/errors.md of the table and of the comment above each row.
const ERRORS = {
  // Runtime, sessions and inputs
  /** An option has a value that it cannot have. */
  "options.invalid": (d: { option: string; problem: string }) =>
    text(`Invalid option \`${d.option}\`: ${d.problem}.`, optionHint(d.option)),
  /** An option has a name that does not exist, for example because it is misspelled. */
  "options.unknown": (d: { where: string; name: string; nearest?: string }) =>
    text(
      `Unknown option \`${d.name}\` in ${d.where}.`,
      d.nearest === undefined
        ? "Leave it out, or look its name up in the type of the options."
        : `Did you mean \`${d.nearest}\`? If not, leave it out.`,
    ),
  /** Something is called on a runtime or a store after it was closed. */
  "runtime.closed": (_: object) =>
    text(
      "The runtime is closed.",
      "Create a new runtime with createRuntime(…). On a durable store it resumes the inputs that were accepted.",
      "reopen",
    ),
  /** A runtime with `recover: "never"` is asked for work that only a process that runs turns can do. */
  "runtime.passive": (d: { call: string; turnId?: string; isOrphaned?: boolean; hasFunction?: true }) => {
    const refused = `This runtime has \`recover: "never"\` and refuses ${d.call}`;
    const otherProcessHint = "Call it in a process whose runtime has another `recover`";
    if (d.turnId !== undefined)
      return text(
        `${refused} while turn ${d.turnId} is ${d.isOrphaned === true ? "orphaned: no process runs it" : "parked"}.`,
        `${otherProcessHint}, or after the turn has ended.`,
      );
    return text(
      `${refused}.`,
      d.hasFunction === true
        ? "Replace the function by `operation` with the name of a task: another process runs it."
        : `${otherProcessHint}.`,
    );
  },
  /** A session is opened or made with an id that cannot be used. */
  "session.id": (d: { id: string; problem: string }) =>
    text(
      `Invalid session id ${JSON.stringify(d.id.slice(0, 80))}: ${d.problem}.`,
      "Use a text of 1 to 256 bytes without control characters, for example user-42.",
    ),
  /** The session is needed and was never made. */
  "session.unknown": (d: { id: string }) =>
    text(
      `Session ${d.id} does not exist.`,
      "Take an id from runtime.sessions.list(), or make the session with runtime.session(id).",
    ),
  /** A plugin uses jobs or monitors of a session out of its reach. */
  "session.foreign": (d: { id: string; from: string; plugin: string }) =>
    text(
      `${d.plugin === "app" ? "A tool of the app" : `Plugin ${d.plugin}`} cannot reach jobs and monitors of session ${d.id} from session ${d.from}.`,
      `Use a descendant of ${d.from}, or add "${d.plugin}" to \`sessionAccess\` of createRuntime: \`tree\` for the same tree, \`all\` for every session.`,
    ),
  /** Plugin states that are given to a new session cannot be used. */
  "session.states": (d: { plugin: string; problem: string }) =>
    text(
      `Invalid saved state of ${d.plugin}: ${d.problem}.`,
      "Pass what session.states() returned, to a runtime on the same store.",
    ),
  /** The session was deleted, here or by another process. */
  "session.deleted": (d: { id: string }) =>
    text(
      `Session ${d.id} was deleted. Its id cannot be used again.`,
      "Use a new id, or let the runtime choose one: runtime.session().",
    ),
  /** A session is made under the id of another one. */
  "session.exists": (d: { id: string }) =>
    text(`Session ${d.id} already exists.`, "Use another id, or open the existing session with runtime.session(id)."),
  /** A session is opened or taken for an owner, and it belongs to another owner or to none. */
  "session.owner": (d: { id: string }) =>
    text(`Session ${d.id} does not belong to this owner.`, "Use a session of this owner, or another id."),
  /** The turn of the session is parked on a wait, and the call needs a session without a turn. */
  "session.waiting": (d: { id: string; what: string }) =>
    text(
      `Session ${d.id} cannot ${d.what}: its turn waits for an answer.`,
      "Answer the wait (runtime.waits.list({ session: id })) or cancel the turn, then try again.",
      "unchanged",
    ),
  /** A handle is used after its `close()`. */
  "session.closed": (d: { id: string }) =>
    text(`This handle of session ${d.id} is closed.`, "Open the session again: await runtime.session(id).", "reopen"),
  /** The session runs a turn, and the call needs a session without one, for example to delete it. */
  "session.busy": (d: { id: string; holder: string }) =>
    text(
      `Session ${d.id} is in use by ${d.holder}.`,
      "Try again after that turn has ended. If its process died, the lease expires within 30 seconds.",
      "unchanged",
    ),
  /** The input of a turn, or another value that a call takes, cannot be used. */
  "input.invalid": (d: { problem: string }) =>
    text(
      `Invalid input: ${d.problem}.`,
      "Correct what the message names. A turn takes a text, or a list of texts and attach(bytes, { mediaType }).",
    ),
  /** An idempotency key is used a second time, with another input. */
  "input.conflict": (d: { key: string }) =>
    text(
      `The key ${JSON.stringify(d.key)} already belongs to another input.`,
      "Use a new key for a new input. The same key with the same input returns the existing turn.",
    ),
  /** The result of an input is awaited that was withdrawn from the queue. */
  "input.withdrawn": (d: { turnId: string }) =>
    text(
      `The input of turn ${d.turnId} was withdrawn before the turn began.`,
      "Send the input again, with a new key, if you still need it.",
    ),
  /** The queue of the session is at `limits.pendingInputsMax`. */
  "input.full": (d: { max: number }) =>
    text(
      `The session already has ${d.max} waiting inputs.`,
      "Wait until turns end, withdraw inputs with session.inputs, or raise limits.pendingInputsMax.",
      "unchanged",
    ),
  /** A turn or a session gets an extension that none of its plugins declares. */
  "extension.unknown": (d: { extension: string; known: readonly string[] }) =>
    text(
      `No plugin of this session declares the extension ${d.extension.slice(0, 128)}.`,
      `Add the plugin that declares it to \`plugins\`. Declared here: ${list(d.known)}.`,
    ),
  /** The value of an extension does not fit the schema, or one extension is given twice. */
  "extension.invalid": (d: { extension: string; plugin: string; problem: string }) =>
    text(
      `Invalid extension ${d.extension} of plugin ${d.plugin}: ${d.problem}.`,
      "Pass it once, made with its `of(value)`, with a JSON value that fits its schema.",
    ),
  /** Extensions are passed with an input that may join a running turn. */
  "extension.refused": (d: { where: string }) =>
    text(
      `${d.where} takes no extensions: its input may join a running turn, whose extensions cannot change.`,
      "Pass them with an input that opens a turn: session.turn(input, { extensions }).",
    ),
  /** The id belongs to no turn of this session. */
  "turn.unknown": (d: { turnId: string }) =>
    text(
      `Turn ${d.turnId} does not exist.`,
      "Take the id from `await turn.id`, from the answer of session.send(), or from an event.",
    ),

  /** The timeline or the journal of a turn is requested, and its journal is not kept. */
  "turn.no-journal": (d: { turnId: string; problem: string }) =>
    text(
      `There is no journal of turn ${d.turnId}: ${d.problem}.`,
      "Check `hasJournal` of the turn first. `keepJournals` of createRuntime decides how long journals are kept.",
    ),
  /** `metadata` of an input is not a JSON object, or it is too large. */
  "metadata.invalid": (d: { problem: string }) =>
    text(`Invalid metadata: ${d.problem}.`, 'Pass a JSON object of at most 8 KB, for example { userId: "u-1" }.'),

  // Plugins and hooks
  /** `plugins` has two plugins with one id. */
  "plugin.duplicate": (d: { plugin: string }) =>
    text(`Plugin ${d.plugin} is installed twice.`, "Remove one of the two from `plugins`, or give one another id."),
  /** A plugin, or what its `setup` returns, has a wrong shape. */
  "plugin.invalid": (d: { plugin: string; problem: string }) =>
    text(
      `Invalid plugin ${d.plugin}: ${d.problem}.`,
      "Correct what the message names. Make every plugin with definePlugin({ id, setup }).",
    ),
  /**
   * The options of a plugin do not fit its schema. `of`: options of one session, or options that are stored with a
   * session and do not fit this version of the plugin.
   */
  "plugin.options": (d: { plugin: string; problem: string; of?: "session" | "stored" }) =>
    text(
      `Invalid ${d.of === "stored" ? "stored " : ""}options of plugin ${d.plugin}: ${d.problem}.`,
      d.of === "stored"
        ? "Replace them: open the session with `runtime.session(id, { plugins: [plugin.options({ … })] })`."
        : d.of === "session"
          ? "Pass small JSON: it is stored with the session. Pass functions and secrets where you install the plugin."
          : "Correct what the message names; docs/defaults.md lists the options of the bundled plugins.",
    ),
  /** The `open` of a plugin throws. */
  "plugin.open": (d: { plugin: string; problem: string }) =>
    text(
      `Plugin ${d.plugin} could not open: ${d.problem}`,
      "Provide what its `open` needs (a file, a server, a key), or remove the plugin from `plugins`.",
    ),
  /** The `close` of a plugin takes too long. */
  "plugin.close": (d: { plugin: string; ms: number }) =>
    text(
      `Plugin ${d.plugin} did not close within ${d.ms} ms. The runtime closed without it.`,
      "End in `close` everything that the plugin waits for: timers, connections, child processes.",
    ),
  /** The `setup` of a plugin throws, or returns something else than an object of hooks. */
  "plugin.setup": (d: { plugin: string; problem: string }) =>
    text(
      `The setup of plugin ${d.plugin} failed: ${d.problem}`,
      "Return an object of hooks from `setup`, without a promise; do I/O in `open`.",
    ),
  /** A session has state of another version of the plugin. `migrate` throws, or without it the state does not fit the schema. */
  "plugin.migrate": (d: { plugin: string; from: string; to: string; problem: string }) =>
    text(
      `Plugin ${d.plugin} could not migrate its state from version ${d.from} to ${d.to}: ${d.problem}`,
      "Write a `migrate(state, from)` that returns a state of this version, or install the version that wrote it.",
    ),
  /** `setup` returns a key that is the name of no hook. */
  "hook.unknown": (d: { plugin: string; hook: string; known: readonly string[]; nearest?: string }) =>
    text(
      `Unknown hook \`${d.hook}\` in plugin ${d.plugin}.`,
      `${d.nearest === undefined ? "" : `Did you mean \`${d.nearest}\`? `}Use one of the hooks ${list(d.known)}.`,
    ),
  /** A hook returns a directive that this hook does not allow. */
  "hook.directive": (d: { plugin: string; hook: string; directive: string; allowed: readonly string[] }) =>
    text(
      `Plugin ${d.plugin} returned the directive ${d.directive} from ${d.hook}, which does not allow it.`,
      `Return one of ${list(d.allowed)}, or nothing.`,
    ),
  /** A hook returns something that the runtime cannot use. */
  "hook.answer": (d: { plugin: string; hook: string; problem: string }) =>
    text(
      `Plugin ${d.plugin} returned an invalid answer from ${d.hook}: ${d.problem}.`,
      "Return what docs/hooks.md lists for this hook, or nothing.",
    ),
  /** Two plugins fill a slot that holds one, for example two protocols. */
  "hook.exclusive": (d: { hook: string; plugins: readonly string[] }) =>
    text(
      `Only one plugin may fill ${d.hook}, but ${d.plugins.join(" and ")} both do.`,
      "Remove all but one of them from `plugins`.",
    ),
  /** Two gates replace the same thing of a call with different values. The call is denied. */
  "hook.contested": (d: { hook: string; plugins: readonly [string, string]; tool: string; what: string }) =>
    text(
      `In ${d.hook}, ${d.plugins.join(" and ")} replace each other's ${d.what} of the call of ${d.tool}: it is denied.`,
      "Change one of them so that it keeps the value of the other, or install only one.",
    ),
  /** A gate is bound to a tool object, and the session has another tool of that name. */
  "hook.other-tool": (d: { plugin: string; hook: string; tool: string }) =>
    text(
      `Plugin ${d.plugin} cannot judge this call in ${d.hook}: its tool ${d.tool} is not the session's tool ${d.tool}.`,
      "Rename one of the two tools, or let the handler take all calls and check `call.name`.",
    ),
  /** A session gets an extension that its protocol takes only with a turn. */
  "protocol.extension": (d: { protocol: string; extension: string }) =>
    text(
      `Protocol ${d.protocol} does not take the extension ${d.extension} for a session.`,
      "Pass it with each turn: session.turn(input, { extensions }). Or install a protocol whose `protocolSession.extend` takes it.",
    ),
  /** A slot that every session needs is empty. */
  "hook.missing": (d: { hook: string }) =>
    text(
      `No plugin fills ${d.hook}.`,
      "Add a protocol to `plugins`, for example toolCalls() of bowline/protocols/tool-calls.",
    ),
  /** A hook takes longer than its deadline. */
  "hook.deadline": (d: { plugin: string; hook: string; ms: number }) =>
    text(
      `Plugin ${d.plugin} did not answer ${d.hook} within ${d.ms} ms.`,
      "Do less in the handler, or give it more time: { deadlineMs: 60_000, run: … }.",
    ),
  /** A hook throws. */
  "hook.failed": (d: { plugin: string; hook: string; problem: string }) =>
    text(
      `Plugin ${d.plugin} failed in ${d.hook}: ${d.problem}`,
      "Catch the error in the handler, or remove the plugin from `plugins`.",
    ),
  /** A plugin writes a state that does not fit its schema or is not JSON. */
  "state.invalid": (d: { plugin: string; problem: string }) =>
    text(
      `Invalid state of plugin ${d.plugin}: ${d.problem}.`,
      "Return JSON that fits the plugin's state schema; the schema must accept {}.",
    ),
  /** A plugin writes its state where other calls may run at the same time. */
  "state.parallel": (d: { plugin: string; where: string }) =>
    text(
      `Plugin ${d.plugin} changed its state in ${d.where}, where the state is read-only.`,
      'Change it in a command, in a tool with `writes: true`, or in a hook whose state docs/hooks.md calls "read and write".',
    ),
  /** A state grows over `limits.stateBytesMax`. */
  "state.too-large": (d: { plugin: string; bytes: number; max: number }) =>
    text(
      `The state of plugin ${d.plugin} has ${d.bytes} bytes, and the limit is ${d.max}.`,
      "Store big values with state.blobs.put(name, bytes), or raise limits.stateBytesMax.",
    ),
  /** A hook or a tool uses a service that it does not have there. */
  "service.unavailable": (d: { service: string; plugin: string }) =>
    text(
      `Plugin ${d.plugin} cannot use the service ${d.service} here.`,
      "Use a service that docs/hooks.md lists for this hook.",
    ),

  // Operations
  /** No installed plugin has an operation of this name, or it is of another kind. */
  "operation.unknown": (d: {
    name: string;
    known: readonly string[];
    kind?: string;
    nearest?: string;
    plugin?: string;
  }) => {
    const name = String(d.name).slice(0, 200);
    if (d.kind !== undefined)
      return text(
        `${name} is a ${d.kind}, and the call needs another kind of operation.`,
        `Call it with session.${d.kind}(…). Jobs and triggers run only tasks.`,
      );
    const meant = d.nearest === undefined ? "" : `Did you mean ${d.nearest}? `;
    return d.plugin === undefined
      ? text(`Operation ${name} does not exist.`, `${meant}Use one of the operations of this kind: ${list(d.known)}.`)
      : text(
          `Operation ${name} does not exist here: plugin ${d.plugin.slice(0, 200)} is not installed.`,
          `${meant}Add the plugin to \`plugins\` of createRuntime. If only another process has it, pass \`isElsewhere: true\` to a job or a subscription.`,
        );
  },
  /** An operation that needs a session is called with `{ session: null }`. */
  "operation.missing-session": (d: { name: string }) =>
    text(
      `${d.name} needs a session, and the call has none.`,
      "Remove { session: null }: session.command(…) runs it on that session.",
    ),
  /** An operation that has no session is called on one. */
  "operation.unexpected-session": (d: { name: string }) =>
    text(`${d.name} takes no session, and the call has one.`, "Pass { session: null } as the option of the call."),
  /** The input of an operation does not fit its schema. */
  "operation.input": (d: { name: string; problem: string }) =>
    text(
      `Invalid input of ${d.name}: ${d.problem}`,
      "Pass an input that fits the schema. session.operations() lists it.",
    ),
  /** The `run` of an operation throws, or its output does not fit its schema. */
  "operation.failed": (d: { name: string; problem: string }) =>
    text(
      `${d.name} failed: ${d.problem}`,
      "Correct what the message names. If `run` threw, the error is in `cause`; catch it there.",
    ),
  /** A turn or an operation awaits something that can only run after itself. */
  "operation.reentrant": (d: { name: string }) =>
    text(
      `${d.name} cannot be awaited inside a turn or an operation of the same session, or of a session below it: each would wait for the other.`,
      "Do not await it there. Return first, use the services of the hook or operation (graph, membership, state), or use another session.",
    ),
  /** The `signal` of an operation is aborted before the operation begins. */
  "operation.cancelled": (d: { name: string }) =>
    text(`The signal of ${d.name} was aborted before it began.`, "Call it again if you still need it."),

  // Tools
  /** A tool is defined with a name that models cannot call. */
  "tool.name": (d: { name: string }) =>
    text(
      `Invalid tool name ${JSON.stringify(d.name)}.`,
      "Use 1 to 64 of A-Z a-z 0-9 _ and -. The name submit_output is reserved.",
    ),
  /** `defineTool` or `defineToolProvider` gets a wrong definition. */
  "tool.invalid": (d: { name: string; problem: string }) =>
    text(`Invalid definition of ${d.name}: ${d.problem}.`, "Correct what the message names in the definition."),
  /** Two sources give a session tools of one name. */
  "tool.duplicate": (d: { name: string; sources: readonly string[] }) =>
    text(
      `Tool ${d.name} is defined twice: by ${d.sources.join(" and by ")}.`,
      "Rename one of the tools, or remove it.",
    ),
  /** The session has no tool of this name. */
  "tool.unknown": (d: { name: string; known: readonly string[] }) =>
    text(`Tool ${d.name} does not exist.`, `Use the name of an existing tool: ${list(d.known)}.`),
  /** An issue, not an ending: a call passed its gate in another process, for example before a wait, and this one lacks its tool. */
  "tool.missing": (d: { name: string }) =>
    text(
      `This process does not have the tool ${d.name}, and it resumed a turn that calls the tool.`,
      'Give all processes on a store the same tools and plugins, or pass `recover: "never"` to those that only answer.',
    ),
  /** A tool is called that the session has and does not offer now. */
  "tool.unavailable": (d: { name: string; availability: string }) =>
    text(
      `Tool ${d.name} cannot be called now: it is ${d.availability}.`,
      'Make it callable first: session.tools.set(name, "callable").',
    ),
  /** A source of tools cannot be added. */
  "tool.source": (d: { source: string; problem: string }) =>
    text(`Invalid tool source ${d.source}: ${d.problem}.`, "Give every source a unique id."),
  /** The tools of the session changed after the state that is imported was exported. */
  "tool.generation": (d: { expected: number; actual: number }) =>
    text(
      `The tools are at generation ${d.actual}, not ${d.expected}.`,
      "Export the state again and edit that, or use session.tools.restore(state), which takes any generation.",
      "reload",
    ),
  /** The arguments of a call do not fit the schema of the tool. */
  "tool.arguments": (d: { name: string; problem: string }) =>
    text(`Invalid arguments of ${d.name}: ${d.problem}`, "Call the tool with arguments that fit its schema."),
  /** The `execute` of a tool throws. */
  "tool.failed": (d: { name: string; problem: string }) =>
    text(
      `Tool ${d.name} failed: ${d.problem}`,
      "Catch the error in `execute`; throw ToolError to advise the model what to do next.",
    ),
  /** A call takes longer than `timeoutMs` of the tool or `limits.toolMs`. */
  "tool.timeout": (d: { name: string; ms: number }) =>
    text(
      `Tool ${d.name} did not finish within ${d.ms} ms.`,
      "Give the tool a larger timeoutMs, call progress() while it works, or raise limits.toolMs.",
    ),
  /** The turn is cancelled while a call runs or waits to run. */
  "tool.cancelled": (d: { name: string }) =>
    text(`The call of tool ${d.name} was cancelled.`, "Send the input again if you still need the result."),
  /** A gate or a person denies a call. */
  "tool.denied": (d: { name: string; reason: string }) =>
    text(
      `The call of tool ${d.name} was denied: ${d.reason}`,
      "Change the gate (beforeToolCall) that denied it, or approve the call.",
    ),
  /** A process ends while a call runs, and the tool does not allow a rerun. */
  "tool.interrupted": (d: { name: string }) =>
    text(
      `The call of tool ${d.name} was interrupted. It may or may not have had its effect.`,
      "Check its effect before you call it again; use idempotencyKey where a call must not act twice.",
    ),
  /** A tool returns something that cannot be a result. */
  "tool.result": (d: { name: string; problem: string }) =>
    text(
      `Tool ${d.name} returned an invalid result: ${d.problem}.`,
      "Return text, JSON or attach(bytes, { mediaType }) from `execute`, and a value that fits the output schema.",
    ),
  /** A reply has more calls than `limits.callsPerRoundMax`. */
  "tool.too-many": (d: { max: number }) =>
    text(
      `The reply has more than ${d.max} calls.`,
      "Raise limits.callsPerRoundMax, or instruct the model to make fewer calls at a time.",
    ),
  /** A schema cannot be used: it is neither a Standard Schema nor JSON Schema, it is asynchronous, or it is wrong. */
  "schema.invalid": (d: { of: string; problem: string }) =>
    text(
      `Invalid schema of ${d.of}: ${d.problem}.`,
      "Pass a Standard Schema, or JSON Schema draft 2020-12 without remote $ref.",
    ),
  /** A model needs the schema as JSON Schema, and its library cannot make that. */
  "schema.undescribed": (d: { of: string }) =>
    text(
      `The schema of ${d.of} cannot be shown to a model as JSON Schema.`,
      "Wrap it: described(schema, jsonSchemaDocument).",
    ),

  // Model calls
  /** Traced when a session is opened whose earlier turns used another model than the runtime's default of now. */
  "model.changed": (d: { expected: string; actual: string }) =>
    text(
      `Earlier turns of this session used the model ${d.expected}. The next turn uses the default ${d.actual}.`,
      `To keep the model, call session.configure({ model: "${d.expected}" }).`,
    ),
  /** A session names a model, and the runtime has another one and no `models` that finds models by their names. */
  "provider.mismatch": (d: { expected: string; actual: string }) =>
    text(
      `The session is configured with the model ${d.expected}, and the runtime only has ${d.actual}.`,
      "Call session.configure({ model }) with a model that the runtime has, or pass `models` to createRuntime.",
    ),
  /** A model is named, and the runtime has no `models` that finds a model by its name. */
  "provider.unconfigured": (d: { name: string }) =>
    text(
      `The runtime cannot find a model by the name ${JSON.stringify(d.name)}.`,
      "Pass `models: installed()` of bowline/providers/ai-sdk to createRuntime, or a model object as `model`.",
    ),
  /** `models` finds no model of this name, or the package or the key of its provider is missing. */
  "provider.unavailable": (d: { name: string; problem: string }) =>
    text(
      `The model ${d.name} cannot be used: ${d.problem}`,
      "Check its name, install its package, for example npm install @ai-sdk/anthropic, and set its key.",
    ),
  /** The model call failed, after all retries. The message names the class of the failure. */
  "provider.failed": (d: { route: string; class: string; problem: string }) =>
    text(
      `${d.route} failed (${d.class}): ${d.problem}`,
      FAILURE_HINTS[d.class] ?? "Do what the provider's message asks for, or use another model.",
      "unchanged",
    ),
  /** A reply has neither text nor calls. */
  "provider.empty": (d: { route: string }) =>
    text(`${d.route} returned an empty reply.`, "Send the input again, or use another model.", "unchanged"),

  // Stores, leases and waits
  /** An optional package is missing, or cannot be loaded. */
  "package.unavailable": (d: { package: string; problem: string }) =>
    text(`The package ${d.package} ${d.problem}.`, `Install it: npm install ${d.package}.`),
  /** The session got other commits during the turn, so the turn is kept as a branch. */
  "store.stale": (d: { expected: string; actual: string }) =>
    text(
      `The session moved from ${d.expected} to ${d.actual} during this turn. The turn was kept as a branch.`,
      "Send the input again to have it in the session's history.",
      "reload",
    ),
  /** A host commits a turn twice, with different endings. The first one is kept. */
  "store.conflict": (d: { turnId: string }) =>
    text(
      `Turn ${d.turnId} is already committed with other content.`,
      "Report this: it is a defect of the host. The first commit is kept.",
    ),
  /** What the store reads is incomplete, or its checksum is wrong. Nothing is changed. */
  "store.corrupt": (d: { item: string; problem: string }) =>
    text(
      `${d.item} is damaged: ${d.problem}.`,
      "Restore the database from a backup; bowline doctor --db <file> lists what is damaged.",
    ),
  /** The file of a store cannot be opened or made. */
  "store.path": (d: { path: string; problem: string }) =>
    text(
      `The database ${d.path} cannot be opened: ${d.problem}.`,
      'Pass the path of a file in a writable folder, for example sqlite("agent.db").',
    ),
  /** The file or the schema belongs to another program. Nothing is changed. */
  "store.foreign": (d: { path: string }) =>
    text(
      `${d.path} is a database of another program.`,
      "Use another path or another schema that only Bowline uses; nothing was changed.",
    ),
  /** A later version of Bowline wrote the database. Nothing is changed. */
  "store.newer": (d: { path: string; found: number; known: number }) =>
    text(
      `${d.path} has schema version ${d.found}, and this version of Bowline supports versions up to ${d.known}.`,
      "Update bowline, or open it with the version that wrote it.",
    ),
  /** The server is too old. Nothing is changed. */
  "store.old": (d: { store: string; found: number; needed: number }) =>
    text(
      `The server of ${d.store} is PostgreSQL ${Math.floor(d.found / 10_000)}, which is too old.`,
      `Use PostgreSQL ${Math.floor(d.needed / 10_000)} or later.`,
    ),
  /** `postgres(…)` gets something else than a usable URL or a pool. */
  "store.url": (d: { problem: string }) =>
    text(
      `Invalid address of a Postgres database: ${d.problem}.`,
      'Pass a URL such as postgres("postgres://user:password@host:5432/database"), or a pool of pg.',
    ),
  /** The server cannot be reached, or a connection breaks, for longer than `retryMs`. */
  "store.unreachable": (d: { store: string; problem: string; ms: number }) =>
    text(
      `${d.store} could not be reached for ${d.ms} ms: ${d.problem}.`,
      "Check that the server runs and that host and port are right, then read the session again: the last write may or may not be stored.",
      "reload",
    ),
  /** All connections are in use. Nothing is written. */
  "store.exhausted": (d: { store: string; problem: string }) =>
    text(
      `${d.store} has no free connection: ${d.problem}.`,
      "Let the store open more connections (`connections`), or the server accept more (max_connections). Nothing was written.",
      "unchanged",
    ),
  /** The server refuses the connection, or the user lacks permissions that the store needs. Nothing is written. */
  "store.refused": (d: { store: string; problem: string; isSocket?: true }) =>
    text(
      `${d.store} cannot be used: ${d.problem}.`,
      d.isSocket === true
        ? "Allow the user of this process to enter the socket's folder and to write to the socket, or connect by host and port. Nothing was written."
        : "Check user, password, database and TLS (sslmode), and that the user may create and use the schema. Nothing was written.",
      "unchanged",
    ),
  /** Another connection holds the database for longer than `busyTimeoutMs`. Nothing is written. */
  "store.locked": (d: { path: string; ms: number }) =>
    text(
      `${d.path} was locked by another connection for ${d.ms} ms.`,
      "Try again. If it stays locked, end the program that holds the file open. Nothing was written.",
      "unchanged",
    ),
  /** The store removes bytes that nothing refers to; a reference to them came too late. Nothing is written. */
  "store.swept": (d: { hash: string }) =>
    text(
      `Blob ${d.hash} was garbage-collected before anything referenced it.`,
      "Upload it again, then repeat the write. Nothing was written.",
      "reload",
    ),
  /** The database is to be compacted while other processes work on it. Nothing is changed. */
  "store.in-use": (d: { path: string; turns: number }) =>
    text(
      `Other processes run ${d.turns} turns or jobs on ${d.path}, and compacting would block them.`,
      "Compact after they have ended, or leave `compact` out: the store then frees pages in small steps. Nothing was changed.",
      "unchanged",
    ),
  /** The disk or the quota is full. Nothing is written. */
  "store.full": (d: { path: string }) =>
    text(
      `${d.path} cannot grow: the disk is full.`,
      "Free space on its disk, then try again. Nothing was written.",
      "unchanged",
    ),
  /** The file, its folder or the server allows no writes. */
  "store.readonly": (d: { path: string }) =>
    text(
      `${d.path} is read-only.`,
      "Allow this user to write the file and its folder, for example with chmod or chown. On a server, connect to the primary, not to a standby, and without default_transaction_read_only.",
    ),
  /** The disk, the file system or the server fails in another way. */
  "store.failed": (d: { path: string; problem: string }) =>
    text(
      `${d.path} failed: ${d.problem}.`,
      "Check the disk and its file system, then read the session again: the last write may or may not be stored.",
      "reload",
    ),
  /** This process stood still for so long that another one took over its session or job. What it still does is not stored. */
  "lease.lost": (d: { sessionId: string; generation: number }) =>
    text(
      `Another worker has taken over ${d.sessionId} from generation ${d.generation}.`,
      "Open the session again: await runtime.session(id). The other worker resumes the turn.",
      "reopen",
    ),
  /** An operation id is used a second time, with other content. */
  "append.conflict": (d: { operation: string }) =>
    text(
      `Operation ${d.operation} was already called with other content.`,
      "Use a new operation id for another append, command or task, or for another input.",
    ),
  /** A fork, a branch or a page of the history begins at a node that this session does not have. */
  "fork.unknown": (d: { node: string }) =>
    text(
      `Node ${d.node} does not exist in this session.`,
      "Take the id of a message from session.read().messages, or of a node from session.history().",
    ),
  /** A fork is made between a tool call and its result. */
  "fork.unpaired": (d: { node: string; legal: readonly string[] }) =>
    text(
      `A fork at ${d.node} would separate a tool call from its result.`,
      `Pass another \`at\`: ${d.legal.join(" or ")}.`,
    ),
  /** A cursor of one session is used to read another one. */
  "cursor.foreign": (d: { session?: string }) =>
    d.session === undefined
      ? text(
          "The cursor belongs to one session, and not to the facts of all sessions.",
          "Use a cursor of a fact of runtime.observe(), or leave it out.",
        )
      : text(
          `The cursor does not belong to session ${d.session}.`,
          "Use a cursor of an event of this session, or leave it out.",
        ),
  /** A cursor is malformed, or points to nothing. */
  "cursor.unknown": (d: { cursor: string }) =>
    text(
      `Invalid cursor ${JSON.stringify(d.cursor)}.`,
      "Use the `cursor` of an event without changes, or leave it out.",
    ),
  /** The id or the key belongs to no open wait. */
  "wait.unknown": (d: { id?: string; event?: string }) => {
    if (d.event !== undefined)
      return text(`This is an event of kind ${d.event}, not a wait.`, "Pass the id of its wait, `event.wait`.");
    if (d.id !== undefined)
      return text(
        `${d.id.slice(0, 40)} is the id of a wait, and \`{ key }\` takes its key.`,
        "Pass the id itself: runtime.waits.resolve(id, …). Your code must then check who answers.",
      );
    return text(
      "No open turn or job has a wait with this id or key.",
      "List the open waits with runtime.waits.list(). A wait ends with its turn.",
    );
  },
  /** An answer comes after the deadline of its wait. */
  "wait.expired": (_: object) =>
    text(
      "The answer came after the deadline of the wait. The turn continued without it.",
      "Send the input again to ask again.",
    ),
  /** An answer has the wrong shape, or does not fit the schema of the wait. */
  "wait.answer": (d: { wants: string; problem: string }) =>
    text(
      `Invalid answer to a wait for ${d.wants === "interrupted" ? "a decision" : `${d.wants === "approval" ? "an" : "a"} ${d.wants}`}: ${d.problem}.`,
      d.wants === "approval" || d.wants === "interrupted"
        ? 'Answer with { approved: true }, or { approved: false, reason: "Too much." }.'
        : 'Answer with { value: … }, or { error: "It could not be done." }.',
      "unchanged",
    ),

  // The command line
  /** `--app` names a file that does not exist. */
  "app.missing": (d: { path: string }) =>
    text(`The app ${d.path} does not exist.`, "Pass the path of a module, for example --app agent.ts."),
  /** The module of `--app` throws while it is loaded. */
  "app.failed": (d: { path: string; problem: string }) =>
    text(`The app ${d.path} cannot be loaded: ${d.problem}`, "Set BOWLINE_DEBUG=1 to see where it failed."),
  /** The module of `--app` exports something else than a runtime. */
  "app.invalid": (d: { path: string; found: string }) =>
    text(
      `The default export of ${d.path} must be a runtime, or a function that makes one. It is ${d.found}.`,
      "Write: export default () => createRuntime({ … });",
    ),

  // Jobs
  /** The id belongs to no job. */
  "job.unknown": (d: { id: string }) =>
    text(
      `Job ${JSON.stringify(d.id.slice(0, 80))} does not exist.`,
      "Take an id from jobs.list(), or from the answer of spawn.",
    ),
  /** A job of another session is used. */
  "job.foreign": (d: { id: string; session: string }) =>
    text(
      `Job ${d.id} does not belong to session ${d.session}.`,
      "Use it in its own session, or transfer it first with jobs.transfer.",
    ),
  /** A job that has ended is changed, awaited by a signal, or transferred. */
  "job.over": (d: { id: string; state: string }) =>
    text(`Job ${d.id} has ended with the state ${d.state}.`, "Read its result with jobs.get(id), or start a new job."),
  /** A job is started under the id of another one. */
  "job.conflict": (d: { id: string }) =>
    text(`Another job already has the id ${d.id}.`, "Leave the id out, or use a new one."),
  /** The session is at `limits.jobsMax`. */
  "job.full": (d: { max: number }) =>
    text(
      `The session already has ${d.max} jobs that have not ended.`,
      "Wait for some of them, cancel those you do not need, or raise limits.jobsMax.",
      "unchanged",
    ),
  /** A job with a function is completed, or its state is changed, in another process than the one that runs it. */
  "job.bound": (d: { id: string }) =>
    text(
      `Job ${d.id} runs a function and is bound to the process that started it.`,
      "Cancel it, or start a job with `operation` instead of a function: any process can run that one.",
    ),
  /** A job is awaited in the hook or tool that started it. It starts when that one has returned. */
  "job.unstarted": (d: { id: string }) =>
    text(
      `Job ${d.id} has not started: it starts after the hook or tool that spawned it returns.`,
      "Await it in a later hook or tool, or return defer({ jobs: [id] }) from the tool.",
    ),
  /** A signal is not declared by the job, or its payload does not fit. */
  "job.signal": (d: { id: string; signal: string; problem: string }) =>
    text(
      `The signal ${JSON.stringify(d.signal)} cannot be sent to job ${d.id}: ${d.problem}.`,
      "Send a signal that the job declares in `signals`, with a payload that fits its schema.",
    ),
  /** `spawn`, or a call inside a job, gets something that it cannot use. */
  "job.invalid": (d: { problem: string }) =>
    text(
      `Invalid job: ${d.problem}.`,
      "Correct what the message names. A job has a label, and a function or an `operation` (for example `acme/reports.write`) with a JSON `input`.",
    ),
  /** The work of a job throws. */
  "job.failed": (d: { id: string; problem: string }) =>
    text(`Job ${d.id} failed: ${d.problem}`, "Look at `cause`. The steps of the job show what it did before."),
  /** A job is cancelled. */
  "job.cancelled": (d: { id: string; reason: string }) =>
    text(`Job ${d.id} was cancelled: ${d.reason}`, "Start it again if you still need it."),
  /** A job waits durably, and its promise in this process ends. */
  "job.parked": (d: { id: string }) =>
    text(
      `Job ${d.id} is parked: it is waiting and no longer runs in this process.`,
      "Let this error pass. The job resumes when its wait ends.",
      "unchanged",
    ),
  /** The process that ran the function of a job is gone. */
  "job.abandoned": (d: { id: string }) =>
    text(
      `Job ${d.id} was abandoned: the process that ran it is gone.`,
      "Start it again, or start a task (`operation`): another process can resume it.",
    ),
  /** A job ends its process again and again. */
  "job.crash-loop": (d: { id: string; max: number }) =>
    text(
      `Job ${d.id} was restarted ${d.max} times without completing a step.`,
      "Find out whether its task ends the process, correct that, then start the job again.",
    ),
  /** A job is at the limit of recorded steps. */
  "job.steps": (d: { max: number }) =>
    text(
      `The job has recorded ${d.max} steps and cannot record more.`,
      "Start another job for the rest of the work, or raise limits.jobStepsMax.",
    ),
  /** A job that was resumed takes another path than the one it recorded. */
  "job.diverged": (d: { id: string; step: string }) =>
    text(
      `Job ${d.id} repeats step ${d.step} differently from the recorded run.`,
      "Keep the order of steps in the task's code, and do in a step (`once`) everything that can differ between two runs.",
    ),

  // Triggers
  /** An event is used that no installed plugin declares. */
  "trigger.unknown": (d: { event: string; known: readonly string[] }) =>
    text(
      `No plugin here declares the event ${JSON.stringify(d.event.slice(0, 80))}.`,
      d.known.length === 0
        ? "Declare it: `triggers: [{ name, payload }]` in the `setup` of a plugin."
        : `Declare it in the \`triggers\` of a plugin, or install that plugin. Declared here: ${d.known.join(", ")}.`,
    ),
  /** The payload of an event is not JSON, or does not fit the schema of the event. */
  "trigger.payload": (d: { event: string; problem: string }) =>
    text(`Invalid payload of event ${d.event}: ${d.problem}.`, "Send JSON that fits the schema of the event."),
  /** A field of a subscription or of `defineTrigger` cannot be used. */
  "trigger.invalid": (d: { field: string; problem: string }) =>
    text(
      `Invalid trigger: \`${d.field}\` ${d.problem}.`,
      TRIGGER_HINTS[d.field] ?? "Correct the value, or leave the field out.",
    ),
  /** A subscription with this id has other content, or another call changed or removed it in the meantime. */
  "trigger.conflict": (d: { id: string; revision?: number; fields?: readonly string[] }) => {
    if (d.fields !== undefined)
      return text(
        `Subscription ${d.id} already exists with other content: ${d.fields.map((field) => `\`${field}\``).join(", ")}.`,
        "Change it with triggers.update(id, { … }), or use another id.",
      );
    return d.revision === undefined
      ? text(
          `Subscription ${d.id} was removed in the meantime.`,
          "Subscribe again: triggers.subscribe(…).",
          "unchanged",
        )
      : text(
          `Subscription ${d.id} is at revision ${d.revision}, not at the expected one.`,
          "Read it again and decide again, or leave `revision` out.",
          "unchanged",
        );
  },
  /** The session is at `limits.subscriptionsMax`. */
  "trigger.full": (d: { max: number }) =>
    text(
      `The session already has ${d.max} subscriptions.`,
      "Remove some of them, or raise limits.subscriptionsMax.",
      "unchanged",
    ),
  /** The session has no subscription of this id. */
  "trigger.missing": (d: { id: string; session: string }) =>
    text(
      `Session ${d.session} does not have the subscription ${JSON.stringify(d.id.slice(0, 80))}.`,
      "Take an id from triggers.list().",
    ),
  /** A subscription that waits for no time is to run now. */
  "trigger.no-schedule": (d: { id: string; waitsFor: string }) =>
    text(
      `Subscription ${d.id} waits for ${d.waitsFor}, not for a time.`,
      "Run schedules only. The work of an event starts with triggers.emit(event, payload).",
    ),
  /** A disabled subscription is to run now. */
  "trigger.disabled": (d: { id: string }) =>
    text(
      `Subscription ${d.id} is disabled, so it starts nothing.`,
      "Enable it first: triggers.update(id, { isEnabled: true }).",
    ),
  /** One key is used for two different events. */
  "trigger.occurred": (d: { event: string; key: string }) =>
    text(
      `Event ${d.event} already occurred under the key ${JSON.stringify(d.key.slice(0, 80))}, with another payload.`,
      "Use a unique key per event.",
    ),
  /** The subscriptions change so often that an event cannot be stored. */
  "trigger.busy": (d: { event: string }) =>
    text(
      `Event ${d.event} was not stored: its subscriptions changed during every attempt.`,
      "Emit it again, with the same key.",
      "unchanged",
    ),
  /** A webhook gets a request that is not a POST. */
  "webhook.method": (d: { method: string }) =>
    text(`A webhook takes POST, not ${d.method.slice(0, 20)}.`, "Send the event with POST to the same address."),
  /** The signature of a request to a webhook is missing or wrong. */
  "webhook.signature": (_: object) =>
    text(
      "The signature of the request is missing or wrong.",
      "Check that both sides have the same secret and scheme, and that no proxy changes the body.",
    ),
  /** The body of a request to a webhook cannot be read as an event. */
  "webhook.body": (d: { problem: string }) =>
    text(`Invalid body: ${d.problem}.`, "Send the body that the webhook expects. Default: JSON."),
  /** The body of a request is longer than `bytesMax` of the webhook. */
  "webhook.bytes": (d: { max: number }) =>
    text(`The body has more than ${d.max} bytes.`, "Send less, or raise `bytesMax` of the webhook."),
  /** The event of a webhook could not be stored. */
  "webhook.failed": (_: object) =>
    text(
      "The event could not be stored.",
      "Send it again, with the same key; the runtime's trace shows what failed.",
      "unchanged",
    ),

  // The server
  /** A request has no token, or a wrong one. */
  "server.unauthorized": (_: object) =>
    text("The request has no valid token.", "Send the server's token as `Authorization: Bearer <token>`."),
  /** The caller is not allowed to do this. */
  "server.forbidden": (d: { action: string }) =>
    text(`The caller is not allowed to ${d.action} here.`, "Use another token, or allow it in `may` of `authorize`."),
  /** The request names a host that the server does not have. */
  "server.host": (d: { host: string }) =>
    text(`The server does not answer for the host ${JSON.stringify(d.host)}.`, "Add the name to `hosts` of serve()."),
  /** A page of another origin sends the request. */
  "server.origin": (d: { origin: string }) =>
    text(
      `The server refuses requests from pages of ${JSON.stringify(d.origin)}.`,
      "Add the origin to `origins` of serve(), or open the page from this server.",
    ),
  /** There is no such path, or not with this method. */
  "server.route": (d: { method: string; path: string }) =>
    text(`There is no ${d.method} ${d.path}.`, "GET /v1/openapi.json lists all routes."),
  /** The body is longer than the bound. */
  "server.body": (d: { max: number }) =>
    text(`The body has more than ${d.max} bytes.`, "Send less, or raise `limits` of serve()."),
  /** The body is not declared as JSON. */
  "server.media": (d: { type: string }) =>
    text(
      `The content type ${JSON.stringify(d.type)} is not accepted.`,
      "Send JSON with `content-type: application/json`.",
    ),
  /** The body or a parameter cannot be read. */
  "server.invalid": (d: { problem: string }) =>
    text(`Invalid request: ${d.problem}.`, "Correct the request; GET /v1/openapi.json describes it."),
  /** The caller has too many open streams, or changes too much in a minute. */
  "server.busy": (d: { limit: string; max: number }) =>
    text(
      `The caller has reached the limit \`${d.limit}\` of ${d.max}.`,
      "Try again later, or raise `limits` of serve().",
      "unchanged",
    ),
  /** The server would be reachable from other machines without authentication. */
  "server.bind": (d: { host: string }) =>
    text(
      `The server refuses to listen on ${d.host} without authentication.`,
      "Pass `token` or `authorize` to serve(), or listen on 127.0.0.1.",
    ),
  /** The port cannot be used. */
  "server.listen": (d: { problem: string }) =>
    text(`The server cannot listen: ${d.problem}`, "Choose another port, or 0 for any free one."),
  /** A fault of the server. `onError` of serve() has it. */
  "server.failed": (_: object) =>
    text(
      "The server could not answer.",
      "Try again; the operator of the server finds the cause in its logs.",
      "unchanged",
    ),

  // Monitors
  /** The session has no monitor of this id. */
  "monitor.unknown": (d: { id: string; session: string }) =>
    text(
      `Session ${d.session} does not have the monitor ${JSON.stringify(d.id.slice(0, 80))}.`,
      "Take an id from monitors.snapshot(), or start one with a command.",
    ),
  /** The options of a monitor cannot be used. */
  "monitor.invalid": (d: { problem: string }) =>
    text(`Invalid monitor: ${d.problem}.`, "Pass a command, and options that fit the type MonitorSpec."),
  /** A monitor is started under the id of another one, or again with other options. */
  "monitor.conflict": (d: { id: string }) =>
    text(
      `The id ${d.id} already belongs to a monitor with other options.`,
      "Stop that monitor first, or use another id.",
      "unchanged",
    ),
  /** The session runs as many monitors as it may. */
  "monitor.full": (d: { max: number }) =>
    text(`The session already runs ${d.max} monitors.`, "Stop some of them with monitors.stop.", "unchanged"),
  /** The command of a monitor cannot start, or ends with an error. */
  "monitor.failed": (d: { problem: string }) =>
    text(`The command failed: ${d.problem}.`, "Read its last lines, then start the monitor again."),
  /** The command of a monitor runs longer than `timeoutMs`. */
  "monitor.timeout": (d: { ms: number }) =>
    text(
      `The command was stopped after ${d.ms} ms.`,
      "Give it a longer timeoutMs (up to an hour), or make it persistent.",
    ),

  // Endings of a turn
  /** The turn made as many model calls as `limits.roundsMax` allows. */
  "limit.rounds": (d: { max: number }) =>
    text(
      `The turn reached its limit of ${d.max} rounds.`,
      "Raise limits.roundsMax, ask for less in one turn, or set budget.keepsAnswer to get an answer in the last round.",
    ),
  /** In `limits.noProgressMax` rounds in a row, no call succeeded. */
  "limit.no-progress": (d: { max: number }) =>
    text(
      `The turn made no progress in ${d.max} rounds in a row.`,
      "Look at the last results in session.read().messages: the tool or its description may be wrong.",
    ),
  /** The turn was compacted as often as `limits.framesMax` allows. */
  "limit.frames": (d: { max: number }) =>
    text(
      `The turn reached its limit of ${d.max} frames.`,
      "Raise limits.framesMax, or split the task into several turns.",
    ),
  /** The conversation is longer than the model's context window, and no plugin could shorten it. */
  "limit.context": (_: object) =>
    text(
      "The conversation no longer fits the model's context window.",
      "Install rollingHistory() of bowline/plugins/rolling-history, call session.compact(), or open a new session.",
    ),
  /** A turn or a session used more tokens than its budget allows. */
  "limit.tokens": (d: { of: string; spent: number; max: number }) =>
    text(
      `The ${d.of} has used ${d.spent} tokens, and its budget is ${d.max}.`,
      `Raise budget.${d.of}.tokens, or ask for less.`,
    ),
  /** A turn or a session cost more than its budget allows. */
  "limit.money": (d: { of: string; spent: number; max: number }) =>
    text(`The ${d.of} has cost ${d.spent}, and its budget is ${d.max}.`, `Raise budget.${d.of}.cost, or ask for less.`),
  /** A budget with `unknown: "stop"` meets a model that reports no usage. */
  "limit.usage-unknown": (d: { calls: number }) =>
    text(
      `The budget cannot be checked: the usage of ${d.calls} model ${d.calls === 1 ? "call" : "calls"} is unknown.`,
      'Make the provider report usage (openai-compatible: `includeUsage: true`), or leave out `unknown: "stop"`.',
    ),
  /** An issue, not an ending: a gate is bound to a tool name that the session does not have. */
  "gate.tool": (d: { tool: string; nearest?: string }) =>
    text(
      `A gate names the tool ${d.tool}, which the session does not have.`,
      d.nearest === undefined
        ? "Correct the name if it is misspelled: the gate does not apply to other tools. Ignore this if the tool is added later."
        : `Did you mean ${d.nearest}? The gate does not apply to its calls. Ignore this if ${d.tool} is added later.`,
    ),
  /** An issue, not an ending: the budget counts with an estimate. */
  "usage.estimated": (d: { model: string }) =>
    text(
      `${d.model} does not report its usage. Tokens are estimated from the bytes sent and received.`,
      "Make the provider report usage; for an openai-compatible one pass `includeUsage: true`.",
    ),
  /** A budget in money meets a model without a price. */
  "price.unknown": (d: { model: string }) =>
    text(
      `The cost of ${d.model} cannot be limited: its price is unknown.`,
      "Add the model to `prices` of createRuntime, or leave out the budget's cost.",
    ),
  /** A plugin compacts a conversation to at least its old size. */
  "compact.useless": (d: { plugin: string; before: number; after: number }) =>
    text(
      `Plugin ${d.plugin} compacted ${d.before} bytes to ${d.after}, which is not smaller.`,
      "Return a shorter `seed` from `compact`, or a later `tail`.",
    ),
  /** An input, a reply, a result or a prompt is longer than its limit. */
  "limit.bytes": (d: { what: string; bytes: number; max: number }) =>
    text(
      `${d.what} has ${d.bytes} bytes, and the limit is ${d.max}.`,
      "Send or return less, or raise the matching limit in `limits`; docs/defaults.md lists them.",
    ),
  /** The model stopped in the middle of its reply, because the reply was too long. */
  "reply.truncated": (_: object) =>
    text("The reply reached the model's output limit.", "Ask for a shorter answer, or raise settings.maxOutputTokens."),
  /** A `stream` hook returned `{ abort: true }`. */
  "reply.aborted": (_: object) =>
    text(
      "A plugin aborted the reply before it had any text.",
      "Look at the plugins with a `stream` hook: one of them returned { abort: true }.",
    ),
  /** The provider reports that the model refused, or that a content filter stopped it. */
  "reply.refused": (_: object) => text("The model refused to answer.", "Ask in another way, or use another model."),
  /** The turn has an output schema, and the model gave nothing that fits it. */
  "output.invalid": (d: { problem: string }) =>
    text(
      `The model did not return the requested output: ${d.problem}`,
      "Simplify the output schema, describe its fields, or use a stronger model.",
    ),
  /** The runtime is closed while the result of a turn is awaited. */
  "turn.left": (d: { turnId: string }) =>
    text(
      `The runtime was closed before turn ${d.turnId} ended. The turn is stored and can be resumed.`,
      "Open a runtime on the same store and follow the turn there: session.follow(turnId).result().",
      "reopen",
    ),
  /** `text()` is called for a turn that ended without an answer. */
  "turn.unanswered": (d: Unanswered) => {
    const { turnId, outcome } = d;
    const how = outcome.kind === "stopped" ? "was stopped by" : "failed in";
    return text(
      `Turn ${turnId} has no answer: it ${how} ${outcome.by} (${outcome.code}). ${outcome.reason}`,
      "Call `result()` to get every ending as a value. Here it is `details.outcome`, with the text so far.",
    );
  },
  /** `cancel()` or an aborted signal ended the turn. */
  "turn.cancelled": (d: { reason: string }) =>
    text(`The turn was cancelled: ${d.reason}`, "Send the input again to start over."),
  /** The recorded events of a turn do not fit this version of the protocol or the runtime. */
  "turn.diverged": (d: { effect: string; kind: string }) =>
    text(
      `The recorded event ${d.kind} does not fit ${d.effect}: another version recorded the turn.`,
      "Send the input again. The session keeps what the turn did before.",
    ),
  /** A turn ends its process again and again. */
  "turn.crash-loop": (d: { max: number }) =>
    text(
      `The turn was resumed ${d.max} times without completing.`,
      "Find out whether one of its tools ends the process, correct that, then send the input again.",
    ),
  /** A turn was not resumed for longer than `limits.turnAgeMs`. */
  "turn.expired": (d: { days: number }) =>
    text(
      `The turn is too old to resume: it stopped ${d.days} days ago.`,
      "Send the input again, or raise limits.turnAgeMs. The session keeps what the turn did before.",
    ),
  /** A turn cannot be resumed in this process, because its model is missing here. */
  "turn.model": (d: { turnId: string; model: string; problem: string }) =>
    text(
      `This process does not have the model ${d.model} of the open turn ${d.turnId}: ${d.problem}`,
      "Pass the model to createRuntime, for example with `models`. Any process that has the model can resume the turn. To end it, call session.cancel(turnId).",
      "unchanged",
    ),
  /** A turn cannot be resumed in this process, because another kind of host began it. */
  "turn.host": (d: { expected: string; actual: string }) =>
    text(
      `The turn began on the host ${d.expected}, and this runtime has the host ${d.actual}.`,
      "Pass the host that began the turn as `host` to createRuntime.",
    ),
  /** The protocol throws, or breaks its contract. */
  "protocol.failed": (d: { protocol: string; problem: string }) =>
    text(
      `Protocol ${d.protocol} failed: ${d.problem}`,
      "Report this with the message, because it is a defect of the protocol, or install another protocol.",
    ),
  /** A turn is to run code, and the session has no executor. */
  "code.unavailable": (_: object) =>
    text(
      "This session cannot run code: no plugin fills the slot codeExecutor.",
      "Add `code` of bowline/plugins/code to `plugins`, or your own plugin with an executor.",
    ),
  /** The executor that runs code fails. The session keeps the conversation. */
  "code.stopped": (d: { problem: string }) =>
    text(
      `The code executor failed: ${d.problem}`,
      "Check the plugin that fills codeExecutor, then start another turn.",
    ),
  /** The heap of the session's code was written by another version of the sandbox. */
  "code.engine": (d: { expected: string; actual: string }) =>
    text(
      `The stored heap of this session's code needs the engine ${d.expected.slice(0, 12)}; this one is ${d.actual.slice(0, 12)}.`,
      'Use the version of Bowline that wrote it, or start with an empty heap: `session.command(code, "reset")`.',
    ),
  /** The heap of the session's code is incomplete, or its checksum is wrong. */
  "code.damaged": (d: { problem: string }) =>
    text(
      `The stored heap of this session's code is damaged: ${d.problem}.`,
      'Restore the database from a backup, or start with an empty heap: `session.command(code, "reset")`.',
    ),
  /** A sandbox ended while code ran in it. */
  "code.lost": (_: object) =>
    text("The sandbox of this code is gone.", "Do nothing: the executor opens another sandbox and repeats the code."),
  /** Code that was resumed takes another path than the one it recorded. */
  "code.diverged": (d: { cell: string; problem: string }) =>
    text(
      `The code of ${d.cell} ran differently when it was repeated: ${d.problem}`,
      "Report this with the code of the cell. The heap is the one from before the turn.",
    ),
} as const satisfies { readonly [code: string]: (details: never) => ErrorText };

/** The codes of all errors, such as `session.unknown`. */
export type Code = keyof typeof ERRORS;
export type Details<C extends Code> = Parameters<(typeof ERRORS)[C]>[0];

/** An error with a `code` to match, `details` to log, a `hint` to act on, and `retry`: whether a retry can help. */
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
export const describe = <C extends Code>(code: C, details: Details<C>): ErrorText =>
  (ERRORS[code] as (details: Details<C>) => ErrorText)(details);

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

/** The store that threw an error. Plugins, tools and providers can use other stores, whose errors do not count. */
const THROWN_BY = new WeakMap<Error, object>();

/** Notes that this store threw the error, and returns it. */
export function faultOf<E>(store: object, error: E): E {
  if (error instanceof RuntimeError && PASSING.has(error.code)) THROWN_BY.set(error, store);
  return error;
}

/** Whether only this process cannot run the turn. Then the turn stays open for another process. */
export const isForOthers = (error: unknown): error is RuntimeError =>
  hasCode(error, "turn.host") || hasCode(error, "turn.model");

/**
 * The error of this store, or the lost lease, that caused this error, searched along `cause`; undefined if there is
 * none. Such an error is temporary: the turn must stay open for another worker or a later try, and must not end as
 * failed.
 */
export function passingFault(error: unknown, store: object): RuntimeError | undefined {
  try {
    for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++)
      if (each instanceof RuntimeError && THROWN_BY.get(each) === store) return each;
  } catch {
    // The thrown value can be a proxy or have getters that throw. Then it is not an error of the store.
  }
  return undefined;
}
