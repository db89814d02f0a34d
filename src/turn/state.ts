import type { InputId, SessionId, TurnId } from "../model/ids.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { Reply } from "../model/request.ts";
import type { CallPolicy, ResultPart, ToolOutput } from "../model/tool.ts";
import type { Spent, Usage } from "../model/usage.ts";
import type { Cell, Effect, PlacedCall, Winding } from "./effect.ts";
import type { Changes, Policies, Skips } from "./event.ts";
import type { Log } from "./log.ts";

/** Bumped when an old journal would fold differently. */
export const STEP_VERSION = 1;

/** One call on its way through gate, attempts and settling. */
export interface CallState extends PlacedCall {
  readonly stage: "new" | "queued" | "open" | "backoff" | "approval" | "deferred" | "returned" | "settled";
  readonly attempt: number;
  readonly policy?: CallPolicy;
  readonly output?: ToolOutput;
  readonly parts?: readonly ResultPart[];
  /** Why somebody is asked for it. */
  readonly reason?: string;
  /** In a cell: its place in the order of return. */
  readonly returnedAs?: number;
}

/**
 * The calls of one reply, or of one code cell. A reply's calls are gated together and settled together; a cell's are
 * gated as they come and settled one by one, because the running code waits for each.
 */
export interface Work {
  /** `r2`, or `r2.exec`. */
  readonly prefix: string;
  readonly calls: readonly CallState[];
  readonly cell?: Cell;
  /** Gates released so far; a cell has many. */
  readonly gates: number;
}

export type Phase =
  | { readonly kind: "preparing" }
  | { readonly kind: "asking" }
  | { readonly kind: "responding"; readonly reply: Reply }
  | { readonly kind: "working"; readonly reply: Reply; readonly work: Work }
  /** `outcome` is what the turn ends with if the boundary brings nothing. */
  | { readonly kind: "bounding"; readonly outcome?: TurnOutcome }
  /** `then` is what follows when there is nothing to compact; without it the window has overflowed. */
  | { readonly kind: "compacting"; readonly then?: "ask" | "round" }
  | { readonly kind: "finalizing"; readonly outcome: TurnOutcome }
  | { readonly kind: "ended"; readonly outcome: TurnOutcome };

/** Plain JSON: it can be stored, compared and shown. It holds only what this turn adds. */
export interface TurnState {
  readonly version: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly limits: Limits;
  readonly output?: JsonObject;
  /** The last round is for an answer: whatever else the model wants in it is not done. */
  readonly keepsAnswer?: true;
  readonly phase: Phase;
  readonly round: number;
  readonly frames: number;
  /** Rounds in which the conversation was compacted, and the model not heard. */
  readonly compactions: number;
  /** Rounds in a row without progress. */
  readonly idle: number;
  readonly resumes: number;
  readonly log: Log<Entry>;
  /** The protocol's own notes. */
  readonly memo: Json;
  readonly changes: Changes;
  /** Of the turn's own model calls. */
  readonly usage: Usage;
  readonly asks: number;
  /** Of nested ones. */
  readonly spent: readonly Spent[];
  /** Inputs this turn has taken; the commit settles exactly these. */
  readonly inputs: readonly InputId[];
  /** Asked for and not yet answered. */
  readonly open: readonly Effect[];
  readonly responds: boolean;
  readonly compacts: boolean;
  readonly skips: Skips;
  readonly policies: Policies;
  /** The round in which it was last tried to compact: an overflow in it, or right after it, is final. */
  readonly compactedIn?: number;
  readonly winding?: Winding;
}

export interface Step {
  readonly state: TurnState;
  readonly effects: readonly Effect[];
  /** Effects given up without an answer: the host forgets them and drops what they may still say. */
  readonly dropped: readonly Effect["name"][];
}

/** Whether this is the last model call that the turn may make. */
export const isLastRound = ({ round, compactions, limits }: TurnState): boolean =>
  round - compactions >= limits.roundsMax;

export const isEnded = (
  state: TurnState,
): state is TurnState & { readonly phase: { readonly kind: "ended"; readonly outcome: TurnOutcome } } =>
  state.phase.kind === "ended";
