// The contract of a code executor: the value of the slot `codeExecutor`.
//
// A cell runs in segments. The first segment starts the cell. Each later segment delivers one answer: the result of a
// call, or the end of a sleep. A segment ends when the code waits again or has ended. Code calls a tool only by the
// answer `called`, because then each call passes the gates, is recorded, and runs once.
import type { Awaitable } from "../model/awaitable.ts";
import type { EffectName, NodeId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Attachment, Message } from "../model/message.ts";
import type { Attachable, StateCell, StateView } from "../model/tool.ts";
import type { Cell, CellDelivery, PlacedSleep } from "../turn/effect.ts";
import type { CellOutput } from "../turn/event.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { Services } from "./services.ts";

/** A segment of a cell. */
export interface CellSegment {
  /** The cell's name, unique in the turn: `r2.exec`. */
  readonly name: EffectName;
  readonly cell: Cell;
  /** The current time for the code. */
  readonly time: number;
  /** The answer for the code; left out in the first segment. */
  readonly deliver?: CellDelivery;
}

/** A call that the code made. Calls and sleeps of a cell are numbered together by the executor, without gaps: "0", "1", … */
export interface CodeCall {
  readonly at: string;
  readonly tool: string;
  readonly input: Json;
  /** How the code named the tool, if not by its name. Recorded, so that `restore` can compare it. */
  readonly as?: string | undefined;
}

/** The result of a segment: what the code waits for now, or how the cell ended. */
export type CellProgress =
  | {
      readonly kind: "called";
      readonly calls: readonly CodeCall[];
      readonly sleeps?: readonly PlacedSleep[] | undefined;
      /** How far the cell has computed. Recorded, so that `restore` can compare it. */
      readonly meter?: number | undefined;
      /** The external values that the segment received. Recorded, so that `restore` can pass the same values. */
      readonly given?: Json | undefined;
    }
  | {
      readonly kind: "executed";
      readonly output: CellOutput;
      readonly meter?: number | undefined;
      /** A hash of the heap. Recorded, so that `restore` can compare it. */
      readonly heap?: string | undefined;
      readonly given?: Json | undefined;
    };

/** The code of a turn so far. */
export interface CodePast<S> {
  /** The plugin's state when the turn began. */
  readonly start: StateView<S>;
  /** A new frame with its own task began: the code starts with an empty heap and ignores `start`. */
  readonly isFresh: boolean;
  /** The segments since then, with their results. Stopped cells are left out, because their effects are undone. */
  readonly segments: readonly RanSegment[];
}
export interface RanSegment {
  readonly segment: CellSegment;
  readonly progress: CellProgress;
}

/** Where code runs, and what an executor can use. */
export interface CodeContext<S>
  extends HandlerContext,
    Pick<
      Services,
      "session" | "sessions" | "catalog" | "membership" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "triggers"
    > {
  readonly turnId: TurnId;
  /** The plugin's own state. Changes are stored with the result of the segment. */
  readonly state: StateCell<S>;
  /** The conversation as the model sees it. */
  messages(): readonly Message[];
  /** The node at which the active frame begins; undefined in the first frame. */
  readonly frame: NodeId | undefined;
  /** The clock of the runtime. Code must not see it, because a replay would see another time. */
  now(): number;
  /** Shows a preview while the cell runs. */
  emit(name: string, payload: Json): void;
  /** Stores bytes, for the output of the cell. */
  keep(attachable: Attachable): Attachment;
}

/**
 * Runs the cells of a code protocol. An error that it throws ends the turn with the error's code `code.…`, or else with
 * `code.stopped`. If it throws `code.lost`, the state of the code is gone: the runtime calls `restore` and repeats the
 * call.
 */
export interface CodeExecutor<S> {
  execute(segment: CellSegment, context: CodeContext<S>): Awaitable<CellProgress>;
  /**
   * Brings the code to the recorded state of the turn. Called before the first segment of a turn in this process, and
   * whenever the code can differ from the record. It must reach the recorded progress, or throw `code.diverged`.
   */
  restore?(past: CodePast<S>, context: CodeContext<S>): Awaitable<void>;
  /** Whether there is state to store at the end of a turn in which cells ran. Default: yes. */
  dirty?(context: CodeContext<S>): Awaitable<boolean>;
  /** Writes the state to `context.state`, which the turn's commit stores. */
  snapshot?(past: CodePast<S>, context: CodeContext<S>): Awaitable<void>;
  /** The turn has ended or is parked: the executor can free its resources. */
  release?(): Awaitable<void>;
}
