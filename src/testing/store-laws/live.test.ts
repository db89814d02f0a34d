import { expect, test } from "vitest";
import { broken, over } from "../../../test/stores/mutant.ts";
import { sqlite } from "../../stores/sqlite.ts";
import type { ShownRow, Store } from "../../stores/store.ts";
import { liveLaws } from "./live.ts";

type Live = NonNullable<Store["live"]>;

/** Rules of what is shown to other processes, each broken in its own way. */
const MUTANTS: {
  readonly [rule: string]: (live: Live, store: Store) => Partial<Live> & { readonly store?: Partial<Store> };
} = {
  "a lost lease is an error": (live) => ({
    async show(lease, shown) {
      return (await live.show(lease, shown)) ?? Promise.reject(new Error("lost"));
    },
  }),
  "whoever lost the lease still shows something": (live) => {
    const late: ShownRow[] = [];
    return {
      async show(lease, shown) {
        const n = await live.show(lease, shown);
        if (n === undefined) late.push({ n: Number.MAX_SAFE_INTEGER, ...shown });
        return n;
      },
      async read(session, after) {
        const found = await live.read(session, after);
        return { ...found, rows: [...found.rows, ...late] };
      },
    };
  },
  "numbers begin anew with each turn": (live) => {
    const from = new Map<number, number>();
    const small = (n: number): number => {
      const run = Math.floor(n / 2 ** 22);
      if (!from.has(run)) from.set(run, n - 1);
      return n - from.get(run)!;
    };
    return {
      async show(lease, shown) {
        const n = await live.show(lease, shown);
        return n === undefined ? undefined : small(n);
      },
      async read(session) {
        const { rows, last, has } = await live.read(session, 0);
        return {
          rows: rows.map((row) => ({ ...row, n: small(row.n) })),
          has,
          ...(last === undefined ? {} : { last: small(last) }),
        };
      },
    };
  },
  "what begins again is added to what was there": (live) => ({
    show: (lease, shown) => live.show(lease, { ...shown, part: "more" }),
  }),
  "all is read again and again": (live) => ({ read: (session) => live.read(session, 0) }),
  "nothing says that parts were cut": (live) => ({
    show: (lease, { part, previews }) => live.show(lease, { part, previews }),
  }),
  "a parked turn is none": (live) => ({
    async read(session, after) {
      const found = await live.read(session, after);
      return found.has === "parked" ? { ...found, has: "nothing" } : found;
    },
  }),
  "whoever once followed follows for ever": (live) => ({
    follow: (sessions, now) => live.follow(sessions, now, 1e9),
  }),
  "everybody is followed when somebody is": (live, store) => {
    let isAny = false;
    return {
      follow(sessions, now, forMs) {
        isAny ||= sessions.length > 0;
        return live.follow(sessions, now, forMs);
      },
      store: {
        renew: async (lease, now) => ({ ...(await store.renew(lease, now)), ...(isAny ? { isFollowed: true } : {}) }),
      },
    };
  },
  "nobody learns that it is followed": (_, store) => ({
    store: {
      async renew(lease, now) {
        const { isFollowed: _is, ...mail } = await store.renew(lease, now);
        return mail;
      },
    },
  }),
};

test.each(Object.entries(MUTANTS))("S11 the laws of what is shown elsewhere are broken where %s", async (_, mutant) => {
  const found = await broken(liveLaws, () => {
    const inner: Store = sqlite(":memory:");
    const { store = {}, ...live } = mutant(inner.live!, inner);
    return over(inner, { ...store, live: { ...inner.live!, ...live } });
  });
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(liveLaws.length / 2);
});
