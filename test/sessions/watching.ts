import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  definePlugin,
  defineTool,
  type ModelPart,
  type ModelRequest,
  type Provider,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type SessionView,
  type Store,
} from "bowline";
import { inline } from "bowline/hosts/inline";
import { journal } from "bowline/hosts/journal";
import { toolCalls } from "bowline/protocols/tool-calls";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";
import { openRuntime } from "../../src/runtime/runtime.ts";
import { quickWorld } from "../durability/kit.ts";
import { slowly, within } from "../kernel/kit.ts";
import { echo, wordsOf } from "../stories/kit.ts";

/** For what must hold wherever sessions are kept. */
export const STORES: readonly (readonly [string, () => Store])[] = [
  ["in memory", memory],
  ["in a store that answers later", () => slowly(memory())],
  ["in SQLite", () => sqlite(":memory:")],
];

type Options = Partial<Omit<RuntimeOptions, "model" | "models">> & { readonly model?: Provider };

/** A runtime in a world where nobody waits for a retry. */
export const open = ({ model = echo(), store = memory(), ...rest }: Options = {}): Promise<Runtime> =>
  openRuntime(
    { ...rest, store, model },
    {
      host: ({ isDurable }) => (isDurable ? journal() : inline()),
      protocol: toolCalls,
      adapt: (given) => given as Provider,
      world: quickWorld({ name: `.${++worlds}` }),
    },
  );
let worlds = 0;

/** A file that several runtimes share, as several processes would. */
export class SharedFile implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "bowline-sessions-"));
  readonly #opened: Runtime[] = [];

  async open(options: Options = {}): Promise<Runtime> {
    const store = sqlite(join(this.#folder, "agent.db"), { strength: "process" });
    const runtime = await open({ recover: "manual", ...options, store });
    this.#opened.push(runtime);
    return runtime;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#opened) await runtime.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

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
    await within(done.promise, 3_000).catch((error: Error) => {
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

/** The code of what is thrown at once, or of what a promise is rejected with. */
export async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
  return "nothing was thrown";
}

/** A place where something waits until it is let go. */
export class Stop {
  readonly #reached = Promise.withResolvers<void>();
  readonly #go = Promise.withResolvers<void>();

  get reached(): Promise<void> {
    return within(this.#reached.promise, 3_000);
  }
  here(): Promise<void> {
    this.#reached.resolve();
    return this.#go.promise;
  }
  go(): void {
    this.#go.resolve();
  }
}

/** A tool that waits there. */
export const stopping = (stop: Stop, name = "slow") =>
  defineTool({
    name,
    description: "Takes long.",
    input: z.looseObject({}),
    execute: async () => {
      await stop.here();
      return "Done.";
    },
  });

/** Counts turns; its commands change its state, with and without a node. */
export const counter = definePlugin({
  id: "test/counter",
  state: z.object({ count: z.number().default(0) }),
  setup: ({ query, command, task }) => ({
    afterTurn: ({ state }) => void state.update(({ count }) => ({ count: count + 1 })),
    operations: {
      count: query({ run: ({ state }) => state.get().count }),
      set: command({ input: z.number(), run: ({ input, state }) => void state.update(() => ({ count: input })) }),
      note: command({ input: z.string(), run: ({ input, emit }) => emit("note", input) }),
      wait: task({
        input: z.custom<Stop>(),
        run: async ({ input, state }) => {
          await input.here();
          state.update(({ count }) => ({ count: count + 100 }));
        },
      }),
    },
  }),
});

/** A plugin that compacts as it is told. */
export const compacting = (
  how: (messages: SessionView["messages"]) => { readonly seed: readonly string[]; readonly tail?: string } | undefined,
) =>
  definePlugin({
    id: "test/compacting",
    setup: () => ({
      compact: ({ messages }) => {
        const given = how(messages);
        if (given === undefined) return undefined;
        const { seed, tail } = given;
        const drafts = seed.map((text) => ({ role: "user" as const, parts: [{ kind: "text" as const, text }] }));
        return { seed: drafts, ...(tail === undefined ? {} : { tail }) };
      },
    }),
  });

type Play = readonly ModelPart[] | ((request: ModelRequest) => AsyncIterable<ModelPart>);
/** What is said to an input that begins with `#`, reply by reply. */
export type Scripts = ReadonlyMap<string, readonly Play[]> | { readonly [input: string]: readonly Play[] };

/** A model without a memory: several sessions may ask it, in any order. What does not begin with `#` changes nothing. */
export function follows(scripts: Scripts): Provider {
  const plays = scripts instanceof Map ? scripts : new Map(Object.entries(scripts));
  return {
    id: "follows",
    modelId: "test",
    async *stream(request) {
      const { messages } = request;
      const asked = messages.findLastIndex((message) => message.role === "user" && wordsOf(message).startsWith("#"));
      const said = messages.slice(asked + 1).filter(({ role }) => role === "assistant").length;
      const play = plays.get(wordsOf(messages[asked]))?.[said];
      if (play === undefined) throw new Error(`There is no reply ${said} to ${wordsOf(messages[asked])}.`);
      yield* typeof play === "function" ? play(request) : play;
    },
  };
}

/** Gives a task to a session of its own, and waits for it. */
export const delegate = defineTool({
  name: "delegate",
  description: "Lets another session do it.",
  input: z.object({ id: z.string(), task: z.string() }),
  execute: async ({ id, task }, { sessions }) => {
    await sessions.create({ id, kind: "child", ifExists: "take" });
    const { turnId } = await sessions.send(id, task);
    const { outcome } = await sessions.result(id, turnId);
    return outcome.kind === "answered" ? outcome.text : outcome.kind;
  },
});
