// An open turn from its journal, for readers where the turn does not run. Loaded on first use.
// recorded-1 The machine that runs turns folds the events, and the code for live previews shows them (`preview-writer.ts`).
// recorded-2 If the turn's protocol or options are missing here, the events are shown without being folded.
// recorded-3 The previews have the generation of the latest run in the journal. A later run has a higher one and is shown whole.
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
import { PreviewWriter } from "./preview-writer.ts";
import { Previews } from "./previews.ts";

/** `opened`, and the events that followed. */
export type Journal = readonly TurnEvent[];

/** The previews of a parked turn, made from its first `events` recorded events. */
export interface Recalled {
  readonly turnId: TurnId;
  readonly generation: number;
  readonly events: number;
  readonly previews: Previews;
}

/** The generation of the latest run in these events. `before` if none of them begins a run. */
export function generationIn(events: Journal, before = 0): number {
  const last = events.findLast(({ kind }) => kind === "opened" || kind === "resumed");
  return last?.kind === "opened" || last?.kind === "resumed" ? last.generation : before;
}

/** The previews of a turn, from its whole journal. */
export function recall(core: Core, stored: StoredSession, journal: Journal): Recalled {
  const show = (): RecordedPreviews => new RecordedPreviews(openedIn(journal), generationIn(journal));
  let writer = show();
  if (stateIn(core, stored, journal, writer) === undefined) {
    writer = show();
    for (const event of journal) writer.previewUnfolded(event); // recorded-2
  }
  const { turnId, generation, previews } = writer;
  return { turnId, generation, events: journal.length, previews };
}

/** The recorded part of the turn. */
export function recordedTurn(core: Core, stored: StoredSession, journal: Journal): OpenTurn {
  const opened = openedIn(journal);
  const state = stateIn(core, stored, journal);
  if (state !== undefined) return openTurnIn(state);
  const { entries, calls } = soFar(opened, journal); // recorded-2
  return { id: opened.turnId, messages: messagesIn(entries), calls };
}

const openedIn = ([opened]: Journal): Opened => opened as Opened; // A journal begins with it.

/** recorded-1. Undefined if the present machine, protocol or options cannot follow the journal. */
export function stateIn(
  core: Core,
  stored: StoredSession,
  journal: Journal,
  writer?: PreviewWriter,
): TurnState | undefined {
  try {
    const opened = openedIn(journal);
    const driver = core.sessions.driverOf(stored, opened.options);
    if (driver.id !== opened.protocol.id || driver.version !== opened.protocol.version) return undefined;
    let { state } = begin(opened);
    for (let index = 1; index < journal.length; index++) {
      const event = journal[index] as TurnEvent;
      const before = state;
      state = step(driver, before, event).state;
      writer?.previewRecorded(before, event, state, true);
    }
    return state;
  } catch {
    return undefined;
  }
}

class RecordedPreviews extends PreviewWriter {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly generation: number;
  readonly previews = new Previews();
  /** recorded-2: the calls of the latest reply or code segment, with their outputs. */
  #calls = new Map<EffectName, { readonly call: ToolCall; readonly output?: ToolOutput }>();
  #settles = true;

  constructor({ sessionId, turnId }: Opened, generation: number) {
    super();
    this.sessionId = sessionId;
    this.turnId = turnId;
    this.generation = generation;
  }

  preview(event: Preview): void {
    this.previews.add(event);
  }

  /** recorded-2. Results that hooks may change are shown after these hooks (previews-2). */
  previewUnfolded(event: TurnEvent): void {
    if (event.kind === "prepared") this.#settles = event.skips?.settle !== true || event.skips.gate !== true;
    if (event.kind === "prepared" && event.answer !== undefined) this.answered(event.effect, event.answer.text);
    if (event.kind === "replied") {
      this.previewReply(event);
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
      const isWhole = event.effect.endsWith(".settle"); // Otherwise the event is about one call of a cell.
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
