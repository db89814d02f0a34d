import type { Store } from "bowline";
import { overTriggers } from "./over.ts";

type Cursor = Awaited<ReturnType<Store["latest"]>>;

/** Up to where commits are served is known to this process alone: the next one begins with what comes then. */
export const store = (inner: Store): Store => {
  const served = new Map<string, Cursor>();
  const { triggers } = inner;
  return overTriggers(inner, {
    put(subscription, ...more) {
      served.set(subscription.incarnation, subscription.after);
      return triggers.put(subscription, ...more);
    },
    async list(page) {
      const found = await triggers.list(page);
      if (page.kinds?.includes("commits") !== true) return found;
      const latest = await inner.latest();
      return found.map(({ after: _, ...each }) => {
        if (!served.has(each.incarnation)) served.set(each.incarnation, latest);
        const after = served.get(each.incarnation);
        return after === undefined ? each : { ...each, after };
      });
    },
    move(moved) {
      if (moved.to.after === undefined) return triggers.move(moved);
      served.set(moved.incarnation, moved.to.after);
      return true;
    },
    occur(occurrence, deliveries, max, moved) {
      if (moved?.to.after === undefined) return triggers.occur(occurrence, deliveries, max, moved);
      served.set(moved.incarnation, moved.to.after);
      return triggers.occur(occurrence, deliveries, max);
    },
  });
};
