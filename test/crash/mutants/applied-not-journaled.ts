import type { Store } from "bowline";
import { over } from "./over.ts";

type Append = Store["append"];
type Event = Parameters<Append>[2][number];

/** What an operation did in a waiting turn is written with what comes next, and not before its caller is told. */
export const store = (inner: Store): Store => {
  const unwritten = new Map<string, Event[]>();
  const append: Append = (lease, seq, events, now, waits) => {
    const late = unwritten.get(lease.turnId) ?? [];
    unwritten.delete(lease.turnId);
    const all = [...late, ...events];
    const isLate = all.length > 0 && all.every(({ kind }) => kind === "applied");
    if (isLate) unwritten.set(lease.turnId, all);
    return inner.append(lease, isLate ? 0 : seq - late.length, isLate ? [] : all, now, waits);
  };
  const flush = async (lease: Parameters<Append>[0], now: number): Promise<void> => {
    const late = unwritten.get(lease.turnId) ?? [];
    unwritten.delete(lease.turnId);
    const { length } = await inner.journal(lease.turnId, 0);
    if (late.length > 0) await inner.append(lease, length, late, now);
  };
  return over(inner, {
    append,
    async park(lease, parked, now) {
      await flush(lease, now);
      return inner.park(lease, parked, now);
    },
  });
};
