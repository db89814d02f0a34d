import { after } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { asTurnId, type NodeId, type SessionId, type TurnId } from "../model/ids.ts";
import { isObject, isThenable } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import { documentOf, type OutputOf, type ToolSchema } from "../model/schema.ts";
import type { Usage } from "../model/usage.ts";
import type { CancelAnswer } from "../stores/store.ts";
import { validatorOf } from "../tools/validator.ts";
import { type Input, newInput } from "./accept.ts";
import type { Resident, TypedOutput } from "./resident.ts";
import { type Turn, TurnHandle } from "./turn.ts";

export interface TurnOptions {
  /** The same key with the same input joins the turn that is already there; with another input it is `input.conflict`. */
  readonly key?: string;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal;
}

/** The session as it stands: what is committed. */
export interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  /** Of the active frame. */
  readonly messages: readonly Message[];
  readonly turns: number;
  readonly config: SessionConfig;
  readonly usage: Usage;
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
  cancel(turnId: string, options?: { readonly reason?: string; readonly requestId?: string }): Promise<CancelAnswer>;
  read(): Promise<SessionView>;
  close(): Promise<void>;
}

export class SessionHandle implements Session {
  readonly #resident: Resident;
  readonly #closed: () => void;
  #isClosed = false;

  constructor(resident: Resident, closed: () => void) {
    this.#resident = resident;
    this.#closed = closed;
  }

  get id(): SessionId {
    return this.#resident.id;
  }

  turn(input: Input, options?: TurnOptions): Turn;
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  turn(said: Input, options: TurnOptions & { readonly output?: ToolSchema } = {}): Turn {
    const resident = this.#resident;
    const handle = new TurnHandle(resident.core.limits.unreadEventsMax, (id, reason) => resident.cancel(id, reason));
    const { key, output, signal } = options;
    try {
      this.#open();
      const input = newInput(resident.core, resident.id, said, key, "turn");
      const begun = after(input, (made) =>
        resident.begin(made, handle, output === undefined ? undefined : typed(output)),
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
    const { key, at = "boundary" } = options;
    const made = await newInput(resident.core, resident.id, input, key, at === "boundary" ? "boundary" : "turn");
    return { turnId: await resident.begin(made, undefined, undefined) };
  }

  async cancel(
    turnId: string,
    { reason = "It was cancelled.", requestId }: { readonly reason?: string; readonly requestId?: string } = {},
  ): Promise<CancelAnswer> {
    return this.#open().cancel(asTurnId(turnId), reason, requestId);
  }

  async read(): Promise<SessionView> {
    const resident = this.#open();
    if (!resident.isRunning) await resident.refresh();
    const { stored, transcript } = resident;
    const { id, parentId, head, turns, usage } = stored;
    return {
      id,
      ...(parentId === undefined ? {} : { parentId }),
      ...(head === undefined ? {} : { head }),
      messages: [...transcript.messages],
      turns,
      config: resident.config,
      usage,
    };
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

const OF_TURN = "the output of the turn";

/** Models hand results in as a tool's arguments, which are objects: anything else travels as the field `value` of one. */
function typed(schema: ToolSchema): TypedOutput {
  const { $schema: _, ...document } = documentOf(schema, OF_TURN);
  const check = validatorOf(schema, OF_TURN);
  if (document.type === "object") return { document, check };
  const { $defs, ...value } = document;
  return {
    document: { type: "object", properties: { value }, required: ["value"], ...($defs === undefined ? {} : { $defs }) },
    check: (input) =>
      isObject(input) && "value" in input ? check(input.value) : { ok: false, problem: "value: it is missing" },
  };
}

/** Cancels with the signal, and stops listening when the turn is over. */
function follow(signal: AbortSignal, handle: TurnHandle): void {
  const cancel = (): void => void handle.cancel("The caller's signal aborted.").catch(() => {});
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel, { once: true });
  const stop = (): void => signal.removeEventListener("abort", cancel);
  void handle.result().then(stop, stop);
}
