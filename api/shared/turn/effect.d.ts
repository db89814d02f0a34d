import { AskedTrail } from "../model/message.js";
import { EffectName, WaitKey } from "../model/ids.js";
import { Reply } from "../model/request.js";
import { ToolCall, ToolOutput } from "../model/tool.js";
import { TurnOutcome } from "../model/outcome.js";
import { WaitAbout, WaitedTurns } from "../model/wait.js";
/** A call at its position among the calls of a round or cell: "0", or "0.3" inside a batch. */
interface PlacedCall {
  readonly at: string;
  readonly call: ToolCall;
  /** The name in the code, if it is not the tool's name. A replay must use the same. */
  readonly as?: string;
}
/** A call at a gate. `isApproved`: it was approved with exactly these arguments. */
interface GatedCall extends PlacedCall {
  readonly isApproved?: true;
}
/** A call with its result. `ms`: its duration with all attempts and waits; omitted if it was not made. */
interface ReturnedCall extends PlacedCall {
  readonly output: ToolOutput;
  readonly ms?: number;
  /** The questions about it. */
  readonly asked?: readonly AskedTrail[];
}
/** One piece of code that a model wrote. */
interface Cell {
  readonly language: string;
  readonly code: string;
  readonly acceptFinish: boolean;
  /** The tool that gets the value that the code finishes with, in this field of its input if one is named. */
  readonly finishBy?: {
    readonly tool: string;
    readonly field?: string;
  };
  /** Its output is stored whole, and the text part after it has its ending. The protocol shortens what it shows. */
  readonly isWhole?: true;
}
/** An answer for a running cell: the result of one of its calls, or the end of one of its sleeps. */
interface CellDelivery {
  readonly at: string;
  readonly output?: ToolOutput;
}
/** A sleep of a running cell. Calls and sleeps of a cell are numbered together. */
interface PlacedSleep {
  readonly at: string;
  readonly ms: number;
}
/** A point at which a turn takes waiting inputs. At `opening` these are inputs that waited for separate turns. */
type BoundaryKind = "opening" | "after-work" | "before-completion";
/**
 * A request of a turn. Its name is its position, so a resumed turn requests the same names. Serial effects run hooks,
 * and `step` never has two open that may write plugin state. A host starts outward effects only when the events that
 * released them are durable.
 */
type Effect = {
  readonly name: EffectName;
} & ({
  readonly kind: "prepare";
  readonly round: number;
} | {
  readonly kind: "ask";
  readonly round: number;
} | {
  readonly kind: "respond";
  readonly round: number;
  readonly reply: Reply;
} | {
  readonly kind: "gate";
  readonly calls: readonly GatedCall[];
} | {
  readonly kind: "settle";
  readonly results: readonly ReturnedCall[];
} | {
  readonly kind: "boundary";
  readonly at: BoundaryKind;
} | {
  readonly kind: "compact";
  readonly instructions?: string;
} | {
  readonly kind: "finalize";
  readonly outcome: TurnOutcome;
} | {
  readonly kind: "call";
  readonly at: string;
  readonly call: ToolCall;
  readonly attempt: number;
  /** The position without the attempt, from which the idempotency key is made. */
  readonly position: EffectName;
  readonly onInterrupt?: "fail" | "ask";
  readonly writes?: true;
} |
/**
 * A segment of a cell: its beginning, `r1.exec`, or one delivery, `r1.exec.d1`. It ends when the code waits again or
 * ends. So between segments only calls, waits and sleeps are open, and the turn can park.
 */
{
  readonly kind: "exec";
  readonly cell: Cell;
  /** The time in the code: that of the event that released the segment. */
  readonly time: number;
  readonly deliver?: CellDelivery;
  /** The first cell of a frame with a new task. It starts with an empty heap. */
  readonly isFresh?: true;
} | {
  readonly kind: "wait";
  readonly key: WaitKey;
  /** When it was asked. */
  readonly at: number;
  readonly until: number;
  readonly about: WaitAbout | WaitedTurns;
} | {
  readonly kind: "sleep";
  readonly at: number;
  readonly until: number;
});
export { Cell, CellDelivery, Effect, PlacedCall, PlacedSleep };
