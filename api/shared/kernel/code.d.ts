import { Attachable, StateCell, StateView } from "../model/tool.js";
import { Attachment, Message } from "../model/message.js";
import { Awaitable } from "../model/awaitable.js";
import { Cell, CellDelivery, PlacedSleep } from "../turn/effect.js";
import { CellOutput } from "../turn/event.js";
import { EffectName, NodeId, TurnId } from "../model/ids.js";
import { Here } from "./here.js";
import { Json } from "../model/json.js";
import { Services } from "./services.js";
/** A segment of a cell. */
interface CellSegment {
  /** The cell's name, unique in the turn: `r2.exec`. */
  readonly name: EffectName;
  readonly cell: Cell;
  /** What the code is to take for the time. */
  readonly time: number;
  /** What the code is given; left out for the beginning of the cell. */
  readonly deliver?: CellDelivery;
}
/** A call that the code made. Calls and sleeps of a cell are numbered together by the executor, without gaps: "0", "1", … */
interface CodeCall {
  readonly at: string;
  readonly tool: string;
  readonly input: Json;
  /** How the code named the tool, where that is not its name. Recorded, for `restore` to compare. */
  readonly as?: string | undefined;
}
/** What came of a segment: what the code waits for now, or how the cell ended. */
type CellProgress = {
  readonly kind: "called";
  readonly calls: readonly CodeCall[];
  readonly sleeps?: readonly PlacedSleep[] | undefined;
  /** How far the cell has computed. Recorded, for `restore` to compare. */
  readonly meter?: number | undefined;
  /** What the segment was given of the world around it. Recorded, for `restore` to give the same. */
  readonly given?: Json | undefined;
} | {
  readonly kind: "executed";
  readonly output: CellOutput;
  readonly meter?: number | undefined;
  /** A hash of what the code keeps. Recorded, for `restore` to compare. */
  readonly heap?: string | undefined;
  readonly given?: Json | undefined;
};
/** The code of a turn so far. */
interface CodePast<S> {
  /** The plugin's state when the turn began. */
  readonly start: StateView<S>;
  /** A frame with a task of its own began: the code starts from nothing, whatever `start` holds. */
  readonly isFresh: boolean;
  /** What ran since then, with what came of it. Cells that were stopped are left out: what they did is undone. */
  readonly segments: readonly RanSegment[];
}
interface RanSegment {
  readonly segment: CellSegment;
  readonly progress: CellProgress;
}
/** Where code runs, and what an executor may use. */
interface CodeContext<S> extends Here, Pick<Services, "session" | "sessions" | "catalog" | "membership" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "triggers"> {
  readonly turnId: TurnId;
  /** The plugin's own state. What is written is kept with what came of the segment. */
  readonly state: StateCell<S>;
  /** The conversation as the model sees it. */
  messages(): readonly Message[];
  /** The node at which the active frame begins; undefined in the first frame. */
  readonly frame: NodeId | undefined;
  /** The clock of the runtime. Code must not see it: a replay would see another time. */
  now(): number;
  /** Shows something while the cell runs: a preview. */
  emit(name: string, payload: Json): void;
  /** Stores bytes, for the output of the cell. */
  keep(attachable: Attachable): Attachment;
}
/**
 * Runs the cells of a code protocol. What it throws ends the turn as `code.stopped`; an error with a code of its own,
 * `code.…`, as that. `code.lost` means that what ran is gone: `restore` is called, and then the same again.
 */
interface CodeExecutor<S> {
  execute(segment: CellSegment, context: CodeContext<S>): Awaitable<CellProgress>;
  /**
   * Brings the code to where the turn is. Called before the first segment of a turn in this process, and whenever what
   * runs may not be what is recorded. Must come to the same progress again, or throw `code.diverged`.
   */
  restore?(past: CodePast<S>, context: CodeContext<S>): Awaitable<void>;
  /** Whether there is something to keep, at the end of a turn in which cells ran. Default: yes. */
  dirty?(context: CodeContext<S>): Awaitable<boolean>;
  /** Keeps it: writes to `context.state`, which the turn's commit stores. */
  snapshot?(past: CodePast<S>, context: CodeContext<S>): Awaitable<void>;
  /** The turn is over or rests: nothing needs to be held here any more. */
  release?(): Awaitable<void>;
}
export { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast };
