import type { EffectHost } from "bowline";

/** The jobs that an answer begins are there before the answer is. */
export const host = (inner: EffectHost): EffectHost => ({
  kind: inner.kind,
  parks: inner.parks,
  open: (turn, perform, context) =>
    inner.open(
      turn,
      async (effect, scope) => {
        const answer = await perform(effect, scope);
        const { owner } = turn.lease;
        for (const job of answer.spawns ?? [])
          await context.store.jobs.spawn(job.recovery === "owner-bound" ? { job, owner } : { job }, Infinity);
        return answer;
      },
      context,
    ),
});
