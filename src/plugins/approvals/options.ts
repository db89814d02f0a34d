import { type Fields, optionsSchema, type SessionId, type ToolCall, type TurnId } from "../../plugin.ts";
import { type ArgumentTest, checkOf, type Scalar } from "./check.ts";

type Awaitable<T> = T | PromiseLike<T>;
export type Verdict = "allow" | "ask" | "deny";
/**
 * For which later calls a remembered answer counts: calls with the same `arguments`, all calls of the `tool`, or
 * `nothing`. The reason for asking must be the same too.
 */
export type Reach = "arguments" | "tool" | "nothing";

/** The decision about a call. */
export interface ApprovalDecision {
  /** `allow` runs the call, `ask` asks a person, `deny` refuses it. */
  readonly verdict: Verdict;
  /** The reason. The person who is asked reads it, or the model if the call is denied. */
  readonly reason?: string | undefined;
  /** How long to wait for an answer, in milliseconds; then the call is denied. Default: `waitMs` of the plugin. */
  readonly waitMs?: number | undefined;
  /** How far a remembered answer reaches: `arguments`, `tool` or `nothing`. Default: `remembers` of the plugin. */
  readonly remembers?: Reach | undefined;
}

type Named = string | { readonly name: string };
/** Decides on the calls of some tools, or on those whose arguments pass its tests. */
export interface ApprovalRule extends ApprovalDecision {
  /** A tool or its name, with `*` for any characters, or a list of them. */
  readonly tool: Named | readonly Named[];
  /**
   * Tests of arguments by their path, such as `order.total`; the rule applies to calls that pass all of them. If a
   * field is missing or has another type, the test counts against the call: then an `allow` rule does not apply, and an
   * `ask` or `deny` rule applies.
   */
  readonly when?: { readonly [path: string]: Scalar | ArgumentTest } | undefined;
}

/** A call about which `decide` must decide. */
export interface Asked {
  readonly call: ToolCall;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Aborts when the turn is cancelled, and at the deadline of 30 seconds. */
  readonly signal: AbortSignal;
}
/** Returns nothing if it has no opinion. */
export type Decide = (asked: Asked) => Awaitable<Verdict | ApprovalDecision | undefined>;

export interface ApprovalsOptions {
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

/** A validated rule. */
export interface KnownRule {
  readonly decision: ApprovalDecision;
  isFor(call: ToolCall): boolean;
}
export interface Settings {
  readonly rules: readonly KnownRule[];
  /** The tools that rules name in full, without `*`. */
  readonly tools: readonly string[];
  readonly otherwise: ApprovalDecision;
  readonly decide?: Decide;
  readonly waitMs?: number;
  readonly remembers: Reach;
  readonly rememberedMax: number;
}

const VERDICTS = ["allow", "ask", "deny"] as const;
const REACHES = ["arguments", "tool", "nothing"] as const;

export const OPTIONS = optionsSchema<ApprovalsOptions, Settings>((given) => {
  given.only("rules", "otherwise", "decide", "waitMs", "remembers", "rememberedMax");
  const rules = given.objects("rules", ruleOf, undefined);
  const otherwise = given.oneOf("otherwise", VERDICTS, undefined);
  const decide = given.checked("decide", isFunction, "a function", undefined);
  if (rules === undefined && otherwise === undefined && decide === undefined)
    throw given.wrong("needs rules, decide or otherwise");
  const waitMs = given.whole("waitMs", { min: 1 }, undefined);
  return {
    rules: rules ?? [],
    tools: [...new Set((rules ?? []).flatMap(({ names }) => names))],
    otherwise: { verdict: otherwise ?? "allow" },
    ...(decide === undefined ? {} : { decide }),
    ...(waitMs === undefined ? {} : { waitMs }),
    remembers: given.oneOf("remembers", REACHES, "arguments"),
    rememberedMax: given.whole("rememberedMax", { min: 1, max: 1_000 }, 100),
  };
});

const isFunction = (given: unknown): given is Decide => typeof given === "function";

/** What `decide` may return instead of a verdict. */
export const DECISION = optionsSchema<ApprovalDecision>((given) => {
  given.only("verdict", "reason", "waitMs", "remembers");
  return decisionIn(given);
});

function decisionIn(given: Fields): ApprovalDecision {
  const reason = given.checked("reason", isWords, "a text that is not empty", undefined);
  const waitMs = given.whole("waitMs", { min: 1 }, undefined);
  const remembers = given.oneOf("remembers", REACHES, undefined);
  return {
    verdict: given.oneOf("verdict", VERDICTS),
    ...(reason === undefined ? {} : { reason }),
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(remembers === undefined ? {} : { remembers }),
  };
}

const isWords = (given: unknown): given is string => typeof given === "string" && given.trim() !== "";

function ruleOf(given: Fields): KnownRule & { readonly names: readonly string[] } {
  given.only("tool", "when", "verdict", "reason", "waitMs", "remembers");
  const patterns = patternsOf(given);
  const decision = decisionIn(given);
  const passes = checkOf(given.object("when", undefined));
  const tools = new RegExp(`^(?:${patterns.map((each) => each.replaceAll(/\*+/g, ".*")).join("|")})$`);
  return {
    decision,
    names: patterns.filter((each) => !each.includes("*")),
    isFor: ({ name, input }) => tools.test(name) && (passes(input) ?? decision.verdict !== "allow"),
  };
}

function patternsOf(given: Fields): readonly string[] {
  const tool = given.value("tool");
  const named = Array.isArray(tool) ? (tool as readonly unknown[]) : [tool];
  const patterns = named.map((each) => (typeof each === "string" ? each : (each as { name?: unknown } | null)?.name));
  if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
  throw given.wrong("must be a tool, its name with * for any characters, or a list of them", "tool");
}
const isPattern = (given: unknown): given is string => typeof given === "string" && /^[\w*-]{1,64}$/.test(given);
