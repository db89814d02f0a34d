import type { EffectHost } from "../hosts/host.ts";
import { journal } from "../hosts/journal.ts";

/**
 * The journal host, without a memory of its own: what was recorded of a resumed turn it reads from the store when the
 * turn is opened, and hands it out event by event. Whatever else knows of the past must have it from those events, as on
 * hosts that keep their own history. For tests, mostly with the crash kit.
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
