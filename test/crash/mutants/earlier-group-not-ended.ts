import type { Store } from "bowline";
import { overJobs } from "./over.ts";

/** The command of an earlier process is taken for one of another machine. */
export const store = (inner: Store): Store =>
  overJobs(inner, {
    async claim(...given) {
      const claimed = await inner.jobs.claim(...given);
      return claimed.map((each) => ({ ...each, events: each.events.map(elsewhere) }));
    },
  });

type Stored = Awaited<ReturnType<Store["jobs"]["events"]>>[number];

function elsewhere(stored: Stored): Stored {
  const { event } = stored;
  if (event.kind !== "stepped" || !event.name.startsWith("begun/")) return stored;
  const { mark } = event.value as { readonly mark: string };
  return { ...stored, event: { ...event, value: { leader: "elsewhere//2/3", mark } } };
}
