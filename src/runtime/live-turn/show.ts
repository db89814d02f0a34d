import type { Emit } from "../../kernel/seams.ts";
import type { Preview, SessionEvent } from "../../model/event.ts";
import type { EffectName, WaitKey } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { callsOf } from "../../model/message.ts";
import { statusOf, type ToolCall, type ToolOutput } from "../../model/tool.ts";
import type { CallShow } from "../../tools/dispatch.ts";
import { name, type PlacedCall } from "../../turn/effect.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { callWaiting } from "../../turn/work.ts";
import { Previews } from "../readers/previews.ts";
import type { LiveTurn } from "./turn.ts";

const CHILD = name("child");

/** Replaces a call's start time once its end was shown. */
const ENDED = -1;

/**
 * Shows a running turn to handles, readers and the parent's turn: previews, which only the commit makes facts.
 *
 * Invariant: each call is shown exactly one start and one end, also a call that never came to its gate.
 */
export class TurnShow implements CallShow {
  readonly #live: LiveTurn;
  /** All previews so far, for handles and readers that join late. */
  readonly said = new Previews();
  #startedAt: Map<string, number> | undefined;
  #returnedAt: Map<string, number> | undefined;
  #asked: Map<WaitKey, { readonly placed: PlacedCall; readonly reason: string }> | undefined;

  constructor(live: LiveTurn) {
    this.#live = live;
  }

  tell(event: Preview): void {
    const { handles, session, core } = this.#live;
    this.said.add(event);
    for (let index = 0; index < handles.length; index++) handles[index]?.feed.push(event);
    if (!core.readers.isEmpty) core.readers.preview(session, event);
    if (session.ancestors.length > 0) session.tellParent(event);
  }

  /** A child shows or commits something. */
  childShows(event: SessionEvent): void {
    const { sessionId, turnId } = this.#live;
    this.tell({ fact: false, sessionId, turnId, key: this.#live.key(CHILD, 1), kind: "child", event });
  }

  emit(effect: EffectName, plugin: string, eventName: string, payload: Json): void {
    const { sessionId, turnId } = this.#live;
    const key = this.#live.key(effect, 1);
    this.tell({ fact: false, sessionId, turnId, key, kind: "plugin", plugin, name: eventName, payload });
  }

  emitted({ plugin, value }: Emit, placed: PlacedCall): void {
    if (value.kind === "emitEvent") this.emit(this.#position(placed), plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") this.#live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else this.#live.makeSession(plugin, value.request);
  }

  /** Shows a resumed turn from its beginning, as its journal has it. */
  retell(journal: readonly TurnEvent[]): void {
    const { sessionId, turnId } = this.#live;
    const calls = new Map<string, ToolCall>();
    for (const event of journal) {
      if (event.kind === "replied") {
        const key = this.#live.key(event.effect, 1);
        const round = event.effect.slice(0, event.effect.indexOf("."));
        for (const part of event.reply.parts)
          if (part.kind === "text" || part.kind === "reasoning")
            this.tell({ fact: false, sessionId, turnId, key, kind: part.kind, delta: part.text });
        for (const [index, { callId, name: tool, input }] of callsOf(event.reply.parts).entries())
          calls.set(`${round}.call.${index}`, { id: callId, name: tool, input });
      }
      if (event.kind !== "returned") continue;
      const position = name(event.effect.replace(/\.a\d+$/, ""));
      const call = calls.get(position);
      if (call === undefined) continue; // The call was made inside a batch.
      this.#start(position, call);
      this.#end(position, call, event.output, event.at);
    }
  }

  // ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The same at its gate, in its attempts and at its settling: start and end must find each other. */
  #position({ at }: PlacedCall): EffectName {
    return name(`r${this.#live.state.round}.call.${at}`);
  }

  started(placed: PlacedCall): void {
    this.#start(this.#position(placed), placed.call);
  }

  /** Ends the call's own time; its result is shown when hooks have seen it. */
  returned(placed: PlacedCall): void {
    (this.#returnedAt ??= new Map()).set(this.#position(placed), this.#live.world.now());
  }

  ended(placed: PlacedCall, output: ToolOutput): void {
    const effect = this.#position(placed);
    this.#end(effect, placed.call, output, this.#returnedAt?.get(effect) ?? this.#live.world.now());
  }

  #start(effect: EffectName, call: ToolCall): number {
    this.#startedAt ??= new Map();
    const before = this.#startedAt.get(effect);
    if (before !== undefined) return before;
    const { sessionId, turnId, world } = this.#live;
    const now = world.now();
    this.#startedAt.set(effect, now);
    this.tell({ fact: false, sessionId, turnId, key: this.#live.key(effect, 1), kind: "toolStarted", call });
    return now;
  }

  #end(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    const startedAt = this.#start(effect, call);
    if (startedAt === ENDED) return;
    this.#startedAt?.set(effect, ENDED);
    const { sessionId, turnId } = this.#live;
    this.tell({
      fact: false,
      sessionId,
      turnId,
      key: this.#live.key(effect, 1),
      kind: "toolEnded",
      callId: call.id,
      name: call.name,
      status: statusOf(output),
      ms: Math.max(0, at - startedAt),
      output,
    });
  }

  // ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A call waits for an answer. Shown when the host says that it can be answered: the key is not valid before. */
  waiting(placed: PlacedCall, wait: WaitKey, reason: string): void {
    (this.#asked ??= new Map()).set(wait, { placed, reason });
  }

  canBeAnswered(wait: WaitKey): void {
    const asked = this.#asked?.get(wait);
    const waits = callWaiting(this.#live.state, wait); // An interrupted call, or one asked for before a restart.
    const placed = asked?.placed ?? waits;
    if (placed === undefined) return;
    const { sessionId, turnId } = this.#live;
    const interrupted = waits?.output?.kind === "unknown" ? waits.output.reason : undefined;
    this.tell({
      fact: false,
      sessionId,
      turnId,
      key: this.#live.key(this.#position(placed), 1),
      kind: "waiting",
      callId: placed.call.id,
      wait,
      reason: asked?.reason ?? waits?.reason ?? interrupted ?? "It waits for somebody to answer.",
    });
  }
}
