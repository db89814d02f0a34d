import type { Emit } from "../../kernel/tool-gates.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import type { Preview, SessionEvent } from "../../model/event.ts";
import type { EffectName, SessionId, TurnId, WaitId, WaitKey } from "../../model/ids.ts";
import { defined, describeThrown, type Json } from "../../model/json.ts";
import type { ToolOutput } from "../../model/tool.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { StoredWait } from "../../stores/store.ts";
import type { CallShow } from "../../tools/dispatch.ts";
import { name, type PlacedCall } from "../../turn/effect.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { cursorFor } from "../readers/cursor.ts";
import { PreviewWriter, prefixIn } from "../readers/preview-writer.ts";
import { Previews } from "../readers/previews.ts";
import type { Recalled } from "../readers/recorded.ts";
import { askedFact, waitFact } from "../readers/wait-facts.ts";
import type { TurnHandle, WaitFact } from "./handle.ts";
import { LivePrinting } from "./printing.ts";
import { Publisher } from "./publish.ts";
import type { LiveTurn } from "./turn.ts";

const CHILD = name("child");

/**
 * Shows a running turn: previews for handles, readers and the parent's turn, and waits for handles. Readers read waits from
 * the store. Previews become facts only with the commit.
 *
 * The show of a parked turn stays while the turn has readers or iterating handles, and the next run here continues it.
 */
export class TurnShow extends PreviewWriter implements CallShow {
  #live: LiveTurn;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** The generation of the run that first showed the turn. A run that continues the show keeps it. */
  readonly generation: number;
  /** How many events of the turn were shown before this run. */
  #shown = 0;
  /** The unanswered waits that handles were notified of. */
  readonly #waits = new Map<WaitId, WaitFact>();
  /** Reads of waits from a store that returns promises, one after the other. */
  #asking: Promise<void> | undefined;
  /** All previews so far, for handles and readers that join late. */
  readonly previews: Previews;
  /** The previews were made from recorded events, of which the first `#shown` were shown here. */
  readonly #isRecalled: boolean;
  #isSilent = false;
  #printing: LivePrinting | undefined;
  /** Present while another process follows the turn. */
  publisher: Publisher | undefined = undefined;

  /** `recalled`: the previews that all readers and handles here got while the turn was parked. */
  constructor(live: LiveTurn, recalled?: Recalled) {
    super();
    this.#live = live;
    this.sessionId = live.sessionId;
    this.turnId = live.turnId;
    this.#isRecalled = recalled !== undefined;
    this.generation = recalled?.generation ?? live.lease.generation;
    this.previews = recalled?.previews ?? new Previews();
    this.#shown = recalled?.events ?? 0;
  }

  /** How many events of a parked turn were shown, and the generation of the last run that showed some. */
  get shown(): { readonly events: number; readonly generation: number } {
    return { events: this.#shown, generation: this.#live.lease.generation };
  }

  /** The turn is parked after this many events. */
  park(folded: number): void {
    this.#shown = folded;
    this.#printing = undefined;
  }

  /** The mail of the turn contains whether another process follows it. */
  followed(is: boolean): void {
    if (is) this.publisher ??= new Publisher(this.#live, this.previews);
    else this.unpublish();
  }

  /** Stops showing the turn to other processes, because it ended, parked or left this process. */
  unpublish(): void {
    this.publisher?.end();
    this.publisher = undefined;
  }

  /** The next run continues the show. Handles that were not read yet get all previews again. */
  resume(live: LiveTurn): void {
    this.#live = live;
    for (const handle of live.handles) if (!handle.feed.isRead) this.replayTo(handle);
  }

  /** Gives a handle that joins late all previews so far, and the open waits. */
  replayTo(handle: TurnHandle): void {
    for (const event of this.previews.list()) handle.feed.push(event);
    for (const fact of this.#waits.values()) handle.notify(fact);
  }

  preview(event: Preview): void {
    if (this.#isSilent) return;
    const { handles, session, core } = this.#live;
    this.previews.add(event);
    if (this.publisher !== undefined) this.publisher.add(event);
    for (let index = 0; index < handles.length; index++) handles[index]?.feed.push(event);
    if (core.readers.count > 0) core.readers.preview(session, event);
    if (session.ancestors.length > 0) session.notifyParent(event);
  }

  /** A child shows or commits something. */
  childShows(event: SessionEvent, capability: string | undefined): void {
    const { sessionId, turnId, state } = this.#live;
    const call = callFor(state, event.sessionId);
    const about = defined({ call, capability });
    this.preview({ fact: false, sessionId, turnId, key: this.#live.key(CHILD, 1), kind: "child", event, ...about });
  }

  emit(effect: EffectName, plugin: string, eventName: string, payload: Json): void {
    const { sessionId, turnId } = this.#live;
    const key = this.#live.key(effect, 1);
    this.preview({ fact: false, sessionId, turnId, key, kind: "plugin", plugin, name: eventName, payload });
  }

  emitted({ plugin, value }: Emit, placed: PlacedCall): void {
    if (value.kind === "emitEvent") this.emit(this.#position(placed), plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") this.#live.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else {
      // Gates and settling run one at a time, so the directive comes from the open one.
      const serial = this.#live.state.open.find(({ kind }) => kind === "gate" || kind === "settle");
      this.#live.makeSession(plugin, value.request, serial?.name ?? this.#position(placed));
    }
  }

  /** Shows the previews of an event of an earlier run. `before` is the state before the event. */
  previewEarlier(before: TurnState, event: TurnEvent): void {
    const { folded, state } = this.#live;
    const isKnown = folded <= this.#shown;
    if (isKnown && !this.#isRecalled) return;
    // Readers have these previews already. The event must still be replayed, so that the writer has the calls that began.
    this.#isSilent = isKnown;
    this.previewRecorded(before, event, state, isKnown);
    this.#isSilent = false;
  }

  // ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The position of a call: equal at its gate, attempts and settling, so that start and end of the call match. */
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

  /** A tool that still runs after its call has ended shows nothing. */
  #isEnded(placed: PlacedCall): boolean {
    return this.#live.state.phase.kind === "ended" || this.hasEnded(this.#position(placed));
  }

  printed(placed: PlacedCall, attempt: number, chunk: string): void {
    if (this.#isEnded(placed)) return;
    (this.#printing ??= new LivePrinting(this.#live)).printed(this.#position(placed), placed, attempt, chunk);
  }

  /** The tool returned: ends the measured time of the call. The result is shown later, after the hooks. */
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

  /** Shows the rest of a failed attempt's output, before the next attempt begins. */
  failed(placed: PlacedCall): void {
    this.#printing?.close(this.#position(placed));
  }

  // ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A wait is in the store and can be answered: notifies handles and the parent once. A wait that is already answered, for
   * example before this process resumed the turn, is not shown, because a person would be asked for nothing.
   */
  asked(key: WaitKey): void {
    const show = (wait: StoredWait | undefined): void => {
      if (wait?.askedAs === undefined || wait.answer !== undefined || this.#waits.has(wait.id)) return;
      const fact = askedFact(wait);
      this.#waits.set(wait.id, fact);
      this.#notify(fact);
    };
    const found = this.#live.core.store.waits.get(waitIdOf(key));
    if (this.#asking === undefined && !isThenable(found)) return show(found);
    this.#asking = Promise.all([found, this.#asking]).then(
      ([wait]) => show(wait),
      (error: unknown) => this.#failedToRead(error),
    );
  }

  /** The next event answers a wait: notifies handles before the event is folded. */
  answeredBy({ effect }: Extract<TurnEvent, { readonly kind: "resolved" }>): Awaitable<void> {
    const open = this.#live.state.open.find((each) => each.name === effect);
    if (open?.kind !== "wait" || open.about.kind === "turns") return;
    const show = (wait: StoredWait | undefined): void => {
      if (wait?.answer === undefined || wait.answeredAs === undefined) return;
      const { id, sessionId, about, answer, answeredAs } = wait;
      const base = { fact: true, sessionId, cursor: cursorFor(sessionId, answeredAs) } as const;
      const by = answer.kind !== "timeout" && answer.by !== undefined ? { by: answer.by } : {};
      const how = { wants: about.kind, how: answer.kind, ...by };
      this.#waits.delete(id);
      this.#notify(waitFact({ kind: "resolved", turnId: this.#live.turnId, wait: id, effect, ...how }, base));
    };
    const found = this.#live.core.store.waits.get(waitIdOf(open.key));
    if (this.#asking === undefined && !isThenable(found)) return show(found);
    return Promise.all([found, this.#asking]).then(
      ([wait]) => show(wait),
      (error: unknown) => this.#failedToRead(error),
    );
  }

  #notify(fact: WaitFact): void {
    const { handles, session, core } = this.#live;
    for (const handle of handles) handle.notify(fact);
    core.readers.moved(session);
    if (session.ancestors.length > 0) session.notifyParent(fact);
  }

  #failedToRead(error: unknown): void {
    this.#live.trace("turn.show", { problem: describeThrown(error) });
  }
}

/** The call that waits for a turn of this session. */
function callFor({ open }: TurnState, child: SessionId): EffectName | undefined {
  for (const effect of open)
    if (effect.kind === "wait" && effect.about.kind === "turns")
      if (effect.about.turns.some(({ sessionId }) => sessionId === child))
        return name(effect.name.replace(/\.w\d+$/, ""));
  return undefined;
}
