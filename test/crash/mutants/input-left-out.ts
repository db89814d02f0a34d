import type { Store } from "bowline";
import { over } from "./over.ts";

/** A turn that was resumed is committed without what the user said. */
export const store = (inner: Store): Store => {
  const resumed = new Set<string>();
  return over(inner, {
    async open(...given) {
      const answer = await inner.open(...given);
      if (answer.kind === "resumed") resumed.add(answer.lease.turnId);
      return answer;
    },
    commit: (lease, ended) =>
      inner.commit(lease, {
        ...ended,
        entries: ended.entries.filter(
          (entry) => !resumed.has(ended.turnId) || entry.kind !== "message" || entry.message.origin?.kind !== "input",
        ),
      }),
  });
};
