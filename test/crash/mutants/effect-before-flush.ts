import type { EffectHost } from "bowline";
import { LazyScope } from "../../../src/model/scope.ts";

type Perform = Parameters<EffectHost["open"]>[1];
type Run = Awaited<ReturnType<EffectHost["open"]>>;
type Effect = Parameters<Perform>[0];

/** Calls begin as soon as they are released, and not when what released them is durable. */
export const host = (inner: EffectHost): EffectHost => ({
  kind: inner.kind,
  parks: inner.parks,
  async open(turn, perform, context) {
    const begun = new Map<string, ReturnType<Perform>>();
    const run = await inner.open(turn, (effect, scope) => begun.get(effect.name) ?? perform(effect, scope), context);
    let toReplay = turn.isResumed === true ? turn.journal.length : 0;
    const mutant: Partial<Run> = {
      start(effects: readonly Effect[], dropped) {
        const calls = toReplay > 0 ? [] : effects.filter(({ kind }) => kind === "call");
        for (const effect of calls) begun.set(effect.name, perform(effect, new LazyScope()));
        run.start(effects, dropped);
      },
      next: ((quietMs?: number) => {
        toReplay--;
        return run.next(quietMs);
      }) as Run["next"],
    };
    return new Proxy(run, {
      get(target, key) {
        const found: unknown = Reflect.get(Object.hasOwn(mutant, key) ? mutant : target, key);
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
  },
});
