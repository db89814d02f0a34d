import assert from "node:assert/strict";
import { asSessionId } from "../../model/ids.ts";
import { alice, ann, ben, bob, commit, LAPSED, newInput, newSession, node, turn } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { apply, first, recordingOpening, state } from "./acts.ts";

const OPTIONS = { notes: { depth: 2 }, search: null };

export const optionLaws: readonly StoreLaw[] = [
  law("a session keeps the options it is made with, and has none otherwise, nor for empty ones", async (store) => {
    const made = await store.create({ ...newSession(alice), options: OPTIONS });
    assert.deepEqual(made.options, OPTIONS);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    assert.equal("options" in (await store.create(newSession(bob))), false);
    const empty = await store.create({ ...newSession(asSessionId("empty")), options: {} });
    assert.equal("options" in empty, false);
  }),
  law(
    "setting options replaces those of the plugins that it names, moves nothing else, and answers all",
    async (store) => {
      await store.create(newSession(alice));
      await turn(store, "hello");
      const before = await store.load(alice);
      const latest = await store.latest();
      assert.deepEqual(await store.setOptions(alice, {}), {});
      assert.deepEqual(await store.load(alice), before);
      assert.deepEqual(await store.setOptions(alice, { notes: 1 }), { notes: 1 });
      assert.deepEqual(await store.setOptions(alice, { search: [2] }), { notes: 1, search: [2] });
      await store.setOptions(alice, OPTIONS);
      assert.deepEqual(await store.load(alice), { ...before, options: OPTIONS });
      assert.deepEqual(await store.setOptions(alice, {}), OPTIONS);
      assert.equal(await store.latest(), latest);
      await refused("session.unknown", () => store.setOptions(bob, OPTIONS));
    },
  ),
  law("creating a session again answers the options it has, not those it is given", async (store) => {
    await store.create({ ...newSession(alice), options: OPTIONS });
    assert.deepEqual((await store.create({ ...newSession(alice), options: { notes: 1 } })).options, OPTIONS);
    await store.setOptions(alice, { notes: 2 });
    assert.deepEqual((await store.create(newSession(alice))).options, { ...OPTIONS, notes: 2 });
  }),
  law("a turn is opened with the options and states as they are in that write", async (store) => {
    const { opening, told } = recordingOpening();
    await store.create({ ...newSession(alice), options: OPTIONS, plugins: state("given") });
    const accept = async (words: string) => store.accept(newInput(words), ann, opening, 100);
    const one = await accept("one");
    assert.ok(one.kind === "opened");
    await accept("two");
    await store.setOptions(alice, { notes: 1 });
    await commit(store, one.lease, { plugins: state("new") });
    await store.setOptions(alice, { notes: 2 });
    const two = await store.open(alice, ben, LAPSED, opening);
    assert.ok(two.kind === "opened");
    await commit(store, two.lease, { plugins: {} });
    await accept("three");
    assert.deepEqual(told(), [
      { plugins: state("given"), options: OPTIONS },
      { plugins: state("new"), options: { ...OPTIONS, notes: 2 } },
      { plugins: {}, options: { ...OPTIONS, notes: 2 } },
    ]);
  }),
  law("options that change while a turn is open are there at once, and its commit leaves them", async (store) => {
    const lease = await first(store);
    await store.setOptions(alice, OPTIONS);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    await commit(store, lease);
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
    await apply(store, "op", { config: { model: "other/model" } });
    assert.deepEqual((await store.load(alice))?.options, OPTIONS);
  }),
  law(
    "a fork has the options of its origin as they are now, or its own; what is set after is each one's own",
    async (store) => {
      await store.create({ ...newSession(alice), options: { notes: 0 } });
      await turn(store, "hello");
      await store.setOptions(alice, { notes: 1 });
      assert.deepEqual((await store.fork(alice, newSession(bob), node("hello", 0))).options, { notes: 1 });
      const [own, none] = [asSessionId("own"), asSessionId("none")];
      assert.deepEqual((await store.fork(alice, { ...newSession(own), options: { notes: 3 } })).options, { notes: 3 });
      assert.equal("options" in (await store.fork(alice, { ...newSession(none), options: {} })), false);
      await store.setOptions(bob, { notes: 9 });
      assert.deepEqual((await store.load(alice))?.options, { notes: 1 });
      await store.delete(alice);
      assert.deepEqual((await store.load(bob))?.options, { notes: 9 });
    },
  ),
  law("a child has no options of its parent's", async (store) => {
    await store.create({ ...newSession(alice), options: OPTIONS });
    assert.equal("options" in (await store.create({ ...newSession(bob), parentId: alice })), false);
  }),
];
