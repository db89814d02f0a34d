import * as id from "../../src/model/ids.ts";
import { waitIdOf } from "../../src/model/wait.ts";
import type { Store } from "../../src/stores/store.ts";
import { alice, ann, NOW, newInput, newSession, newWait } from "../../src/testing/cast.ts";
import * as jobs from "../../src/testing/job-cast.ts";
import { newJob, stepped } from "../../src/testing/job-cast.ts";
import * as triggers from "../../src/testing/trigger-cast.ts";
import { occur, subscribe } from "../../src/testing/trigger-cast.ts";
import { append, type Calls, cat, dora, effect, emil, fred, MORE, tell, tellAll } from "./beginning.ts";

const LONG = "x".repeat(299);
/** Names that stores must keep apart, and read as they are. */
const ODD = [
  ...["", "a", "A", "\0", "a\0b", "a\0c", "\u0001", '\u0001"a"', "\ud800", "\udc00", "a\ud800", "\ufffd", "\uff41"],
  ...["é", "e\u0301", "😀", "__proto__", "'; --", "%", `${LONG}x`, `${LONG}y`],
];
const shortOf = (name: string): string => JSON.stringify(name.slice(-4));

/** Writes a number under each odd name, then reads it, and answers what is wrong. */
async function odd(write: (name: string, nth?: number) => unknown, read: (name: string) => unknown = write) {
  const wrong: string[] = [];
  for (const [nth, name] of ODD.entries()) {
    const told = await tell(() => write(name, nth));
    if (/^\w+\.\w+ \{|^\w*Error/.test(told)) wrong.push(`${shortOf(name)} is ${told.split(" ")[0]}`);
  }
  for (const [nth, name] of ODD.entries()) {
    const told = await tell(() => read(name));
    if (told !== `${nth}`) wrong.push(`${shortOf(name)} reads ${told.split(" ")[0]} for ${nth}`);
  }
  return wrong.join(", ");
}
const own = <T>(of: { readonly [name: string]: T } | undefined, name: string): T | undefined =>
  of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;

/** What is wrong when each of them is written and read. */
export const ODD_NAMES: Calls = {
  "odd keys of inputs": (store) =>
    odd(
      (key, nth) => store.accept(newInput(`odd-${nth}`, { to: dora, key }), ann, undefined, 99),
      async (key) => (await store.inputs.list(dora)).findIndex((input) => input.key === key),
    ),
  "odd names of operations": (store) =>
    odd(
      (name, receipt) => append(store, name, { receipt: receipt! }),
      async (name) => {
        const found = await store.operations.find(dora, name);
        const isThere = (await store.view(dora)).some(({ commit }) => commit === name);
        return isThere && found?.kind === "done" ? found.receipt : "no segment";
      },
    ),
  "odd keys of notes of operations": (store) => odd((key, nth) => store.operations.note(dora, "o", key, nth)),
  "odd keys of notes of turns": (store, { mine }) => odd((key, nth) => store.note(mine.turnId, effect, key, nth)),
  "odd names of effects with notes": (store, { mine }) =>
    odd((name, nth) => store.note(mine.turnId, id.asEffectName(name), "k", nth)),
  "odd ids of plugins with states": (store) =>
    odd(
      (plugin, state) =>
        append(store, `o${state}`, { plugins: { [plugin]: { version: "1", revision: 1, state: state! } } }),
      async (plugin) => own((await store.load(dora))?.plugins, plugin)?.state,
    ),
  "odd ids of plugins with options": (store) =>
    odd(
      (plugin, nth) => store.setOptions(dora, { [plugin]: nth! }),
      async (plugin) => own((await store.load(dora))?.options, plugin),
    ),
  "odd keys of waits": (store, { mine }) =>
    odd(
      (key, nth = 0) => store.append(mine, 2 + nth, MORE, NOW, [newWait(id.asWaitKey(key), { until: NOW + nth })]),
      async (key) => ((await store.waits.get(waitIdOf(id.asWaitKey(key))))?.until ?? 0) - NOW,
    ),
  "odd ids of jobs": (store) =>
    odd(
      (name, input) => store.jobs.spawn({ job: newJob("odd", { id: id.asJobId(name), input: input! }) }, 99),
      async (name) => (await store.jobs.load(id.asJobId(name)))?.record.input,
    ),
  "odd keys of events of jobs": (store, { held }) =>
    odd(
      (key) => store.jobs.append(held, [{ ...stepped("odd"), key }], NOW),
      async (key) => (await store.jobs.events(held.jobId, 2)).findIndex((each) => each.key === key),
    ),
  "odd ids of owners of jobs": (store) =>
    odd(
      (owner, nth) => jobs.bound(store, `${nth}`, { ...cat, id: owner }),
      async (owner) => {
        const { changed } = await store.jobs.renew({ ...cat, id: owner }, NOW);
        return changed.map((each) => jobs.nameOf(each.jobId)).join();
      },
    ),
  "odd ids of subscriptions": (store) =>
    odd(
      (name, nth) => subscribe(store, name, { label: `${nth}` }),
      async (name) => (await store.triggers.load(alice, name))?.label,
    ),
  "odd names of events": (store) =>
    odd(
      (event, nth) => subscribe(store, `${nth}`, { on: { kind: "event", event } }),
      async (name) => (await triggers.listed(store, { event: { name } })).join(),
    ),
  "odd ids of occurrences": (store) =>
    odd(
      (name, nth) => occur(store, "odd", [], { id: name, payload: nth! }),
      async (name) => (await triggers.occurrences(store)).find((each) => each.id === name)?.payload,
    ),
};

/** Pairs of names that are the same when they are put together. */
export const JOINED_NAMES: Calls = {
  "notes whose names are the same when they are put together": async (store, { mine }) => {
    const names = [["a", "b\nc"] as const, ["a\nb", "c"] as const, ["a\nb\nc", ""] as const];
    const note = ([name, key]: (typeof names)[0], value?: number) =>
      store.note(mine.turnId, id.asEffectName(name), key, value);
    for (const [nth, name] of names.entries()) await note(name, nth + 1);
    return tellAll(names, (name) => note(name));
  },
};

/** In the order of their letters. Names of sessions have no control characters. */
const SORTED = ["x", "é", "\uff41", "\ufffd", "😀"];
const SORTED_ODD = ["\0", "\u0001", "a", "a\0", "b", "\ud800"];
export const ORDERS: Calls = {
  "the order of sessions": async (store) => {
    for (const name of SORTED.toReversed()) await store.create(newSession(id.asSessionId(name)));
    return paged(SORTED, (after = "w") => store.list({ after: id.asSessionId(after), max: 1 }));
  },
  "the order of subscriptions": (store) => subscribed(store, SORTED, fred),
  "the order of subscriptions with names that are no text": (store) => subscribed(store, SORTED_ODD, emil),
};
async function subscribed(store: Store, names: readonly string[], session: id.SessionId): Promise<string> {
  for (const name of names.toReversed()) await subscribe(store, name, { sessionId: session });
  const after = (name: string | undefined) => (name === undefined ? {} : { after: { session, id: name } });
  return paged(names, (last) => store.triggers.list({ session, max: 1, ...after(last) }));
}
/** In pages of one: "in order", or what comes. */
async function paged(names: readonly string[], next: (last: string | undefined) => unknown): Promise<string> {
  const found: string[] = [];
  while (found.length < 99) {
    const [one] = (await next(found.at(-1))) as readonly { readonly id: string }[];
    if (one === undefined) break;
    found.push(one.id);
  }
  return found.join() === names.join() ? "in order" : found.map(shortOf).join(" ");
}
