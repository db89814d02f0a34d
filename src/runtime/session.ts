import {
  type InputArgs,
  type InputFor,
  type NamesOf,
  type OperationDefinition,
  type OperationKind,
  type OutputFor,
  wireName,
} from "../kernel/operation.ts";
import type { Plugin, TriggerDeclaration } from "../kernel/plugin.ts";
import type { Point } from "../kernel/point.ts";
import type { Appended, AppendNode, AppendOptions, Complete } from "../kernel/services.ts";
import { after } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import { asTurnId, type InputId, type SessionId, type TurnId } from "../model/ids.ts";
import { isObject, isThenable, type Json, ownJson } from "../model/json.ts";
import { textOf } from "../model/message.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { Any, OutputOf, ToolSchema } from "../model/schema.ts";
import { costOf } from "../model/usage.ts";
import type { SessionView } from "../model/view.ts";
import type { CancelAnswer, InputRef, PendingInput } from "../stores/store.ts";
import { hashOf } from "../tools/catalog.ts";
import { effectiveConfig, type Input, newInput } from "./accept.ts";
import { ask, type Compacted, compact, configure, operate } from "./between.ts";
import { requireConfig } from "./config.ts";
import { type HistoryPage, historyOf, type Node } from "./history.ts";
import { openInputs } from "./open-inputs.ts";
import { type OperationOptions, operationsIn, type Receipt, requireOperation } from "./operate.ts";
import type { KnownTranscript, Resident } from "./resident.ts";
import type { ForkOptions } from "./sessions.ts";
import { type SessionTools, sessionTools } from "./tools.ts";
import { type Turn, TurnHandle } from "./turn.ts";
import { type TypedOutput, typed } from "./typed.ts";
import { cursorFor, type ObserveOptions } from "./watch.ts";

export interface TurnOptions {
  /** The same key with the same input joins the turn that is already there; with another input it is `input.conflict`. */
  readonly key?: string | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Parts of the prompt for this turn alone: the highest of its layers. */
  readonly prompt?: readonly PromptPart[] | undefined;
}

/** Inputs that wait for their turn. */
export interface SessionInputs {
  /** Oldest first. */
  list(): Promise<readonly WaitingInput[]>;
  /** Takes back one that still waits, or all from one on; to change an input is to take it back and send another. */
  cancel(
    which: { readonly id: string } | { readonly key: string } | { readonly from: string },
  ): Promise<readonly CancelledInput[]>;
}
export interface WaitingInput {
  readonly id: InputId;
  /** The turn that it opens, unless a running one takes it. */
  readonly turnId: TurnId;
  readonly key?: string;
  readonly at: "boundary" | "next-turn";
  readonly text: string;
  readonly acceptedAt: number;
}
export interface CancelledInput {
  readonly id: InputId;
  readonly turnId: TurnId;
  /** Only what still waits can be cancelled: for the others see the turn. */
  readonly kind: "cancelled" | "already-taken" | "already-completed";
}

/** A conversation. Handles are cheap: several may be open on one session, and its turns run one after the other. */
export interface Session extends AsyncDisposable {
  readonly id: SessionId;
  /** Starts a turn, or queues it behind the one that runs. */
  turn(input: Input, options?: TurnOptions): Turn;
  /** The turn ends with a value of this schema: `finished`, by `model`. */
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  /** Says something to the session: a running turn takes it at its next boundary, else it is the next turn. */
  send(
    input: Input,
    options?: { readonly key?: string; readonly at?: "boundary" | "next-turn" },
  ): Promise<{ readonly turnId: TurnId }>;
  readonly inputs: SessionInputs;
  /** A turn by its id, before, while and after it runs, wherever that is: what it shows here from now on, and its result. */
  follow(turnId: string): Turn;
  /** The turn that is under way here, also one that another process had left. */
  current(): Turn | undefined;
  /** Asks a turn to end, in whatever process it runs. Its result is the acknowledgement. */
  cancel(turnId: string, options?: { readonly reason?: string; readonly requestId?: string }): Promise<CancelAnswer>;
  read(): Promise<SessionView>;
  /** What is kept, after a cursor and from now on, and what is shown meanwhile. Bounded: see `gap`. */
  observe(options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Nodes of all frames, newest first. */
  history(page?: HistoryPage): Promise<readonly Node[]>;
  /** Goes on in a fresh frame with a shorter conversation, where a plugin compacts. */
  compact(): Promise<Compacted>;

  /** Calls an operation of a plugin. A plugin that is not installed is `operation.unknown`. */
  query<Ops, N extends NamesOf<Ops, "query">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<OutputFor<Ops, N>>;
  /** Runs between turns; its changes of state and its events are kept together. */
  command<Ops, N extends NamesOf<Ops, "command">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  task<Ops, N extends NamesOf<Ops, "task">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  /** By wire name, `plugin.operation`; untyped. */
  invoke(kind: OperationKind, name: string, input?: Json, options?: OperationOptions): Promise<Receipt>;
  operations(): readonly OperationDefinition[];
  /** What plugins contributed to a point. */
  contributed<Out>(point: Point<Any, Out>): Out;
  triggers(): readonly TriggerDeclaration[];
  /** Of the plugins' states here: another one when a plugin, its version, its revision or their order is another. */
  readonly fingerprint: string;

  /** Changes what the session has of its own; `undefined` gives a field back to the runtime. */
  configure(patch: { readonly [K in keyof SessionConfig]?: SessionConfig[K] | undefined }): Promise<SessionConfig>;
  /** Adds messages and nodes between turns. */
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  /** One model call outside the conversation, booked in its ledger. */
  readonly complete: Complete;
  /** Which tools the session has. */
  readonly tools: SessionTools;
  /** A second session over the same history; at the head unless told where. */
  fork(options?: ForkOptions): Promise<Session>;
  close(): Promise<void>;
}

/** What is known of its conversation need not be read. */
type Reopen = (id: string, known: KnownTranscript | undefined) => Promise<Session>;

export class SessionHandle implements Session {
  readonly #resident: Resident;
  readonly #closed: () => void;
  readonly #reopen: Reopen;
  #isClosed = false;

  constructor(resident: Resident, closed: () => void, reopen: Reopen) {
    this.#resident = resident;
    this.#closed = closed;
    this.#reopen = reopen;
  }

  get id(): SessionId {
    return this.#resident.id;
  }

  turn(input: Input, options?: TurnOptions): Turn;
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  turn(said: Input, options: TurnOptions & { readonly output?: ToolSchema } = {}): Turn {
    const resident = this.#resident;
    const handle = this.#handle();
    const signal = options?.signal;
    try {
      requireOptions(options);
      const { key, output, prompt } = options;
      this.#open();
      if (signal !== undefined && typeof signal?.addEventListener !== "function")
        throw new RuntimeError("input.invalid", { problem: "its signal is no AbortSignal" });
      if (prompt !== undefined) requireConfig({ prompt }, "turn");
      const { check, ...document } = output === undefined ? ({} as Partial<TypedOutput>) : typed(output);
      const wants =
        output === undefined && prompt === undefined
          ? undefined
          : {
              ...document,
              ...(prompt === undefined
                ? {}
                : { prompt: ownJson(prompt as unknown as Json) as unknown as typeof prompt }),
            };
      const input = newInput(resident.core, resident.id, said, key, "turn", wants);
      const begun = resident.enter(
        after(input, (made) =>
          resident.begin(made, handle, check, signal?.aborted === true ? reasonOf(signal) : undefined),
        ),
      );
      if (isThenable(begun)) begun.then(undefined, (error: unknown) => handle.failed(error));
      if (signal !== undefined) follow(signal, handle);
    } catch (error) {
      handle.failed(error);
    }
    return handle; // Of a typed one the gate checks the value against the schema.
  }

  async send(
    input: Input,
    options: { readonly key?: string; readonly at?: "boundary" | "next-turn" } = {},
  ): Promise<{ readonly turnId: TurnId }> {
    const resident = this.#open();
    requireOptions(options);
    const { key, at = "boundary" } = options;
    if (at !== "boundary" && at !== "next-turn")
      throw new RuntimeError("options.invalid", { option: "at", problem: "it is neither boundary nor next-turn" });
    const place = at === "boundary" ? "boundary" : "turn";
    const made = newInput(resident.core, resident.id, input, key, place);
    return { turnId: await resident.enter(after(made, (input) => resident.begin(input, undefined, undefined))) };
  }

  async cancel(
    turnId: string,
    options: { readonly reason?: string; readonly requestId?: string } = {},
  ): Promise<CancelAnswer> {
    const resident = this.#open();
    requireOptions(options);
    return resident.cancel(asTurnId(turnId), options.reason, options.requestId);
  }

  async read(): Promise<SessionView> {
    const resident = this.#open();
    return viewOf(resident);
  }

  observe(options: ObserveOptions = {}): AsyncIterableIterator<SessionEvent> {
    const resident = this.#open();
    requireOptions(options);
    return resident.core.watch.observe(resident, () => viewOf(resident), options);
  }

  async history(page: HistoryPage = {}): Promise<readonly Node[]> {
    const { core, id } = this.#open();
    requireOptions(page);
    return historyOf(core.store, id, page);
  }

  async compact(): Promise<Compacted> {
    return compact(this.#open());
  }

  readonly inputs: SessionInputs = {
    list: async () => {
      const resident = this.#open();
      const { id } = await resident.requireThere();
      return (await resident.core.store.inputs.list(id)).map(waitingInput);
    },
    cancel: async (which) => {
      const resident = this.#open();
      return (await resident.withdraw(requireRef(which))).map(({ inputId, turnId, answer }) => ({
        id: inputId,
        turnId,
        kind: CANCELLED[answer],
      }));
    },
  };

  follow(turnId: string): Turn {
    const resident = this.#open();
    const handle = this.#handle();
    resident.follow(asTurnId(turnId), handle);
    return handle;
  }

  current(): Turn | undefined {
    const { current } = this.#open();
    return current === undefined ? undefined : this.follow(current);
  }

  #handle(): TurnHandle {
    const resident = this.#resident;
    return new TurnHandle(resident.core.limits.unreadEventsMax, (id, reason) => resident.cancel(id, reason));
  }

  async query(plugin: Plugin<Any>, name: string, input?: unknown, options: OperationOptions = {}): Promise<Any> {
    return ask(this.#open(), wireName(plugin.id, name), input, options);
  }

  async command(
    plugin: Plugin<Any>,
    name: string,
    input?: unknown,
    options: OperationOptions = {},
  ): Promise<Receipt<Any>> {
    return operate(this.#open(), "command", wireName(plugin.id, name), input, options);
  }

  async task(
    plugin: Plugin<Any>,
    name: string,
    input?: unknown,
    options: OperationOptions = {},
  ): Promise<Receipt<Any>> {
    return operate(this.#open(), "task", wireName(plugin.id, name), input, options);
  }

  async invoke(kind: OperationKind, name: string, input?: Json, options: OperationOptions = {}): Promise<Receipt> {
    const resident = this.#open();
    if (kind !== "query") return operate(resident, kind, name, input, options);
    const { plugin } = requireOperation(resident, kind, name);
    return { plugin, output: await ask(resident, name, input, options), events: [], queued: [] };
  }

  operations(): readonly OperationDefinition[] {
    return operationsIn(this.#open());
  }

  contributed<Out>(point: Point<Any, Out>): Out {
    return this.#open().composition.contributions.read(point);
  }

  triggers(): readonly TriggerDeclaration[] {
    return this.#open().composition.triggers.map(({ value }) => value);
  }

  get fingerprint(): string {
    return hashOf(this.#open().states.fingerprint());
  }

  async configure(
    patch: { readonly [K in keyof SessionConfig]?: SessionConfig[K] | undefined },
  ): Promise<SessionConfig> {
    return configure(this.#open(), patch as Partial<SessionConfig>);
  }

  async append(nodes: readonly AppendNode[], options: AppendOptions = {}): Promise<Appended> {
    requireOptions(options);
    return this.#open().append("app", nodes, options);
  }

  get complete(): Complete {
    return this.#open().home(undefined, undefined).complete();
  }

  get tools(): SessionTools {
    return sessionTools(() => this.#open());
  }

  async fork(options: ForkOptions = {}): Promise<Session> {
    const { id, known } = await this.#open().fork(options);
    return this.#reopen(id, known);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #open(): Resident {
    if (this.#resident.core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    if (this.#isClosed) throw new RuntimeError("session.closed", { id: this.#resident.id });
    return this.#resident;
  }
}

/** The session and the latest fact of one moment: what comes after the fact is not in the session, and the other way round. */
async function exactly(resident: Resident) {
  for (;;) {
    const { store } = resident.core;
    const kept = await resident.asKept();
    const latest = await store.latest();
    const { openTurn } = await resident.requireThere();
    const inputs = await openInputs(store, resident.id, openTurn, resident.taken);
    const { revision } = await resident.requireThere();
    const later = await store.changes(latest, { session: resident.id, max: 1 }); // Of this one: the others do not stop.
    if (revision === kept.stored.revision && later.length === 0) return { ...kept, inputs, latest };
  }
}

/** What is committed, and from where on to observe what is not. */
async function viewOf(resident: Resident): Promise<SessionView> {
  const { core, id } = resident;
  const { stored, transcript, inputs, latest } = await exactly(resident);
  const { parentId, origin, head, turns, usage, ledger } = stored;
  const { frame } = transcript;
  const cost = costOf(ledger, core.prices);
  return {
    id,
    ...(parentId === undefined ? {} : { parentId }),
    ...(origin === undefined ? {} : { origin }),
    ...(head === undefined ? {} : { head }),
    ...(frame === undefined ? {} : { frame }),
    messages: [...transcript.messages],
    inputs,
    turns,
    config: effectiveConfig(core, stored.config),
    usage,
    ledger,
    ...(cost === undefined ? {} : { cost }),
    ...(latest === undefined ? {} : { cursor: cursorFor(id, latest) }),
  };
}

/** For callers without types. */
export function requireOptions(options: unknown): void {
  if (!isObject(options)) throw new RuntimeError("options.invalid", { option: "options", problem: "it is no object" });
}

const CANCELLED = { withdrawn: "cancelled", taken: "already-taken", ended: "already-completed" } as const;

const waitingInput = ({ id, turnId, key, place, message, at }: PendingInput): WaitingInput => ({
  id,
  turnId,
  ...(key === undefined ? {} : { key }),
  at: place === "boundary" ? "boundary" : "next-turn",
  text: textOf(message.parts),
  acceptedAt: at,
});

function requireRef(which: { readonly [field: string]: unknown }): InputRef {
  const [field, ...more] = isObject(which) ? Object.keys(which) : [];
  const value = field === undefined ? undefined : which[field];
  if (more.length > 0 || typeof value !== "string" || value === "" || !["id", "key", "from"].includes(field as string))
    throw new RuntimeError("input.invalid", { problem: "an input is named by one of id, key and from" });
  return which as InputRef;
}

const reasonOf = ({ reason }: AbortSignal): string =>
  reason instanceof Error
    ? reason.name === "AbortError"
      ? "The caller's signal aborted."
      : reason.message
    : String(reason);

/** Cancels with the signal, and stops listening when the turn is over. */
function follow(signal: AbortSignal, handle: TurnHandle): void {
  const cancel = (): void => void handle.cancel(reasonOf(signal)).catch(() => {});
  if (signal.aborted) return;
  signal.addEventListener("abort", cancel, { once: true });
  const stop = (): void => signal.removeEventListener("abort", cancel);
  void handle.result().then(stop, stop);
}
