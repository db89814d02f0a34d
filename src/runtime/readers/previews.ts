import type { Preview, PreviewKey, SessionEvent } from "../../model/event.ts";
import { asEffectName, type SessionId, type TurnId } from "../../model/ids.ts";
import type { TurnOutcome } from "../../model/outcome.ts";

type Delta = Extract<SessionEvent, { readonly delta: string }>;
const isDelta = (event: SessionEvent): event is Delta =>
  event.kind === "text" || event.kind === "reasoning" || event.kind === "toolOutput";

/** The same events, with successive deltas of one key joined into one. */
export function joined<E extends SessionEvent>(events: readonly E[]): E[] {
  const merged: E[] = [];
  let run: string[] = [];
  const close = (): void => {
    const last = merged[merged.length - 1];
    if (run.length > 1 && last !== undefined) merged[merged.length - 1] = { ...last, delta: run.join("") };
    run = [];
  };
  for (const event of events) {
    const last = merged[merged.length - 1];
    const isMore =
      last !== undefined && isDelta(last) && isDelta(event) && last.kind === event.kind && last.key === event.key;
    if (!isMore) {
      close();
      merged.push(event);
    }
    if (isDelta(event)) run.push(event.delta);
  }
  close();
  return merged;
}

/** The newest events that fit, and their length as text. A delta that does not fit is cut to its end. */
export function newest(
  events: readonly Preview[],
  charsMax: number,
): { readonly previews: readonly Preview[]; readonly chars: number; readonly isCut: boolean } {
  const latest: Preview[] = [];
  let chars = 0;
  for (const event of events.toReversed()) {
    const { length } = JSON.stringify(event);
    const room = charsMax - chars;
    if (length <= room) latest.push(event);
    else {
      // Half of the room, because JSON writes some characters as several.
      const end = isDelta(event) ? endOf(event.delta, Math.floor(room / 2)) : "";
      if (isDelta(event) && end !== "") latest.push({ ...event, delta: end });
      return { previews: latest.reverse(), chars: charsMax, isCut: true };
    }
    chars += length;
  }
  return { previews: latest.reverse(), chars, isCut: false };
}

/** The last characters of a text, without half of a surrogate pair. */
const endOf = (text: string, length: number): string =>
  length <= 0 ? "" : text.slice(-length).replace(/^[\udc00-\udfff]/u, "");

/** The turn and the attempt of a preview, as text. */
export const attemptOf = ({ turnId, key }: Preview): string =>
  `${turnId} ${key.effect} ${key.generation} ${key.attempt}`;

/** What follows `known` in `all`. Undefined if `all` does not begin with `known`. Both lists are joined. */
export function restOf(known: readonly Preview[], all: readonly Preview[]): readonly Preview[] | undefined {
  if (known.length > all.length) return undefined;
  const at = known.length - 1;
  for (const [index, event] of known.entries()) {
    const other = all[index] as Preview;
    if (JSON.stringify(event) === JSON.stringify(other)) continue;
    if (index < at || !isDelta(event) || !isDelta(other) || event.kind !== other.kind) return undefined;
    if (attemptOf(event) !== attemptOf(other) || !other.delta.startsWith(event.delta)) return undefined;
    return [{ ...other, delta: other.delta.slice(event.delta.length) }, ...all.slice(index + 1)];
  }
  return all.slice(known.length);
}

/** Gives previews of other processes one key object for each attempt, so that they can be joined. */
export class Keys {
  readonly #keys = new Map<string, PreviewKey>();

  own(previews: readonly Preview[]): readonly Preview[] {
    return joined(
      previews.map((event) => {
        const name = attemptOf(event);
        const known = this.#keys.get(name);
        if (known === undefined) this.#keys.set(name, event.key);
        return known === undefined ? event : { ...event, key: known };
      }),
    );
  }
}

/**
 * The latest text of a turn that runs in another process. The end of a turn may arrive before its last previews. Then the
 * missing rest of the answer is delivered before the end, so that a client that prints deltas has printed all of it.
 */
export class LastText {
  #key: PreviewKey | undefined;
  #text = "";
  /** The latest run with previews. A reader drops the previews of earlier runs. */
  #generation = 1;

  add(event: Preview): void {
    const { effect, generation, attempt } = event.key;
    if (generation > this.#generation) {
      this.#generation = generation;
      this.#key = undefined;
      this.#text = "";
    }
    if (event.kind !== "text" && event.kind !== "retracted") return;
    const isSame = this.#key?.effect === effect && this.#key.generation === generation && this.#key.attempt === attempt;
    if (event.kind === "text") {
      this.#text = (isSame ? this.#text : "") + event.delta;
      this.#key = event.key;
    } else if (isSame) this.#text = "";
  }

  /** The missing rest of the answer. An answer that does not begin with the shown text comes whole, under a separate key. */
  missingFrom(sessionId: SessionId, turnId: TurnId, outcome: TurnOutcome): Preview | undefined {
    if (outcome.kind !== "answered" || outcome.text === this.#text) return undefined;
    const isBegun = this.#text !== "" && outcome.text.startsWith(this.#text);
    const whole = { effect: ANSWER, generation: this.#generation, attempt: 1 };
    const key = isBegun ? (this.#key ?? whole) : whole;
    const delta = isBegun ? outcome.text.slice(this.#text.length) : outcome.text;
    return delta === "" ? undefined : { fact: false, sessionId, turnId, key, kind: "text", delta };
  }
}
const ANSWER = asEffectName("answer");

const EVENTS_MAX = 2_048;

/** The previews of a running turn, for handles and readers that join late. At most about `EVENTS_MAX` events. */
export class Previews {
  #events: Preview[] = [];
  #isJoined = false;
  /** The beginning was dropped: a reader that joins now gets a `gap`. */
  isTrimmed = false;

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  add(event: Preview): void {
    this.#events.push(event);
    this.#isJoined = false;
    if (this.#events.length >= 2 * EVENTS_MAX) this.#trim();
  }

  list(): readonly Preview[] {
    if (!this.#isJoined) this.#trim();
    return this.#events.slice();
  }

  #trim(): void {
    this.#events = joined(this.#events);
    this.#isJoined = true;
    if (this.#events.length <= EVENTS_MAX) return;
    this.#events = this.#events.slice(-EVENTS_MAX / 2);
    this.isTrimmed = true;
  }
}
