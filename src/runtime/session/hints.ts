// What the store tells of other processes: who here looks at once, and not at his next poll.
// Not its job: looking. Whoever is told looks as he would have by himself, and runs nothing that he would not have run.
// H1 Hints may be lost, late, doubled, or about what this process did itself: nothing here depends on one.
// H2 A hint that concerns nobody here costs no query. Those that come close together are one.
import type { SessionId } from "../../model/ids.ts";
import type { Hint } from "../../stores/store.ts";
import type { Core } from "../core.ts";

/** How long hints are gathered, and how long after that the next ones are. */
const GATHER_MS = 2;
const PAUSE_MS = 25;
const SPREAD_MS = 20;

type News = Extract<Hint, { readonly kind: "session" }>["what"];

export class HintDesk {
  readonly #core: () => Core;
  /** What is to be done, each once. */
  readonly #todo = new Map<string, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #actedAt = -Infinity;
  #stop: (() => void) | undefined;

  constructor(core: () => Core) {
    this.#core = core;
  }

  start(): void {
    this.#stop = this.#core().store.hints?.((hint) => this.#hear(hint));
  }

  close(): void {
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#todo.clear();
  }

  #hear(hint: Hint): void {
    const { watch, readers, live } = this.#core();
    if (hint.kind === "session") return this.#hearOf(hint.sessionId, hint.what);
    if (hint.kind === "jobs") {
      if (watch.hasUse("jobs")) this.#soon("look", () => watch.hinted());
      return;
    }
    this.#soon("look", () => watch.hinted());
    this.#soon("all", () => {
      for (const session of this.#core().sessions) session.poke();
      readers.hinted();
      live?.hinted();
    });
  }

  #hearOf(id: SessionId, what: News): void {
    const { watch, readers, live, sessions } = this.#core();
    const running = sessions.find(id)?.running;
    if (what === "preview") {
      if (live?.isFollowing(id) === true) this.#soon(`preview ${id}`, () => live.hinted(id));
    } else if (what === "followed") {
      if (running !== undefined && running.show.publisher === undefined)
        this.#soon(`poke ${id}`, () => sessions.find(id)?.poke());
    } else if (what === "fact") {
      // Of what its own turns do, this process has told everybody here already.
      if (running === undefined && readers.isConcerned(id)) this.#soon(`fact ${id}`, () => readers.hinted(id));
      if (running === undefined && watch.isWaitedFor(id)) this.#soon("look", () => watch.hinted());
    } else if (running !== undefined) {
      // What waits for a boundary is known with the next write of the turn.
      if (what !== "input") this.#soon(`poke ${id}`, () => sessions.find(id)?.poke());
    } else if (watch.isWaitedFor(id)) this.#soon("look", () => watch.hinted());
    // By chance, so that of many processes which could take it up, the first has it before the others look.
    else if (watch.hasUse("sessions")) this.#soon("look", () => watch.hinted(Math.random() * SPREAD_MS));
  }

  /** H2 */
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
