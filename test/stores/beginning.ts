import assert from "node:assert/strict";
import { RuntimeError } from "../../src/model/errors.ts";
import * as id from "../../src/model/ids.ts";
import { type Part, text } from "../../src/model/message.ts";
import type { Entry } from "../../src/model/node.ts";
import { waitIdOf } from "../../src/model/wait.ts";
import type { SessionChange, Store } from "../../src/stores/store.ts";
import * as cast from "../../src/testing/cast.ts";
import {
  alice,
  ann,
  begin,
  ben,
  bob,
  LAPSED,
  NOW,
  newSession,
  newWait,
  opening,
  send,
} from "../../src/testing/cast.ts";
import * as jobs from "../../src/testing/job-cast.ts";
import { jobId, signal, TASK } from "../../src/testing/job-cast.ts";
import * as triggers from "../../src/testing/trigger-cast.ts";
import { occur, subscribe } from "../../src/testing/trigger-cast.ts";

// The beginning of the wrong calls (`errors.test.ts`), and what a store tells of it and says to a call.

// ── The beginning ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Carol is deleted, dora is idle, emil's turn is parked, ben has taken over fred's turn, and nobody is not there. */
export const carol = id.asSessionId("carol");
export const dora = id.asSessionId("dora");
export const emil = id.asSessionId("emil");
export const fred = id.asSessionId("fred");
export const nobody = id.asSessionId("nobody");
const SESSIONS = [alice, bob, carol, dora, emil, fred];

export const OPEN = id.asWaitKey("wait-open");
export const ANSWERED = id.asWaitKey("wait-answered");
export const BOBS = id.asWaitKey("wait-bobs");
const REST = id.asWaitKey("wait-rest");
export const GONE = id.asWaitKey("wait-gone");
export const YES = { kind: "value", value: true } as const;
export const STOP = { requestId: "stop", reason: "Enough.", at: NOW };
export const cat = { id: "cat", process: "elsewhere" };
export const effect = id.asEffectName("effect");
export const MORE = [cast.slept("more")];

export const CALL: Part = { kind: "toolCall", callId: id.asCallId("c1"), name: "search", input: {} };
const RESULT: Part = { kind: "toolResult", callId: id.asCallId("c1"), name: "search", status: "ok", parts: [] };
export const MISSING = {
  kind: "attachment",
  hash: id.asBlobHash("m".repeat(43)),
  mediaType: "text/plain",
  bytes: 1,
} as const satisfies Part;

export const saying = (commit: string, ...parts: readonly Part[]): readonly Entry[] => [
  { at: NOW, kind: "message", message: { id: id.nodeId(commit, 0), ...cast.assistant(text(commit), ...parts) } },
];
/** Appends one node to dora, unless something else is said. */
export const append = (store: Store, operation: string, more: Partial<SessionChange> = {}) =>
  store.apply({ sessionId: dora, operation, at: NOW, by: "append", entries: saying(operation), ...more });

export async function begun(store: Store) {
  for (const each of SESSIONS) await store.create(newSession(each));
  const asking = async (words: string, to: id.SessionId, keys: readonly id.WaitKey[], by = ann) => {
    const lease = await begin(store, words, { to, by, key: words });
    const waits = keys.map((key) => newWait(key));
    await store.append(lease, 1, [cast.slept("nap")], NOW, waits);
    return lease;
  };

  const ended = await begin(store, "ended", { to: dora, key: "ended" });
  const says = [cast.assistant(CALL), { role: "tool", parts: [RESULT] } as const, "well"];
  await cast.commit(store, ended, { says, parts: [{ operation: "part", receipt: 1 }] });
  const beside = await begin(store, "beside", { to: dora });
  await cast.commit(store, beside, { base: id.nodeId("turn-ended", 0) });
  await append(store, "done", { receipt: 1 });

  const mine = await asking("hello", alice, [OPEN, ANSWERED]);
  await store.waits.resolve(ANSWERED, YES, NOW);
  await send(store, "later", { key: "later", place: "boundary" });
  await send(store, "aside", { place: "injected" });
  await append(store, "queued", { sessionId: alice, queueMax: 10 });
  await store.live?.show(mine, { part: "first", previews: [] });

  const bobs = await asking("bobs", bob, [BOBS], ben);
  await store.cancel(bobs.turnId, STOP);
  const rest = await asking("rest", emil, [REST]);
  await store.park(rest, { turnId: rest.turnId, wakeAt: NOW + 100, waits: [REST] }, NOW);
  const taken = await begin(store, "taken", { to: fred });
  await store.release(taken);
  await store.open(fred, ben, NOW, opening);
  const gone = await asking("gone", carol, [GONE]);
  const goneJob = await jobs.working(store, "gone", { sessionId: carol });
  await subscribe(store, "gone", { sessionId: carol });
  await store.delete(carol);

  const held = await jobs.working(store, "held");
  const past = await jobs.working(store, "over");
  await jobs.end(store, past);
  const parked = await jobs.working(store, "parked");
  await jobs.parks(store, parked, { due: NOW + 1_000 });
  await jobs.bound(store, "orphan", cat);
  await store.jobs.leave(cat);
  const [orphan = assert.fail("there is no orphan")] = await jobs.claimJobs(store);
  await jobs.spawn(store, "external", { kind: "external", recovery: "external" });
  await store.jobs.send(jobId("external"), signal("sent"), NOW);
  await jobs.spawn(store, "bobs", { sessionId: bob });
  await jobs.spawn(store, "free");

  const watch = await subscribe(store);
  const clock = await triggers.scheduled(store, "clock");
  const off = await subscribe(store, "off", { isEnabled: false });
  await occur(store, "mail", [watch]);
  const leases = { mine, bobs, gone, ended, beside, rest, taken };
  return { store, ...leases, held, over: past, parked, orphan: orphan.lease, goneJob, watch, clock, off };
}
/** A store, and what it gave out: `mine` is of alice's open turn. */
export type World = Awaited<ReturnType<typeof begun>>;

/** What a store tells of everything. */
export async function all({ store }: World): Promise<ReadonlyMap<string, string>> {
  const of = async <T>(them: readonly T[], read: (one: T) => unknown) => Promise.all(them.map(read));
  const told: { readonly [what: string]: unknown } = {
    sessions: store.list(),
    loaded: of([alice, carol, dora], (session) => store.load(session)),
    facts: store.changes(undefined, { max: Infinity }),
    inputs: store.inputs.list(alice),
    agenda: of([NOW, LAPSED], async (now) => {
      const agenda = await store.agenda(now, Infinity, [TASK]);
      return { ...agenda, sessions: [...agenda.sessions].sort() };
    }),
    view: store.view(dora),
    journal: store.journal(cast.turnId("hello"), 0),
    turns: of(["hello", "later", "rest", "taken"], (name) => store.find(cast.turnId(name))),
    waits: of([OPEN, ANSWERED, BOBS], (key) => store.waits.get(waitIdOf(key))),
    operation: store.operations.find(dora, "new"),
    jobs: store.jobs.list({ max: Infinity }),
    subscriptions: store.triggers.list({ max: Infinity }),
    occurrences: store.triggers.occurrences({ max: Infinity }),
    shown: store.live?.read(alice, 0),
  };
  const texts = Object.entries(told).map(async ([what, it]) => [what, plain(await it)] as const);
  return new Map(await Promise.all(texts));
}
/** What each store counts in its own way. */
export const OWN_COUNT = /"(cursor|latest|jobs|askedAs|answeredAs|seq)":"?\d+"?,?/g;

// ── What a store says to a call ─────────────────────────────────────────────────────────────────────────────────────

/** As JSON with the fields in order. */
export const plain = (value: unknown): string =>
  JSON.stringify(value, (_, it: unknown) => {
    if (typeof it !== "object" || it === null || Array.isArray(it)) return it;
    return Object.fromEntries(Object.entries(it).sort(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? "nothing";

/** The answer, or the code of the error and its details, without the name of the store. */
export async function tell(call: () => unknown): Promise<string> {
  try {
    const answer = await call();
    return typeof answer === "string" ? answer : plain(answer);
  } catch (error) {
    if (error === ABSENT) return "absent";
    if (!(error instanceof RuntimeError)) return String(error);
    const { path: _, ...details } = error.details as { readonly path?: string };
    return `${error.code} ${plain(details)}`;
  }
}
/** What is said to several calls, or, where it is the same each time, that. */
export async function tellAll<T>(them: readonly T[], call: (one: T) => unknown): Promise<string> {
  const told: string[] = [];
  for (const one of them) told.push(await tell(() => call(one)));
  return told.every((each) => each === told[0]) ? told[0]! : told.join(" ");
}
const ABSENT = new Error("This store does not show turns to other processes.");
export const liveOf = ({ live }: Store): NonNullable<Store["live"]> => {
  if (live === undefined) throw ABSENT;
  return live;
};

export type Call = (store: Store, world: World) => unknown;
export type Calls = { readonly [name: string]: Call };
