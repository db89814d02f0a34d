// Hints of the store about other processes. A hint makes a poller, a reader or a running turn look now, not at its next poll.
// Not its job: looking. A look after a hint does only what the regular look would have done.
// hints-1 Hints may be lost, late, repeated, or about this process itself. Nothing here depends on a hint.
// hints-2 A hint that concerns nothing here costs no query. Hints that arrive close together cause one look.
import type { SessionId } from "../../model/ids.ts";
import type { Hint } from "../../stores/store.ts";
import type { Core } from "../core.ts";

/** How long hints are gathered into one look, and the shortest time between two looks. */
const GATHER_MS = 2;
const PAUSE_MS = 25;
const SPREAD_MS = 20;

type News = Extract<Hint, { readonly kind: "session" }>["what"];

export class HintListener {
  readonly #core: () => Core;
  /** What the next look does, by name, so that each is done once. */
  readonly #todo = new Map<string, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #actedAt = -Infinity;
  #stop: (() => void) | undefined;

  constructor(core: () => Core) {
    this.#core = core;
  }

  start(): void {
    this.#stop = this.#core().store.hints?.((hint) => this.#receive(hint));
  }

  close(): void {
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#todo.clear();
  }

  #receive(hint: Hint): void {
    const { watcher, readers, live } = this.#core();
    if (hint.kind === "session") return this.#receiveOf(hint.sessionId, hint.what);
    if (hint.kind === "jobs") {
      if (watcher.hasUse("jobs")) this.#soon("look", () => watcher.hinted());
      return;
    }
    this.#soon("look", () => watcher.hinted());
    this.#soon("all", () => {
      for (const session of this.#core().sessions) session.poke();
      readers.hinted();
      live?.hinted();
    });
  }

  #receiveOf(id: SessionId, what: News): void {
    const { watcher, readers, live, sessions } = this.#core();
    const running = sessions.find(id)?.running;
    if (what === "preview") {
      if (live?.isFollowing(id) === true) this.#soon(`preview ${id}`, () => live.hinted(id));
    } else if (what === "followed") {
      if (running !== undefined && running.show.publisher === undefined)
        this.#soon(`poke ${id}`, () => sessions.find(id)?.poke());
    } else if (what === "fact") {
      // The readers and handles of this process already have the facts of a turn that runs here.
      if (running === undefined && readers.isConcerned(id)) this.#soon(`fact ${id}`, () => readers.hinted(id));
      if (running === undefined && watcher.isWaitedFor(id)) this.#soon("look", () => watcher.hinted());
    } else if (running !== undefined) {
      // The next write of the turn returns whether an input waits for a boundary.
      if (what !== "input") this.#soon(`poke ${id}`, () => sessions.find(id)?.poke());
    } else if (watcher.isWaitedFor(id)) this.#soon("look", () => watcher.hinted());
    // After a random delay: of many processes that could take the session, the first has it before the others look.
    else if (watcher.hasUse("sessions")) this.#soon("look", () => watcher.hinted(Math.random() * SPREAD_MS));
  }

  /** hints-2 */
  #soon(what: string, act: () => void): void {
    this.#todo.set(what, act);
    if (this.#timer !== undefined) return;
    const ms = Math.max(GATHER_MS, this.#actedAt + PAUSE_MS - performance.now());
    this.#timer = setTimeout(() => this.#act(), ms).unref();
  }

  #act(): void {
    this.#timer = undefined;
    this.#actedAt = performance.now();
    const todo = [...this.#todo.values()];
    this.#todo.clear();
    if (this.#core().door.isClosed) return;
    for (const act of todo) act();
  }
}
