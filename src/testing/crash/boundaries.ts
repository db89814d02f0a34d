import type { EffectHost } from "../../hosts/host.ts";
import { type Awaitable, andThen } from "../../model/awaitable.ts";
import type { ClaimedJob, NewInput, OpenAnswer, Receipt, Store, Withdrawal } from "../../stores/store.ts";
import type { EffectKind } from "../../turn/effect.ts";
import type { NewLine } from "./ledger.ts";

export interface Watch {
  /** Marks a boundary, where the process may be killed before anything after it happens. */
  at(place: string, turn?: string): void;
  record(told: NewLine): void;
}

/**
 * Every write has a boundary before it and one after it. A read has none, because a death there equals one after the
 * last write.
 */
const WRITES: ReadonlySet<string> = new Set([
  "create",
  "fork",
  "delete",
  "accept",
  "release",
  "append",
  "park",
  "commit",
  "apply",
  "setOptions",
  "cancel",
  "inputs.withdraw",
  "inputs.claim",
  "waits.resolve",
  "blobs.put",
  "attempt",
  "jobs.spawn",
  "jobs.append",
  "jobs.send",
  "jobs.leave",
  "jobs.transfer",
  "jobs.remove",
  "jobs.take",
  "triggers.put",
  "triggers.remove",
  "triggers.move",
  "triggers.occur",
]);

/** Wraps a store with boundaries. Synchronous answers stay synchronous. */
export function watchedStore(store: Store, watch: Watch): Store {
  const around = (of: object, path: string): object => {
    const made = new Map<PropertyKey, unknown>();
    return new Proxy(of, {
      get(target, key) {
        const known = made.get(key);
        if (known !== undefined) return known;
        const found: unknown = Reflect.get(target, key);
        const name = path + String(key);
        let shown = found;
        if (typeof found === "object" && found !== null) shown = around(found, `${name}.`);
        else if (typeof found === "function")
          shown = watched(name, (...given: unknown[]) => Reflect.apply(found, target, given) as Awaitable<unknown>);
        made.set(key, shown);
        return shown;
      },
    });
  };
  const watched =
    (name: string, call: (...given: unknown[]) => Awaitable<unknown>) =>
    (...given: unknown[]): Awaitable<unknown> => {
      if (name === "open") return andThen(call(...given), (answer) => opened(answer as OpenAnswer));
      if (name === "jobs.claim") return andThen(call(...given), (answer) => claimed(answer as readonly ClaimedJob[]));
      const isNote = (name === "note" || name === "operations.note") && given[3] !== undefined;
      if (!WRITES.has(name) && !isNote) return call(...given);
      watch.at(`before ${name}`);
      return andThen(call(...given), (answer) => {
        if (name === "accept") accepted(given[0] as NewInput, answer as Receipt);
        if (name === "delete") watch.record({ kind: "deleted", session: String(given[0]) });
        if (name === "inputs.withdraw") withdrawn(answer as readonly Withdrawal[]);
        watch.at(`after ${name}`);
        return answer;
      });
    };
  function opened(answer: OpenAnswer): OpenAnswer {
    if (!("lease" in answer)) return answer; // Nothing was written.
    const { sessionId: session, turnId: turn, generation } = answer.lease;
    watch.record({ kind: "took", session, turn, generation });
    watch.at("after open");
    return answer;
  }
  function claimed(answer: readonly ClaimedJob[]): readonly ClaimedJob[] {
    if (answer.length > 0) watch.at("after jobs.claim"); // Otherwise it only wrote that its owner lives.
    return answer;
  }
  function accepted({ sessionId, key, place }: NewInput, { turnId, inputId }: Receipt): void {
    const isUnnamed = key === undefined && place !== "injected";
    const named = isUnnamed ? ({ isUnnamed } as const) : {};
    watch.record({ kind: "accepted", session: sessionId, turn: turnId, input: inputId, ...named });
  }
  function withdrawn(answers: readonly Withdrawal[]): void {
    for (const { inputId: input, answer } of answers)
      if (answer === "withdrawn") watch.record({ kind: "withdrawn", input });
  }
  return around(store, "") as Store;
}

const OUTWARD: ReadonlySet<EffectKind> = new Set(["ask", "call", "exec", "compact"]);

/** Wraps a host with boundaries around its outward effects, and records their begin and end in the ledger. */
export function watchedHost(host: EffectHost, watch: Watch): EffectHost {
  return {
    kind: host.kind,
    parks: host.parks,
    open: (turn, perform, context) =>
      host.open(
        turn,
        (effect, scope) => {
          if (!OUTWARD.has(effect.kind)) return perform(effect, scope);
          const which = { turn: turn.lease.turnId, effect: effect.name };
          const isOnce = effect.kind === "call" && effect.onInterrupt !== undefined;
          watch.at(`before ${effect.name}`, which.turn);
          watch.record({ kind: "began", ...which, ...(isOnce ? { once: true } : {}) });
          return andThen(perform(effect, scope), (answer) => {
            watch.record({ kind: "ended", ...which });
            watch.at(`after ${effect.name}`, which.turn);
            return answer;
          });
        },
        context,
      ),
  };
}
