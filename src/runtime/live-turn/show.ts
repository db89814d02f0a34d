import type { Emit } from "../../kernel/seams.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import type { Preview, SessionEvent } from "../../model/event.ts";
import type { EffectName, SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import type { ToolOutput } from "../../model/tool.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { StoredWait } from "../../stores/store.ts";
import type { CallShow } from "../../tools/dispatch.ts";
import { name, type PlacedCall } from "../../turn/effect.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { cursorFor } from "../readers/cursor.ts";
import { Previews } from "../readers/previews.ts";
import type { Recalled } from "../readers/recorded.ts";
import { prefixIn, Telling } from "../readers/telling.ts";
import { askedFact, waitFact } from "../readers/wait-facts.ts";
import type { TurnHandle, WaitFact } from "./handle.ts";
import { LivePrinting } from "./printing.ts";
import { Publisher } from "./publish.ts";
import type { LiveTurn } from "./turn.ts";

const CHILD = name("child");

/**
 * Shows a running turn to handles, readers and the parent's turn: previews, which only the commit makes facts; and to
 * handles what it waits for, which readers find in the store.
 *
 * It outlives the run of a turn that is parked while somebody looks on: the next run here goes on with it.
 */
export class TurnShow extends Telling implements CallShow {
  #live: LiveTurn;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Of the run that began it. A run that goes on with it shows its previews under the same one. */
  readonly generation: number;
  /** How many events of the turn it has shown already, when it goes on. */
  #shown = 0;
  /** What handles were told that the turn waits for, and is not answered. */
  readonly #waits = new Map<WaitId, WaitFact>();
  /** Waits that are being read from a store that takes its time, one after the other. */
  #asking: Promise<void> | undefined;
  /** All previews so far, for handles and readers that join late. */
  readonly said: Previews;
  /** It was made from recorded events, of which the first `#shown` were shown here. */
  readonly #isRecalled: boolean;
  #isSilent = false;
  #printing: LivePrinting | undefined;
  /** While somebody in another process follows the turn. */
  publisher: Publisher | undefined = undefined;

  /** `recalled`: what everybody who looks on here was shown of the turn while it was parked. */
  constructor(live: LiveTurn, recalled?: Recalled) {
    super();
    this.#live = live;
    this.sessionId = live.sessionId;
    this.turnId = live.turnId;
    this.#isRecalled = recalled !== undefined;
    this.generation = recalled?.generation ?? live.lease.generation;
    this.said = recalled?.said ?? new Previews();
    this.#shown = recalled?.events ?? 0;
  }

  /** How many events of a parked turn it has shown, and under which lease the last ones. */
  get shown(): { readonly events: number; readonly generation: number } {
    return { events: this.#shown, generation: this.#live.lease.generation };
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
    if (this.#isSilent) return;
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

  emitted({ plugin, value }: Emit, placed: PlacedCall): void {
    if (value.kind === "emitEvent") this.emit(this.#position(placed), plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") this.#live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else this.#live.makeSession(plugin, value.request);
  }

  /** Shows an event of an earlier run again, as it was shown then. `before` is the state that the event met. */
  retellRun(before: TurnState, event: TurnEvent): void {
    const { folded, state } = this.#live;
    const isKnown = folded <= this.#shown;
    if (isKnown && !this.#isRecalled) return;
    this.#isSilent = isKnown; // What was shown of it is known here by its events alone, and not which calls have begun.
    this.retell(before, event, state, isKnown);
    this.#isSilent = false;
  }

  // ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The same at its gate, in its attempts and at its settling: start and end must find each other. */
  #position(placed: PlacedCall): EffectName {
    if ("position" in placed) return placed.position as EffectName; // An attempt, which may outlive its round.
    return name(`${prefixIn(this.#live.state)}.call.${placed.at}`);
  }

  started(placed: PlacedCall): void {
    this.start(this.#position(placed), placed.call, this.#live.world.now());
  }

  progressed(placed: PlacedCall, attempt: number, value: Json): void {
    if (this.#isEnded(placed)) return;
    (this.#printing ??= new LivePrinting(this.#live)).progressed(this.#position(placed), placed, attempt, value);
  }

  /** A tool that goes on after its call has ended shows nothing more. */
  #isEnded(placed: PlacedCall): boolean {
    return this.#live.state.phase.kind === "ended" || this.hasEnded(this.#position(placed));
  }

  printed(placed: PlacedCall, attempt: number, chunk: string): void {
    if (this.#isEnded(placed)) return;
    (this.#printing ??= new LivePrinting(this.#live)).printed(this.#position(placed), placed, attempt, chunk);
  }

  /** Ends the call's own time, unless it is tried again; its result is shown when hooks have seen it. */
  returned(placed: PlacedCall, output: ToolOutput): void {
    const position = this.#position(placed);
    this.#printing?.close(position);
    this.return(position, placed.call, output, this.#live.world.now());
  }

  ended(placed: PlacedCall, output: ToolOutput): void {
    const position = this.#position(placed);
    this.#printing?.close(position);
    this.end(position, placed.call, output, this.#live.world.now());
  }

  /** What a failed attempt printed is shown before the next one begins. */
  failed(placed: PlacedCall): void {
    this.#printing?.close(this.#position(placed));
  }

  // ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A wait is in the store and can be answered: handles and the parent are told once. A wait that is answered already,
   * for example before this process resumed the turn, is not shown: a person would be asked in vain.
   */
  asked(key: WaitKey): void {
    const tell = (wait: StoredWait | undefined): void => {
      if (wait?.askedAs === undefined || wait.answer !== undefined || this.#waits.has(wait.id)) return;
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
