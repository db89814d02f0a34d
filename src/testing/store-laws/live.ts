import assert from "node:assert/strict";
import type { Preview } from "../../model/event.ts";
import { asEffectName, type SessionId } from "../../model/ids.ts";
import { type Lease, SHOWN_MAX, type Shown, type ShownTurn, type Store } from "../../stores/store.ts";
import { alice, ann, begin, ben, bob, commit, LAPSED, NOW, newSession, opening, send, turnId } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { ODD } from "./acts.ts";

type Live = NonNullable<Store["live"]>;

/** Makes a law of previews. A store without `live` keeps every one. */
const liveLaw = (name: string, check: (store: Store, live: Live) => Promise<void>): StoreLaw =>
  law(name, async (store) => {
    if (store.live !== undefined) await check(store, store.live);
  });

const said = (delta: string, generation = 1): Preview => ({
  fact: false,
  sessionId: alice,
  turnId: turnId("hello"),
  key: { effect: asEffectName("r1.model"), generation, attempt: 1 },
  kind: "text",
  delta,
});
const first = (delta: string): Shown => ({ part: "first", previews: [said(delta)] });
const more = (delta: string): Shown => ({ part: "more", previews: [said(delta)] });

async function working(store: Store, words = "hello"): Promise<Lease> {
  await store.create(newSession());
  return begin(store, words);
}
async function shown(live: Live, lease: Lease, ...parts: readonly Shown[]): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (const part of parts) numbers.push((await live.show(lease, part)) ?? assert.fail("nothing was shown"));
  return numbers;
}
const words = ({ rows }: ShownTurn): string =>
  rows.flatMap(({ previews }) => previews.map((each) => (each.kind === "text" ? each.delta : each.kind))).join(" ");
const read = async (live: Live, after = 0, session: SessionId = alice): Promise<string> =>
  words(await live.read(session, after));
async function take(store: Store): Promise<Lease> {
  const answer = await store.open(alice, ben, LAPSED, opening);
  return answer.kind === "resumed" ? answer.lease : assert.fail(`the session is ${answer.kind}`);
}

export const liveLaws: readonly StoreLaw[] = [
  liveLaw("what a turn shows is read as it is, in its order, and from any number on", async (store, live) => {
    const lease = await working(store);
    const parts: readonly Shown[] = [first("a"), { ...more(ODD), isCut: true }, { part: "more", previews: [] }];
    const numbers = await shown(live, lease, ...parts);
    const rows = parts.map((part, index) => ({ ...part, n: numbers[index] }));
    assert.deepEqual(await live.read(alice, 0), { rows, last: numbers[2], has: "turn" });
    assert.deepEqual(await live.read(alice, numbers[0]!), { rows: rows.slice(1), last: numbers[2], has: "turn" });
    assert.deepEqual(await live.read(alice, numbers[2]!), { rows: [], last: numbers[2], has: "turn" });
  }),
  liveLaw("parts are numbered without gaps, also where they begin again", async (store, live) => {
    const lease = await working(store);
    const numbers = await shown(live, lease, first("a"), more("b"), { ...first("ab"), part: "again" }, first("abc"));
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => numbers[0]! + index),
    );
    assert.ok(numbers[0]! > 0);
  }),
  liveLaw("a new beginning removes earlier previews", async (store, live) => {
    const lease = await working(store);
    await shown(live, lease, first("a"), more("b"), { ...first("a b"), part: "again" }, more("c"));
    assert.equal(await read(live), "a b c");
    await shown(live, lease, first("x"));
    assert.equal(await read(live), "x");
  }),
  liveLaw("old parts go, the newest stays, and numbers tell that some are missing", async (store, live) => {
    const lease = await working(store);
    const numbers = await shown(live, lease, first("a"), ...Array.from({ length: 200 }, (_, nth) => more(`${nth}`)));
    const { rows } = await live.read(alice, 0);
    assert.ok(rows.length > 1 && rows.length <= SHOWN_MAX.parts, `There are ${rows.length} parts.`);
    assert.deepEqual(
      rows.map(({ n }) => n),
      numbers.slice(-rows.length),
    );
    const long = "x".repeat(SHOWN_MAX.chars / 8);
    await shown(live, lease, ...Array.from({ length: 20 }, () => more(long)));
    const left = await live.read(alice, 0);
    assert.ok(left.rows.length > 1, "Only one part is left.");
    assert.ok(words(left).length <= SHOWN_MAX.chars, `There are ${words(left).length} characters.`);
    await shown(live, lease, more("y".repeat(SHOWN_MAX.chars + 1)));
    assert.equal((await live.read(alice, 0)).rows.length, 1);
  }),
  liveLaw("a lost lease writes no preview, without an error", async (store, live) => {
    const lease = await working(store);
    await shown(live, lease, first("old"));
    const next = await take(store);
    assert.equal(await live.show(lease, more("late")), undefined);
    assert.equal(await live.show(lease, first("late")), undefined);
    assert.equal(await read(live), "old"); // The preview of the old run stays until the new run shows one.
    const [n] = await shown(live, next, first("new"));
    assert.equal(await read(live), "new");
    assert.equal(await live.show({ ...next, turnId: turnId("never") }, more("x")), undefined);
    assert.equal(await live.show({ ...next, sessionId: bob }, more("x")), undefined);
    assert.deepEqual((await live.read(alice, 0)).last, n);
  }),
  liveLaw("numbers ascend over runs and turns, though what these have shown is gone", async (store, live) => {
    const lease = await working(store);
    const old = (await shown(live, lease, first("a"), more("b"))).at(-1)!;
    const next = await take(store);
    const [taken] = await shown(live, next, first("a"));
    assert.ok(taken! > old + 1, "The next run goes on as if it were the one before.");
    await commit(store, next);
    const later = await begin(store, "later");
    const [n] = await shown(live, later, first("c"));
    assert.ok(n! > taken! + 1, "The next turn goes on as if it were the one before.");
    assert.equal(await read(live, taken), "c");
  }),
  liveLaw("with the end of a turn goes what it has shown", async (store, live) => {
    const lease = await working(store);
    await shown(live, lease, first("a"));
    await commit(store, lease);
    assert.deepEqual(await live.read(alice, 0), { rows: [], has: "nothing" });
    assert.equal(await live.show(lease, more("late")), undefined);
    await begin(store, "later");
    assert.deepEqual(await live.read(alice, 0), { rows: [], has: "turn" });
  }),
  liveLaw("a read says whether more may come", async (store, live) => {
    await store.create(newSession());
    assert.deepEqual(await live.read(alice, 0), { rows: [], has: "nothing" });
    assert.deepEqual(await live.read(bob, 0), { rows: [], has: "nothing" });
    const lease = await begin(store, "hello");
    await send(store, "next");
    await commit(store, lease);
    assert.equal((await live.read(alice, 0)).has, "turn"); // It waits to be opened.
    const answer = await store.open(alice, ann, NOW, opening);
    if (answer.kind !== "opened") return assert.fail(`the session is ${answer.kind}`);
    await shown(live, answer.lease, first("a"));
    await store.park(answer.lease, { turnId: turnId("next"), wakeAt: LAPSED, waits: [] }, NOW);
    const parked = await live.read(alice, 0);
    assert.equal(parked.has, "parked");
    assert.equal(words(parked), "a");
  }),
  liveLaw("of a session that was deleted nothing is shown", async (store, live) => {
    const lease = await working(store);
    await live.follow([alice], NOW, 60_000);
    await shown(live, lease, first("a"));
    await store.delete(alice);
    assert.deepEqual(await live.read(alice, 0), { rows: [], has: "nothing" });
    assert.equal(await live.show(lease, more("late")), undefined);
    await live.follow([alice], NOW, 60_000);
  }),
  liveLaw("the mail of a followed turn shows it, and no other mail does", async (store, live) => {
    const lease = await working(store);
    await store.create(newSession(bob));
    const other = await begin(store, "other", { to: bob });
    assert.equal((await store.renew(lease, NOW)).isFollowed, undefined);
    await live.follow([alice], NOW, 60_000);
    assert.equal((await store.renew(lease, NOW)).isFollowed, true);
    assert.equal((await store.renew(other, NOW)).isFollowed, undefined);
    await live.follow([], NOW, 60_000);
    await live.follow([alice, bob], NOW, 60_000);
    assert.equal((await store.renew(other, NOW)).isFollowed, true);
  }),
  liveLaw("a follow of a session expires", async (store, live) => {
    const lease = await working(store);
    await live.follow([alice], NOW, 20);
    await live.follow([alice], NOW, 10); // The follow of another reader, which ends earlier.
    await new Promise((resolve) => setTimeout(resolve, 30)); // A store on a server uses the server's clock.
    assert.equal((await store.renew(lease, NOW + 30)).isFollowed, undefined);
  }),
];
