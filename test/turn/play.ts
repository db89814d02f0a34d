import { asCallId, asInputId, asSessionId, asTurnId, asWaitKey, type EffectName } from "../../src/model/ids.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { DEFAULT_LIMITS, type Limits } from "../../src/model/limits.ts";
import { type Draft, type Part, type ToolCallPart, text } from "../../src/model/message.ts";
import type { Addition } from "../../src/model/node.ts";
import type { ProviderFailureClass, Reply } from "../../src/model/request.ts";
import type { CallPolicy, Control, FailureClass, ToolFailure, ToolOutput } from "../../src/model/tool.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import type { WaitAnswer } from "../../src/model/wait.ts";
import type { ProtocolDriver } from "../../src/turn/driver.ts";
import type { Effect, EffectOf, PlacedCall } from "../../src/turn/effect.ts";
import type { Abort, Answer, Failure, Opened, TurnEvent, Verdict } from "../../src/turn/event.ts";
import { isEnded, isOnlyWaiting, STEP_VERSION, type Step, type TurnState } from "../../src/turn/state.ts";
import { begin, step } from "../../src/turn/step.ts";
import { BOOM, cellLoop } from "./drivers.ts";

/** An answer without what every answer carries. */
export type AnswerContent = Answer extends infer A ? (A extends Answer ? Omit<A, "at" | "effect"> : never) : never;

export const opening = (limits: Partial<Limits> = {}, more: Partial<Opened> = {}): Opened => ({
  kind: "opened",
  at: 1_000,
  sessionId: asSessionId("trip"),
  turnId: asTurnId("trn_1"),
  inputId: asInputId("inp_1"),
  input: { role: "user", parts: [text("How many kinds of tiger?")] },
  step: STEP_VERSION,
  protocol: { id: "test", version: 1 },
  host: "test",
  plugins: [],
  limits: { ...DEFAULT_LIMITS, ...limits },
  config: { model: "test/model" },
  generation: 1,
  ...more,
});

/**
 * Chance as data. Where the bytes run out it answers 0, and 0 is the plain choice everywhere below, so that every game
 * ends, and a failing one shrinks to the few places where something unusual is needed.
 */
export class Dice {
  readonly #bytes: Uint8Array;
  readonly #isEndless: boolean;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, isEndless = false) {
    this.#bytes = bytes;
    this.#isEndless = isEndless;
    this.#at = start;
  }

  /** The same for the same name, whenever it is asked: what an effect answers does not depend on its turn. */
  static named(bytes: Uint8Array, name: string): Dice {
    let hash = 7;
    for (let index = 0; index < name.length; index++) hash = (hash * 31 + name.charCodeAt(index)) % 65_521;
    return new Dice(bytes, hash, true);
  }

  roll(sides: number): number {
    if (this.#bytes.length === 0 || sides <= 1) return 0;
    const at = this.#at++;
    return (this.#bytes[this.#isEndless ? at % this.#bytes.length : at] ?? 0) % sides;
  }

  chance(percent: number): boolean {
    return this.roll(100) >= 100 - percent;
  }

  pick<T>(items: readonly [T, ...(readonly T[])]): T {
    return items[this.roll(items.length)] as T;
  }
}

export interface Game {
  /** What effects answer, by their names. */
  readonly answers: Uint8Array;
  /** Whose turn it is, and what happens in between. Without it the newest open effect is answered. */
  readonly order: Uint8Array;
  /** Cancels, resumes and operations in between; else only answers. */
  readonly isStormy: boolean;
  /** Nothing is appended, and nobody edits arguments: how many calls are gated again together depends on the order. */
  readonly isSilent?: true;
}

/** One event, what it met and what came of it. */
export interface Moment {
  readonly before: TurnState;
  readonly event: TurnEvent;
  readonly after: Step;
}
export interface Played {
  readonly opened: Opened;
  readonly first: Step;
  readonly moments: readonly Moment[];
  readonly state: TurnState;
}

const STEPS_MAX = 2_000;

/** Plays a whole turn: every open effect is answered sooner or later, in an order and a manner that the game says. */
export function play(driver: ProtocolDriver, opened: Opened, game: Game): Played {
  const order = new Dice(game.order);
  const first = begin(opened);
  const moments: Moment[] = [];
  let { state } = first;
  let at = opened.at;
  let isCancelled = false;
  const happen = (event: TurnEvent): void => {
    const after = step(driver, state, event);
    moments.push({ before: state, event, after });
    state = after.state;
  };
  const cancel = (): void => {
    isCancelled = true;
    happen({ kind: "cancelled", at, requestId: "req_1", reason: "enough" });
  };
  while (!isEnded(state)) {
    if (moments.length > STEPS_MAX)
      throw new Error(`The turn does not end: ${state.open.map(({ name }) => name).join(", ")}`);
    const luck = order.roll(100);
    at += 1 + luck;
    if (game.isStormy && luck >= 97 && !isCancelled) cancel();
    else if (game.isStormy && luck >= 94) happen({ kind: "resumed", at, step: 1, generation: 2 });
    else if (game.isStormy && luck >= 92 && isOnlyWaiting(state))
      happen({
        kind: "applied",
        at,
        operation: `op-${at}`,
        changes: { op: { state: at } },
        appends: [{ nodes: [{ kind: "plugin", plugin: "marks", type: "mark", body: `op-${at}` }] }],
        ...(luck === 93 ? { parts: [{ operation: `op-${at}`, receipt: at }], config: { label: `${at}` } } : {}),
      });
    else {
      const effect = state.open.at(-1 - order.roll(state.open.length));
      if (effect === undefined) throw new Error(`Nothing is open in ${state.phase.kind}.`);
      const dice = Dice.named(game.answers, effect.name);
      const appends = game.isSilent !== true && dice.chance(15) ? { appends: [{ nodes: [markOf(effect)] }] } : {};
      const said = (effect.kind === "exec" ? waiting(state, dice) : undefined) ?? answerTo(effect, dice, driver, at);
      const plain =
        game.isSilent === true && said.kind === "resolved" ? { ...said, answer: unedited(said.answer) } : said;
      happen({ ...plain, ...appends, at, effect: effect.name } as Answer);
    }
  }
  if (game.isStormy && !isCancelled && order.chance(10)) cancel();
  return { opened, first, moments, state };
}

/** What an effect appends: a node that says by which it was. */
export const markOf = ({ name }: Effect): Addition => ({ kind: "plugin", plugin: "marks", type: "mark", body: name });

/** All effects that were ever asked for, in order. */
export const asked = ({ first, moments }: Played): readonly Effect[] => [
  ...first.effects,
  ...moments.flatMap(({ after }) => after.effects),
];
export const droppedIn = ({ moments }: Played): readonly EffectName[] => moments.flatMap(({ after }) => after.dropped);
export const isAnswer = (event: TurnEvent): event is Answer => "effect" in event;

/** Tight, so that a short game meets them. */
export function tightLimits(answers: Uint8Array): Partial<Limits> {
  const dice = Dice.named(answers, "limits");
  return {
    roundsMax: dice.chance(25) ? 1 + dice.roll(3) : 8,
    noProgressMax: 4 - dice.roll(3),
    framesMax: 3 - dice.roll(4),
    callsPerRoundMax: 6 - dice.roll(4),
    parallelCallsMax: 3 - dice.roll(3),
    resumesMax: 2 - dice.roll(3),
  };
}

// ── What effects may answer ─────────────────────────────────────────────────────────────────────────────────────────

const CELL_CALLS_MAX = 8;
const TOOLS = ["search", "fetch", "pay"] as const;

export function answerTo(effect: Effect, dice: Dice, driver: ProtocolDriver, at: number): AnswerContent {
  if (dice.chance(effect.kind === "ask" ? 8 : 3)) return failing(effect, dice);
  const said = wellAnswered(effect, dice, driver, at);
  return dice.chance(10) ? { ...said, changes: { [dice.pick(["a", "b"])]: { state: effect.name } } } : said;
}

function wellAnswered(effect: Effect, dice: Dice, driver: ProtocolDriver, at: number): AnswerContent {
  switch (effect.kind) {
    case "prepare":
      return {
        kind: "prepared",
        ...(dice.chance(10) ? { messages: [note("Remember the milk.")] } : {}),
        ...(dice.chance(3) ? { abort: ABORT } : {}),
        ...(dice.chance(4)
          ? { frame: { task: "Start afresh", ...(dice.chance(50) ? { seed: { about: "tigers" } } : {}) } }
          : {}),
        ...(dice.chance(40) ? { responds: true } : {}),
        ...(dice.chance(60) ? { compacts: true } : {}),
        ...(dice.chance(12) ? { compact: true } : {}),
      };
    case "ask":
      return { kind: "replied", reply: replyFrom(dice, driver) };
    case "respond":
      return { kind: "responded", ...(dice.chance(20) ? { parts: replyFrom(dice, driver).parts } : {}) };
    case "gate": {
      const verdicts = effect.calls.map((placed) => verdictOn(placed, dice, at));
      return { kind: "gated", verdicts, ...(dice.chance(5) ? { abort: ABORT } : {}) };
    }
    case "call":
      return callAnswer(effect, dice, at);
    case "settle":
      return {
        kind: "settled",
        results: effect.results.map(() =>
          dice.chance(15) ? { output: outputFrom(dice), parts: [text("hooked")] } : null,
        ),
        ...(dice.chance(10) ? { messages: [note("A hook says so.")] } : {}),
        ...(dice.chance(4) ? { abort: ABORT } : {}),
      };
    case "exec":
      return {
        kind: "executed",
        output: {
          state: dice.chance(40) ? dice.pick(["threw", "stalled", "stopped", "refused"]) : "done",
          parts: [text("42")],
          ...(dice.chance(80) ? {} : { finish: { kinds: 9 } }),
        },
      };
    case "boundary":
      return {
        kind: "bounded",
        ...(dice.chance(12)
          ? {
              inputs: [
                { inputId: asInputId(`${effect.name}.in`), message: { role: "user", parts: [text("And lions?")] } },
              ],
            }
          : {}),
        ...(dice.chance(8) ? { messages: [note("Check the date.")] } : {}),
        ...(dice.chance(3) ? { abort: ABORT } : {}),
        ...(dice.chance(12) ? { compact: true } : {}),
      };
    case "compact":
      return { kind: "compacted", ...(dice.chance(25) ? {} : { seed: [note("So far: nine kinds.")] }) };
    case "wait":
      return { kind: "resolved", answer: waitAnswer(dice) };
    case "sleep":
      return { kind: "slept" };
    case "finalize":
      return { kind: "finalized", ...(dice.chance(15) ? { messages: [note("Until next time.")] } : {}) };
  }
}

const note = (words: string): Draft => ({
  role: "user",
  parts: [text(words)],
  origin: { kind: "plugin", plugin: "acme/notes" },
});

const ABORT: Abort = { plugin: "acme/guard", code: "guard.no", message: "Not today." };

const PROVIDER_FAILURES: readonly [ProviderFailureClass, ...ProviderFailureClass[]] = [
  "context-overflow",
  "auth",
  "rate-limit",
  "input",
  "unsupported",
  "cancelled",
  "unknown",
];

function failing(effect: Effect, dice: Dice): AnswerContent {
  const kind =
    effect.kind !== "ask"
      ? dice.pick(["plugin", "runtime"] as const)
      : dice.chance(50)
        ? "context-overflow"
        : dice.pick(PROVIDER_FAILURES);
  const error: Failure = { class: kind, code: `${kind}.failed`, message: `It failed (${kind}).` };
  const partial =
    effect.kind === "ask" && dice.chance(60)
      ? { partial: [text("Nine k"), ...(dice.chance(30) ? [callPart("search", 0)] : [])] }
      : {};
  return { kind: "failed", error, ...partial };
}

function replyFrom(dice: Dice, driver: ProtocolDriver): Reply {
  const reply = (finish: Reply["finish"], ...parts: readonly Part[]): Reply => ({
    parts,
    finish,
    usage: { ...NO_USAGE, output: parts.length },
    route: "test/model",
  });
  const kind = dice.roll(30);
  if (kind === 1) return reply("stop");
  if (kind === 2) return reply("length", text("Nine ki"), ...(driver === cellLoop ? [] : [callPart("search", 0)]));
  if (kind === 3) return reply("stop", text(`finish ${dice.roll(9)}`));
  if (kind === 4) return reply("stop", text("task Count the stripes"));
  if (kind === 5) return reply("stop", text(BOOM));
  if (kind === 6) return reply("stop", { kind: "reasoning", text: "Hm." }, text("Nine."));
  if (kind < 10) return reply("stop", text("Nine kinds."));
  if (driver === cellLoop) return reply("stop", text("run count()"));
  const calls = Array.from({ length: 1 + dice.roll(4) }, (_, index) =>
    callPart(dice.pick([...TOOLS, "batch"]), dice.chance(20) ? 0 : index),
  );
  return reply("calls", ...(dice.chance(50) ? [text("Let me look.")] : []), ...calls);
}

/** Ids may repeat: they are the provider's. */
const callPart = (name: string, id: number): ToolCallPart => ({
  kind: "toolCall",
  callId: asCallId(`call_${id}`),
  name,
  input: name === "batch" ? { tools: ["search", "pay"] } : { q: "tigers" },
});

/** Code mostly waits for the calls it has made, and makes some more; undefined when it is over. */
function waiting({ phase, open }: TurnState, dice: Dice): AnswerContent | undefined {
  if (phase.kind !== "working") return undefined;
  const { calls: made, cell } = phase.work;
  const from = made.length + (cell?.sleeps ?? 0);
  const calls = from < CELL_CALLS_MAX ? cellCalls(dice, from) : [];
  const at = `${from + calls.length}`;
  const sleeps = from < CELL_CALLS_MAX && dice.chance(15) ? { sleeps: [{ at, ms: 50 }] } : {};
  const isIdle = open.length === 1 && cell?.due.length === 0 && made.every(({ stage }) => stage === "settled");
  const isOver = calls.length === 0 && !("sleeps" in sleeps) && (isIdle || dice.chance(20));
  return isOver ? undefined : { kind: "called", calls, ...sleeps };
}

const cellCalls = (dice: Dice, from: number): readonly PlacedCall[] =>
  Array.from({ length: Math.max(0, dice.roll(6) - 2) }, (_, index) => ({
    at: `${from + index}`,
    call: { id: asCallId(`cell_${from + index}`), name: dice.pick(TOOLS), input: { q: "tigers" } },
  }));

function verdictOn({ at: place }: PlacedCall, dice: Dice, at: number): Verdict {
  const input = dice.chance(10) ? { input: { q: "lions" } } : {};
  const policy = dice.chance(60) ? { policy: policyFrom(dice) } : {};
  const kind = dice.roll(10);
  if (kind === 8)
    return {
      kind: "wait",
      key: asWaitKey(`ask-${place}`),
      until: at + 1_000,
      reason: "It costs.",
      plugin: "acme/guard",
      ...input,
      ...policy,
    };
  if (kind === 9) return { kind: "settled", output: outputFrom(dice) };
  return { kind: "pass", ...input, ...policy };
}

function policyFrom(dice: Dice): CallPolicy {
  return {
    ...(dice.chance(25) ? { isSerial: true } : {}),
    ...(dice.chance(25) ? { writes: true } : {}),
    ...(dice.chance(40) ? { onInterrupt: dice.pick(["fail", "ask"]) } : {}),
    ...(dice.chance(60)
      ? {
          retry: {
            policy: dice.pick(["idempotent", "safe", "never"]),
            attempts: 1 + dice.roll(3),
            baseMs: 10,
            maxMs: 25,
          },
        }
      : {}),
  };
}

function callAnswer(effect: EffectOf<"call">, dice: Dice, at: number): AnswerContent {
  const kind = dice.roll(12);
  if (kind === 10) {
    const wait = { kind: "deferred", key: asWaitKey(`later-${effect.name}`), until: at + 1_000 } as const;
    const which = dice.roll(3);
    if (which === 0 || effect.attempt > 4) return wait;
    if (which === 1) return { ...wait, question: "How many?", schema: { type: "number" } };
    const turns = [{ sessionId: asSessionId("child"), turnId: asTurnId(`trn_${effect.name}`) }];
    const cancels = dice.chance(50) ? ({ cancels: true } as const) : {};
    return { ...wait, on: { kind: "turns", turns, need: "all", ...cancels } };
  }
  if (kind === 11 && effect.onInterrupt === "ask")
    return { kind: "interrupted", key: asWaitKey(`again-${effect.name}`), until: at + 1_000 };
  if (kind === 11 && effect.onInterrupt === "fail") return { kind: "interrupted" };
  return { kind: "returned", output: outputFrom(dice) };
}

const FAILURES: readonly [FailureClass, ...FailureClass[]] = [
  "failed",
  "timeout",
  "arguments",
  "unavailable",
  "denied",
  "limit",
  "internal",
];

function outputFrom(dice: Dice): ToolOutput {
  const kind = dice.roll(10);
  const control = dice.chance(8) ? { control: controlFrom(dice) } : {};
  if (dice.chance(2)) return { kind: "value", value: BOOM };
  if (kind === 6) return { kind: "cancelled", reason: "It was told to stop." };
  if (kind < 7) return { kind: "value", value: { kinds: kind }, ...control };
  const failure: ToolFailure = {
    class: dice.pick(FAILURES),
    code: "tool.failed",
    message: "It did not work.",
    ...(dice.chance(60) ? { isRetryable: true } : {}),
    ...(dice.chance(30) ? { retryAfterMs: 5 } : {}),
  };
  return { kind: "failure", failure, ...control };
}

function controlFrom(dice: Dice): Control {
  const kind = dice.roll(4);
  if (kind === 1) return { kind: "fail", code: "tool.gave-up", message: "There is no way." };
  if (kind === 2) return { kind: "switchFrame", task: "Look elsewhere" };
  return { kind: "finish", by: kind === 3 ? "model" : "tool", value: 9 };
}

const unedited = (answer: WaitAnswer): WaitAnswer =>
  answer.kind === "value"
    ? { ...answer, value: { ...(answer.value as JsonObject), args: undefined } as never }
    : answer;

function waitAnswer(dice: Dice): WaitAnswer {
  const kind = dice.roll(6);
  if (kind === 4) return { kind: "timeout" };
  if (kind === 5) return { kind: "revoked" };
  if (kind === 3) return { kind: "value", value: { approved: false, reason: "No.", error: "No." }, by: "Bob" };
  return { kind: "value", value: { approved: true, value: 9, ...(kind === 2 ? { args: { q: "bears" } } : {}) } };
}
