// Removes repeated previews. Each time a stream is opened again, the server repeats the previews of a running turn from
// their beginning. This file drops those that the program has already received, so that a program that prints deltas
// prints each of them once. If the turn ends while there is no connection, its last event comes with the rest of its
// answer.
import type { Preview, SessionEvent } from "../model/event.ts";
import type { EffectName, TurnId } from "../model/ids.ts";

/** A position in the previews of a turn: all deltas of one preview are one step. */
interface Place {
  readonly steps: number;
  /** The name of the last step, if it consists of deltas. */
  readonly name: string;
  readonly chars: number;
}
const START: Place = { steps: 0, name: "", chars: 0 };

interface Told {
  readonly generation: number;
  /** The name of the first step: after a gap the server begins with another one. */
  readonly first: string;
  /** The farthest position that was given, and the position of this connection. */
  given: Place;
  now: Place;
  /** The latest text of deltas, with its preview. */
  text: string;
  of: Preview;
}

type Committed = Extract<SessionEvent, { readonly kind: "committed"; readonly by: "turn" }>;

export class Shown {
  readonly #turns = new Map<TurnId, Told>();
  readonly #facts = new Set<string>();

  /** The stream was opened again and repeats its previews. */
  again(): void {
    for (const told of this.#turns.values()) told.now = START;
  }

  /** The new part of an event. The stream of a turn repeats its facts too. */
  fresh(event: SessionEvent, isOfTurn: boolean): readonly SessionEvent[] {
    if (!event.fact) return this.#freshPreview(event);
    if (isOfTurn && this.#facts.has(event.cursor)) return [];
    if (isOfTurn) this.#facts.add(event.cursor);
    if (event.kind === "gap") this.#turns.clear();
    return event.kind === "committed" && event.by === "turn" ? [...this.#restBefore(event), event] : [event];
  }

  #freshPreview(event: Preview): readonly SessionEvent[] {
    const { turnId, key, kind } = event;
    const { generation } = key;
    const length = "delta" in event ? event.delta.length : 0;
    const name = `${kind} ${key.effect} ${key.attempt}`;
    const known = this.#turns.get(turnId);
    if (known !== undefined && known.generation > generation) return [];
    const begins = known?.generation !== generation || (known.now.steps === 0 && known.first !== name);
    const told = begins ? { generation, first: name, given: START, now: START, text: "", of: event } : known;
    this.#turns.set(turnId, told);
    const { given, now } = told;
    const isMore = length > 0 && now.name === name;
    const at = {
      steps: now.steps + (isMore ? 0 : 1),
      name: length > 0 ? name : "",
      chars: (isMore ? now.chars : 0) + length,
    };
    told.now = at;
    if (at.steps < given.steps || (at.steps === given.steps && at.chars <= given.chars)) return [];
    told.given = at;
    const more = at.steps === given.steps ? at.chars - given.chars : length;
    const fresh = "delta" in event ? { ...event, delta: event.delta.slice(length - more) } : event;
    if (fresh.kind === "text") told.text = (isMore ? told.text : "") + fresh.delta;
    else if (kind === "retracted") told.text = "";
    if (kind === "text") told.of = event;
    return [fresh];
  }

  #restBefore({ turnId, outcome }: Committed): readonly SessionEvent[] {
    const told = this.#turns.get(turnId);
    this.#turns.delete(turnId);
    if (told === undefined || told.now.steps > 0 || outcome.kind !== "answered") return [];
    const { text, of } = told;
    const isBegun = text !== "" && outcome.text.startsWith(text);
    const delta = isBegun ? outcome.text.slice(text.length) : outcome.text;
    if (delta === "") return [];
    const key = isBegun ? of.key : { ...of.key, effect: "answer" as EffectName, attempt: 1 };
    return [{ fact: false, sessionId: of.sessionId, turnId, key, kind: "text", delta }];
  }
}
