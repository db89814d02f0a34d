// What running a tool needs from its turn. Each call has three steps, each an effect: `gate.ts`, `attempt.ts` and
// `settle.ts`.
// Not their job: order, concurrency, retries and waits (`turn/work.ts`), and merging what hooks answer
// (`kernel/tool-gates.ts`).
// dispatch-1: No tool runs except through `attempt`, and its arguments have passed the tool's schema, in the gate or
//    again in the attempt (after a restart, or when they were edited).
// dispatch-2: An error of a tool, schema or projector becomes the call's output. Only an error of the runtime's own
//    store, from a service inside a tool, is thrown: the call runs again when the store works, if its tool may run
//    again.
// dispatch-3: Gating and settling handle calls in call order, so that a replay runs hooks in the same order.
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

/** The part of a turn that its calls use. */
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
  /** Arguments that passed the gate, so that the attempt does not check them again. Empty after a restart. */
  passed?: Map<ToolCall, unknown> | undefined;
  readonly show: CallShow;
  /** Stores an attachment for the answer of this effect. */
  keep(attachable: Attachable, place: EffectName): Attachment;
  /** Makes a wait answerable before the call begins to wait. The key is the same if the attempt runs again. */
  answerable(effect: EffectOf<"call">, deferral: Deferral, schema: JsonObject | undefined): Promise<WaitKey>;
  /** Whether the model saw a tool of this name in this turn. */
  wasDeclared(tool: string): boolean;
  /** dispatch-2: whether the call runs again because of this error. */
  isRepeated(effect: EffectOf<"call">, error: unknown): boolean;
  contextOfCall(scope: Scope, effect: EffectOf<"call">): HookCallContext;
  /** Why a tool of this name cannot be called; undefined when there is no such tool. */
  availability(tool: string): Availability | undefined;
  conflict(conflict: Conflict): void;
  /** Reports handlers that failed. Such a failure denies the call. */
  observed(issues: readonly Issue[]): void;
}

/** Previews of calls for readers of the turn. */
export interface CallShow {
  started(call: PlacedCall): void;
  /** The work of the call has ended, in an attempt or at the gate. */
  returned(call: PlacedCall, output: ToolOutput): void;
  /** The call's result is settled. */
  ended(call: PlacedCall, output: ToolOutput): void;
  progressed(call: PlacedCall, attempt: number, value: Json): void;
  printed(call: PlacedCall, attempt: number, chunk: string): void;
  emitted(emit: Emit, call: PlacedCall): void;
}

/** A call whose result comes later. */
export interface Deferred {
  readonly kind: "deferred";
  readonly deferral: Deferral;
  /** The schema of the tool's results, if it has one. A schema of the deferral overrides it. */
  readonly schema?: JsonObject;
}

/** Bounds how often a call can wait. Otherwise a call that waits again and again for ended work would never end. */
export const DEFERS_MAX = 100;

/** How long a wait without `until` lasts. */
export const WEEK_MS = 7 * 24 * 3_600_000;

// ── Gate ────────────────────────────────────────────────────────────────────────────────────────────────────────────

// ── Attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────────

// ── Settle ──────────────────────────────────────────────────────────────────────────────────────────────────────────
