// The public `Session` that callers hold, with the checks that untyped callers need.
// Not its job: the session itself (`session.ts`), which all its handles share, and turns' handles (`live-turn/handle.ts`).
// handle-1 A closed handle refuses every call. The session and its turns continue.
// handle-2 `turn()` never throws: an invalid input rejects the turn's `id` and `result()`.
import type { HistoryPage, Node } from "../../graph/history.ts";
import type { Complete } from "../../kernel/complete.ts";
import type { SavedStates } from "../../kernel/created.ts";
import { type CompactOptions, INSTRUCTIONS_MAX } from "../../kernel/directive.ts";
import { type ExtensionValue, keptExtensions } from "../../kernel/extension.ts";
import type { InstalledHooks } from "../../kernel/hook-runner.ts";
import type { Monitors } from "../../kernel/monitor.ts";
import {
  type ConfigPatch,
  type InputArgs,
  type InputFor,
  type NamesOf,
  type OperationDefinition,
  type OperationKind,
  type OutputFor,
  wireName,
} from "../../kernel/operation.ts";
import type { Plugin } from "../../kernel/plugin.ts";
import type { Point } from "../../kernel/point.ts";
import type { Jobs } from "../../kernel/services.ts";
import { APPEND, type Appended, type AppendNode, type AppendOptions } from "../../kernel/services.ts";
import type { Triggers } from "../../kernel/trigger.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionEvent } from "../../model/event.ts";
import { hashOf } from "../../model/hash.ts";
import { asTurnId, type InputId, type JobId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Input } from "../../model/input.ts";
import { defined, frozen, isObject, type Json, type JsonObject, ownJson } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { textOf } from "../../model/message.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { Any, OutputOf, ToolSchema } from "../../model/schema.ts";
import type { SessionView } from "../../model/view.ts";
import type { CancelAnswer, PendingInput, TurnWants } from "../../stores/store.ts";
import { APP } from "../../tools/catalog.ts";
import { typed } from "../../tools/output.ts";
import type { Validate } from "../../tools/validator.ts";
import { requireConfig, requireOptions, requireRef, requireWords } from "../checks.ts";
import { cancelWith, reasonOf, type Turn, TurnHandle } from "../live-turn/handle.ts";
import { OBSERVE, type ObserveOptions } from "../readers/readers.ts";
import { requireAppend } from "../services/graph.ts";
import { sendLater } from "../services/later.ts";
import { historyIn, requireStored, savedStates } from "../services/reading.ts";
import { type SessionTools, sessionTools } from "../toolset/tools.ts";
import { accept, inInputOrder } from "./accept.ts";
import { type Compacted, compact, configure } from "./change.ts";
import { applyInputHooks, attaching, newInput, ownTurn } from "./input.ts";
import { FORK, type ForkOptions, forkOf } from "./make.ts";
import type { OpenSessions } from "./open.ts";
import { type OperationOptions, operate, operationsIn, query, type Receipt, requireOperation } from "./operate.ts";
import { extend } from "./protocol.ts";
import type { LiveSession } from "./session.ts";
import { viewOf } from "./view.ts";

/** Options of one turn. */
export interface TurnOptions {
  /** Makes a repeat safe: the same key and input join the turn that is there; another input is `input.conflict`. */
  readonly key?: string | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Prompt parts for this turn only: the highest layer. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Input for plugins and the protocol, each checked by the plugin that declares it: `[urgency.of({ level: 2 })]`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
  /**
   * The app's notes about the turn, for example a user id or a `traceparent`: JSON of at most 8 KB. Records and telemetry
   * show them, and the model does not see them. A repeat with the same key may have others.
   */
  readonly metadata?: JsonObject | undefined;
}

/** Options of `session.send`. */
export interface SendOptions {
  /** Makes a repeat safe, as in `TurnOptions`. */
  readonly key?: string | undefined;
  /** Where a running turn takes the input. Default: `boundary`. */
  readonly at?: "boundary" | "next-turn" | undefined;
  /** Notes about the turn that the input opens, as in `TurnOptions`. */
  readonly metadata?: JsonObject | undefined;
}
/** An input that is sent later. */
export interface LaterInput {
  readonly jobId: JobId;
  /** The turn that it will open, unless a running turn takes it. It can be followed from then on. */
  readonly turnId: TurnId;
}
/** Options of `session.cancel`. */
export interface CancelOptions {
  readonly reason?: string | undefined;
  /** Makes a repeat safe: the same request cancels once. */
  readonly requestId?: string | undefined;
}

/** The inputs that no turn has taken yet. */
export interface SessionInputs {
  /** Oldest first. */
  list(): Promise<readonly WaitingInput[]>;
  /** Withdraws a waiting input, or with `from` all from this one on. To change an input, cancel it and send another. */
  cancel(
    which: { readonly id: string } | { readonly key: string } | { readonly from: string },
  ): Promise<readonly CancelledInput[]>;
}
export interface WaitingInput {
  readonly id: InputId;
  /** The turn that the input opens, unless a running turn takes it. An injected one opens none. */
  readonly turnId?: TurnId;
  readonly key?: string;
  /** `injected`: for a boundary of the running or the next turn (`sessions.inject`). */
  readonly at: "boundary" | "next-turn" | "injected";
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly acceptedAt: number;
}
export interface CancelledInput {
  readonly id: InputId;
  /** Left out for an injected input, which has none. */
  readonly turnId?: TurnId;
  /** Only a waiting input can be cancelled; for the others `follow` the turn. */
  readonly kind: "cancelled" | "already-taken" | "already-completed";
}

/** A conversation. Its turns run one after the other. Handles are cheap: several may be open on one session. */
export interface Session extends AsyncDisposable {
  readonly id: SessionId;
  /** Starts a turn, or queues it behind the one that runs. */
  turn(input: Input, options?: TurnOptions): Turn;
  /** Starts a turn that ends with a value of this schema: the outcome is `finished`, by `model`. */
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  /** Sends an input. A running turn takes it at its next boundary, unless `at` is `next-turn`; else it opens a turn. */
  send(input: Input, options?: SendOptions): Promise<{ readonly turnId: TurnId }>;
  /**
   * Sends an input at a time: a date, or milliseconds since 1970. It is durable at once, and a job until then:
   * `session.jobs.cancel(jobId)` takes it back. The same key sends once.
   */
  sendAt(time: Date | number, input: Input, options?: SendOptions): Promise<LaterInput>;
  /** Sends an input after so many milliseconds, as `sendAt`. */
  sendAfter(ms: number, input: Input, options?: SendOptions): Promise<LaterInput>;
  readonly inputs: SessionInputs;
  /** Background work of the session. */
  readonly jobs: Jobs;
  /** Commands that are watched for the session. */
  readonly monitors: Monitors;
  /** Follows a turn before, while or after it runs, in whatever process: what it shows here, and its result. */
  follow(turnId: string): Turn;
  /** The turn that is under way in this process, also one that another process had left. */
  current(): Turn | undefined;
  /** Asks a turn to end, in whatever process it runs. The turn's result is the acknowledgement. */
  cancel(turnId: string, options?: CancelOptions): Promise<CancelAnswer>;
  /** Reads the session as last committed, with its open turn, open inputs and the cursor to observe from. */
  read(): Promise<SessionView>;
  /** Streams facts, from a cursor on, and previews as they are shown. A slow reader may lose previews: see `gap`. */
  observe(options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Nodes of all frames, newest first. */
  history(page?: HistoryPage): Promise<readonly Node[]>;
  /** Begins a new frame with a shorter conversation; answers `nothing` when no plugin compacts. */
  compact(options?: CompactOptions): Promise<Compacted>;

  /** Calls a plugin's query at once; it changes nothing. Throws `operation.unknown` if the plugin is not installed. */
  query<Ops, N extends NamesOf<Ops, "query">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<OutputFor<Ops, N>>;
  /** Calls a plugin's command between turns; its state changes and events are committed together. */
  command<Ops, N extends NamesOf<Ops, "command">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Like `command`, for operations that may also call a model. */
  task<Ops, N extends NamesOf<Ops, "task">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Calls an operation by its wire name, `plugin.operation`, without types. */
  invoke(kind: OperationKind, name: string, input?: Json, options?: OperationOptions): Promise<Receipt>;
  operations(): readonly OperationDefinition[];
  /** Returns which plugins handle each hook in this session. A hook that nobody handles has an empty list. */
  hooks(): InstalledHooks;
  contributed<Out>(point: Point<Any, Out>): Out;
  /** What starts work of the session by itself: declared events, subscriptions, occurrences. */
  readonly triggers: Triggers;
  /** A hash of the plugins' states: it changes with a plugin, its version, its state's revision, or their order. */
  readonly fingerprint: string;

  /** Changes the session's own settings; a field set to `undefined` falls back to the runtime's. */
  configure(patch: ConfigPatch): Promise<SessionConfig>;
  /** Adds messages and nodes between turns. */
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  /** Makes model calls outside the conversation, booked in the session's ledger. */
  readonly complete: Complete;
  /** Gives the protocol an extension for the session, between turns. Throws `protocol.extension` if it takes none. */
  extend(value: ExtensionValue): Promise<void>;
  readonly tools: SessionTools;
  /** Returns the plugin states as last committed, to begin another session with: `sessions.create({ states })`. */
  states(): Promise<SavedStates>;
  /** Creates a session over the same history. Default: at the head. */
  fork(options?: ForkOptions): Promise<Session>;
  /** Closes this handle; turns go on. */
  close(): Promise<void>;
}

export class SessionHandle implements Session {
  readonly #session: LiveSession;
  readonly #sessions: OpenSessions;
  #isClosed = false;

  constructor(session: LiveSession, sessions: OpenSessions) {
    this.#session = session;
    this.#sessions = sessions;
  }

  get id(): SessionId {
    return this.#session.id;
  }

  turn(input: Input, options?: TurnOptions): Turn;
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  turn(input: Input, options: TypedOptions = NO_OPTIONS): Turn {
    const handle = new TurnHandle(this.#session);
    try {
      const session = this.#open();
      if (options !== NO_OPTIONS) requireOptions("session.turn", options, TURN);
      const { key, signal } = options;
      if (signal !== undefined && typeof signal?.addEventListener !== "function")
        throw new RuntimeError("input.invalid", { problem: "`signal` must be an AbortSignal" });
      const { check, wants } = options === NO_OPTIONS ? NO_WANTS : wantsOf(session, options);
      const accepting = newInput(session.core, session.id, input, key, "turn", wants, options.metadata);
      const isCancelled = signal === undefined ? undefined : () => (signal.aborted ? reasonOf(signal) : undefined);
      const attach = typeof input === "string" ? undefined : attaching(session.core, input);
      accept(session, accepting, attach, handle, check, isCancelled).catch((error: unknown) => handle.failed(error));
      if (signal !== undefined) cancelWith(signal, handle);
    } catch (error) {
      handle.failed(error);
    }
    return handle;
  }

  async send(input: Input, options: SendOptions = {}): Promise<{ readonly turnId: TurnId }> {
    const session = this.#open();
    const { key, place } = sendingOf("session.send", options);
    const { core, id } = session;
    const attach = typeof input === "string" ? undefined : attaching(core, input);
    const made = newInput(core, id, input, key, place, undefined, options.metadata);
    return { turnId: await accept(session, made, attach) };
  }

  async sendAt(time: Date | number, input: Input, options: SendOptions = {}): Promise<LaterInput> {
    const session = this.#open();
    const { key, place } = sendingOf("session.sendAt", options);
    const until = time instanceof Date ? time.getTime() : time;
    if (!Number.isFinite(until))
      throw new RuntimeError("options.invalid", {
        option: "time",
        problem: "it must be a date, or a time in milliseconds",
      });
    const { core, id, composition } = session;
    const made = await newInput(core, id, input, key, place, undefined, options.metadata);
    if (!composition.hooks.has.input) return sendLater(core, made, until);
    const [later, admitNext] = await inInputOrder(session, () =>
      sendLater(core, made, until, () => applyInputHooks(session, made)),
    );
    admitNext();
    return later;
  }

  async sendAfter(ms: number, input: Input, options?: SendOptions): Promise<LaterInput> {
    if (!(typeof ms === "number" && ms >= 0))
      throw new RuntimeError("options.invalid", { option: "ms", problem: "it must be a number of 0 or more" });
    return this.sendAt(this.#open().core.world.now() + ms, input, options);
  }

  get jobs(): Jobs {
    const { core, id } = this.#open();
    return core.background.jobsAt({ core, sessionId: id, plugin: APP });
  }

  get monitors(): Monitors {
    const { core, id } = this.#open();
    return core.background.monitorsAt({ core, sessionId: id, plugin: APP });
  }

  async cancel(turnId: string, options: CancelOptions = {}): Promise<CancelAnswer> {
    const session = this.#open();
    requireOptions("session.cancel", options, CANCEL);
    return session.cancel(asTurnId(turnId), options.reason, options.requestId);
  }

  async read(): Promise<SessionView> {
    return viewOf(this.#open());
  }

  observe(options: ObserveOptions = {}): AsyncIterableIterator<SessionEvent> {
    const session = this.#open();
    requireOptions("session.observe", options, OBSERVE);
    // The reader holds this handle, so that the session stays open while it is observed.
    return session.core.readers.observe(session, () => viewOf(this.#session), options);
  }

  async history(page: HistoryPage = {}): Promise<readonly Node[]> {
    const { core, id } = this.#open();
    return historyIn(core.store, id, page);
  }

  async compact(options: CompactOptions = {}): Promise<Compacted> {
    requireOptions("session.compact", options, COMPACT);
    if (options.instructions !== undefined) requireWords("instructions", options.instructions, INSTRUCTIONS_MAX);
    return compact(this.#open(), options);
  }

  get inputs(): SessionInputs {
    return {
      list: async () => {
        const { core, snapshot } = this.#open();
        const { id } = await snapshot.requireThere();
        return (await core.store.inputs.list(id)).map(waitingInput);
      },
      cancel: async (which) =>
        (await this.#open().withdraw(requireRef(which))).map(({ inputId: id, turnId, answer }) =>
          defined({ id, turnId, kind: CANCELLED[answer] }),
        ),
    };
  }

  follow(turnId: string): Turn {
    const session = this.#open();
    const handle = new TurnHandle(session);
    session.follow(asTurnId(turnId), handle);
    return handle;
  }

  current(): Turn | undefined {
    const { current } = this.#open();
    return current === undefined ? undefined : this.follow(current);
  }

  async query(plugin: Plugin<Any>, name: string, input?: unknown, options: OperationOptions = {}): Promise<Any> {
    const wire = wireName(plugin.id, name);
    return this.#on(options, (session) => query(session, wire, input, options));
  }

  async command(plugin: Plugin<Any>, name: string, input?: unknown, options?: OperationOptions): Promise<Receipt<Any>> {
    return this.invoke("command", wireName(plugin.id, name), input as Json, options);
  }

  async task(plugin: Plugin<Any>, name: string, input?: unknown, options?: OperationOptions): Promise<Receipt<Any>> {
    return this.invoke("task", wireName(plugin.id, name), input as Json, options);
  }

  async invoke(kind: OperationKind, name: string, input?: Json, options: OperationOptions = {}): Promise<Receipt> {
    return this.#on(options, async (session) => {
      if (kind !== "query") return operate(session, kind, name, input, options);
      const { plugin } = requireOperation(session, kind, name);
      return { plugin, output: await query(session, name, input, options), events: [], queued: [] };
    });
  }

  /** Runs an operation on this session, or on the one that the caller names. Throws `session.unknown`. */
  async #on<T>({ session: id }: OperationOptions, run: (session: LiveSession) => Promise<T>): Promise<T> {
    const own = this.#open();
    if (typeof id !== "string" || id === own.id) return run(own);
    const { id: known } = await requireStored(own.core, id);
    return this.#sessions.using(known, run);
  }

  operations(): readonly OperationDefinition[] {
    return operationsIn(this.#current());
  }

  hooks(): InstalledHooks {
    return this.#current().composition.hooks.installed;
  }

  contributed<Out>(point: Point<Any, Out>): Out {
    return this.#current().composition.contributions.read(point);
  }

  get triggers(): Triggers {
    const { core, id } = this.#current();
    return core.background.triggersAt({ core, sessionId: id, plugin: APP });
  }

  get fingerprint(): string {
    return hashOf(this.#open().snapshot.states.fingerprint());
  }

  async configure(patch: ConfigPatch): Promise<SessionConfig> {
    return configure(this.#open(), patch);
  }

  async append(nodes: readonly AppendNode[], options: AppendOptions = {}): Promise<Appended> {
    requireAppend("session.append", options, APPEND);
    return this.#open().append(nodes, options);
  }

  async extend(value: ExtensionValue): Promise<void> {
    return extend(this.#current(), value);
  }

  get complete(): Complete {
    return this.#open().context().complete("app");
  }

  get tools(): SessionTools {
    return sessionTools(() => this.#open());
  }

  async states(): Promise<SavedStates> {
    return frozen(savedStates((await this.#open().snapshot.asStored()).stored));
  }

  async fork(options: ForkOptions = {}): Promise<Session> {
    requireOptions("session.fork", options, FORK);
    const { id, known } = await forkOf(this.#open(), options);
    return this.#sessions.handle(id, { known });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sessions.closed(this, this.#session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** With its plugins as the session's options are now. */
  #current(): LiveSession {
    const session = this.#open();
    session.useStored();
    return session;
  }

  #open(): LiveSession {
    if (this.#session.core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    if (this.#isClosed) throw new RuntimeError("session.closed", { id: this.#session.id });
    return this.#session;
  }
}

/** What a caller asks of a turn besides an answer: `wants` is recorded, `check` is the caller's own schema. */
interface Wants {
  readonly check?: Validate;
  readonly wants?: TurnWants;
}
const NO_WANTS: Wants = {};
type TypedOptions = TurnOptions & { readonly output?: ToolSchema };
const NO_OPTIONS: TypedOptions = {};

const TURN: Known<TypedOptions> = {
  ...{ key: true, signal: true, prompt: true, extensions: true, metadata: true, output: true },
};
const SEND: Known<SendOptions> = { key: true, at: true, metadata: true };
const CANCEL: Known<CancelOptions> = { reason: true, requestId: true };
const COMPACT: Known<CompactOptions> = { instructions: true };

function wantsOf(session: LiveSession, { output, prompt, extensions: given }: TypedOptions): Wants {
  session.useStored();
  const { core, composition } = session;
  const extensions =
    given === undefined ? undefined : keptExtensions(composition.extensions, given, core.limits.inputBytesMax);
  if (output === undefined && prompt === undefined && extensions === undefined) return NO_WANTS;
  if (prompt !== undefined) requireConfig({ prompt }, "turn");
  const own = defined({
    prompt: prompt === undefined ? undefined : (ownJson(prompt) as unknown as typeof prompt),
    extensions,
  });
  if (output === undefined) return { wants: own };
  const { check, ...document } = typed(output);
  return { check, wants: { ...document, ...own } };
}

const CANCELLED = { withdrawn: "cancelled", taken: "already-taken", ended: "already-completed" } as const;

const waitingInput = ({ id, turnId, key, place, message, at: acceptedAt }: PendingInput): WaitingInput =>
  defined({ id, ...ownTurn(place, turnId), key, at: PLACES[place], text: textOf(message.parts), acceptedAt });
const PLACES = { boundary: "boundary", turn: "next-turn", injected: "injected" } as const;

export function sendingOf(
  where: string,
  options: SendOptions,
): { readonly key?: string | undefined; readonly place: "boundary" | "turn" } {
  if (isObject(options) && "extensions" in options) throw new RuntimeError("extension.refused", { where });
  requireOptions(where, options, SEND);
  const { key, at = "boundary" } = options;
  if (at !== "boundary" && at !== "next-turn")
    throw new RuntimeError("options.invalid", { option: "at", problem: "it must be boundary or next-turn" });
  return { key, place: at === "boundary" ? "boundary" : "turn" };
}
