/** A turn that looks, and then waits until somebody lets it pay; and what those see who come late. */
import { definePlugin, defineTool, type Runtime, type SessionEvent, type Store } from "bowline";
import { type ClientView, fold } from "bowline/client";
import { ask } from "bowline/plugin";
import { eventually } from "../kit/reading.ts";

const plain = { input: { type: "object" } } as const;
export const look = defineTool({ ...plain, name: "look", description: "Looks.", execute: () => "nine" });
const pay = defineTool({ ...plain, name: "pay", description: "Pays.", execute: () => "paid" });
const careful = definePlugin({
  id: "test/careful",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});
export const shop = { tools: [look, pay], plugins: [careful] };

/** Settles when the turn of the session is parked. */
export const parked = (runtime: Runtime, store: Store, session = "s"): Promise<unknown> =>
  eventually(async () => {
    const [wait] = await runtime.waits.list({ session });
    if (wait?.turnId === undefined) return undefined;
    return (await store.find(wait.turnId))?.state === "parked" ? wait : undefined;
  }, 5_000);

export async function approve(runtime: Runtime, session = "s"): Promise<void> {
  const [wait] = await runtime.waits.list({ session });
  await runtime.waits.resolve(wait!, { approved: true });
}

export const viewOf = (events: readonly SessionEvent[], from?: ClientView): ClientView | undefined =>
  events.reduce<ClientView | undefined>(fold, from);

/** What a screen shows of the open turn. How long calls took is left out: clocks differ. */
export function shownIn(events: readonly SessionEvent[]): readonly object[] {
  const running = viewOf(events)?.turns.find((turn) => turn.kind === "running");
  return running?.kind !== "running"
    ? []
    : JSON.parse(JSON.stringify(running.parts, (key, value) => (key === "ms" ? undefined : value)));
}

/** Whether a screen shows this. */
export const showing =
  (parts: readonly object[]) =>
  (events: readonly SessionEvent[]): boolean =>
    parts.length > 0 && JSON.stringify(shownIn(events)) === JSON.stringify(parts);

/** The parts of a screen, in short. */
export const inShort = (events: readonly SessionEvent[]): readonly string[] =>
  (shownIn(events) as readonly { readonly kind: string; readonly [key: string]: unknown }[]).map((part) =>
    part.kind === "call" ? `${part.name} ${part.state}` : `${part.kind}: ${part.text}`,
  );

/** All words that were told, also those that were void later. */
export const toldIn = (events: readonly SessionEvent[]): string =>
  events.flatMap((event) => (event.kind === "text" ? [event.delta] : [])).join("");

/**
 * The words that a screen has in the end. A process that resumes a turn continues what it has shown of it, or, when the
 * resume comes in the middle of a look, shows the turn again from its beginning under a higher generation.
 */
export function shownWords(events: readonly SessionEvent[]): string {
  const texts = events.flatMap((event) => (event.kind === "text" ? [event] : []));
  const latest = Math.max(...texts.map(({ key }) => key.generation));
  const again = toldIn(texts.filter(({ key }) => key.generation === latest));
  return again.startsWith(texts[0]?.delta ?? "") ? again : toldIn(texts);
}
