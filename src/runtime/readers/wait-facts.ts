// Facts of waits, for readers and handles.
import type { FactEvent } from "../../model/event.ts";
import { asCursor, type SessionId, type TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Change, StoredWait } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import type { TurnHandle, WaitFact } from "../live-turn/handle.ts";
import { cursorFor } from "./cursor.ts";

type WaitChange = Extract<Change, { readonly kind: "waiting" | "resolved" }>;

/** The fact of a wait, as readers get it. */
export function waitFact<Base extends object>(
  change: DistributiveOmit<WaitChange, "cursor" | "sessionId">,
  base: Base,
): Base & Extract<FactEvent, { readonly kind: "waiting" | "resolved" }> {
  const { turnId, jobId, wait, effect } = change;
  const of = defined({ turnId, jobId });
  if (change.kind === "waiting") {
    const { kind: wants, call, reason } = change.about;
    const { until } = change;
    return { ...base, kind: "waiting", ...of, wait, wants, effect, callId: call.id, call, reason, until } as never;
  }
  const { wants, how, by } = change;
  const outcome = how === "value" ? "answered" : how;
  return { ...base, kind: "resolved", ...of, ...defined({ wait, wants, effect, how: outcome, by }) } as never;
}
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** The fact that an open wait was asked. */
export function askedFact({ id, turnId, jobId, sessionId, effect, about, until, askedAs }: StoredWait): WaitFact {
  const base = { fact: true, sessionId, cursor: cursorFor(sessionId, askedAs ?? asCursor("1")) } as const;
  return waitFact({ kind: "waiting", ...defined({ turnId, jobId }), wait: id, effect, about, until }, base);
}

/** Notifies handles of the waits of a parked turn. A running turn does this itself. */
export async function notifyWaits(
  { store }: Core,
  id: SessionId,
  turnId: TurnId,
  handles: readonly TurnHandle[],
): Promise<void> {
  for (const handle of handles) handle.park();
  const reading = handles.filter(({ feed }) => feed.isRead);
  if (reading.length === 0) return;
  for (const wait of await store.waits.list({ session: id, max: WAITS_MAX }))
    if (wait.turnId === turnId) for (const handle of reading) handle.notify(askedFact(wait));
}
const WAITS_MAX = 1_000;
