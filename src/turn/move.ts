// The bookkeeping of one step. `Move` owns the next state, opens and drops effects, appends to the log and ends the
// turn; below it are the makers of endings. `step.ts` and `work.ts` decide what follows from an event.
// move-1: A step writes only to its own copies of state and lists. The log is shared and only grows (`log.ts`).
// move-2: No ending leaves a call without its result: `conclude` and `end` call `pairCalls`.

import { describe } from "../model/errors.ts";
import { type EffectName, nodeId } from "../model/ids.ts";
import { callsOf, type Draft, type Message, type ToolCallPart, textOf } from "../model/message.ts";
import type { Addition, Entry } from "../model/node.ts";
import type { Ending, TurnOutcome } from "../model/outcome.ts";
import { hasOpenCalls } from "../model/pairing.ts";
import { TEXTS } from "../model/texts.ts";
import { type MadeCall, projectOutput, statusOf, TOOLS_STATE, type ToolOutput } from "../model/tool.ts";
import { addUsage, type Usage } from "../model/usage.ts";
import type { ProtocolDriver, RoundView } from "./driver.ts";
import { type Effect, FINALIZE, GRACE, type Winding } from "./effect.ts";
import type { Appending, Changes, Failure } from "./event.ts";
import { append, emptyLog, itemsOf } from "./log.ts";
import type { CallState, Step, TurnState, Work } from "./state.ts";

const NONE: readonly never[] = [];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * One unfinished step: its own copy of the state, which the functions of `step.ts` and `work.ts` write to, and the
 * effects that it asks for. A move is finished when `step` returns it; after that nothing writes to it.
 */
export class Move implements Step {
  readonly driver: ProtocolDriver;
  readonly at: number;
  readonly state: Mutable<TurnState>;
  effects: readonly Effect[] = NONE;
  dropped: readonly EffectName[] = NONE;
  /** Lists that this step copied itself. It may write to them in place, because nothing else refers to them yet. */
  #open: Effect[] | undefined;
  #calls: CallState[] | undefined;

  /** Owns `state`: the caller must not keep or share it. */
  constructor(driver: ProtocolDriver, state: Mutable<TurnState>, at: number) {
    this.driver = driver;
    this.state = state;
    this.at = at;
  }

  view(): RoundView {
    const { round, memo, log, limits, output, unwraps, options, extensions } = this.state;
    const view = { round, memo, log: itemsOf(log), limits };
    if (output === undefined && options === undefined && extensions === undefined) return view;
    return {
      ...view,
      ...(output === undefined ? {} : { output }),
      ...(unwraps === undefined ? {} : { unwraps }),
      ...(options === undefined ? {} : { options }),
      ...(extensions === undefined ? {} : { extensions }),
    };
  }

  open(effect: Effect): void {
    if (this.state.open.length > 0) this.#ownOpen().push(effect);
    else this.state.open = this.#open = [effect]; // Pushing to an empty list would reserve room for seventeen.
    if (this.effects === NONE) this.effects = [effect];
    else (this.effects as Effect[]).push(effect); // This step created the list, because it is not NONE.
  }

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

  /** Returns a copy of the calls that this step may write to; the same copy when it is passed in again. */
  ownCalls(calls: readonly CallState[]): CallState[] {
    if (this.#calls === undefined || this.#calls !== calls) this.#calls = calls.slice();
    return this.#calls;
  }

  /**
   * Drops open effects. Their late answers are ignored. Effects that this step opened are withdrawn silently, because
   * the host has not seen them.
   */
  drop(which: (effect: Effect) => boolean): void {
    const { open } = this.state;
    if (!open.some(which)) return;
    const given = open.filter((effect) => which(effect) && !this.effects.includes(effect));
    for (const effect of open)
      if (effect.kind === "wait" && which(effect) && effect.about.kind === "turns" && effect.about.cancels === true)
        this.state.stops = [...(this.state.stops ?? NONE), effect.about];
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

  /**
   * Adds what hooks and tools append. What they append in a round is placed after its results, because nothing may come
   * between.
   */
  append(appends: readonly Appending[]): void {
    const isOpen = this.state.phase.kind === "working" || hasOpenCalls(this.lastMessage());
    if (isOpen) this.state.held = [...(this.state.held ?? NONE), ...appends];
    else for (const each of appends) this.#place(each);
  }

  /** Adds the calls of a round or a cell that has ended to the turn's report. */
  keepCalls({ calls }: Work): void {
    this.state.calls = append(this.state.calls ?? emptyLog<MadeCall>(), ...calls.map(madeCall));
  }

  /** Adds the held back appends, because the results are now in the log. */
  releaseHeld(pending: readonly Appending[]): void {
    delete this.state.held;
    for (const each of pending) this.#place(each);
  }

  #place({ nodes, operation }: Appending): void {
    const { state } = this;
    if (operation !== undefined) {
      if (state.placed?.some(({ name }) => name === operation.name)) return; // Two tools of a round used the same name.
      const placed = { ...operation, from: state.log.length, count: nodes.length };
      state.placed = [...(state.placed ?? NONE), placed];
    }
    this.addNodes(nodes);
  }

  addNodes(nodes: readonly Addition[]): void {
    for (const node of nodes)
      if (node.kind === "message") this.add(node.message);
      else this.addEntry({ at: this.at, ...node });
  }

  /**
   * Merges plugin states. A change of the session's tools makes the next round prepare again, so that the model sees
   * it.
   */
  change(changes: Changes): void {
    this.state.changes = { ...this.state.changes, ...changes };
    if (Object.hasOwn(changes, TOOLS_STATE)) this.prepareNext();
  }

  /** Makes the next round prepare, whatever the last `prepared` skipped. */
  prepareNext(): void {
    const { prepare: _, ...skips } = this.state.skips;
    this.state.skips = skips;
  }

  /** Adds a model call to the usage. A model other than the session's gets a separate line in the ledger. */
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

  /** Starts the end: opens `finalize` with this outcome. A turn that ends early keeps its earlier reason. */
  conclude(outcome: TurnOutcome | Ending): void {
    this.pairCalls();
    const final = this.outcome(this.state.winding?.ending ?? outcome);
    const { skips, code } = this.state;
    if (skips.finalize === true || (skips.finalize === "unless-code" && code === undefined)) return this.end(final);
    this.state.phase = { kind: "finalizing", outcome: final };
    this.open({ name: FINALIZE, kind: "finalize", outcome: final });
  }

  end(outcome: TurnOutcome | Ending): void {
    this.drop(() => true);
    this.pairCalls();
    this.state.phase = { kind: "ended", outcome: this.outcome(outcome) };
  }

  /**
   * The turn ends without `finalize`, or that failed. The variables of its code are not in the commit, and the model
   * must know that.
   */
  addForgottenNote(): void {
    if (this.state.code === undefined) return;
    this.pairCalls();
    this.add(codeForgotten);
  }

  outcome(outcome: TurnOutcome | Ending): TurnOutcome {
    return (outcome.kind === "stopped" || outcome.kind === "failed") && !("text" in outcome)
      ? { ...outcome, text: modelText(itemsOf(this.state.log)) }
      : (outcome as TurnOutcome);
  }

  /** move-2: no ending leaves a call without its result. */
  pairCalls(): void {
    const last = this.state.log.items[this.state.log.length - 1];
    const calls = last?.kind === "message" && last.message.role === "assistant" ? callsOf(last.message.parts) : NONE;
    if (calls.length > 0) {
      const output = this.state.phase.kind === "working" ? NOT_SHOWN : NOT_MADE;
      this.add({ role: "tool", parts: calls.map((call) => resultFor(call, output)) });
    }
    if (this.state.held !== undefined) this.releaseHeld(this.state.held);
  }

  /** From here on the turn only settles what is open. The first reason wins; a later cancel is recorded beside it. */
  wind(winding: Winding): void {
    const { phase, winding: before } = this.state;
    if (before !== undefined) {
      if (winding.cancel !== undefined && before.cancel === undefined)
        this.state.winding = { ...before, cancel: winding.cancel };
      return;
    }
    this.state.winding = winding;
    if (phase.kind === "ended") this.state.phase = { kind: "ended", outcome: this.outcome(winding.ending) };
    else this.open({ name: GRACE, kind: "sleep", at: this.at, until: this.at + this.state.limits.cancelGraceMs });
  }
}

/** Added if code ran in a turn and its variables were not committed. */
export const codeForgotten: Draft = {
  role: "user",
  parts: [{ kind: "text", text: TEXTS.codeForgotten }],
  origin: { kind: "runtime" },
};

const madeCall = ({ call: { id, parentId, name, input }, output, ms }: CallState): MadeCall => ({
  id,
  ...(parentId === undefined ? {} : { parentId }),
  name,
  input,
  status: output === undefined ? "unknown" : statusOf(output),
  ...(ms === undefined ? {} : { durationMs: ms }),
});
const NOT_MADE: ToolOutput = { kind: "cancelled", reason: TEXTS.turnEnded };
/** The result of a call that may have run, if its protocol threw or omitted its result. */
const NOT_SHOWN: ToolOutput = { kind: "unknown", reason: TEXTS.notShown };

export const resultFor = (call: ToolCallPart, output: ToolOutput) =>
  ({
    kind: "toolResult",
    callId: call.callId,
    name: call.name,
    status: statusOf(output),
    parts: projectOutput(output),
  }) as const;

/** Returns everything that the model wrote in this turn, as `text` of an outcome. */
export function modelText(log: readonly Entry[]): string {
  const words: string[] = [];
  for (const entry of log) {
    if (entry.kind !== "message" || entry.message.role !== "assistant") continue;
    const text = textOf(entry.message.parts, "shown");
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

/** Returns the ending of a turn in which an effect failed with this error. */
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
