/** What became of it: conversations, events and failures in short, and how to wait for them. */
import type { Message, Session, SessionEvent, Store, Turn, TurnProgress } from "bowline";
import type { Part } from "bowline/plugin";

// ── Conversations ───────────────────────────────────────────────────────────────────────────────────────────────────

export const textIn = (parts: readonly Part[]): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("");

export const wordsOf = (message: Message | undefined): string => textIn(message?.parts ?? []);

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

/** What users have said in a session, as it is kept. */
export const saidIn = async (session: Session): Promise<readonly string[]> =>
  (await session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);

export const waitingIn = async (session: Session): Promise<readonly string[]> =>
  (await session.inputs.list()).map((input) => input.text);

/** The nodes on a session's path, oldest first, in short. */
export async function nodesOf(store: Store, session: Pick<Session, "id">): Promise<readonly string[]> {
  const segments = [...(await store.view(session.id))].reverse();
  return segments.flatMap(({ entries }) =>
    entries.map((entry) => {
      if (entry.kind === "plugin") return `${entry.plugin} ${entry.type} ${JSON.stringify(entry.body)}`;
      if (entry.kind === "frame") return `frame ${entry.reason}`;
      const words = entry.message.parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("");
      return `${entry.message.role}: ${words}`;
    }),
  );
}

// ── Events ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── Failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The code of what a promise is rejected with, or of what a function throws or rejects with. */
export async function codeOf(failing: PromiseLike<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof failing === "function" ? failing() : failing);
  } catch (error) {
    return String((error as { readonly code?: unknown }).code ?? error);
  }
  return "nothing was thrown";
}

/** What nobody listened to, while `act` runs. The test runner would count it against whatever test runs then. */
export async function unheard(act: () => Promise<void>): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) => found.push(reason));
  try {
    await act();
    await passed(20);
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return found;
}

// ── Waiting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A promise that the test settles. */
export const signalOf = (): PromiseWithResolvers<void> => Promise.withResolvers<void>();

/** What waits for itself never ends: it fails here, by name, instead of running into the test's own time limit. */
export async function within<T>(what: PromiseLike<T>, ms = 15_000): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not end within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([what, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Lets this many microtasks pass: the finest grain at which two callers can interleave. */
export async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await undefined;
}

/** Looks until there is something: neither `undefined` nor `false`. For what tells nobody that it has come. */
export async function eventually<T>(look: () => T | undefined | Promise<T | undefined>, ms = 15_000): Promise<T> {
  for (const late = Date.now() + ms; ; ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > late) throw new Error(`It did not come to that within ${ms} ms.`);
    await passed(2);
  }
}
