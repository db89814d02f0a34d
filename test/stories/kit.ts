import {
  createRuntime,
  type Message,
  type ModelPart,
  type ModelRequest,
  type Part,
  type Provider,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type SessionView,
  type ToolCall,
  type Turn,
  type TurnProgress,
} from "bowline";
import { memory } from "bowline/stores/memory";

/** A runtime on a store in memory, and one session of it. */
export interface Opened extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
  /** The session as another process would find it. */
  reread(): Promise<SessionView>;
}

type Model = Exclude<RuntimeOptions["model"], string>;

export async function open(model: Model, options: Partial<Omit<RuntimeOptions, "model">> = {}): Promise<Opened> {
  const { store = memory(), ...rest } = options;
  const runtime = await createRuntime({ ...rest, store, model });
  const session = await runtime.session();
  const reread = async () =>
    (await (await createRuntime({ ...rest, store, model, plugins: [] })).session(session.id)).read();
  return { runtime, session, reread, [Symbol.asyncDispose]: () => runtime.close() };
}

export const wordsOf = (message: Message | undefined): string => textIn(message?.parts ?? []);

export const textIn = (parts: readonly Part[]): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("");

/** What a conversation holds, in short: `user: Go.`, `calls search`, `search ok: nine`. */
export const outline = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, parts }) =>
    parts.map((part) => {
      switch (part.kind) {
        case "text":
          return `${role}: ${part.text}`;
        case "reasoning":
          return `thinks: ${part.text}`;
        case "toolCall":
          return `calls ${part.name}`;
        case "toolResult":
          return `${part.name} ${part.status}: ${textIn(part.parts)}`;
        default:
          return part.kind;
      }
    }),
  );

export interface Played extends Provider {
  readonly requests: readonly ModelRequest[];
}

type Play = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart | readonly ModelPart[]>;

/** A model whose replies are programs: they may wait, break, or never end. */
export function plays(...replies: readonly Play[]): Played {
  const requests: ModelRequest[] = [];
  return {
    id: "played",
    modelId: "test",
    requests,
    stream(request, { signal }) {
      const reply = replies[requests.length];
      requests.push({ ...request, messages: [...request.messages] });
      if (reply === undefined) throw new Error(`There are ${replies.length} replies, and one more was asked for.`);
      return reply(request, signal);
    },
  };
}

export const text = (delta: string): ModelPart => ({ kind: "text", delta });
export const end: ModelPart = {
  kind: "finish",
  reason: "stop",
  usage: { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 },
};
export const call = (name: string, input: ToolCall["input"] = {}, id = `call_${name}`): ModelPart => ({
  kind: "call",
  callId: id as ToolCall["id"],
  name,
  input,
});

/** Says nothing more until it is told to. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

export async function eventsOf(turn: Turn<unknown>): Promise<readonly TurnProgress[]> {
  const events: TurnProgress[] = [];
  for await (const event of turn) events.push(event);
  return events;
}

type Kind = SessionEvent["kind"];
export const only = <K extends Kind>(events: readonly SessionEvent[], kind: K) =>
  events.filter((event): event is Extract<SessionEvent, { kind: K }> => event.kind === kind);

/** Waits for the next event of this kind; the turn goes on. */
export async function seen<K extends Kind>(turn: Turn<unknown>, kind: K): Promise<Extract<SessionEvent, { kind: K }>> {
  for await (const event of turn) if (event.kind === kind) return event as Extract<SessionEvent, { kind: K }>;
  throw new Error(`The turn ended without ${kind}.`);
}

/** What a screen shows in the end: deltas by key, without what was retracted. */
export function shown(events: readonly SessionEvent[], kind: "text" | "reasoning" = "text"): string {
  const byKey = new Map<string, string>();
  for (const event of events) {
    if (event.fact) continue;
    const key = JSON.stringify(event.key);
    if (event.kind === "retracted") byKey.delete(key);
    else if (event.kind === kind) byKey.set(key, (byKey.get(key) ?? "") + event.delta);
  }
  return [...byKey.values()].join("");
}

/** A model that answers every request with what was said last, and remembers nothing. */
export const echo = (): Provider => ({
  id: "echo",
  modelId: "test",
  async *stream({ messages }) {
    yield text(`re: ${wordsOf(messages.findLast(({ role }) => role === "user"))}`);
    yield end;
  },
});

/** Lets this many microtasks pass: the finest grain at which two callers can interleave. */
export async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await undefined;
}
