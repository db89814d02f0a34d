import type { EffectHost } from "../hosts/host.ts";
import { journal } from "../hosts/journal.ts";

/**
 * The journal host without a memory: it reads the recorded events of a resumed turn from the store when the turn is
 * opened, and returns them one by one. So all other code must read the past from those events, as with hosts that have
 * a separate history. For tests, mostly with the crash kit.
 */
export function amnesiac(): EffectHost {
  const { kind, parks, open } = journal();
  return {
    kind,
    parks,
    async open(turn, perform, context) {
      const recorded = await context.store.journal(turn.lease.turnId, 1);
      return open({ ...turn, journal: [...turn.journal.slice(0, 1), ...recorded] }, perform, context);
    },
  };
}
