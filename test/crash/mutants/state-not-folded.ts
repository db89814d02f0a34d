import type { Store } from "bowline";
import { over } from "./over.ts";

/** What plugins changed is not journaled with the event of the effect they changed it in. */
export const store = (inner: Store): Store =>
  over(inner, {
    append: (lease, seq, events, now, waits) =>
      inner.append(
        lease,
        seq,
        events.map((event) => ("changes" in event ? ({ ...event, changes: undefined } as never) : event)),
        now,
        waits,
      ),
  });
