// What running a tool needs from its turn. Each call passes three steps, each an effect: `gate.ts`, `attempt.ts` and
// `settle.ts`.
// Not their job: order, concurrency, retries and waits (`turn/work.ts`), and merging what hooks answer
// (`kernel/tool-gates.ts`).
// dispatch-1: No tool runs except through `attempt`, and its arguments have passed the tool's schema, in the gate or
//    again in the attempt (after a restart, or when they were edited).
// dispatch-2: What a tool, schema or projector throws becomes the call's output. Only a fault of the runtime's own
//    store that a service met inside a tool is thrown on: the call runs again when the store works, if its tool may run
//    again.
// dispatch-3: Gating and settling go through the calls in call order, so that a replay sees the same order of hooks.
// dispatch-4: Outputs are JSON and within `resultBytesMax`, since they are journaled.

import type { HookCallContext, HookRunner, Issue } from "../kernel/hook-runner.ts";
import type { PluginStates } from "../kernel/states.ts";
import type { Conflict, Emit } from "../kernel/tool-gates.ts";
import type { EffectName, SessionId, TurnId, WaitKey } from "../model/ids.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Attachment } from "../model/message.ts";
import type { Scope } from "../model/scope.ts";
import type { Attachable, Availability, Deferral, ToolCall, ToolOutput } from "../model/tool.ts";
import type { World } from "../model/world.ts";
import type { EffectOf, PlacedCall } from "../turn/effect.ts";
import type { Catalog } from "./catalog.ts";
import type { Validate } from "./validator.ts";

/** The turn, as far as its calls need it. */
export interface Dispatch {
  readonly hooks: HookRunner;
  readonly states: PluginStates;
  readonly catalog: Catalog;
  readonly limits: Limits;
  readonly world: World;
  readonly turnId: TurnId;
  readonly sessionId: SessionId;
  /** Checks the typed result that the caller of the turn asked for; undefined when none was. */
  readonly output: Validate | undefined;
  /** Arguments that passed the gate, so that the attempt need not check them again. Empty after a restart. */
  passed?: Map<ToolCall, unknown> | undefined;
  readonly show: CallShow;
  /** Stores an attachment for the answer of the effect at this place. */
  keep(attachable: Attachable, place: EffectName): Attachment;
  /** Makes what a call will wait for answerable, before it does; the key is the same when the attempt is run again. */
  answerable(effect: EffectOf<"call">, deferral: Deferral, schema: JsonObject | undefined): Promise<WaitKey>;
  /** Whether the model saw a tool of this name in this turn. */
  wasDeclared(tool: string): boolean;
  /** dispatch-2: whether the call runs again because of this error. */
  isRepeated(effect: EffectOf<"call">, error: unknown): boolean;
  contextOfCall(scope: Scope, effect: EffectOf<"call">): HookCallContext;
  /** Why a tool of this name cannot be called; undefined when there is no such tool. */
  availability(tool: string): Availability | undefined;
  conflict(conflict: Conflict): void;
  /** Reports handlers that failed. The call was denied because of it. */
  observed(issues: readonly Issue[]): void;
}

/** Previews of calls for readers of the turn. */
export interface CallShow {
  started(call: PlacedCall): void;
  /** The call's own work has ended, in an attempt or at the gate. */
  returned(call: PlacedCall, output: ToolOutput): void;
  /** Its result is settled. */
  ended(call: PlacedCall, output: ToolOutput): void;
  progressed(call: PlacedCall, attempt: number, value: Json): void;
  printed(call: PlacedCall, attempt: number, chunk: string): void;
  emitted(emit: Emit, call: PlacedCall): void;
}

/** A call whose result comes later. */
export interface Deferred {
  readonly kind: "deferred";
  readonly deferral: Deferral;
  /** What the result must fit, unless the tool said otherwise. */
  readonly schema?: JsonObject;
}

/** Bounds how often a call can wait. A call that waits again and again for ended work would never end. */
export const DEFERS_MAX = 100;

/** When a wait expires that has no `until`. */
export const WEEK_MS = 7 * 24 * 3_600_000;

// ── Gate ────────────────────────────────────────────────────────────────────────────────────────────────────────────

// ── Attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────────

// ── Settle ──────────────────────────────────────────────────────────────────────────────────────────────────────────
