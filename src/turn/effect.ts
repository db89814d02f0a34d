import { asEffectName, type EffectName, type WaitKey } from "../model/ids.ts";
import type { AskedTrail } from "../model/message.ts";
import type { Ending, TurnOutcome } from "../model/outcome.ts";
import type { Reply } from "../model/request.ts";
import type { ToolCall, ToolOutput } from "../model/tool.ts";
import type { WaitAbout, WaitedTurns } from "../model/wait.ts";

/** A call at its position among the calls of a round or cell: "0", or "0.3" inside a batch. */
export interface PlacedCall {
  readonly at: string;
  readonly call: ToolCall;
  /** The name in the code, if it is not the tool's name. A replay must use the same. */
  readonly as?: string;
}

/** A call at a gate. `isApproved`: it was approved with exactly these arguments. */
export interface GatedCall extends PlacedCall {
  readonly isApproved?: true;
}

/** A call with its result. `ms`: its duration with all attempts and waits; omitted if it was not made. */
export interface ReturnedCall extends PlacedCall {
  readonly output: ToolOutput;
  readonly ms?: number;
  /** The questions about it. */
  readonly asked?: readonly AskedTrail[];
}

/** One piece of code that a model wrote. */
export interface Cell {
  readonly language: string;
  readonly code: string;
  readonly acceptFinish: boolean;
  /** The tool that gets the value that the code finishes with, in this field of its input if one is named. */
  readonly finishBy?: { readonly tool: string; readonly field?: string };
  /** Its output is stored whole, and the text part after it has its ending. The protocol shortens what it shows. */
  readonly isWhole?: true;
}

/** An answer for a running cell: the result of one of its calls, or the end of one of its sleeps. */
export interface CellDelivery {
  readonly at: string;
  readonly output?: ToolOutput;
}

/** A sleep of a running cell. Calls and sleeps of a cell are numbered together. */
export interface PlacedSleep {
  readonly at: string;
  readonly ms: number;
}

/** A point at which a turn takes waiting inputs. At `opening` these are inputs that waited for separate turns. */
export type BoundaryKind = "opening" | "after-work" | "before-completion";

/**
 * A request of a turn. Its name is its position, so a resumed turn requests the same names. Serial effects run hooks,
 * and `step` never has two open that may write plugin state. A host starts outward effects only when the events that
 * released them are durable.
 */
export type Effect = { readonly name: EffectName } & (
  | { readonly kind: "prepare"; readonly round: number }
  | { readonly kind: "ask"; readonly round: number }
  | { readonly kind: "respond"; readonly round: number; readonly reply: Reply }
  | { readonly kind: "gate"; readonly calls: readonly GatedCall[] }
  | { readonly kind: "settle"; readonly results: readonly ReturnedCall[] }
  | { readonly kind: "boundary"; readonly at: BoundaryKind }
  | { readonly kind: "compact"; readonly instructions?: string }
  | { readonly kind: "finalize"; readonly outcome: TurnOutcome }
  | {
      readonly kind: "call";
      readonly at: string;
      readonly call: ToolCall;
      readonly attempt: number;
      /** The position without the attempt, from which the idempotency key is made. */
      readonly position: EffectName;
      readonly onInterrupt?: "fail" | "ask";
      readonly writes?: true;
    }
  /**
   * A segment of a cell: its beginning, `r1.exec`, or one delivery, `r1.exec.d1`. It ends when the code waits again or
   * ends. So between segments only calls, waits and sleeps are open, and the turn can park.
   */
  | {
      readonly kind: "exec";
      readonly cell: Cell;
      /** The time in the code: that of the event that released the segment. */
      readonly time: number;
      readonly deliver?: CellDelivery;
      /** The first cell of a frame with a new task. It starts with an empty heap. */
      readonly isFresh?: true;
    }
  | {
      readonly kind: "wait";
      readonly key: WaitKey;
      /** When it was asked. */
      readonly at: number;
      readonly until: number;
      readonly about: WaitAbout | WaitedTurns;
    }
  | { readonly kind: "sleep"; readonly at: number; readonly until: number }
);

export type EffectKind = Effect["kind"];
export type EffectOf<K extends EffectKind> = Extract<Effect, { readonly kind: K }>;

/**
 * Effects that act on the world or cost something, and `respond`, whose hooks see a reply that was paid for. All others
 * only run hooks, and their synchronous answers are written together with the event that released them.
 */
export const OUTWARD: ReadonlySet<EffectKind> = new Set(["ask", "respond", "call", "exec", "compact", "wait"]);

export const name: (position: string) => EffectName = asEffectName;

export const GRACE: EffectName = name("grace");
export const FINALIZE: EffectName = name("finalize");

/** Why a turn ends early. */
export interface Winding {
  readonly ending: Ending;
  readonly cancel?: { readonly requestId: string; readonly reason: string };
}
