// What the journal of an open turn tells, for those who look at the turn where it does not run. Loaded when they look.
// J1 The events are folded by the machine that runs turns, and shown by the code that shows them live (`telling.ts`).
// J2 Where that cannot be, because the turn's protocol or its options are missing here, the events alone are shown.
// J3 What is shown has the generation of the latest run in the journal. A later run has a higher one, and is shown whole.
import type { Preview } from "../../model/event.ts";
import type { EffectName, SessionId, TurnId } from "../../model/ids.ts";
import { callsOf } from "../../model/message.ts";
import type { ToolCall, ToolOutput } from "../../model/tool.ts";
import type { OpenTurn } from "../../model/view.ts";
import type { StoredSession } from "../../stores/store.ts";
import { name } from "../../turn/effect.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { callIn, placeIn, soFar } from "../../turn/salvage.ts";
import type { TurnState } from "../../turn/state.ts";
import { begin, step } from "../../turn/step.ts";
import type { Core } from "../core.ts";
import { messagesIn, openTurnIn } from "./open-turn.ts";
import { Previews } from "./previews.ts";
import { Telling } from "./telling.ts";

/** `opened`, and the events that followed. */
export type Journal = readonly TurnEvent[];

/** What a parked turn has shown, made from so many recorded events. */
export interface Recalled {
  readonly turnId: TurnId;
  readonly generation: number;
  readonly events: number;
  readonly said: Previews;
}

/** The number of the latest run that is in these events; `before` when none of them begins one. */
export function generationIn(events: Journal, before = 0): number {
  const last = events.findLast(({ kind }) => kind === "opened" || kind === "resumed");
  return last?.kind === "opened" || last?.kind === "resumed" ? last.generation : before;
}

/** The previews of a turn, from its whole journal. */
export function recall(core: Core, stored: StoredSession, journal: Journal): Recalled {
  const show = (): RecordedShow => new RecordedShow(openedIn(journal), generationIn(journal));
  let telling = show();
  if (stateIn(core, stored, journal, telling) === undefined) {
    telling = show();
    for (const event of journal) telling.tellAlone(event); // J2
  }
  const { turnId, generation, said } = telling;
  return { turnId, generation, events: journal.length, said };
}

/** The turn as far as it is recorded. */
export function recordedTurn(core: Core, stored: StoredSession, journal: Journal): OpenTurn {
  const opened = openedIn(journal);
  const state = stateIn(core, stored, journal);
  if (state !== undefined) return openTurnIn(state);
  const { entries, calls } = soFar(opened, journal); // J2
  return { id: opened.turnId, messages: messagesIn(entries), calls };
}

const openedIn = ([opened]: Journal): Opened => opened as Opened; // A journal begins with it.

/** J1; undefined where today's machine, protocol or options cannot follow the journal. */
export function stateIn(core: Core, stored: StoredSession, journal: Journal, telling?: Telling): TurnState | undefined {
  try {
    const opened = openedIn(journal);
    const driver = core.sessions.driverOf(stored, opened.options);
    if (driver.id !== opened.protocol.id || driver.version !== opened.protocol.version) return undefined;
    let { state } = begin(opened);
    for (let index = 1; index < journal.length; index++) {
      const event = journal[index] as TurnEvent;
      const before = state;
      state = step(driver, before, event).state;
      telling?.retell(before, event, state, true);
    }
    return state;
  } catch {
    return undefined;
  }
}

class RecordedShow extends Telling {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly generation: number;
  readonly said = new Previews();
  /** J2: the calls of the reply, or of the code, that came last, and what they returned. */
  #calls = new Map<EffectName, { readonly call: ToolCall; readonly output?: ToolOutput }>();
  #settles = true;

  constructor({ sessionId, turnId }: Opened, generation: number) {
    super();
    this.sessionId = sessionId;
    this.turnId = turnId;
    this.generation = generation;
  }

  tell(event: Preview): void {
    this.said.add(event);
  }

  /** J2. Results that hooks are to see are shown when these have seen them (V2 in `telling.ts`). */
  tellAlone(event: TurnEvent): void {
    if (event.kind === "prepared") this.#settles = event.skips?.settle !== true || event.skips.gate !== true;
    if (event.kind === "prepared" && event.answer !== undefined) this.answered(event.effect, event.answer.text);
    if (event.kind === "replied") {
      this.retellReply(event);
      this.#calls = new Map();
      const round = event.effect.slice(0, event.effect.indexOf("."));
      for (const [nth, part] of callsOf(event.reply.parts).entries())
        this.#begin(name(`${round}.call.${nth}`), callIn(part), event.at);
    }
    if (event.kind === "called")
      for (const { at, call } of event.calls) this.#begin(placeIn(event.effect, at), call, event.at);
    if (event.kind === "returned") {
      const effect = name(event.effect.replace(/\.a\d+$/, ""));
      const known = this.#calls.get(effect);
      if (known === undefined) return;
      this.#calls.set(effect, { ...known, output: event.output });
      if (this.#settles) this.return(effect, known.call, event.output, event.at);
      else this.end(effect, known.call, event.output, event.at);
    }
    if (event.kind === "settled") {
      const isWhole = event.effect.endsWith(".settle"); // Else it is of one call of a cell.
      const effects = isWhole ? [...this.#calls.keys()] : [name(event.effect.replace(".settle.", ".call."))];
      for (const [nth, effect] of effects.entries()) {
        const { call, output } = this.#calls.get(effect) ?? {};
        const settled = event.results[nth]?.output ?? output;
        if (call !== undefined && settled !== undefined) this.end(effect, call, settled, event.at);
      }
    }
  }

  #begin(effect: EffectName, call: ToolCall, at: number): void {
    this.#calls.set(effect, { call });
    this.start(effect, call, at);
  }
}
