import { createHash } from "node:crypto";
import type { Deadline } from "../kernel/deadline.ts";
import { jobsUntil, MonitorsUntil } from "../kernel/hook-event.ts";
import type { HookCallContext } from "../kernel/hook-runner.ts";
import type { ServiceName, Services } from "../kernel/services.ts";
import type { PluginStates } from "../kernel/states.ts";
import type { ToolContext } from "../kernel/tool.ts";
import { unwaited } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { CallId, EffectName, SessionId, TurnId, WaitKey } from "../model/ids.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Scope } from "../model/scope.ts";
import { Deferral } from "../model/tool.ts";
import type { EffectOf, PlacedCall } from "../turn/effect.ts";
import { requireDocument } from "./validator.ts";

/** The part of a call's turn that a tool's context uses. */
export interface CallTurn {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly states: PluginStates;
  contextOfCall(scope: Scope, effect: EffectOf<"call">): HookCallContext;
  answerable(effect: EffectOf<"call">, deferral: Deferral, schema: JsonObject | undefined): Promise<WaitKey>;
  readonly show: Showing;
}

/** Receives the previews of a running tool. */
interface Showing {
  progressed(call: PlacedCall, attempt: number, value: Json): void;
  printed(call: PlacedCall, attempt: number, chunk: string): void;
}

/** The context that a tool's `execute` gets. Services are created on first use, because most tools use none. */
export class CallContext implements ToolContext {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly attempt: number;
  readonly #effect: EffectOf<"call">;
  readonly #scope: Scope;
  /** The state of the tool's plugin, for this attempt only: it closes when the attempt ends. */
  readonly #state: unknown;
  #controller: AbortController | undefined;
  #reason: unknown;
  #detach: (() => void) | undefined;

  readonly bindings: JsonObject;
  readonly #turn: CallTurn;
  readonly #plugin: string;
  readonly #output: JsonObject | undefined;
  #made: HookCallContext | undefined;
  #deadline: Deadline | undefined;
  /** Drops output of a tool after its attempt has ended. */
  #isOver = false;

  constructor(
    turn: CallTurn,
    effect: EffectOf<"call">,
    plugin: string,
    bindings: JsonObject,
    scope: Scope,
    output?: JsonObject,
  ) {
    this.#turn = turn;
    this.#output = output;
    this.#plugin = plugin;
    this.bindings = bindings;
    this.callId = effect.call.id;
    this.sessionId = turn.sessionId;
    this.turnId = turn.turnId;
    this.attempt = effect.attempt;
    this.#effect = effect;
    this.#scope = scope;
    const { states } = turn;
    if (!states.has(plugin)) return;
    const where = `the tool ${effect.call.name}`;
    this.#state = effect.writes === true ? states.cell(plugin, where) : states.readOnly(plugin, where);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#detach = this.#scope.onAbort(() =>
        controller.abort(this.#scope.reason ?? new RuntimeError("tool.cancelled", { name: this.#effect.call.name })),
      );
    }
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.turnId, this.#effect.position);
  }

  get state(): unknown {
    return this.#state;
  }

  get #hookContext(): HookCallContext {
    this.#made ??= this.#turn.contextOfCall(this.#scope, this.#effect);
    return this.#made;
  }
  #service<N extends ServiceName>(service: N): Services[N] {
    return this.#hookContext.service(service, this.#plugin);
  }
  get session(): Services["session"] {
    return this.#service("session");
  }
  get sessions(): Services["sessions"] {
    return this.#service("sessions");
  }
  get catalog(): Services["catalog"] {
    return this.#service("catalog");
  }
  get membership(): Services["membership"] {
    return this.#service("membership");
  }
  get graph(): Services["graph"] {
    return {
      append: (nodes, options) =>
        unwaited(async () => {
          this.#requireTime();
          return this.#service("graph").append(nodes, options);
        }),
    };
  }
  get complete(): Services["complete"] {
    return this.#service("complete");
  }
  get blobs(): Services["blobs"] {
    return this.#service("blobs");
  }
  get trace(): Services["trace"] {
    return this.#service("trace");
  }
  get jobs(): Services["jobs"] {
    return jobsUntil(
      () => this.#service("jobs"),
      () => this.#requireTime(),
    );
  }
  #requireTime(): void {
    const where = `the tool ${this.#effect.call.name}, after it had ended`;
    if (this.#isOver) throw new RuntimeError("state.parallel", { plugin: this.#plugin, where });
  }
  get monitors(): Services["monitors"] {
    return new MonitorsUntil(
      () => this.#service("monitors"),
      () => this.#requireTime(),
    );
  }
  get triggers(): Services["triggers"] {
    return this.#service("triggers");
  }
  // These return closures, because tools often destructure the context: `const { once } = context`.
  get read(): ToolContext["read"] {
    return (point) => this.#hookContext.read(point);
  }
  get extension(): ToolContext["extension"] {
    return ({ id }) => this.#hookContext.extension(id) as never;
  }
  get once(): ToolContext["once"] {
    return (name, run) => this.#hookContext.onceHere(this.#plugin, name, run);
  }
  get progress(): ToolContext["progress"] {
    return (value) => {
      this.#deadline?.beat();
      if (value !== undefined && !this.#isOver) this.#turn.show.progressed(this.#effect, this.attempt, value);
    };
  }
  get waitKey(): ToolContext["waitKey"] {
    return (deferral) =>
      unwaited(async () => {
        const name = this.#effect.call.name;
        if (!(deferral instanceof Deferral) || deferral.on !== undefined)
          throw new RuntimeError("tool.result", {
            name,
            problem: "waitKey must get the value of defer or question, without turns",
          });
        const schema = deferral.schema ?? this.#output;
        if (schema !== undefined) await requireDocument(schema, `what ${name} waits for`);
        return this.#turn.answerable(this.#effect, deferral, this.#output);
      });
  }
  get output(): ToolContext["output"] {
    return (chunk) => {
      if (!this.#isOver) this.#turn.show.printed(this.#effect, this.attempt, chunk);
    };
  }

  /** Sets the deadline of the attempt, which `progress` restarts. */
  limit(deadline: Deadline): void {
    this.#deadline = deadline;
  }

  abort(reason: unknown): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.close();
  }

  close(): void {
    this.#isOver = true;
    this.#detach?.();
  }
}

/**
 * Made from the turn and the call's position, without the number of the attempt. So it is the same in every retry and
 * after every crash.
 */
export const idempotencyKey = (turn: TurnId, position: EffectName): string =>
  createHash("sha256").update(`${turn}/${position}`).digest("base64url");
