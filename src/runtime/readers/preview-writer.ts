// Writes the previews of replies and calls, of a running turn or from recorded events.
// Not its job: delivering them (`live-turn/show.ts`, `recorded.ts`).
// previews-1 Each call has exactly one start and one end, also a call that never reached its gate.
// previews-2 A result is shown when no hook can change it any more.
import type { Preview, PreviewKey } from "../../model/event.ts";
import type { EffectName, SessionId, TurnId } from "../../model/ids.ts";
import { statusOf, type ToolCall, type ToolOutput } from "../../model/tool.ts";
import { type EffectOf, name, type PlacedCall } from "../../turn/effect.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { isTriedAgain } from "../../turn/work-answers.ts";

/** The prefix of the names of the present calls, of a reply or of a code cell. */
export const prefixIn = ({ phase, round }: TurnState): string =>
  phase.kind === "working" ? phase.work.prefix : `r${round}`;

/** Whether a returned call needs no settling, so that its end is shown at once. */
export const isEndedByItself = ({ skips, policies }: TurnState, call: ToolCall): boolean =>
  skips.settle === true && skips.gate === true && !Object.hasOwn(policies, call.name);

/** Replaces the start time of a call after its end was shown. */
const ENDED = -1;

export abstract class PreviewWriter {
  abstract readonly sessionId: SessionId;
  abstract readonly turnId: TurnId;
  abstract readonly generation: number;
  abstract preview(event: Preview): void;

  #startedAt: Map<string, number> | undefined;
  #returnedAt: Map<string, number> | undefined;
  #recordedAt: number | undefined;
  /** The ends of recorded calls. They are shown when their round has ended. */
  #laterEnds: (() => void)[] | undefined;

  protected key(effect: EffectName, attempt = 1): PreviewKey {
    return { effect, generation: this.generation, attempt };
  }

  /** A plugin answers the turn: its text is shown like a model's text. */
  answered(effect: EffectName, text: string): void {
    const { sessionId, turnId } = this;
    this.preview({ fact: false, sessionId, turnId, key: this.key(effect), kind: "text", delta: text });
  }

  // ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  protected hasEnded(effect: EffectName): boolean {
    return this.#startedAt?.get(effect) === ENDED;
  }

  protected start(effect: EffectName, call: ToolCall, at: number): number {
    this.#startedAt ??= new Map();
    const before = this.#startedAt.get(effect);
    if (before !== undefined) return before;
    const { sessionId, turnId, generation } = this;
    this.#startedAt.set(effect, at);
    this.preview({
      fact: false,
      sessionId,
      turnId,
      key: { effect, generation, attempt: 1 },
      kind: "toolStarted",
      call,
    });
    return at;
  }

  protected return(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    const startedAt = this.start(effect, call, at);
    if (startedAt === ENDED) return;
    (this.#returnedAt ??= new Map()).set(effect, at);
    const { sessionId, turnId, generation } = this;
    this.preview({
      fact: false,
      sessionId,
      turnId,
      key: { effect, generation, attempt: 1 },
      kind: "toolReturned",
      callId: call.id,
      name: call.name,
      status: statusOf(output),
      ms: Math.max(0, at - startedAt),
    });
  }

  /** `at`: now. The duration ends when the call returned, if its return was shown. */
  protected end(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    const startedAt = this.start(effect, call, at);
    if (startedAt === ENDED) return;
    this.#startedAt?.set(effect, ENDED);
    const { sessionId, turnId, generation } = this;
    this.preview({
      fact: false,
      sessionId,
      turnId,
      key: { effect, generation, attempt: 1 },
      kind: "toolEnded",
      callId: call.id,
      name: call.name,
      status: statusOf(output),
      ms: Math.max(0, (this.#returnedAt?.get(effect) ?? at) - startedAt),
      output,
    });
  }

  // ── Recorded events ─────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Shows a recorded event as it was shown live, between the states `before` and `after`. `isPast`: the turn does not
   * continue from here, so the result is final. Otherwise the present hooks can still change the results of an unfinished
   * round (previews-2).
   */
  previewRecorded(before: TurnState, event: TurnEvent, after: TurnState, isPast: boolean): void {
    const began = this.#recordedAt ?? event.at;
    this.#recordedAt = event.at;
    if (event.kind === "replied") this.previewReply(event);
    if (event.kind === "prepared" && event.answer !== undefined) this.answered(event.effect, event.answer.text);
    if (!("effect" in event)) return;
    const effect = before.open.find((open) => open.name === event.effect);
    const position = ({ at }: PlacedCall): EffectName => name(`${prefixIn(before)}.call.${at}`);
    if (effect?.kind === "gate" && event.kind === "gated")
      for (const [index, placed] of effect.calls.entries()) {
        const verdict = event.verdicts[index];
        this.start(position(placed), placed.call, event.at);
        if (verdict?.kind === "settled") this.return(position(placed), placed.call, verdict.output, event.at);
      }
    if (effect?.kind === "call") {
      this.start(position(effect), effect.call, began); // Also a call that waits or is retried.
      if (event.kind === "returned" && !isTriedAgain(before, effect, event.output))
        this.#previewReturn(before, position(effect), effect, event.output, event.at, after, isPast);
    }
    if (effect?.kind === "settle" && event.kind === "settled")
      for (const [index, { call, output, ...placed }] of effect.results.entries())
        this.end(position({ ...placed, call }), call, event.results[index]?.output ?? output, event.at);
  }

  #previewReturn(
    before: TurnState,
    position: EffectName,
    { call }: EffectOf<"call">,
    output: ToolOutput,
    at: number,
    { phase, round }: TurnState,
    isPast: boolean,
  ): void {
    const isPlain = isEndedByItself(before, call);
    const end = (): void => this.end(position, call, output, at);
    if (isPlain && isPast) return end();
    if (isPlain) (this.#laterEnds ??= []).push(end);
    // Each call of a code cell settles on its own, and the code may already have its result.
    const isOfCell = before.phase.kind === "working" && before.phase.work.cell !== undefined;
    const isOver = isOfCell || phase.kind !== "working" || round !== before.round;
    if (!isPlain || !isOver) this.return(position, call, output, at);
    if (isOver) for (const each of this.#laterEnds?.splice(0) ?? []) each();
  }

  protected previewReply({ effect, reply, attempts }: Extract<TurnEvent, { readonly kind: "replied" }>): void {
    const { sessionId, turnId } = this;
    const key = this.key(effect, attempts?.length ?? 1);
    for (const part of reply.parts) {
      if (part.kind !== "text" && part.kind !== "reasoning") continue;
      const delta = part.kind === "text" ? (part.shown ?? part.text) : part.text;
      if (delta !== "" || part.text === "")
        this.preview({ fact: false, sessionId, turnId, key, kind: part.kind, delta });
    }
  }
}
