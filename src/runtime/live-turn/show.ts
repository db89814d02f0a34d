import type { Emit } from "../../kernel/seams.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import type { Preview, PreviewKey, SessionEvent } from "../../model/event.ts";
import type { EffectName, SessionId, WaitId, WaitKey } from "../../model/ids.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import type { ReasoningPart, TextPart } from "../../model/message.ts";
import { statusOf, type ToolCall, type ToolOutput } from "../../model/tool.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { StoredWait } from "../../stores/store.ts";
import type { CallShow } from "../../tools/dispatch.ts";
import { type EffectOf, name, type PlacedCall } from "../../turn/effect.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { isTriedAgain } from "../../turn/work.ts";
import { cursorFor } from "../readers/cursor.ts";
import { Previews } from "../readers/previews.ts";
import { askedFact, waitFact } from "../readers/wait-facts.ts";
import type { TurnHandle, WaitFact } from "./handle.ts";
import { LivePrinting } from "./printing.ts";
import { Publisher } from "./publish.ts";
import type { LiveTurn } from "./turn.ts";

const CHILD = name("child");

/** What the names of the calls begin with that are made now: of a reply, or of a code cell. */
const prefixIn = ({ phase, round }: TurnState): string => (phase.kind === "working" ? phase.work.prefix : `r${round}`);

/** Replaces a call's start time once its end was shown. */
const ENDED = -1;

/** Whether a call that returned needs no settling: its end is shown at once. */
export const isEndedByItself = ({ skips, policies }: TurnState, { call }: EffectOf<"call">): boolean =>
  skips.settle === true && skips.gate === true && !Object.hasOwn(policies, call.name);

/**
 * Shows a running turn to handles, readers and the parent's turn: previews, which only the commit makes facts; and to
 * handles what it waits for, which readers find in the store.
 *
 * It outlives the run of a turn that is parked while somebody looks on: the next run here goes on with it.
 *
 * Invariant: each call is shown exactly one start and one end, also a call that never came to its gate.
 */
export class TurnShow implements CallShow {
  #live: LiveTurn;
  /** Of the run that began it. A run that goes on with it shows its previews under the same one. */
  readonly generation: number;
  /** How many events of the turn it has shown already, when it goes on. */
  #shown = 0;
  /** What handles were told that the turn waits for, and is not answered. */
  readonly #waits = new Map<WaitId, WaitFact>();
  /** Waits that are being read from a store that takes its time, one after the other. */
  #asking: Promise<void> | undefined;
  /** All previews so far, for handles and readers that join late. */
  readonly said = new Previews();
  #startedAt: Map<string, number> | undefined;
  #returnedAt: Map<string, number> | undefined;
  #retoldAt: number | undefined;
  /** The ends of calls that are told again once their round is over. */
  #plain: (() => void)[] | undefined;
  #printing: LivePrinting | undefined;
  /** While somebody in another process follows the turn. */
  publisher: Publisher | undefined = undefined;

  constructor(live: LiveTurn) {
    this.#live = live;
    this.generation = live.lease.generation;
  }

  get sessionId(): SessionId {
    return this.#live.sessionId;
  }

  /** The turn is parked after this many events. */
  rest(folded: number): void {
    this.#shown = folded;
    this.#printing = undefined;
  }

  /** Mail says whether somebody in another process follows the turn. */
  followed(is: boolean): void {
    if (is) this.publisher ??= new Publisher(this.#live, this.said);
    else this.unpublish();
  }

  /** The turn is over, or not here any more: nothing is shown to others. */
  unpublish(): void {
    this.publisher?.end();
    this.publisher = undefined;
  }

  /** Another run goes on. Handles that nobody had read yet begin anew. */
  goOn(live: LiveTurn): void {
    this.#live = live;
    for (const handle of live.handles) if (!handle.feed.isRead) this.tellAll(handle);
  }

  /** Gives a handle that joins late what the turn has shown, and what it waits for. */
  tellAll(handle: TurnHandle): void {
    for (const event of this.said.list()) handle.feed.push(event);
    for (const fact of this.#waits.values()) handle.tell(fact);
  }

  tell(event: Preview): void {
    const { handles, session, core } = this.#live;
    this.said.add(event);
    if (this.publisher !== undefined) this.publisher.add(event);
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

  /** A plugin answers the turn: shown as a model's text is. */
  answered(effect: EffectName, text: string): void {
    const { sessionId, turnId } = this.#live;
    this.tell({ fact: false, sessionId, turnId, key: this.#live.key(effect, 1), kind: "text", delta: text });
  }

  emitted({ plugin, value }: Emit, placed: PlacedCall): void {
    if (value.kind === "emitEvent") this.emit(this.#position(placed), plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") this.#live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else this.#live.makeSession(plugin, value.request);
  }

  /** Shows an event of an earlier run again, as it was shown then. `before` is the state that the event met. */
  retell(before: TurnState, event: TurnEvent): void {
    if (this.#live.folded <= this.#shown) return;
    const began = this.#retoldAt ?? event.at;
    this.#retoldAt = event.at;
    if (event.kind === "replied") {
      const key = this.#live.key(event.effect, 1);
      for (const part of event.reply.parts)
        if (part.kind === "text" || part.kind === "reasoning") this.#retellPart(part, key);
    }
    if (event.kind === "prepared" && event.answer !== undefined) this.answered(event.effect, event.answer.text);
    if (event.kind !== "gated" && event.kind !== "returned" && event.kind !== "settled") return;
    const effect = before.open.find((open) => open.name === event.effect);
    const position = ({ at }: PlacedCall): EffectName => name(`${prefixIn(before)}.call.${at}`);
    if (effect?.kind === "gate" && event.kind === "gated")
      for (const [index, placed] of effect.calls.entries()) {
        const verdict = event.verdicts[index];
        this.#start(position(placed), placed.call, event.at);
        if (verdict?.kind === "settled") this.#return(position(placed), placed.call, verdict.output, event.at);
      }
    if (effect?.kind === "call" && event.kind === "returned" && !isTriedAgain(before, effect, event.output)) {
      this.#start(position(effect), effect.call, began);
      const [at, { call }] = [position(effect), effect];
      const isPlain = isEndedByItself(before, effect);
      if (isPlain) (this.#plain ??= []).push(() => this.#end(at, call, event.output, event.at));
      const { phase, round } = this.#live.state;
      // A call of a cell was settled by itself, and may have been given to the code.
      const isOfCell = before.phase.kind === "working" && before.phase.work.cell !== undefined;
      const isOver = isOfCell || phase.kind !== "working" || round !== before.round;
      // Of a round that was not over, plugins of today see the results first.
      if (!isPlain || !isOver) this.#return(at, call, event.output, event.at);
      if (isOver) for (const end of this.#plain?.splice(0) ?? []) end();
    }
    if (effect?.kind === "settle" && event.kind === "settled")
      for (const [index, { call, output, ...placed }] of effect.results.entries()) {
        const at = position({ ...placed, call });
        this.#end(at, call, event.results[index]?.output ?? output, this.#returnedAt?.get(at) ?? event.at);
      }
  }

  #retellPart(part: TextPart | ReasoningPart, key: PreviewKey): void {
    const { sessionId, turnId } = this.#live;
    const delta = part.kind === "text" ? (part.shown ?? part.text) : part.text;
    if (delta !== "" || part.text === "") this.tell({ fact: false, sessionId, turnId, key, kind: part.kind, delta });
  }

  // ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The same at its gate, in its attempts and at its settling: start and end must find each other. */
  #position(placed: PlacedCall): EffectName {
    if ("position" in placed) return placed.position as EffectName; // An attempt, which may outlive its round.
    return name(`${prefixIn(this.#live.state)}.call.${placed.at}`);
  }

  started(placed: PlacedCall): void {
    this.#start(this.#position(placed), placed.call);
  }

  progressed(placed: PlacedCall, attempt: number, value: Json): void {
    if (this.#isEnded(placed)) return;
    (this.#printing ??= new LivePrinting(this.#live)).progressed(this.#position(placed), placed, attempt, value);
  }

  /** A tool that goes on after its call has ended shows nothing more. */
  #isEnded(placed: PlacedCall): boolean {
    return this.#live.state.phase.kind === "ended" || this.#startedAt?.get(this.#position(placed)) === ENDED;
  }

  printed(placed: PlacedCall, attempt: number, chunk: string): void {
    if (this.#isEnded(placed)) return;
    (this.#printing ??= new LivePrinting(this.#live)).printed(this.#position(placed), placed, attempt, chunk);
  }

  /** Ends the call's own time, unless it is tried again; its result is shown when hooks have seen it. */
  returned(placed: PlacedCall, output: ToolOutput): void {
    this.#return(this.#position(placed), placed.call, output, this.#live.world.now());
  }

  ended(placed: PlacedCall, output: ToolOutput): void {
    const effect = this.#position(placed);
    this.#end(effect, placed.call, output, this.#returnedAt?.get(effect) ?? this.#live.world.now());
  }

  /** What a failed attempt printed is shown before the next one begins. */
  failed(placed: PlacedCall): void {
    this.#printing?.close(this.#position(placed));
  }

  #start(effect: EffectName, call: ToolCall, at?: number): number {
    this.#startedAt ??= new Map();
    const before = this.#startedAt.get(effect);
    if (before !== undefined) return before;
    const { sessionId, turnId, world } = this.#live;
    const now = at ?? world.now();
    this.#startedAt.set(effect, now);
    this.tell({ fact: false, sessionId, turnId, key: this.#live.key(effect, 1), kind: "toolStarted", call });
    return now;
  }

  #return(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    this.#printing?.close(effect);
    const startedAt = this.#start(effect, call);
    if (startedAt === ENDED) return;
    (this.#returnedAt ??= new Map()).set(effect, at);
    const { sessionId, turnId } = this.#live;
    this.tell({
      fact: false,
      sessionId,
      turnId,
      key: this.#live.key(effect, 1),
      kind: "toolReturned",
      callId: call.id,
      name: call.name,
      status: statusOf(output),
      ms: Math.max(0, at - startedAt),
    });
  }

  #end(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    const startedAt = this.#start(effect, call);
    if (startedAt === ENDED) return;
    this.#printing?.close(effect);
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

  /** A wait is in the store and can be answered: handles and the parent are told once. */
  asked(key: WaitKey): void {
    const tell = (wait: StoredWait | undefined): void => {
      if (wait?.askedAs === undefined || this.#waits.has(wait.id)) return;
      const fact = askedFact(wait);
      this.#waits.set(wait.id, fact);
      this.#tellFact(fact);
    };
    const found = this.#live.core.store.waits.get(waitIdOf(key));
    if (this.#asking === undefined && !isThenable(found)) return tell(found);
    this.#asking = Promise.all([found, this.#asking]).then(
      ([wait]) => tell(wait),
      (error: unknown) => this.#untold(error),
    );
  }

  /** A wait was answered, by the event that comes next: told before what follows from it. */
  answeredBy({ effect }: Extract<TurnEvent, { readonly kind: "resolved" }>): Awaitable<void> {
    const open = this.#live.state.open.find((each) => each.name === effect);
    if (open?.kind !== "wait" || open.about.kind === "turns") return;
    const tell = (wait: StoredWait | undefined): void => {
      if (wait?.answer === undefined || wait.answeredAs === undefined) return;
      const { id, sessionId, about, answer, answeredAs } = wait;
      const base = { fact: true, sessionId, cursor: cursorFor(sessionId, answeredAs) } as const;
      const by = answer.kind !== "timeout" && answer.by !== undefined ? { by: answer.by } : {};
      const how = { wants: about.kind, how: answer.kind, ...by };
      this.#waits.delete(id);
      this.#tellFact(waitFact({ kind: "resolved", turnId: this.#live.turnId, wait: id, effect, ...how }, base));
    };
    const found = this.#live.core.store.waits.get(waitIdOf(open.key));
    if (this.#asking === undefined && !isThenable(found)) return tell(found);
    return Promise.all([found, this.#asking]).then(
      ([wait]) => tell(wait),
      (error: unknown) => this.#untold(error),
    );
  }

  #tellFact(fact: WaitFact): void {
    const { handles, session, core } = this.#live;
    for (const handle of handles) handle.tell(fact);
    core.readers.moved(session);
    if (session.ancestors.length > 0) session.tellParent(fact);
  }

  #untold(error: unknown): void {
    this.#live.trace("turn.show", { problem: describeThrown(error) });
  }
}
