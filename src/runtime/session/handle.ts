// The public `Session` that callers hold, with the checks that untyped callers need.
// Not its job: the session itself (`session.ts`), which all its handles share, and turns' handles (`live-turn/handle.ts`).
// handle-1 A closed handle refuses every call. The session and its turns continue.
// handle-2 `turn()` never throws: an invalid input rejects the turn's `id` and `result()`.
import type { HistoryPage, Node } from "../../graph/history.ts";
import { APPEND, type Appended, type AppendNode, type AppendOptions } from "../../kernel/append.ts";
import type { Complete } from "../../kernel/complete.ts";
import type { SavedStates } from "../../kernel/created.ts";
import { type CompactOptions, INSTRUCTIONS_MAX } from "../../kernel/directive.ts";
import { type ExtensionValue, keptExtensions } from "../../kernel/extension.ts";
import type { InstalledHooks } from "../../kernel/hook-runner.ts";
import type { Monitors } from "../../kernel/monitor.ts";
import { type ConfigPatch, type OperationDefinition, type OperationKind, wireName } from "../../kernel/operation.ts";
import type { Plugin } from "../../kernel/plugin.ts";
import type { Point } from "../../kernel/point.ts";
import type { Jobs } from "../../kernel/services.ts";
import type { Triggers } from "../../kernel/trigger.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionEvent } from "../../model/event.ts";
import { hashOf } from "../../model/hash.ts";
import { asTurnId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Input } from "../../model/input.ts";
import { defined, frozen, isObject, type Json, ownJson } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { textOf } from "../../model/message.ts";
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
import { cancelTurn, withdrawInputs } from "./cancel.ts";
import { type Compacted, compact, configure } from "./change.ts";
import { follow } from "./follow.ts";
import { applyInputHooks, attaching, newInput, ownTurn } from "./input.ts";
import type { InstalledPlugin } from "./installed.ts";
import { FORK, type ForkOptions, forkOf } from "./make.ts";
import type { OpenSessions } from "./open.ts";
import { type OperationOptions, operate, operationsIn, query, type Receipt, requireOperation } from "./operate.ts";
import { extend } from "./protocol.ts";
import type {
  CancelOptions,
  LaterInput,
  SendOptions,
  Session,
  SessionInputs,
  TurnOptions,
  WaitingInput,
} from "./public-api.ts";
import type { LiveSession } from "./session.ts";
import { viewOf } from "./view.ts";

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
    return cancelTurn(session, asTurnId(turnId), options.reason, options.requestId);
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
        (await withdrawInputs(this.#open(), requireRef(which))).map(({ inputId: id, turnId, answer }) =>
          defined({ id, turnId, kind: CANCELLED[answer] }),
        ),
    };
  }

  follow(turnId: string): Turn {
    const session = this.#open();
    const handle = new TurnHandle(session);
    follow(session, asTurnId(turnId), handle);
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

  async plugins(): Promise<readonly InstalledPlugin[]> {
    const tools = await this.tools.list({ raw: true });
    const { pluginsIn } = await import("./installed.ts");
    return pluginsIn(this.#current(), tools);
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
