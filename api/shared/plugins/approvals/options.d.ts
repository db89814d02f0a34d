import { ArgumentTest, Scalar } from "./check.js";
import { SessionId, TurnId } from "../../model/ids.js";
import { ToolCall } from "../../model/tool.js";
type Awaitable<T> = T | PromiseLike<T>;
type Verdict = "allow" | "ask" | "deny";
/**
 * For which later calls a remembered answer counts: calls with the same `arguments`, all calls of the `tool`, or
 * `nothing`. The reason for asking must be the same too.
 */
type Reach = "arguments" | "tool" | "nothing";
/** The decision about a call. */
interface ApprovalDecision {
  /** `allow` runs the call, `ask` asks a person, `deny` refuses it. */
  readonly verdict: Verdict;
  /** The reason. The person who is asked reads it, or the model if the call is denied. */
  readonly reason?: string | undefined;
  /** How long to wait for an answer, in milliseconds; then the call is denied. Default: `waitMs` of the plugin. */
  readonly waitMs?: number | undefined;
  /** How far a remembered answer reaches: `arguments`, `tool` or `nothing`. Default: `remembers` of the plugin. */
  readonly remembers?: Reach | undefined;
}
type Named = string | {
  readonly name: string;
};
/** Decides on the calls of some tools, or on those whose arguments pass its tests. */
interface ApprovalRule extends ApprovalDecision {
  /** A tool or its name, with `*` for any characters, or a list of them. */
  readonly tool: Named | readonly Named[];
  /**
   * Tests of arguments by their path, such as `order.total`; the rule applies to calls that pass all of them. If a
   * field is missing or has another type, the test counts against the call: then an `allow` rule does not apply, and an
   * `ask` or `deny` rule applies.
   */
  readonly when?: {
    readonly [path: string]: Scalar | ArgumentTest;
  } | undefined;
}
/** A call about which `decide` must decide. */
interface Asked {
  readonly call: ToolCall;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Aborts when the turn is cancelled, and at the deadline of 30 seconds. */
  readonly signal: AbortSignal;
}
/** Returns nothing if it has no opinion. */
type Decide = (asked: Asked) => Awaitable<Verdict | ApprovalDecision | undefined>;
interface ApprovalsOptions {
  /** The policy as data. The first rule that applies to a call decides. */
  readonly rules?: readonly ApprovalRule[] | undefined;
  /** The decision for calls without a matching rule: `allow`, `ask` or `deny`. Default `allow`. */
  readonly otherwise?: Verdict | undefined;
  /**
   * The policy as a function, in addition to the rules: the stricter result counts. Options of a session are JSON and
   * cannot have it: the function of the installed plugin counts in every session.
   */
  readonly decide?: Decide | undefined;
  /** How long a question waits for its answer, in milliseconds; then the call is denied. Default seven days. */
  readonly waitMs?: number | undefined;
  /** The reach of remembered answers: `arguments`, `tool` or `nothing`. Default `arguments`. */
  readonly remembers?: Reach | undefined;
  /** How many answers a session remembers. Above that number it drops the oldest. Default 100. */
  readonly rememberedMax?: number | undefined;
}
export { ApprovalDecision, ApprovalRule, ApprovalsOptions };
