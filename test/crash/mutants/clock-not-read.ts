import type { EffectHost } from "bowline";

/** A host that believes to hold its lease for ever. */
export const host = (inner: EffectHost): EffectHost => {
  const now = Date.now();
  return {
    kind: inner.kind,
    parks: inner.parks,
    open: (turn, perform, context) => {
      const world = { ...context.world, now: () => Math.min(now, turn.until - 1) };
      return inner.open(turn, perform, { ...context, world });
    },
  };
};
