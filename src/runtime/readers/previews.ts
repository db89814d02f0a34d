import type { Preview, SessionEvent } from "../../model/event.ts";

type Delta = Extract<SessionEvent, { readonly delta: string }>;
const isDelta = (event: SessionEvent): event is Delta =>
  event.kind === "text" || event.kind === "reasoning" || event.kind === "toolOutput";

/** The same events, with successive deltas of one key joined into one. */
export function joined<E extends SessionEvent>(events: readonly E[]): E[] {
  const kept: E[] = [];
  let run: string[] = [];
  const close = (): void => {
    const last = kept[kept.length - 1];
    if (run.length > 1 && last !== undefined) kept[kept.length - 1] = { ...last, delta: run.join("") };
    run = [];
  };
  for (const event of events) {
    const last = kept[kept.length - 1];
    const isMore =
      last !== undefined && isDelta(last) && isDelta(event) && last.kind === event.kind && last.key === event.key;
    if (!isMore) {
      close();
      kept.push(event);
    }
    if (isDelta(event)) run.push(event.delta);
  }
  close();
  return kept;
}

const EVENTS_MAX = 2_048;

/** What a running turn has shown, up to `EVENTS_MAX` events, for handles and readers that join late. */
export class Previews {
  #events: Preview[] = [];
  #isJoined = false;
  /** The beginning was dropped: a reader that joins now gets a `gap`. */
  isTrimmed = false;

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
