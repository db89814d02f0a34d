/** Readers of a session's events, and the screens that they draw. */
import type { Session, SessionEvent, SessionView } from "bowline";
import { within } from "../kit/reading.ts";

let marks = 0;

/** One who reads a stream of events, as they come. */
export class Watcher {
  readonly events: SessionEvent[] = [];
  /** Ends as the stream does. */
  readonly over: Promise<void>;
  readonly #stream: AsyncIterator<SessionEvent>;
  readonly #waiting = new Set<{ readonly isIt: () => boolean; readonly done: PromiseWithResolvers<void> }>();

  constructor(stream: AsyncIterable<SessionEvent>) {
    this.#stream = stream[Symbol.asyncIterator]();
    this.over = this.#read();
    this.over.catch(() => {});
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#stream.next();
        if (done === true) break;
        this.events.push(value);
        this.#look();
      }
      for (const { done } of this.#waiting) done.reject(new Error(`The stream ended after ${told(this.events)}.`));
    } catch (error) {
      for (const { done } of this.#waiting) done.reject(error);
      throw error;
    }
  }

  #look(): void {
    for (const waits of this.#waiting) {
      if (!waits.isIt()) continue;
      this.#waiting.delete(waits);
      waits.done.resolve();
    }
  }

  /** Waits until this is true of what was read. */
  async until(isIt: (events: readonly SessionEvent[]) => boolean): Promise<readonly SessionEvent[]> {
    const done = Promise.withResolvers<void>();
    this.#waiting.add({ isIt: () => isIt(this.events), done });
    this.#look();
    await within(done.promise, 15_000).catch((error: Error) => {
      throw new Error(`${error.message} It has read ${told(this.events)}.`, { cause: error });
    });
    return this.events;
  }

  /** Waits until it knows of everything that is kept now; for that, one more thing is kept. */
  async caughtUp(session: Session): Promise<readonly SessionEvent[]> {
    await session.configure({ label: `Mark ${++marks}` });
    const { cursor = "" } = await session.read();
    return this.until((events) => events.some((event) => event.fact && numberOf(event.cursor) >= numberOf(cursor)));
  }

  leave(): Promise<unknown> | undefined {
    return this.#stream.return?.();
  }
}

/** A cursor's place in the order of all facts. */
export const numberOf = (cursor: string): number => Number.parseInt(cursor, 10);

export const watch = (session: Session, options?: Parameters<Session["observe"]>[0]): Watcher =>
  new Watcher(session.observe(options));

export type Fact = Extract<SessionEvent, { readonly fact: true }>;
export const factsIn = (events: readonly SessionEvent[]): readonly Fact[] => events.filter((event) => event.fact);

/** In short: `accepted`, `committed turn`, `frame`, `text`. */
export const inShort = (event: SessionEvent): string =>
  event.kind === "committed" ? `committed ${event.by}` : event.kind;
export const told = (events: readonly SessionEvent[]): string =>
  events.length > 60 ? `${events.length} events` : `[${events.map(inShort).join(", ")}]`;

export const isEnd =
  (nth = 1) =>
  (events: readonly SessionEvent[]): boolean =>
    events.filter((event) => event.kind === "committed" && event.by === "turn").length >= nth;

/** What one session looks like on a screen: what is kept, and what its running turn shows. */
export class Screen {
  head: string | undefined;
  frame: string | undefined;
  /** Of the active frame. */
  nodes: string[] = [];
  readonly facts: string[] = [];
  #shown = new Map<string, Map<string, { key: string; parts: string[] }>>();
  /** What its running turn shows of other sessions. */
  readonly children = new Map<string, Screen>();

  static of(view: SessionView): Screen {
    const screen = new Screen();
    screen.#replace(view);
    return screen;
  }

  #replace({ head, frame, messages }: SessionView): void {
    this.head = head;
    this.frame = frame;
    this.nodes = messages.map(({ id }) => id);
    this.#shown.clear();
    this.children.clear();
  }

  add(event: SessionEvent): void {
    if (!event.fact) return this.#preview(event);
    this.facts.push(`${numberOf(event.cursor)} ${inShort(event)}`);
    if (event.kind === "gap") return this.#replace(event.view);
    if (event.kind === "frame") return this.#opened(event.frame);
    if (event.kind !== "committed") return;
    if (event.by === "turn") {
      this.#shown.delete(event.turnId);
      this.children.clear();
      if (event.branch !== undefined) return;
    }
    const fresh = event.nodes.filter((node) => !this.nodes.includes(node)); // The view may have had them.
    this.nodes.push(...fresh);
    this.head = fresh.at(-1) ?? this.head;
  }

  #opened(frame: string): void {
    const at = this.nodes.indexOf(frame);
    if (at >= 0) this.nodes = this.nodes.slice(at + 1); // Else a view that came later is what we see already.
    if (at >= 0) this.frame = frame;
  }

  #preview(event: Exclude<SessionEvent, Fact>): void {
    if (event.kind === "child") {
      const { sessionId } = event.event;
      const screen = this.children.get(sessionId) ?? new Screen();
      this.children.set(sessionId, screen);
      return screen.add(event.event);
    }
    const { effect, generation, attempt } = event.key;
    const turn = this.#shown.get(event.turnId) ?? new Map();
    this.#shown.set(event.turnId, turn);
    const key = `${generation}.${attempt}`;
    const known = turn.get(effect);
    if (event.kind === "retracted") return void (known?.key === key && turn.delete(effect));
    const place = known?.key === key ? known : { key, parts: [] };
    turn.set(effect, place);
    const { parts } = place;
    if (event.kind !== "text" && event.kind !== "reasoning") return void parts.push(seenAs(event));
    const last = parts.at(-1);
    if (last?.startsWith(`${event.kind}: `) === true) parts[parts.length - 1] = last + event.delta;
    else parts.push(`${event.kind}: ${event.delta}`);
  }

  /** Text of one attempt in one piece, however it came. */
  get showing(): readonly string[] {
    const own = [...this.#shown.values()].flatMap((turn) =>
      [...turn].flatMap(([effect, { key, parts }]) => parts.map((part) => `${effect} ${key} ${part}`)),
    );
    const others = [...this.children].flatMap(([id, screen]) => screen.showing.map((line) => `${id}: ${line}`));
    return [...own, ...others].sort();
  }
}

function seenAs(event: Exclude<SessionEvent, Fact>): string {
  if (event.kind === "toolStarted") return `calls ${event.call.name}`;
  if (event.kind === "toolEnded") return `${event.name} ${event.status}`;
  if (event.kind === "plugin") return `${event.plugin} ${event.name} ${JSON.stringify(event.payload)}`;
  return event.kind;
}

export function screenOf(events: readonly SessionEvent[], from?: SessionView): Screen {
  const screen = from === undefined ? new Screen() : Screen.of(from);
  for (const event of events) screen.add(event);
  return screen;
}

/** A screen for each session of a tree. */
export function screensOf(events: readonly SessionEvent[]): ReadonlyMap<string, Screen> {
  const screens = new Map<string, Screen>();
  for (const event of events) {
    const screen = screens.get(event.sessionId) ?? new Screen();
    screens.set(event.sessionId, screen);
    screen.add(event);
  }
  return screens;
}

/** What a screen and a view must agree in. */
export async function kept(session: Session): Promise<object> {
  const { head, frame, messages } = await session.read();
  return { head, frame, messages: messages.map(({ id }) => id as string) };
}
export async function drawn({ head, frame, nodes }: Screen, session: Session): Promise<object> {
  const known = new Set<string>((await session.read()).messages.map(({ id }) => id));
  return { head, frame, messages: nodes.filter((node) => known.has(node)) };
}
