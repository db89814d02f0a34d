import type { Store } from "bowline";
import { over } from "./over.ts";

/** A turn is gone on with, and nobody writes that down. */
export const store = (inner: Store): Store => {
  const left = new Map<string, number>();
  return over(inner, {
    append: (lease, seq, events, now, waits) => {
      const which = `${lease.turnId} ${lease.generation}`;
      const before = left.get(which) ?? 0;
      const kept = events.filter(({ kind }) => kind !== "resumed");
      left.set(which, before + events.length - kept.length);
      return inner.append(lease, seq - before, kept, now, waits);
    },
  });
};
