import { expect, test } from "vitest";
import type { SessionId } from "../model/ids.ts";
import { memory } from "../stores/memory.ts";
import type { Lease, Store } from "../stores/store.ts";
import { storeLaws } from "./store-laws.ts";

/** The same store, with some of its methods replaced. */
const over = (store: Store, own: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });

/** The store without a word of some sessions in its agenda, once they were passed to the returned function. */
function silent(inner: Store): { readonly agenda: Store["agenda"]; readonly forget: (id?: SessionId) => void } {
  const forgotten = new Set<SessionId>();
  return {
    forget: (id) => void (id === undefined || forgotten.add(id)),
    async agenda(now, max) {
      const agenda = await inner.agenda(now, max);
      return { ...agenda, sessions: agenda.sessions.filter((id) => !forgotten.has(id)) };
    },
  };
}

/** Rules of waits and parking, each broken in its own way. */
const MUTANTS: { readonly [rule: string]: (inner: Store) => Partial<Store> } = {
  "park ignores mail": (inner) => ({
    async park(lease, parked, now) {
      const answer = await inner.park(lease, parked, now);
      if (answer.kind === "mail") await inner.release(lease);
      return { kind: "parked" };
    },
  }),
  "park ignores a cancel": (inner) => ({
    async park(lease, parked, now) {
      const { cancel } = await inner.renew(lease, now);
      return inner.park(lease, cancel === undefined ? parked : { ...parked, cancel: cancel.requestId }, now);
    },
  }),
  "a folded cancel keeps a turn from being parked": (inner) => ({
    park: (lease, { cancel: _, ...parked }, now) => inner.park(lease, parked, now),
  }),
  "park answers a repeat with an error": (inner) => {
    const done = new Set<Lease>();
    return {
      async park(lease, parked, now) {
        if (done.has(lease)) await inner.renew(lease, now);
        done.add(lease);
        return inner.park(lease, parked, now);
      },
    };
  },
  "an answer that was folded wakes the turn": (inner) => {
    const given = new Map<string, string[]>();
    return {
      async append(lease, seq, events, now, waits = []) {
        const keys = given.get(lease.turnId) ?? [];
        given.set(lease.turnId, [...keys, ...waits.map(({ key }) => key)]);
        return inner.append(lease, seq, events, now, waits);
      },
      park: (lease, parked, now) => inner.park(lease, { ...parked, waits: given.get(lease.turnId) as never }, now),
    };
  },
  "resolve does not wake": (inner) => {
    const { agenda, forget } = silent(inner);
    const { list, get } = inner.waits;
    const resolve: Store["waits"]["resolve"] = async (...given) => {
      const answer = await inner.waits.resolve(...given);
      forget(answer.sessionId);
      return answer;
    };
    return { agenda, waits: { list, get, resolve } };
  },
  "cancel does not wake": (inner) => {
    const { agenda, forget } = silent(inner);
    return {
      agenda,
      async cancel(turn, request, session) {
        forget((await inner.find(turn))?.sessionId);
        return inner.cancel(turn, request, session);
      },
    };
  },
  "the end of a turn does not wake who waits for it": (inner) => {
    const { agenda, forget } = silent(inner);
    return {
      agenda,
      async park(lease, parked, now) {
        const waits = await Promise.all(
          parked.waits.map((key) => inner.waits.resolve(key, { kind: "value", value: 0 }, 1e15)),
        );
        if (waits.some(({ said }) => said === "unknown")) forget(lease.sessionId);
        return inner.park(lease, parked, now);
      },
    };
  },
  "the agenda lists parked turns that have no mail": (inner) => ({
    async agenda(now, max) {
      const agenda = await inner.agenda(now, max);
      const parked = (await inner.list()).filter(({ openTurn }) => openTurn !== undefined).map(({ id }) => id);
      return agenda.next === undefined ? agenda : { ...agenda, sessions: parked };
    },
  }),
  "a parked turn is taken without mail": (inner) => ({
    open: (session, owner, now, opening) => inner.open(session, owner, now, opening, true),
  }),
  "an early wait is a fact": (inner) => ({
    append: (lease, seq, events, now, waits = []) =>
      inner.append(
        lease,
        seq,
        events,
        now,
        waits.map(({ isEarly: _, ...wait }) => wait),
      ),
  }),
  "a value is taken however late": (inner) => {
    const { list, get } = inner.waits;
    return { waits: { list, get, resolve: (key, answer) => inner.waits.resolve(key, answer, 0) } };
  },
  "a commit forgets the settings": (inner) => ({
    commit: (lease, { config: _, ...ended }) => inner.commit(lease, ended),
  }),
};

async function broken(make: () => Store): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { law, check } of storeLaws)
    try {
      await check(make());
    } catch {
      found.push(law);
    }
  return found;
}

test("D5 the laws of stores hold for a store that is only passed on", async () => {
  expect(await broken(() => over(memory(), {}))).toEqual([]);
});

test.each(Object.entries(MUTANTS))("D4 the laws of stores are broken where %s", async (_, mutant) => {
  const found = await broken(() => {
    const inner = memory();
    return over(inner, mutant(inner));
  });
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(storeLaws.length / 4); // It is the rule that is missed, not the store.
});
