import type { Store } from "bowline";
import { moment, overTriggers } from "./over.ts";

/** A schedule has gone on to its next time, and what happened is written a moment later. */
export const store = (inner: Store): Store =>
  overTriggers(inner, {
    async occur(occurrence, deliveries, max, moved) {
      if (moved === undefined) return inner.triggers.occur(occurrence, deliveries, max);
      if (!(await inner.triggers.move(moved))) return { kind: "stale" };
      const occur = async (): Promise<void> => {
        await moment();
        await inner.triggers.occur(occurrence, deliveries, max);
      };
      void occur();
      return { kind: "occurred", occurrence: { ...occurrence, deliveries } };
    },
  });
