import { describe } from "../model/errors.ts";
import { type EffectName, nodeId } from "../model/ids.ts";
import { callsOf, type Draft, type Message, type ToolCallPart, textOf } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { Ending, TurnOutcome } from "../model/outcome.ts";
import { projectOutput, statusOf, TOOLS_STATE, type ToolOutput } from "../model/tool.ts";
import { addUsage, type Usage } from "../model/usage.ts";
import type { ProtocolDriver, RoundView } from "./driver.ts";
import { type Effect, FINALIZE, GRACE, type Winding } from "./effect.ts";
import type { Changes, Failure } from "./event.ts";
import { append, itemsOf } from "./log.ts";
import type { CallState, Step, TurnState } from "./state.ts";

const NONE: readonly never[] = [];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One step in the making: a state of its own that the leaves below may write to, and what the step asks for. */
export class Move implements Step {
  readonly driver: ProtocolDriver;
  readonly at: number;
  readonly state: Mutable<TurnState>;
  effects: readonly Effect[] = NONE;
  dropped: readonly EffectName[] = NONE;
  /** Lists that this step made, so that nobody else holds them yet: they may still be written to. */
  #open: Effect[] | undefined;
  #calls: CallState[] | undefined;

  /** The state becomes the step's own: nobody else may hold it. */
  constructor(driver: ProtocolDriver, state: Mutable<TurnState>, at: number) {
    this.driver = driver;
    this.state = state;
    this.at = at;
  }

  view(): RoundView {
    const { round, memo, log, limits, output } = this.state;
    const view = { round, memo, log: itemsOf(log), limits };
    return output === undefined ? view : { ...view, output };
  }

  open(effect: Effect): void {
    this.#ownOpen().push(effect);
    if (this.effects === NONE) this.effects = [effect];
    else (this.effects as Effect[]).push(effect); // Its own: only this class sets it.
  }

  /** Takes out the open effect of this name. */
  close(name: EffectName): Effect | undefined {
    const { open } = this.state;
    for (let index = 0; index < open.length; index++) {
      if (open[index]?.name === name) return this.#ownOpen().splice(index, 1)[0];
    }
    return undefined;
  }

  #ownOpen(): Effect[] {
    if (this.#open === undefined || this.#open !== this.state.open) {
      this.#open = this.state.open.slice();
      this.state.open = this.#open;
    }
    return this.#open;
  }

  /** The calls of its work as a list of this step's own. */
  ownCalls(calls: readonly CallState[]): CallState[] {
    if (this.#calls === undefined || this.#calls !== calls) this.#calls = calls.slice();
    return this.#calls;
  }

  /** Gives up open effects: whatever they still answer is not heard. Nobody has heard yet of what this step opened. */
  drop(which: (effect: Effect) => boolean): void {
    const { open } = this.state;
    if (!open.some(which)) return;
    const given = open.filter((effect) => which(effect) && !this.effects.includes(effect));
    this.dropped = [...this.dropped, ...given.map((effect) => effect.name)];
    this.effects = this.effects.filter((effect) => !which(effect));
    this.state.open = open.filter((effect) => !which(effect));
  }

  add(...drafts: readonly Draft[]): void {
    for (let index = 0; index < drafts.length; index++) {
      const { state, at } = this;
      const message: Message = { id: nodeId(state.turnId, state.log.length), ...(drafts[index] as Draft) };
      state.log = append(state.log, { at, kind: "message", message });
    }
  }

  addEntry(entry: Entry): void {
    this.state.log = append(this.state.log, entry);
  }

  /** The session's tools among them: the next round is told of those. */
  change(changes: Changes): void {
    this.state.changes = { ...this.state.changes, ...changes };
    if (!Object.hasOwn(changes, TOOLS_STATE)) return;
    const { prepare: _, ...skips } = this.state.skips;
    this.state.skips = skips;
  }

  /** Another model than the session's has a line of its own in the ledger. */
  spend(usage: Usage, model: string | undefined): void {
    const { state } = this;
    if (model === undefined) {
      state.usage = addUsage(state.usage, usage);
      return;
    }
    state.asks--;
    state.spent = [...state.spent, { source: "turn", model, usage, calls: 1 }];
  }

  lastMessage(): Message | undefined {
    const { items, length } = this.state.log;
    const last = length === 0 ? undefined : items[length - 1];
    return last?.kind === "message" ? last.message : undefined;
  }

  lastReply(): Message | undefined {
    const { items, length } = this.state.log;
    for (let index = length - 1; index >= 0; index--) {
      const entry = items[index];
      if (entry?.kind === "message" && entry.message.role === "assistant") return entry.message;
    }
    return undefined;
  }

  /** Releases `finalize` with this outcome; what wound the turn up, if anything did, comes first. */
  conclude(outcome: TurnOutcome | Ending): void {
    this.pairCalls();
    const final = this.outcome(this.state.winding?.ending ?? outcome);
    if (this.state.skips.finalize === true) return this.end(final);
    this.state.phase = { kind: "finalizing", outcome: final };
    this.open({ name: FINALIZE, kind: "finalize", outcome: final });
  }

  end(outcome: TurnOutcome | Ending): void {
    this.drop(() => true);
    this.pairCalls();
    this.state.phase = { kind: "ended", outcome: this.outcome(outcome) };
  }

  outcome(outcome: TurnOutcome | Ending): TurnOutcome {
    return (outcome.kind === "stopped" || outcome.kind === "failed") && !("text" in outcome)
      ? { ...outcome, text: said(itemsOf(this.state.log)) }
      : (outcome as TurnOutcome);
  }

  /** I4: no ending leaves a call without its result. */
  pairCalls(): void {
    const last = this.state.log.items[this.state.log.length - 1];
    if (last?.kind !== "message" || last.message.role !== "assistant") return;
    const calls = callsOf(last.message.parts);
    if (calls.length === 0) return;
    const output = this.state.phase.kind === "working" ? NOT_SHOWN : NOT_MADE;
    this.add({ role: "tool", parts: calls.map((call) => resultFor(call, output)) });
  }

  /** From here the turn only settles what is open. The first reason stands; a later cancel is noted beside it. */
  wind(winding: Winding): void {
    const { phase, winding: before } = this.state;
    if (before !== undefined) {
      if (winding.cancel !== undefined && before.cancel === undefined)
        this.state.winding = { ...before, cancel: winding.cancel };
      return;
    }
    this.state.winding = winding;
    if (phase.kind === "ended") this.state.phase = { kind: "ended", outcome: this.outcome(winding.ending) };
    else this.open({ name: GRACE, kind: "sleep", until: this.at + this.state.limits.cancelGraceMs });
  }
}

const NOT_MADE: ToolOutput = { kind: "cancelled", reason: "The turn ended before this call was made." };
/** The call may have been made, but its protocol threw, or forgot it. */
const NOT_SHOWN: ToolOutput = { kind: "unknown", reason: "The protocol showed no result of this call." };

export const resultFor = (call: ToolCallPart, output: ToolOutput) =>
  ({
    kind: "toolResult",
    callId: call.callId,
    name: call.name,
    status: statusOf(output),
    parts: projectOutput(output),
  }) as const;

/** Everything the model has said in this turn. */
export function said(log: readonly Entry[]): string {
  const words: string[] = [];
  for (const entry of log) {
    if (entry.kind !== "message" || entry.message.role !== "assistant") continue;
    const text = textOf(entry.message.parts);
    if (text !== "") words.push(text);
  }
  return words.join("\n\n");
}

export const failed = (by: "provider" | "tool" | "plugin" | "runtime", code: string, reason: string): Ending => ({
  kind: "failed",
  by,
  code,
  reason,
});
export const protocolFailed = ({ id: protocol }: ProtocolDriver, problem: string): Ending =>
  failed("runtime", "protocol.failed", describe("protocol.failed", { protocol, problem }).message);
export const stopped = (
  by: "cancel" | "limit" | "plugin" | "incomplete" | "input",
  code: string,
  reason: string,
): Ending => ({
  kind: "stopped",
  by,
  code,
  reason,
});
export const cancelled = (reason: string): Ending =>
  stopped("cancel", "turn.cancelled", describe("turn.cancelled", { reason }).message);

/** How a turn ends for which an effect failed. */
export function endingOf(error: Failure): Ending {
  switch (error.class) {
    case "plugin":
      return failed("plugin", error.code, error.message);
    case "runtime":
      return failed("runtime", error.code, error.message);
    case "input":
    case "unsupported":
      return stopped("input", error.code, error.message);
    case "cancelled":
      return cancelled(error.message);
    case "limit":
      return stopped("limit", error.code, error.message);
    default:
      return failed("provider", error.code, error.message);
  }
}
