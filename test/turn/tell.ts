import { asCallId, asWaitKey, type EffectName } from "../../src/model/ids.ts";
import type { Json } from "../../src/model/json.ts";
import type { Limits } from "../../src/model/limits.ts";
import { type CallTrail, type Part, type ToolCallPart, text, textOf } from "../../src/model/message.ts";
import type { Entry } from "../../src/model/node.ts";
import type { TurnOutcome } from "../../src/model/outcome.ts";
import type { Reply } from "../../src/model/request.ts";
import type { CallPolicy, ToolFailure, ToolOutput } from "../../src/model/tool.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import type { ProtocolDriver } from "../../src/turn/driver.ts";
import { type Effect, name } from "../../src/turn/effect.ts";
import type { Answer, Applied, Failure, Opened, TurnEvent, Verdict } from "../../src/turn/event.ts";
import { itemsOf } from "../../src/turn/log.ts";
import { isEnded, type Step, type TurnState } from "../../src/turn/state.ts";
import { begin, step } from "../../src/turn/step.ts";
import { type AnswerContent, answerTo, Dice, opening } from "./play.ts";

const PLAIN = new Dice(new Uint8Array());
const STORY_ENDS = 2_000;

/** One turn, told event by event. What a story does not care about is answered plainly by `until` and `end`. */
export class Telling {
  readonly driver: ProtocolDriver;
  readonly opened: Opened;
  /** All that happened since it was opened. */
  readonly events: TurnEvent[] = [];
  state: TurnState;
  /** What the last event released and gave up. */
  last: Step;
  at: number;

  constructor(driver: ProtocolDriver, limits: Partial<Limits> = {}, more: Partial<Opened> = {}) {
    const opened = opening(limits, more);
    this.driver = driver;
    this.opened = opened;
    this.last = begin(opened);
    this.state = this.last.state;
    this.at = opened.at;
  }

  happen(event: TurnEvent): this {
    this.last = step(this.driver, this.state, event);
    this.events.push(event);
    this.state = this.last.state;
    this.at = event.at;
    return this;
  }

  answer(effect: string, said: AnswerContent): this {
    return this.happen({ ...said, at: this.at + 1, effect: name(effect) } as Answer);
  }

  /** An operation runs in the turn, which only waits. */
  apply(applied: Partial<Applied> = {}): this {
    return this.happen({ kind: "applied", at: this.at + 1, operation: "opr_1", ...applied });
  }

  called(effect: string, from: number, ...tools: readonly string[]): this {
    const calls = tools.map((tool, index) => ({
      at: `${from + index}`,
      call: { id: asCallId(`cell_${from + index}`), name: tool, input: {} },
    }));
    return this.answer(effect, { kind: "called", calls });
  }

  cancel(reason = "enough"): this {
    return this.happen({ kind: "cancelled", at: this.at + 1, requestId: "req_1", reason });
  }

  resume(): this {
    return this.happen({ kind: "resumed", at: this.at + 1, step: 1, generation: 2 });
  }

  /** Answers plainly until this effect is open. */
  until(effect: string): this {
    while (!this.open.includes(effect)) {
      if (isEnded(this.state)) throw new Error(`The turn ended before ${effect}.`);
      this.answerOldest();
    }
    return this;
  }

  /** Answers plainly until the turn has ended. */
  end(): TurnOutcome {
    while (!isEnded(this.state)) this.answerOldest();
    return this.state.phase.outcome;
  }

  get open(): readonly string[] {
    return this.state.open.map((effect) => effect.name);
  }

  effect(wanted: string): Effect {
    const found = this.state.open.find((effect) => effect.name === wanted);
    if (found === undefined) throw new Error(`${wanted} is not open, but ${this.open.join(", ")}.`);
    return found;
  }

  /** How long a sleep that is open will take, seen from the last event. */
  sleepMs(effect: string): number {
    const sleep = this.effect(effect);
    return sleep.kind === "sleep" ? sleep.until - this.at : Number.NaN;
  }

  /** What is kept beside the results of calls. */
  get trails(): readonly CallTrail[] {
    return itemsOf(this.state.log).flatMap((entry) =>
      entry.kind === "message"
        ? entry.message.parts.flatMap((part) => (part.kind === "toolResult" ? (part.trail ?? []) : []))
        : [],
    );
  }

  /** The log, a line each. */
  get log(): readonly string[] {
    return itemsOf(this.state.log).map(line);
  }

  private answerOldest(): void {
    const [effect] = this.state.open;
    if (effect === undefined) throw new Error(`Nothing is open in ${this.state.phase.kind}.`);
    if (this.at > STORY_ENDS) throw new Error(`The turn does not end: ${this.open.join(", ")}`);
    this.answer(effect.name, answerTo(effect, PLAIN, this.driver, this.at));
  }
}

export const tell = (driver: ProtocolDriver, limits?: Partial<Limits>, more?: Partial<Opened>): Telling =>
  new Telling(driver, limits, more);

function line(entry: Entry): string {
  if (entry.kind === "frame") return `— ${entry.reason}${entry.task === undefined ? "" : `: ${entry.task}`} —`;
  if (entry.kind === "plugin") return `plugin ${entry.plugin}`;
  const { role, parts, origin } = entry.message;
  return `${origin?.kind === "partial" ? "partial" : role}: ${parts.map(shown).join(" ")}`;
}

function shown(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "reasoning":
      return `(${part.text})`;
    case "toolCall":
      return `[${part.name}]`;
    case "toolResult":
      return `[${part.name} ${part.status}: ${textOf(part.parts)}]`;
    case "codeOutput":
      return `[code ${part.status}: ${textOf(part.parts)}]`;
    case "attachment":
      return `[${part.mediaType}]`;
  }
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const replyOf = (...parts: readonly (string | Part)[]): Reply => ({
  parts: parts.map((part) => (typeof part === "string" ? text(part) : part)),
  finish: "stop",
  usage: { ...NO_USAGE, input: 10, output: 5 },
  route: "test/model",
});
export const replied = (...parts: readonly (string | Part)[]): AnswerContent => ({
  kind: "replied",
  reply: replyOf(...parts),
});
export const call = (tool: string, input: Json = {}): ToolCallPart => ({
  kind: "toolCall",
  callId: asCallId(`call_${tool}`),
  name: tool,
  input,
});

export const gated = (...verdicts: readonly Verdict[]): AnswerContent => ({ kind: "gated", verdicts });
export const pass = (policy?: CallPolicy): Verdict => ({ kind: "pass", ...(policy === undefined ? {} : { policy }) });
export const settledAs = (output: ToolOutput): Verdict => ({ kind: "settled", output });
export const waits = (policy?: CallPolicy): Verdict => ({
  kind: "wait",
  key: asWaitKey("key"),
  until: 9_999,
  ...(policy === undefined ? {} : { policy }),
});

export const returned = (value: Json): AnswerContent => ({ kind: "returned", output: { kind: "value", value } });
export const broke = (failure: Partial<ToolFailure> = {}): AnswerContent => ({
  kind: "returned",
  output: { kind: "failure", failure: { class: "failed", code: "tool.failed", message: "It broke.", ...failure } },
});
export const deferred: AnswerContent = { kind: "deferred", key: asWaitKey("key"), until: 9_999 };
export const resolved = (value: Json, by?: string): AnswerContent => ({
  kind: "resolved",
  answer: { kind: "value", value, ...(by === undefined ? {} : { by }) },
});
export const approved: AnswerContent = resolved({ approved: true });
export const edited = (args: Json, by?: string): AnswerContent => resolved({ approved: true, args }, by);
export const settled = (count: number): AnswerContent => ({
  kind: "settled",
  results: Array.from({ length: count }, () => null),
});
export const slept: AnswerContent = { kind: "slept" };
export const executed = (words: string, finish?: Json): AnswerContent => ({
  kind: "executed",
  output: { state: "done", parts: [text(words)], ...(finish === undefined ? {} : { finish }) },
});
export const failed = (kind: Failure["class"], message = "It failed."): AnswerContent => ({
  kind: "failed",
  error: { class: kind, code: `${kind}.failed`, message },
});

export const names = (effects: readonly { readonly name: EffectName }[]): readonly string[] =>
  effects.map((effect) => effect.name);
