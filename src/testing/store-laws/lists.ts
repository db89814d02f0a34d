import assert from "node:assert/strict";
import { asSessionId } from "../../model/ids.ts";
import type { ListedSession, NewSession, Store } from "../../stores/store.ts";
import { alice, ann, answering, begin, bob, commit, NOW, newSession, turn, turnId } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { apply, notes, ODD, park, waits } from "./acts.ts";

type Page = NonNullable<Parameters<Store["list"]>[0]>;

const make = (store: Store, id: string, rest: Partial<NewSession> = {}) =>
  store.create({ ...newSession(asSessionId(id)), ...rest });
const ids = async (store: Store, page: Page = {}) => (await store.list(page)).map(({ id }) => id);

/** Reads a list page by page, and checks that a page is never too long. */
async function paged(store: Store, page: Page, max: number): Promise<readonly string[]> {
  const found: ListedSession[] = [];
  for (let rows = await store.list({ ...page, max }); rows.length > 0; ) {
    assert.ok(rows.length <= max);
    found.push(...rows);
    const last = rows.at(-1)!;
    const rest = page.order === undefined || page.order === "id" ? { after: last.id } : { before: last.cursor };
    rows = await store.list({ ...page, ...rest, max });
  }
  return found.map(({ id }) => id);
}

/** Sessions a to f of two owners with tags. Activity: c, e, a, then those without a turn, the newest first. */
async function six(store: Store): Promise<void> {
  await make(store, "a", { owner: "ann", tags: ["red"] });
  await make(store, "b", { owner: "ann" });
  await make(store, "c", { owner: "ben", tags: ["red", "new"] });
  await make(store, "d");
  await make(store, "e", { tags: ["red"] });
  await make(store, "f", { owner: "ann", tags: ["new"] });
  for (const [nth, id] of ["a", "e", "c"].entries()) {
    const [to, at] = [asSessionId(id), NOW + 10 * (nth + 1)];
    await turn(store, `words of ${id}`, { at }, { to, at });
  }
}

export const listLaws: readonly StoreLaw[] = [
  law("sessions are listed by id, by creation and by activity, with every page size", async (store) => {
    await six(store);
    const orders: readonly [Page, readonly string[]][] = [
      [{}, ["a", "b", "c", "d", "e", "f"]],
      [{ order: "id" }, ["a", "b", "c", "d", "e", "f"]],
      [{ order: "created" }, ["f", "e", "d", "c", "b", "a"]],
      [{ order: "activity" }, ["c", "e", "a", "f", "d", "b"]],
    ];
    for (const [page, expected] of orders) {
      assert.deepEqual(await ids(store, page), expected);
      for (const max of [1, 2, 4, 6, 7]) assert.deepEqual(await paged(store, page, max), expected);
      assert.deepEqual(await ids(store, { ...page, max: 0 }), []);
    }
  }),
  law("each filter and each pair of filters leaves the order of a list as it is", async (store) => {
    await six(store);
    await store.create({ ...newSession(asSessionId("aa")), parentId: asSessionId("a") });
    const all = await store.list();
    const filters: readonly (readonly [Page, (each: ListedSession) => boolean])[] = [
      [{ owner: "ann" }, ({ owner }) => owner === "ann"],
      [{ owner: "nobody" }, () => false],
      [{ tag: "red" }, ({ tags }) => tags?.includes("red") === true],
      [{ tag: "new" }, ({ tags }) => tags?.includes("new") === true],
      [{ state: "idle" }, ({ state }) => state === "idle"],
      [{ state: "running" }, () => false],
      [{ parent: asSessionId("a") }, ({ parentId }) => parentId === "a"],
    ];
    for (const order of ["id", "created", "activity"] as const)
      for (const [one, isOne] of filters)
        for (const [other, isOther] of filters) {
          const page = { ...one, ...other, order };
          const isMeant = (each: ListedSession): boolean =>
            isOther(each) && (Object.keys(one)[0] === Object.keys(other)[0] || isOne(each));
          const expected = (await ids(store, { order })).filter((id) => isMeant(all.find((each) => each.id === id)!));
          assert.deepEqual(await ids(store, page), expected, JSON.stringify(page));
          assert.deepEqual(await paged(store, page, 1), expected, JSON.stringify(page));
        }
  }),
  law("a list shows owner, tags, activity, the last words and what the session has used", async (store) => {
    const made = await make(store, "a", { owner: ODD, tags: [ODD, "b"] });
    assert.deepEqual([made.owner, made.tags], [ODD, [ODD, "b"]]);
    assert.deepEqual((await store.load(asSessionId("a")))?.tags, [ODD, "b"]);
    const to = asSessionId("a");
    const before = (await store.list({ order: "activity" }))[0]!;
    assert.deepEqual([before.activeAt, before.turns, before.words], [NOW, 0, undefined]);
    await turn(store, "hello", { ...answering(turnId("hello"), "hello"), at: NOW + 9 }, { to, at: NOW + 5 });
    const [after] = await store.list({ owner: ODD, tag: ODD, order: "activity" });
    assert.deepEqual([after!.activeAt, after!.turns, after!.words, after!.state], [NOW + 9, 1, "hello", "idle"]);
    const stored = (await store.load(to))!;
    assert.deepEqual([after!.usage, after!.ledger], [stored.usage, stored.ledger]);
    const long = `${"x".repeat(159)}😀 and more`;
    await turn(store, "long", { ...answering(turnId("long"), long), at: NOW + 20 }, { to, at: NOW + 11 });
    assert.equal((await store.list())[0]!.words, `${"x".repeat(159)}…`);
  }),
  law("opening a turn and every commit move a session to the top", async (store) => {
    for (const id of [alice, bob]) await store.create(newSession(id));
    const top = async () => (await ids(store, { order: "activity" }))[0];
    const lease = await begin(store, "hello", { at: NOW + 1 });
    assert.equal(await top(), alice);
    await begin(store, "hi", { to: bob, by: ann, at: NOW + 2 });
    assert.equal(await top(), bob);
    await commit(store, lease, { at: NOW + 3 });
    assert.equal(await top(), alice);
    await store.delete(bob);
    await store.create(newSession(asSessionId("carol")));
    await apply(store, "note", { entries: notes("note", "one"), at: NOW + 4 });
    assert.equal((await store.list({ order: "activity" }))[0]!.activeAt, NOW + 4);
  }),
  law("sessions are found by state: running, waiting, interrupted, idle", async (store) => {
    for (const id of ["idle", "running", "waiting"]) await make(store, id, { owner: "ann" });
    const lease = await waits(store, "parks", { to: asSessionId("waiting") });
    await park(store, lease);
    await begin(store, "runs", { to: asSessionId("running") });
    const state = async (which: ListedSession["state"], now = NOW) =>
      ids(store, { state: which, now, owner: "ann", order: "activity" });
    assert.deepEqual(await state("running"), ["running"]);
    assert.deepEqual(await state("waiting"), ["waiting"]);
    assert.deepEqual(await state("idle"), ["idle"]);
    assert.deepEqual(await state("interrupted"), []);
  }),
  law("a child and a fork have the owner and the tags of their origin, whatever they are given", async (store) => {
    await make(store, "a", { owner: "ann", tags: ["red"] });
    const parentId = asSessionId("a");
    const child = await make(store, "b", { parentId, tags: ["blue", "red"] });
    assert.deepEqual([child.owner, child.tags], ["ann", ["red", "blue"]]);
    await turn(store, "hello", {}, { to: parentId });
    const fork = await store.fork(parentId, { ...newSession(asSessionId("c")), owner: "ben" });
    assert.deepEqual([fork.owner, fork.tags], ["ann", ["red"]]);
    assert.deepEqual(await ids(store, { owner: "ann", tag: "red", order: "created" }), ["c", "b", "a"]);
    assert.deepEqual(await ids(store, { owner: "ben" }), []);
  }),
  law("a deleted session leaves all lists", async (store) => {
    await six(store);
    for (const id of ["a", "c"]) await store.delete(asSessionId(id));
    assert.deepEqual(await ids(store, { order: "activity" }), ["e", "f", "d", "b"]);
    assert.deepEqual(await ids(store, { tag: "red", order: "activity" }), ["e"]);
    assert.deepEqual(await ids(store, { owner: "ben" }), []);
    assert.deepEqual(await ids(store, { owner: "ann", tag: "new", order: "created" }), ["f"]);
  }),
  law("a cursor of another order or of no list is `cursor.unknown`", async (store) => {
    await six(store);
    for (const before of ["x", "", "1.2.3.4", "-1.5", "1e9.1", "9".repeat(40)])
      for (const order of ["activity", "created"] as const)
        await refused("cursor.unknown", () => store.list({ order, before }));
    await refused("cursor.unknown", () => store.list({ order: "activity", before: "5", owner: "ann" }));
    await refused("cursor.unknown", () => store.list({ order: "created", before: `${NOW}.5`, parent: alice }));
    assert.deepEqual(await ids(store, { order: "created", before: "1" }), []);
  }),
];
