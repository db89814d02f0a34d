import type { Store } from "bowline";
import { amnesiac } from "bowline/testing";
import { over } from "./mutants/over.ts";

/** A store that answers a resumed turn with its first event alone: who wants to know more of the past must fold it. */
export const store = (inner: Store): Store =>
  over(inner, {
    async open(...given) {
      const answer = await inner.open(...given);
      return answer.kind === "resumed" ? { ...answer, journal: answer.journal.slice(0, 1) } : answer;
    },
  });

export const host = amnesiac;
