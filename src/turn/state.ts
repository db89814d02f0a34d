import type { SessionConfig } from "../model/config.ts";
import type { InputId, SessionId, TurnId } from "../model/ids.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { AskedTrail } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { Reply } from "../model/request.ts";
import type { CallPolicy, MadeCall, ResultPart, ToolOutput } from "../model/tool.ts";
import type { Spent, Usage } from "../model/usage.ts";
import type { WaitedTurns } from "../model/wait.ts";
import type { Cell, CellDelivery, Effect, PlacedCall, Winding } from "./effect.ts";
import type { Appending, Changes, Policies, Skips } from "./event.ts";
import type { Log } from "./log.ts";

/**
 * Recorded when a turn opens and when it is resumed. Increase it when an old journal would fold to another state: a
 * turn is folded by the version that it was opened with. From 2 on, a cell that cannot be run ends the turn. From 3 on,
 * a call that was approved with other arguments is gated again.
 */
export const STEP_VERSION = 3;

/** One call on its way through gate, attempts and settling. */
export interface CallState extends PlacedCall {
  readonly stage: "new" | "queued" | "open" | "backoff" | "approval" | "deferred" | "returned" | "settled";
  readonly attempt: number;
  readonly policy?: CallPolicy;
  readonly output?: ToolOutput;
  readonly parts?: readonly ResultPart[];
  /** The questions about the call. The last one may be unanswered. */
  readonly asked?: readonly AskedTrail[];
  /** It was approved with exactly these arguments, which replaced others, so it is gated again. */
  readonly isApproved?: true;
  /** Its arguments are not those that the model wrote. */
  readonly isReplaced?: true;
  /** How many of its attempts continued after turns that it waited for, and so were not failures. */
  readonly goesOn?: number;
  /** When its first attempt was released, and how long it took to return. */
  readonly startedAt?: number;
  readonly ms?: number;
  /** In a cell: the call's position in the order of return, in which a cell's calls are settled. */
  readonly returnedAs?: number;
}

/** A running code cell. */
export interface CellWork extends Cell {
  /** The number of segments. They are numbered, because each is a separate effect. */
  readonly segments: number;
  /** Answers that the code has not received yet, the oldest first. */
  readonly due: readonly CellDelivery[];
  /** The number of its sleeps, and of its calls that have returned. */
  readonly sleeps: number;
  readonly returns: number;
}

/**
 * The calls of one reply, or of one code cell. A reply's calls are gated together and settled together. A cell's are
 * gated as they come and settled one by one, because the running code waits for each.
 */
export interface Work {
  /** The prefix of effect names: `r2`, or `r2.exec` for a cell. */
  readonly prefix: string;
  readonly calls: readonly CallState[];
  readonly cell?: CellWork;
  /** A call has a trail, which is stored beside its result. */
  readonly hasTrail?: true;
  /** The number of gates so far. A cell opens many, and this number makes their names unique. */
  readonly gates: number;
}

export type Phase =
  | { readonly kind: "preparing" }
  | { readonly kind: "asking" }
  | { readonly kind: "responding"; readonly reply: Reply }
  | { readonly kind: "working"; readonly reply: Reply; readonly work: Work }
  /** `outcome` is how the turn ends if the boundary adds no input and no message. */
  | { readonly kind: "bounding"; readonly outcome?: TurnOutcome }
  /** `then`: the next phase if nothing could be compacted. Without it the window has overflowed, and the turn ends. */
  | { readonly kind: "compacting"; readonly then?: "ask" | "round" }
  | { readonly kind: "finalizing"; readonly outcome: TurnOutcome }
  | { readonly kind: "ended"; readonly outcome: TurnOutcome };

/** An append with a name from its caller, and its position in the log. */
export interface PlacedAppend {
  readonly name: string;
  readonly hash: string;
  readonly from: number;
  readonly count: number;
}

/**
 * The state of a turn. Plain JSON, so it can be stored, compared and shown. It contains only what this turn adds to the
 * session.
 */
export interface TurnState {
  readonly version: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly limits: Limits;
  readonly output?: JsonObject;
  readonly unwraps?: true;
  readonly extensions?: JsonObject;
  /** The protocol's own options. */
  readonly options?: Json;
  /** The last round only accepts an answer. Other work that the model asks for is not done. */
  readonly keepsAnswer?: true;
  readonly phase: Phase;
  readonly round: number;
  readonly frames: number;
  /** Rounds that compacted instead of calling the model. They do not count against `roundsMax`. */
  readonly compactions: number;
  /** Consecutive rounds without progress. */
  readonly idle: number;
  readonly resumes: number;
  readonly log: Log<Entry>;
  /** The calls of rounds and cells that have ended, for the turn's report. */
  readonly calls?: Log<MadeCall>;
  /** Appends of hooks and tools in a round whose results are not in the log yet. */
  readonly held?: readonly Appending[];
  readonly placed?: readonly PlacedAppend[];
  /** Operations that ran while the turn waited and that their callers may repeat. The commit stores their receipts. */
  readonly applied?: readonly { readonly operation: string; readonly receipt: Json }[];
  /** The session's own settings after those operations. */
  readonly config?: Partial<SessionConfig>;
  /** Turns that calls waited for when this one was cancelled. They are cancelled before the commit. */
  readonly stops?: readonly Pick<WaitedTurns, "turns" | "jobs">[];
  /**
   * Cells have run in this turn. `cleared`: a frame with a new task started since, and the next cell has an empty heap.
   */
  readonly code?: "ran" | "cleared";
  /** The protocol's own notes. */
  readonly memo: Json;
  readonly changes: Changes;
  /** Usage of the turn's own calls to the session's model. */
  readonly usage: Usage;
  readonly asks: number;
  /** Usage of nested calls, and of calls to other models. */
  readonly spent: readonly Spent[];
  /** Inputs that this turn has taken. The commit settles exactly these. */
  readonly inputs: readonly InputId[];
  /** Effects without an answer yet. */
  readonly open: readonly Effect[];
  readonly responds: boolean;
  readonly compacts: boolean;
  readonly skips: Skips;
  readonly policies: Policies;
  /** The round of the latest compaction. An overflow in that round or the next is final. */
  readonly compactedIn?: number;
  readonly winding?: Winding;
}

export interface Step {
  readonly state: TurnState;
  readonly effects: readonly Effect[];
  /** Effects that were dropped without an answer. The host forgets them and ignores their late answers. */
  readonly dropped: readonly Effect["name"][];
}

/** Returns whether this is the last model call that the turn may make. */
export const isLastRound = ({ round, compactions, limits }: TurnState): boolean =>
  round - compactions >= limits.roundsMax;

/** Returns whether the turn only waits: for answers, for other turns, or for a time. */
export const isOnlyWaiting = ({ open, phase }: TurnState): boolean =>
  phase.kind !== "ended" && open.length > 0 && open.every(({ kind }) => kind === "wait" || kind === "sleep");

/** Returns when the first of its waits and sleeps ends. */
export const wakesAt = ({ open }: TurnState): number =>
  open.reduce(
    (earliest, effect) =>
      effect.kind === "wait" || effect.kind === "sleep" ? Math.min(earliest, effect.until) : earliest,
    Infinity,
  );

export const isEnded = (
  state: TurnState,
): state is TurnState & { readonly phase: { readonly kind: "ended"; readonly outcome: TurnOutcome } } =>
  state.phase.kind === "ended";
