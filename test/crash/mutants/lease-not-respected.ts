import { setTimeout as sleep } from "node:timers/promises";
import type { EffectHost, Store } from "bowline";
import { over } from "./over.ts";

const HOUR_MS = 3_600_000;

/** A session is taken over from whoever holds it. */
export const store = (inner: Store): Store =>
  over(inner, {
    open: (session, owner, now, ...more) => inner.open(session, owner, now + HOUR_MS, ...more),
  });

/** How long a call is under way here: the other worker must come meanwhile, or there is nothing to be seen. */
const CALL_MS = 1_000;

export const host = (inner: EffectHost): EffectHost => ({
  kind: inner.kind,
  parks: inner.parks,
  open: (turn, perform, context) =>
    inner.open(
      turn,
      async (effect, scope) => {
        const answer = await perform(effect, scope);
        if (effect.kind === "ask") await sleep(CALL_MS);
        return answer;
      },
      context,
    ),
});
