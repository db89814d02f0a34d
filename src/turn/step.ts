// long: the machine of a turn is one story; its parts call each other.
//
// The rules of a turn, as a pure function from a state and an event to the next state and the effects that it asks for.
// Hosts perform effects and store events, the runtime and the store commit, and `work.ts` schedules calls in a round.
// step-1: No clock, no randomness, no waiting: they come as events. So a fold over the journal ends like the live turn.
// step-2: Effect names are positions, unique in the turn. An event that answers nothing open throws `turn.diverged`.
// step-3: Never two open effects that may write plugin state (`work.ts` releases them one at a time). A segment of a
// cell is one.
// step-4: Every call of a reply gets exactly one result in the log, however the turn ends (`Move.pairCalls`).
// step-5: Once `winding` is set, no model call, gate or tool call opens: open ones are settled, and the turn ends.
import { describe, RuntimeError } from "../model/errors.ts";
import { nodeId } from "../model/ids.ts";
import { defined, describeThrown, frozen, type Json } from "../model/json.ts";
import { type Draft, type Message, textOf } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import { hasOpenCalls } from "../model/pairing.ts";
import type { Reply } from "../model/request.ts";
import { TEXTS } from "../model/texts.ts";
import { OUTPUT_TOOL } from "../model/tool.ts";
import { NO_USAGE, UNKNOWN_CALL } from "../model/usage.ts";
import { withTrail } from "./asked.ts";
import { beginCell } from "./cell.ts";
import { decisionProblem } from "./decision.ts";
import type { Decision, ProtocolDriver } from "./driver.ts";
import { type BoundaryKind, type Effect, type EffectOf, GRACE, name } from "./effect.ts";
import type { Abort, Answer, Applied, CellOutput, Opened, TakenInput, TurnEvent } from "./event.ts";
import { cancelled, endingOf, failed, Move, protocolFailed, stopped } from "./move.ts";
import { isLastRound, type Step, type TurnState, type Work } from "./state.ts";
import * as calls from "./work.ts";
import * as answers from "./work-answers.ts";

/** Returns the first step, from the event that opened the turn. */
export function begin(opened: Opened): Step {
  const { sessionId, turnId, inputId, input, limits, output, extensions, at } = opened;
  const message: Message = { id: nodeId(turnId, 0), ...input, origin: input.origin ?? { kind: "input", inputId } };
  const move = new Move(
    NOBODY,
    {
      version: opened.step,
      sessionId,
      turnId,
      limits,
      phase: { kind: "preparing" },
      round: 1,
      frames: 0,
      compactions: 0,
      idle: 0,
      resumes: 0,
      log: { items: [{ at, kind: "message", message }], length: 1 },
      memo: null,
      changes: NOTHING,
      usage: NO_USAGE,
      asks: 0,
      spent: NONE,
      inputs: [inputId],
      open: NONE,
      responds: false,
      compacts: false,
      skips: NOTHING,
      policies: NOTHING,
    },
    at,
  );
  if (output !== undefined) move.state.output = output;
  if (opened.unwraps === true) move.state.unwraps = true;
  if (extensions !== undefined) move.state.extensions = frozen(extensions);
  if (opened.protocol.options !== undefined) move.state.options = opened.protocol.options;
  if (opened.config.budget?.keepsAnswer === true) move.state.keepsAnswer = true;
  if (opened.merges === true || opened.takes === true) boundary(move, "opening");
  else prepare(move);
  return move;
}
const NOTHING = {};
const NONE: readonly never[] = [];
const NOBODY = NOTHING as ProtocolDriver; // `begin` never calls its driver.

/** Returns the next state after this event, and the effects to start and to forget (step-1). */
export function step(driver: ProtocolDriver, state: TurnState, event: TurnEvent): Step {
  const move = new Move(driver, { ...state }, event.at);
  switch (event.kind) {
    case "opened":
      throw new RuntimeError("turn.diverged", { effect: "the beginning", kind: "opened" });
    case "resumed":
      resume(move, event.isFault === true);
      break;
    case "cancelled":
      cancel(move, event.requestId, event.reason);
      break;
    case "applied":
      applied(move, event);
      break;
    default:
      answer(move, close(move, event), event);
  }
  return move;
}

/** Removes the answered effect from the open ones (step-2). */
function close(move: Move, event: Answer): Effect {
  const effect = move.close(event.effect);
  if (effect === undefined) return diverged(event);
  move.state.resumes = 0; // The turn made progress, so a crash loop is counted from here.
  if (event.changes !== undefined) move.change(event.changes);
  if (event.spent !== undefined) move.state.spent = [...move.state.spent, ...event.spent];
  if (event.appends !== undefined) move.append(event.appends);
  if (event.taken !== undefined) move.state.inputs = [...move.state.inputs, ...event.taken];
  return effect;
}

/**
 * Folds an operation that ran beside the turn: its nodes wait for the round's results, its settings for the next turn.
 */
function applied(move: Move, { parts, changes, appends, config, spent }: Applied): void {
  const { state } = move;
  state.resumes = 0;
  if (changes !== undefined) move.change(changes);
  if (appends !== undefined) move.append(appends);
  if (config !== undefined) state.config = config;
  if (spent !== undefined) state.spent = [...state.spent, ...spent];
  if (parts !== undefined) state.applied = [...(state.applied ?? NONE), ...parts];
}

function diverged(event: { readonly kind: string; readonly effect: string }): never {
  throw new RuntimeError("turn.diverged", { effect: event.effect, kind: event.kind });
}

function answer(move: Move, effect: Effect, event: Answer): void {
  if (event.kind === "failed") return failedEffect(move, effect, event);
  switch (effect.kind) {
    case "prepare":
      return event.kind === "prepared" ? prepared(move, event) : diverged(event);
    case "ask":
      return event.kind === "replied" ? replied(move, event.reply, event.model) : diverged(event);
    case "respond":
      if (event.kind !== "responded") return diverged(event);
      return decideReply(move, event.parts === undefined ? effect.reply : { ...effect.reply, parts: event.parts });
    case "gate":
      if (event.kind !== "gated") return diverged(event);
      return gated(move, answers.onGated(move, working(move, event), effect.calls, event.verdicts), event.abort);
    case "call": {
      const work = working(move, event);
      if (event.kind === "returned") return go(move, answers.onReturned(move, work, effect, event.output));
      if (event.kind === "interrupted") {
        const wait = event.key === undefined ? undefined : { key: event.key, until: event.until ?? event.at };
        return go(move, answers.onInterrupted(move, work, effect, wait));
      }
      if (event.kind !== "deferred") return diverged(event);
      return go(move, answers.onDeferred(move, work, effect, event));
    }
    case "settle": {
      if (event.kind !== "settled") return diverged(event);
      const work = answers.onSettled(working(move, event), effect.results, event.results);
      if (event.abort !== undefined) windBy(move, event.abort);
      return settled(move, work, event.messages ?? []);
    }
    case "exec": {
      if (event.kind === "executed") return executed(move, event.output);
      if (event.kind !== "called") return diverged(event);
      const work = calls.onCalled(move, working(move, event), event);
      return work === undefined ? diverged(event) : go(move, work);
    }
    case "boundary":
      return event.kind === "bounded" ? bounded(move, effect, event) : diverged(event);
    case "compact":
      if (event.kind !== "compacted") return diverged(event);
      return compacted(move, event.seed ?? []);
    case "finalize": {
      if (event.kind !== "finalized" || move.state.phase.kind !== "finalizing") return diverged(event);
      if (event.messages !== undefined) move.add(...event.messages);
      if (event.forgets === true) move.addForgottenNote();
      return move.end(move.state.winding?.ending ?? move.state.phase.outcome);
    }
    case "sleep":
      if (event.kind !== "slept") return diverged(event);
      return effect.name === GRACE ? graceOver(move) : go(move, answers.onWoken(move, working(move, event), effect));
    case "wait":
      if (event.kind !== "resolved") return diverged(event);
      return go(move, answers.onWoken(move, working(move, event), effect, event.answer));
  }
}

// ── Rounds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function prepare(move: Move): void {
  const { round } = move.state;
  move.state.phase = { kind: "preparing" };
  move.open({ name: name(`r${round}.prepare`), kind: "prepare", round });
}

function prepared(move: Move, event: Extract<Answer, { kind: "prepared" }>): void {
  const { state } = move;
  state.responds = event.responds ?? false;
  state.compacts = event.compacts ?? false;
  state.skips = event.skips ?? NOTHING;
  state.policies = event.policies ?? NOTHING;
  if (event.messages !== undefined) move.add(...event.messages);
  if (event.abort !== undefined) return move.conclude(stopped("plugin", event.abort.code, event.abort.message));
  if (state.winding !== undefined) return move.conclude(state.winding.ending);
  if (event.answer !== undefined) return answered(move, event.answer);
  if (event.frame !== undefined) return switchFrame(move, event.frame);
  if (event.compact === true && mayCompact(move)) return compact(move, "ask", event.instructions);
  ask(move);
}

function answered(move: Move, { plugin, text }: NonNullable<Extract<Answer, { kind: "prepared" }>["answer"]>): void {
  move.add({ role: "assistant", parts: [{ kind: "text", text }], origin: { kind: "plugin", plugin } });
  const message = move.lastReply();
  if (message !== undefined) move.conclude({ kind: "answered", message, text });
}

function ask(move: Move): void {
  const { round } = move.state;
  move.state.asks++;
  move.state.phase = { kind: "asking" };
  move.open({ name: name(`r${round}.ask`), kind: "ask", round });
}

function replied(move: Move, reply: Reply, model: string | undefined): void {
  const { state } = move;
  move.spend(reply.usage, model);
  if (!state.responds) return decideReply(move, reply);
  move.state.phase = { kind: "responding", reply };
  move.open({ name: name(`r${state.round}.respond`), kind: "respond", round: state.round, reply });
}

/** Adds the whole reply to the log first, because it was paid for in any case. */
function decideReply(move: Move, reply: Reply): void {
  keepReply(move, reply);
  if (move.state.winding !== undefined) return move.conclude(move.state.winding.ending);
  decide(move, reply, () => move.driver.onReply(move.view(), reply));
}

function keepReply(move: Move, reply: Reply): void {
  if (reply.parts.length > 0) move.add({ role: "assistant", parts: reply.parts });
}

function decide(move: Move, reply: Reply, ask: () => Decision): void {
  let decision: Decision | undefined;
  let problem: string | undefined;
  try {
    decision = ask();
    problem = decisionProblem(decision, move.lastMessage());
  } catch (error) {
    problem = describeThrown(error);
  }
  if (decision !== undefined && problem === undefined) return follow(move, reply, decision);
  move.conclude(protocolFailed(move.driver, problem ?? "it decided nothing"));
}

function follow(move: Move, reply: Reply, decision: Decision): void {
  const { state } = move;
  if (decision.memo !== undefined) state.memo = decision.memo;
  if (decision.add !== undefined)
    move.add(
      ...(state.phase.kind === "working" && state.phase.work.hasTrail ? withTrails(state, decision.add) : decision.add),
    );
  // If the protocol answers no calls, `pairCalls` does, and held back appends wait for that.
  if (state.held !== undefined && !hasOpenCalls(move.lastMessage())) move.releaseHeld(state.held);
  if (state.winding !== undefined) return move.conclude(state.winding.ending);
  if (state.phase.kind === "working" && (decision.kind === "calls" || decision.kind === "cell")) {
    // A second piece of work in a round would repeat the names of its effects (step-2).
    const problem = "It wants more work in a round that has had its work.";
    return move.conclude(protocolFailed(move.driver, problem));
  }
  if (state.keepsAnswer === true && isLastRound(state) && isMoreWork(decision)) return outOfRounds(move);
  switch (decision.kind) {
    case "calls": {
      const isLast = state.keepsAnswer === true && isLastRound(state);
      const planned = calls.planCalls(move, decision.calls, 0, isLast ? OUTPUT_TOOL : undefined);
      return begun(move, reply, { prefix: `r${state.round}`, gates: 0, calls: planned });
    }
    case "cell": {
      const work = beginCell(move, `r${state.round}.exec`, decision.cell);
      state.phase = { kind: "working", reply, work };
      return;
    }
    case "answer": {
      const message = move.lastReply();
      if (message === undefined)
        return move.conclude(
          failed("runtime", "protocol.failed", "The protocol ended the turn with an answer, and there is no reply."),
        );
      return boundary(move, "before-completion", { kind: "answered", message, text: textOf(reply.parts, "shown") });
    }
    case "finish":
      return move.conclude({ kind: "finished", by: decision.by ?? "model", value: decision.value });
    case "ask":
      return continueTurn(move, true);
    case "retry":
      return continueTurn(move, false);
    case "switchFrame":
      return switchFrame(move, decision);
    case "end":
      return move.conclude(decision.ending);
  }
}

/** Continues to the next model call, through the boundary where inputs and plugins may add something. */
function continueTurn(move: Move, isProgress: boolean): void {
  const { state } = move;
  state.idle = isProgress ? 0 : state.idle + 1;
  const { noProgressMax: max } = state.limits;
  if (state.idle >= max)
    return move.conclude(stopped("limit", "limit.no-progress", describe("limit.no-progress", { max }).message));
  boundary(move, "after-work");
}

function boundary(move: Move, at: BoundaryKind, outcome?: TurnOutcome): void {
  move.pairCalls();
  move.state.phase = outcome === undefined ? { kind: "bounding" } : { kind: "bounding", outcome };
  move.open({ name: name(`r${move.state.round}.${at}`), kind: "boundary", at });
}

function bounded(move: Move, effect: EffectOf<"boundary">, event: Extract<Answer, { kind: "bounded" }>): void {
  const { state } = move;
  if (state.phase.kind !== "bounding") return diverged(event);
  const { outcome } = state.phase;
  const inputs = event.inputs ?? [];
  const messages = event.messages ?? [];
  if (inputs.length > 0) state.inputs = [...state.inputs, ...inputs.map((input) => input.inputId)];
  const said = messages.length + (inputs.length === 0 ? 0 : addTaken(move, inputs));
  if (messages.length > 0) move.add(...messages);
  if (event.abort !== undefined) return move.conclude(stopped("plugin", event.abort.code, event.abort.message));
  if (state.winding !== undefined) return move.conclude(state.winding.ending);
  if (event.hasNewTools === true) move.prepareNext();
  if (effect.at === "opening") return prepare(move);
  if (outcome !== undefined && said === 0) return move.conclude(outcome);
  if (event.compact === true && mayCompact(move)) return compact(move, "round", event.instructions);
  nextRound(move);
}

/**
 * Adds what was taken in, and counts the messages that the model must see. Nodes that others appended do not prolong a
 * turn.
 */
function addTaken(move: Move, inputs: readonly TakenInput[]): number {
  let said = 0;
  for (const input of inputs) {
    if ("nodes" in input) move.addNodes(input.nodes);
    else {
      const { inputId, message } = input;
      move.add({ ...message, origin: message.origin ?? { kind: "input", inputId } });
      said++;
    }
  }
  return said;
}

/**
 * Returns whether the decision asks for work other than an answer. In the last round a result may still be handed in,
 * also by code that does nothing else.
 */
const isMoreWork = (decision: Decision): boolean =>
  (decision.kind === "cell" && !decision.cell.acceptFinish) ||
  (decision.kind === "calls" && !decision.calls.some(({ call }) => call.name === OUTPUT_TOOL));

function outOfRounds(move: Move): void {
  const { roundsMax: max } = move.state.limits;
  move.conclude(stopped("limit", "limit.rounds", describe("limit.rounds", { max }).message));
}

function nextRound(move: Move): void {
  const { state } = move;
  if (isLastRound(state)) return outOfRounds(move);
  state.round++;
  const { prepare: skips } = state.skips;
  if (skips === true || (skips === "unless-code" && state.code === undefined)) ask(move);
  else prepare(move);
}

/**
 * Requires a compactor, and that the previous round did not compact, because a second compaction would not help either.
 */
const mayCompact = ({ state: { compacts, compactedIn, round } }: Move): boolean =>
  compacts && (compactedIn === undefined || compactedIn < round - 1);

function compact(move: Move, then?: "ask" | "round", instructions?: string): void {
  move.state.compactedIn = move.state.round;
  move.state.phase = then === undefined ? { kind: "compacting" } : { kind: "compacting", then };
  move.open({ name: name(`r${move.state.round}.compact`), kind: "compact", ...defined({ instructions }) });
}

function compacted(move: Move, seed: readonly Draft[]): void {
  const { phase, winding } = move.state;
  if (phase.kind !== "compacting") return;
  if (winding !== undefined) return move.conclude(winding.ending);
  if (seed.length > 0) {
    move.state.compactions++;
    return openFrame(move, "compaction", seed);
  }
  if (phase.then === undefined) return overflow(move);
  return phase.then === "ask" ? ask(move) : nextRound(move);
}

interface NewFrame {
  readonly task: string;
  readonly seed?: Json;
  readonly name?: string;
}

function switchFrame(move: Move, { task, seed, name: frame }: NewFrame): void {
  const words = seed === undefined ? task : `${task}\n\n${typeof seed === "string" ? seed : JSON.stringify(seed)}`;
  const about = frame === undefined ? { task } : { task, name: frame };
  openFrame(
    move,
    "task",
    [{ role: "user", parts: [{ kind: "text", text: words }], origin: { kind: "runtime" } }],
    about,
  );
}

function openFrame(
  move: Move,
  reason: string,
  seed: readonly Draft[],
  about: { readonly task?: string; readonly name?: string } = NOTHING,
): void {
  const { state } = move;
  const { framesMax: max } = state.limits;
  if (state.frames >= max)
    return move.conclude(stopped("limit", "limit.frames", describe("limit.frames", { max }).message));
  state.frames++;
  if (reason === "task") state.code = "cleared"; // The code of a new task must not see the variables of the old task.
  move.pairCalls();
  move.addEntry({ at: move.at, kind: "frame", reason, ...about });
  move.add(...seed);
  nextRound(move);
}

// ── Calls and cells ─────────────────────────────────────────────────────────────────────────────────────────────────

function working(move: Move, event: { readonly kind: string; readonly effect: string }): Work {
  return move.state.phase.kind === "working" ? move.state.phase.work : diverged(event);
}

function become(move: Move, work: Work): void {
  const { phase } = move.state;
  if (phase.kind === "working") move.state.phase = { ...phase, work };
}

function begun(move: Move, reply: Reply, work: Work): void {
  move.state.phase = { kind: "working", reply, work };
  go(move, work);
}

function go(move: Move, work: Work): void {
  if (move.state.winding !== undefined) {
    // This event itself may have started a backoff of a call, which is dropped too.
    move.drop(isAsleep);
    become(move, calls.pump(move, answers.cancelCalls(work, windingReason(move))));
    // Waiting code gets no more answers, so the cell ends when its calls are settled.
    const isAtRest = work.cell !== undefined && move.state.open.every((effect) => effect.name === GRACE);
    return isAtRest ? executed(move, stoppedCell(windingReason(move))) : undefined;
  }
  const next = calls.pump(move, work);
  become(move, next);
  if (calls.isSettledAtOnce(next)) settled(move, next, []);
  // Code that waits for nothing would wait forever.
  else if (next.cell !== undefined && move.state.open.length === 0) executed(move, STALLED);
}

const isAsleep = (effect: Effect): boolean =>
  effect.kind === "wait" || (effect.kind === "sleep" && effect.name !== GRACE);

const STALLED: CellOutput = { state: "stalled", parts: [{ kind: "text", text: TEXTS.codeStalled }] };
const stoppedCell = (reason: string): CellOutput => ({
  state: "stopped",
  parts: [{ kind: "text", text: TEXTS.codeStopped(reason) }],
});

const windingReason = (move: Move): string => move.state.winding?.ending.reason ?? TEXTS.turnStopped;

function gated(move: Move, work: Work, abort: Abort | undefined): void {
  if (abort !== undefined) windBy(move, abort);
  go(move, work);
}

/**
 * Adds the messages of after-hooks behind the results: in a cell at once, otherwise together with the results of the
 * round.
 */
function settled(move: Move, work: Work, messages: readonly Draft[]): void {
  if (work.cell !== undefined) {
    move.add(...messages);
    return go(move, work);
  }
  const { phase } = move.state;
  if (phase.kind !== "working") return;
  become(move, work);
  if (move.state.skips.finalize !== true) move.keepCalls(work);
  const results = answers.resultsOf(work);
  decide(move, phase.reply, () => {
    const decision = move.driver.onResults(move.view(), phase.reply, results);
    return answers.withControl(
      results,
      messages.length === 0 ? decision : { ...decision, add: [...(decision.add ?? []), ...messages] },
      results.some((result) => result.output.kind === "value"),
    );
  });
}

/** Adds the trails of calls to their results, independent of the protocol's message. */
const withTrails = ({ phase }: TurnState, drafts: readonly Draft[]): readonly Draft[] =>
  phase.kind === "working" ? drafts.map((draft) => withTrail(phase.work, draft)) : drafts;

function executed(move: Move, output: CellOutput): void {
  const { phase } = move.state;
  if (phase.kind !== "working") return;
  // A bound (time, calls) may have ended the cell while calls were still open.
  move.drop((effect) => effect.name !== GRACE);
  const work = answers.withhold(phase.work, TEXTS.codeEnded);
  const results = answers.resultsOf(work);
  become(move, work);
  if (move.state.skips.finalize !== true) move.keepCalls(work);
  const isProgress = output.state === "done" || results.some((result) => result.output.kind === "value");
  decide(move, phase.reply, () =>
    answers.withControl(results, move.driver.onExec(move.view(), phase.reply, output, results), isProgress),
  );
}

// ── Endings ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Only counts the resume. The host performs open effects again. */
function resume(move: Move, isFault: boolean): void {
  const { resumesMax: max } = move.state.limits;
  move.state.skips = NOTHING; // Plugins may have been installed since, so no stage is skipped until the next `prepared`.
  // A turn that only waits cannot have crashed the process, so this does not count as a failed try.
  if (move.state.open.every(({ kind }) => kind === "wait" || kind === "sleep")) return;
  if (!isFault) move.state.resumes++;
  // A model call that was running at the crash may have been billed.
  if (move.state.open.some(({ kind }) => kind === "ask")) move.spend(UNKNOWN_CALL, undefined);
  if (move.state.phase.kind === "ended" || move.state.resumes <= max) return;
  settleUnseen(move, describe("turn.crash-loop", { max }).message);
  move.addForgottenNote();
  move.end(failed("runtime", "turn.crash-loop", describe("turn.crash-loop", { max }).message));
}

function cancel(move: Move, requestId: string, reason: string): void {
  move.wind({ ending: cancelled(reason), cancel: { requestId, reason } });
  windCalls(move);
}

function windBy(move: Move, abort: Abort): void {
  move.wind({ ending: stopped("plugin", abort.code, abort.message) });
}

/** Settles waiting calls now. Running ones have until the end of the grace period. */
function windCalls(move: Move): void {
  const { phase } = move.state;
  if (phase.kind !== "working") return;
  move.drop(isAsleep);
  const isGated = move.state.open.some((effect) => effect.kind === "gate");
  if (!isGated && !move.state.open.some((effect) => effect.kind === "settle")) go(move, phase.work);
}

function graceOver(move: Move): void {
  const { phase, winding } = move.state;
  if (winding === undefined) return;
  // Settling and finalizing hooks have separate deadlines and can redact results, so they are not dropped.
  const isExec = move.state.open.some((effect) => effect.kind === "exec");
  move.drop((effect) => effect.kind !== "settle" && effect.kind !== "finalize");
  if (phase.kind === "finalizing" || phase.kind === "ended") return;
  if (phase.kind !== "working") {
    if (phase.kind === "responding") keepReply(move, phase.reply);
    return move.conclude(winding.ending);
  }
  if (isExec) return executed(move, stoppedCell(winding.ending.reason));
  if (!move.state.open.some((effect) => effect.kind === "settle"))
    go(move, answers.abandonCalls(phase.work, TEXTS.abandoned));
}

/** Replaces results that no after-hook will see with unknown ones, because a hook may have had to redact them. */
function settleUnseen(move: Move, reason: string): void {
  const { phase } = move.state;
  move.drop(() => true);
  if (phase.kind === "responding") keepReply(move, phase.reply);
  if (phase.kind !== "working" || phase.work.cell !== undefined) return;
  const work = answers.withhold(phase.work, reason);
  if (move.state.skips.finalize !== true) move.keepCalls(work);
  const results = answers.resultsOf(work);
  try {
    move.add(...withTrails(move.state, move.driver.onResults(move.view(), phase.reply, results).add ?? []));
  } catch {
    move.pairCalls();
  }
}

function failedEffect(move: Move, effect: Effect, event: Extract<Answer, { kind: "failed" }>): void {
  const { state } = move;
  const { error } = event;
  if (event.usage !== undefined) move.spend(event.usage, event.model);
  switch (effect.kind) {
    case "ask":
      if (event.attempts === undefined) state.asks--; // The call was refused before any attempt.
      if (event.partial !== undefined && event.partial.length > 0)
        move.add({ role: "assistant", parts: event.partial, origin: { kind: "partial" } });
      if (error.class !== "context-overflow" || state.winding !== undefined) return move.conclude(endingOf(error));
      return mayCompact(move) ? compact(move) : overflow(move);
    case "respond":
      keepReply(move, effect.reply);
      return move.conclude(endingOf(error));
    case "gate":
      move.wind({ ending: endingOf(error) });
      return go(move, answers.cancelCalls(working(move, event), error.message));
    case "settle":
      settleUnseen(move, error.message);
      return move.conclude(endingOf(error));
    case "call":
      return go(
        move,
        answers.onReturned(move, working(move, event), effect, {
          kind: "failure",
          failure: { class: "internal", code: error.code, message: error.message },
        }),
      );
    case "exec":
      if (state.version < 2 || state.winding !== undefined) return executed(move, stoppedCell(error.message));
      move.drop(() => true); // Calls of the cell, which nothing can receive any more.
      if (state.skips.finalize !== true) move.keepCalls(answers.withhold(working(move, event), error.message));
      return move.conclude(endingOf(error));
    case "compact":
      return compacted(move, []);
    case "finalize":
      move.addForgottenNote();
      return move.end(state.winding?.ending ?? endingOf(error));
    case "sleep":
      return effect.name === GRACE ? graceOver(move) : go(move, answers.onWoken(move, working(move, event), effect));
    case "wait":
      return go(move, answers.onWoken(move, working(move, event), effect, { kind: "revoked" }));
    case "prepare":
    case "boundary":
      return move.conclude(endingOf(error));
  }
}

const overflow = (move: Move): void =>
  move.conclude(stopped("limit", "limit.context", describe("limit.context", {}).message));
