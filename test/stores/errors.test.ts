import { afterAll, beforeAll, expect, test } from "vitest";
import * as id from "../../src/model/ids.ts";
import { text } from "../../src/model/message.ts";
import { waitIdOf } from "../../src/model/wait.ts";
import { memory } from "../../src/stores/memory.ts";
import { sqlite } from "../../src/stores/sqlite.ts";
import type { JobLease, JobWrites, Lease, Store } from "../../src/stores/store.ts";
import * as cast from "../../src/testing/cast.ts";
import { alice, ann, ben, bob, LAPSED, NOW, newSession, newWait, opening, send } from "../../src/testing/cast.ts";
import * as jobs from "../../src/testing/job-cast.ts";
import { jobId, newJob, over, signal, stepped, TASK } from "../../src/testing/job-cast.ts";
import * as triggers from "../../src/testing/trigger-cast.ts";
import { moved, occurs, subscription } from "../../src/testing/trigger-cast.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { SharedSchema } from "../postgres/schemas.ts";
import {
  ANSWERED,
  all,
  append,
  BOBS,
  begun,
  CALL,
  type Call,
  type Calls,
  carol,
  dora,
  effect,
  fred,
  GONE,
  liveOf,
  MISSING,
  MORE,
  nobody,
  OPEN,
  OWN_COUNT,
  plain,
  STOP,
  saying,
  tell,
  tellAll,
  type World,
  YES,
} from "./beginning.ts";
import { JOINED_NAMES, ODD_NAMES, ORDERS } from "./odd-names.ts";

// One table of wrong calls. Each is made on all stores from the same beginning: all of them say the same, and nothing
// changes. Where a store does otherwise today, the list `DIFFERENT` says so.

// ── How the table is written ────────────────────────────────────────────────────────────────────────────────────────

interface Case {
  readonly name: string;
  readonly call: Call;
  /** What all stores say: a code, each with the same details; or an answer. */
  readonly said: string;
  /** It is a right call with odd names, and writes. */
  readonly writes?: true;
}
const says = (said: string, calls: Calls, more: Pick<Case, "writes"> = {}): readonly Case[] =>
  Object.entries(calls).map(([name, call]) => ({ name, call, said, ...more }));

const LEASES: { readonly [whose: string]: (world: World) => Lease } = {
  "of a later generation": ({ mine }) => ({ ...mine, generation: mine.generation + 1 }),
  "that ben has taken over": ({ taken }) => taken,
  "of another owner": ({ mine }) => ({ ...mine, owner: ben }),
  "of another session": ({ mine }) => ({ ...mine, sessionId: bob }),
  "of another turn": ({ mine, bobs }) => ({ ...mine, turnId: bobs.turnId }),
  "of an ended turn": ({ ended }) => ended,
  "of a parked turn": ({ rest }) => rest,
  "of a deleted session": ({ gone }) => gone,
};
const LEASED: { readonly [method: string]: (store: Store, lease: Lease) => unknown } = {
  append: async (store, lease) => (await store.append(lease, 2, MORE, NOW)).heldMs,
  renew: async (store, lease) => (await store.renew(lease, NOW + 1)).heldMs,
  release: (store, lease) => store.release(lease),
  park: async (store, { turnId, ...lease }) =>
    (await store.park({ turnId, ...lease }, { turnId, wakeAt: NOW + 9, waits: [OPEN] }, NOW)).kind,
  commit: async (store, lease) => (await store.commit(lease, cast.ended(lease, { says: ["other"] }))).kind,
  "inputs.claim": async (store, lease) => (await store.inputs.claim(lease, effect, 10)).length,
  "live.show": (store, lease) => liveOf(store).show(lease, { part: "more", previews: [] }),
};
const leased = Object.entries(LEASED).flatMap(([method, act]) =>
  Object.entries(LEASES).map(([whose, lease]): Case => {
    const name = `${method} with a lease ${whose}`;
    const isHarmless = method === "release" || method === "live.show";
    const said = name === "park with a lease of a parked turn" ? "parked" : isHarmless ? "nothing" : "lease.lost";
    return { name, said, call: (store, world) => act(store, lease(world)) };
  }),
);

const MISSING_WAKE: JobWrites = { wakes: [cast.newInput("new", { key: "new", parts: [MISSING] })] };
type OfSession = (store: Store, session: id.SessionId) => unknown;
/** The same for a session that is not there, and for one that is deleted. */
const absent = (...calls: readonly OfSession[]): Call => {
  return (store) => tellAll(calls, (call) => tellAll([nobody, carol], (session) => call(store, session)));
};
const UNKNOWN = 'session.unknown {"id":"nobody"} session.unknown {"id":"carol"}';

const newJobIn = (sessionId: id.SessionId) => ({ job: newJob("new", { sessionId }) });
const fork = (store: Store, from: id.SessionId, commit: string, index: number) =>
  store.fork(from, newSession(id.asSessionId("fork")), id.nodeId(commit, index));
const put = (store: Store, name: string, before?: number, max = 99, sessionId = alice) =>
  store.triggers.put(subscription(name, { sessionId }), before, max);
const step = async (store: Store, lease: JobLease) => (await store.jobs.append(lease, [stepped("a")], NOW)).seq;
const transfer = (store: Store, to: id.SessionId, name: string) =>
  store.jobs.transfer(alice, to, [jobId("free"), jobId(name)], NOW);

const NO_TURN = ["none", "gone", "ended"].map(cast.turnId);
const NO_NODE = ["turn-none", "turn-hello", ".", "\0", "\ud800"].map((commit) => id.nodeId(commit, 0));
const NO_CURSOR = ["x", "0", "99999", "-1", "", "01", " 1", "1.5", "9".repeat(30)];
/** Those that are not refused as what they are. */
const cursors = (call: (store: Store, cursor: string) => unknown): Call => {
  return async (store) => {
    const told = await Promise.all(NO_CURSOR.map((cursor) => tell(() => call(store, cursor))));
    const wrong = NO_CURSOR.flatMap((cursor, nth) => {
      const is = told[nth]!;
      return is === `cursor.unknown ${plain({ cursor })}` ? [] : `${cursor.slice(0, 4)} is ${is.split(" ")[0]}`;
    });
    return wrong.join(", ");
  };
};

/** How many come on each page, or the code. */
const pages = (max: number): Call => {
  return (store, { mine }) => {
    const reads: readonly (() => unknown)[] = [
      () => store.list({ max }),
      () => store.list({ order: "activity", max }),
      () => store.turns.list({ max }),
      () => store.view(dora, { max }),
      () => store.changes(undefined, { max }),
      () => store.waits.list({ max }),
      () => store.inputs.claim(mine, effect, max),
      async () => (await store.agenda(LAPSED, max)).sessions,
      () => store.jobs.list({ max }),
      () => store.jobs.claim(ann, NOW, max, [TASK]),
      () => store.jobs.changes(undefined, { max }),
      () => store.triggers.list({ max }),
      () => store.triggers.due(LAPSED, max),
      () => store.triggers.occurrences({ max }),
    ];
    const count = async (read: () => unknown) => ((await read()) as readonly unknown[]).length;
    return tellAll(reads, async (read) => (await tell(() => count(read))).split(" ")[0]);
  };
};

// ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────

const CASES: readonly Case[] = [
  ...leased,
  ...says("lease.lost", {
    "park of another turn": (store, { mine }) =>
      store.park(mine, { turnId: cast.turnId("bobs"), wakeAt: NOW, waits: [] }, NOW),
    "commit of another turn": (store, { mine, bobs }) => store.commit(mine, cast.ended(bobs)),
    "jobs.append with a lease of a later generation": (store, { held }) => step(store, { ...held, generation: 2 }),
    "jobs.append with a lease of an earlier generation": (store, { held }) => step(store, { ...held, generation: 0 }),
    "jobs.append with a lease of another owner": (store, { held }) => step(store, { ...held, owner: ben }),
    "jobs.append to no job": (store, { held }) => step(store, { ...held, jobId: jobId("none") }),
    "jobs.append to a job that nobody holds": (store, { held }) => step(store, { ...held, jobId: jobId("free") }),
    "jobs.append to a job that is over": (store, world) => step(store, world.over),
    "jobs.append to a parked job": (store, { parked }) => step(store, parked),
    "jobs.append to a job of a deleted session": (store, { goneJob }) => step(store, goneJob),
  }),
  ...says("store.conflict", {
    "commit again with other content": (store, { beside }) => store.commit(beside, cast.ended(beside, { says: [] })),
  }),

  // Sessions that are not there
  ...says(UNKNOWN, {
    "view, holds, fork and setOptions of no session": absent(
      (store, session) => store.view(session),
      (store, session) => store.holds(session, id.nodeId("done", 0)),
      (store, session) => fork(store, session, "done", 0),
      (store, session) => store.setOptions(session, { notes: 1 }),
    ),
    "accept for no session": absent((store, to) => send(store, "new", { to })),
    "open of no session": absent((store, session) => store.open(session, ann, NOW, opening)),
    "apply to no session": absent((store, sessionId) => append(store, "new", { sessionId })),
    "operations.note in no session": absent(
      (store, session) => store.operations.note(session, "o", "k", 1),
      (store, session) => store.operations.note(session, "o", "k"),
    ),
    "jobs.spawn in no session": absent((store, session) => store.jobs.spawn(newJobIn(session), 99)),
    "triggers.put in no session": absent((store, session) => put(store, "new", undefined, 99, session)),
  }),
  ...says('session.unknown {"id":"nobody"} session.deleted {"id":"carol"}', {
    "jobs.transfer from no session": absent((store, session) => store.jobs.transfer(session, alice, [], NOW)),
    "jobs.transfer to no session": absent((store, session) => transfer(store, session, "held")),
  }),
  ...says("nothing", {
    "load, delete and what finds something in no session": absent(
      (store, session) => store.load(session),
      (store, session) => store.delete(session),
      (store, session) => store.operations.find(session, "done"),
      (store, session) => store.triggers.load(session, "gone"),
    ),
  }),
  ...says("false", {
    "what asks whether something is in no session": absent(
      (store, session) => store.has(session),
      (store, session) => store.inputs.holds(session, "gone"),
      (store, session) => store.triggers.remove(session, "gone", 9),
    ),
  }),
  ...says("[]", {
    "lists of no session and no tree": absent(
      (store, session) => store.inputs.list(session),
      (store, session) => store.inputs.withdraw(session, { key: "gone" }),
      (store, session) => store.waits.list({ session, max: 9 }),
      (store, session) => store.turns.list({ session, max: 9 }),
      (store, parent) => store.list({ parent }),
      (store, origin) => store.list({ origin }),
      (store, tree) => store.waits.list({ tree, max: 9 }),
      (store, session) => store.changes(undefined, { session, max: 9 }),
      (store, tree) => store.changes(undefined, { tree, max: 9 }),
      (store, session) => store.jobs.list({ session, max: 9 }),
      (store, session) => store.jobs.changes(undefined, { session, max: 9 }),
      (store, session) => store.triggers.list({ session, max: 9 }),
      (store, tree) => store.booked(tree),
    ),
  }),
  ...says("0", { "jobs.count of no session": absent((store, session) => store.jobs.count(session)) }),
  ...says('{"has":"nothing","rows":[]}', {
    "live.read of no session": absent((store, session) => liveOf(store).read(session, 0)),
  }),
  ...says("session.deleted", {
    "create of a deleted session": (store) => store.create(newSession(carol)),
    "fork to a deleted session": (store) => store.fork(dora, newSession(carol)),
  }),
  ...says("session.exists", {
    "create of a session that is there": (store) => store.create({ ...newSession(bob), isNew: true }),
    "fork to a session that is there": (store) => store.fork(dora, { ...newSession(bob), isNew: true }),
  }),
  ...says("session.unknown", {
    "append with a job of no session": (store, { mine }) =>
      store.append(mine, 2, MORE, NOW, [newWait(id.asWaitKey("new"))], [newJobIn(nobody)]),
    "commit with a job of no session": (store, { mine }) =>
      store.commit(mine, cast.ended(mine, { spawns: [newJobIn(carol)] })),
    "apply with a job of no session": (store) => append(store, "new", { spawns: [newJobIn(nobody)] }),
    "triggers.occur with a job of no session": (store, { watch }) =>
      store.triggers.occur(triggers.occurrence("new"), [triggers.delivery("new", watch, { sessionId: nobody })], 9),
  }),

  // Nodes and revisions
  ...says(NO_NODE.map((node) => `fork.unknown ${plain({ node })}`).join(" "), {
    "fork at no node": (store) => tellAll(NO_NODE, (at) => store.fork(dora, newSession(nobody), at)),
    "view from no node": (store) => tellAll(NO_NODE, (from) => store.view(dora, { from })),
  }),
  ...says("fork.unknown", {
    "fork at a node that its commit does not have": (store) => fork(store, dora, "turn-ended", 3),
    "fork at a node of another session": (store) => fork(store, bob, "turn-ended", 2),
    "fork at a node beside the path": (store) => fork(store, dora, "turn-beside", 0),
    "commit on a base that is no node": (store, { mine }) =>
      store.commit(mine, cast.ended(mine, { base: id.nodeId("turn-none", 0) })),
  }),
  ...says("fork.unpaired", { "fork between a call and its result": (store) => fork(store, dora, "turn-ended", 0) }),
  ...says("false", {
    "holds of no node, one of another session and one beside the path": async (store) =>
      tellAll([...NO_NODE, id.nodeId("queued", 0), id.nodeId("turn-beside", 0)], (node) => store.holds(dora, node)),
  }),
  ...says('{"kind":"stale","revision":2}', {
    "apply on another revision": (store) => tellAll([0, 1, 3], (base) => append(store, "new", { base })),
    "apply that requires a node that is not on the path": (store) =>
      tellAll([...NO_NODE, id.nodeId("turn-beside", 0)], (requires) => append(store, "new", { requires })),
    "apply of an append that was a part of a turn": (store) => append(store, "part"),
  }),
  ...says('{"kind":"busy"}', { "apply while a turn is open": (store) => append(store, "new", { sessionId: alice }) }),

  // The same name with other content
  ...says("append.conflict", {
    "apply of a name with other content": (store) => append(store, "done", { entries: saying("done", CALL) }),
    "apply of a name that waits with other content": (store) =>
      append(store, "queued", { sessionId: alice, queueMax: 99, spent: [cast.spent("s", 1)] }),
    "apply of a name of another session": (store) => append(store, "done", { sessionId: fred, queueMax: 99 }),
    "apply of a name that is a turn": (store) => append(store, "turn-ended"),
    "append of other content at a taken seq": (store, { mine }) => store.append(mine, 1, MORE, NOW),
    "append of other content at seq 0": (store, { mine }) => store.append(mine, 0, MORE, NOW),
    "append that leaves a gap": (store, { mine }) => store.append(mine, 3, MORE, NOW),
    "append at seq -1": (store, { mine }) => store.append(mine, -1, MORE, NOW),
  }),
  ...says("input.conflict", {
    "accept of a key with other content": (store) => send(store, "new", { key: "later" }),
    "accept of the key of an open turn with other content": (store) => send(store, "new", { key: "hello" }),
    "accept of the key of an ended turn with other content": (store) => send(store, "new", { to: dora, key: "ended" }),
    "accept of an input with other content": (store) => send(store, "aside", { hash: "other" }),
    "accept of an input of another session": (store) => send(store, "aside", { to: bob }),
  }),
  ...says("job.conflict", {
    "jobs.spawn of an id with other content": (store) => store.jobs.spawn({ job: newJob("free", { input: 1 }) }, 99),
    "jobs.spawn of an id of another session": (store) => store.jobs.spawn({ job: newJob("bobs") }, 99),
  }),

  // Bytes that are not there, and too many
  ...says("store.swept", {
    "accept of bytes that are not there": (store) =>
      tellAll([alice, dora], (to) => send(store, "new", { to, parts: [text("Look."), MISSING] })),
    "jobs.append with bytes that are not there": (store, { held }) =>
      store.jobs.append(held, [stepped("a")], NOW, MISSING_WAKE),
    "jobs.send with bytes that are not there": (store) =>
      store.jobs.send(jobId("external"), signal("new"), NOW, MISSING_WAKE),
  }),
  ...says("input.full", {
    "accept of one too many": (store) =>
      tellAll(["turn", "boundary", "injected"] as const, (place) => send(store, "new", { place, pendingMax: 3 })),
    "apply of one too many": (store) => append(store, "new", { sessionId: alice, queueMax: 3 }),
  }),
  ...says("job.full", { "jobs.spawn of one too many": (store) => store.jobs.spawn({ job: newJob("new") }, 3) }),
  ...says("trigger.full", { "triggers.put of one too many": (store) => put(store, "new", undefined, 3) }),
  ...says("0", { "pages of at most 0": pages(0), "pages of at most -1": pages(-1) }),

  // Turns, inputs and waits of others
  ...says('{"kind":"unknown"}', {
    "cancel of no turn": (store) => tellAll(["none", "gone", "\0"], (name) => store.cancel(cast.turnId(name), STOP)),
    "cancel of a turn of another session": (store) => store.cancel(cast.turnId("hello"), STOP, bob),
    "cancel of an injected input": (store) => store.cancel(cast.turnId("aside"), STOP),
  }),
  ...says(`{"kind":"already-requested","request":${plain(STOP)}}`, {
    "cancel of a turn again": (store) => store.cancel(cast.turnId("bobs"), { ...STOP, requestId: "again" }),
  }),
  ...says("nothing", {
    "find of no turn": (store) => tellAll(["none", "gone", "\0"], (name) => store.find(cast.turnId(name))),
    "terminal of no ended turn": (store) =>
      tellAll(["none", "gone", "hello"], (name) => store.terminal(cast.turnId(name))),
    "turns.journal of no ended turn, and of one that kept none": (store) =>
      tellAll(["none", "gone", "hello", "ended"], (name) => store.turns.journal(cast.turnId(name))),
    "turns.get of no turn": (store) => tellAll(["none", "gone", "\0"], (name) => store.turns.get(cast.turnId(name))),
    "note that reads of no open turn": (store) => tellAll(NO_TURN, (turn) => store.note(turn, effect, "k")),
    "operations.find of an operation of another session": (store) => store.operations.find(bob, "done"),
    "waits.get of no wait": (store) =>
      tellAll([waitIdOf(GONE), id.asWaitId("none"), id.asWaitId("\0")], (wait) => store.waits.get(wait)),
  }),
  ...says("0", {
    "turns.forget of turns without a kept journal": (store) =>
      store.turns.forget(["none", "gone", "hello", "ended", "\0"].map(cast.turnId)),
  }),
  ...says("1", { "note of no open turn": (store) => tellAll(NO_TURN, (turn) => store.note(turn, effect, "k", 1)) }),
  ...says("again", { "attempt of no open turn": (store) => tellAll(NO_TURN, (turn) => store.attempt(turn, effect)) }),
  ...says("[]", {
    "journal of no open turn, and after its end": (store) =>
      tellAll([...NO_TURN, cast.turnId("hello")], (turn) => store.journal(turn, 2)),
    "waits.list after no wait": (store) =>
      tellAll([waitIdOf(GONE), id.asWaitId("\0")], (after) => store.waits.list({ after, max: 9 })),
    "inputs.withdraw of an input of another session": (store) =>
      tellAll([{ key: "later" }, { id: cast.inputId("later") }, { from: cast.inputId("later") }], (which) =>
        store.inputs.withdraw(bob, which),
      ),
  }),
  ...says("2", {
    "events after -1": async (store) =>
      tellAll(
        [await store.journal(cast.turnId("hello"), -1), await store.jobs.events(jobId("held"), -1)],
        (it) => it.length,
      ),
  }),
  ...says("taken ended", {
    "inputs.withdraw of what does not wait": async (store) =>
      tellAll([[alice, "hello"] as const, [dora, "ended"] as const], async ([session, key]) =>
        (await store.inputs.withdraw(session, { key })).map(({ answer }) => answer).join(),
      ),
  }),
  ...says(plain({ kind: "busy", holder: ann, forMs: 30_000 }), {
    "open of a session that somebody holds": (store) =>
      tellAll([ann, ben], (by) => store.open(alice, by, NOW, opening)),
  }),
  ...says('{"said":"unknown"}', {
    "waits.resolve of no wait": (store) =>
      tellAll([GONE, id.asWaitKey("none"), id.asWaitKey("\0")], (key) => store.waits.resolve(key, YES, NOW)),
    "jobs.send to no job": (store) =>
      tellAll(["none", "gone", "\0"], (name) => store.jobs.send(jobId(name), jobs.cancelling(), NOW)),
  }),
  ...says('{"said":"already-resolved","sessionId":"alice"}', {
    "waits.resolve of an answered wait": (store) => store.waits.resolve(ANSWERED, { kind: "revoked" }, NOW + 10),
  }),
  ...says('{"said":"expired","sessionId":"alice"}', {
    "waits.resolve too late": (store) => store.waits.resolve(OPEN, YES, NOW + 10),
  }),
  ...says("30000", {
    "append of a wait of another turn": async (store, { mine }) =>
      (await store.append(mine, 1, [cast.slept("nap")], NOW, [newWait(BOBS, { until: NOW + 99 })])).heldMs,
  }),

  // Jobs
  ...says("over known known bound bound bound", {
    "jobs.send of what cannot be sent": async (store) => {
      const past = [signal("new"), signal("spawned")].map((sent) => ["over", sent] as const);
      const sent = [signal("sent", 1), stepped("a")].map((sent) => ["external", sent] as const);
      const all = [...past, sent[0]!, ["free", over()] as const, ["held", jobs.turned("idle")] as const, sent[1]!];
      return tellAll(all, ([name, each]) => jobs.sendTo(store, name, each));
    },
  }),
  ...says("job.bound", {
    "jobs.append of what is no abandoned end to an orphan": (store, { orphan }) =>
      tellAll([[stepped("a")], [], [over()]], (events) => store.jobs.append(orphan, events, NOW)),
  }),
  ...says("job.unknown", {
    "jobs.transfer of no job": (store) => transfer(store, bob, "none"),
    "jobs.transfer of a job of a deleted session": (store) => transfer(store, bob, "gone"),
  }),
  ...says("job.foreign", { "jobs.transfer of a job of another session": (store) => transfer(store, fred, "bobs") }),
  ...says("job.over", { "jobs.transfer of a job that is over": (store) => transfer(store, bob, "over") }),
  ...says("[]", {
    "jobs.events of no job": (store) => tellAll(["none", "gone"], (name) => store.jobs.events(jobId(name), 0)),
    "jobs.events after the end": (store) => store.jobs.events(jobId("held"), 2),
    "jobs.take of no job": (store) => tellAll(["none", "gone"], (name) => store.jobs.take(jobId(name), "k")),
    "jobs.list after no job": (store) =>
      tellAll(["none", "gone"], (name) => store.jobs.list({ after: jobId(name), max: 9 })),
    "jobs.claim of no operation": (store) => store.jobs.claim(ann, NOW, 9, []),
  }),
  ...says('{"lines":[],"taken":0}', {
    "jobs.lines of no job": (store) => tellAll(["none", "gone", "\0"], (name) => store.jobs.lines(jobId(name))),
  }),
  ...says("nothing", {
    "jobs.load of no job": (store) => tellAll(["none", "gone", "\0"], (name) => store.jobs.load(jobId(name))),
    "jobs.leave of an owner that is not there": (store) => store.jobs.leave({ ...ben, id: "none" }),
  }),
  ...says("false", {
    "jobs.remove of no job that is over": (store) =>
      tellAll(["none", "gone", "held", "free", "parked"], (name) => store.jobs.remove(jobId(name))),
  }),

  // Triggers
  ...says("trigger.conflict", {
    "triggers.put on another revision": (store) => tellAll([undefined, 0, 2], (before) => put(store, "watch", before)),
    "triggers.put of a change to none": (store) => put(store, "new", 1),
    "triggers.remove at another revision": (store) => store.triggers.remove(alice, "watch", 2),
  }),
  ...says("false", {
    "triggers.remove of none": (store) => store.triggers.remove(alice, "none", 1),
    "triggers.move of one that stands elsewhere": (store, { clock }) => {
      const other = [{ revision: 2 }, { incarnation: "other" }, { id: "none" }, { sessionId: bob }, { from: {} }];
      return tellAll(other, (each) => store.triggers.move({ ...moved(clock, { next: NOW + 20 }), ...each }));
    },
  }),
  ...says("stale", {
    "triggers.occur for another revision or incarnation": (store, { watch }) =>
      tellAll([{ revision: 2 }, { incarnation: "other" }, { id: "none" }], (other) =>
        occurs(store, "new", [watch, { ...watch, ...other }]),
      ),
    "triggers.occur for one that is not enabled": (store, { watch, off }) => occurs(store, "new", [watch, off]),
    "triggers.occur with a move from elsewhere": (store, { clock }) =>
      occurs(store, "new", [clock], { moved: { ...moved(clock, {}), from: {} } }),
  }),
  ...says("known", {
    "triggers.occur of what is known with other content": (store, { off }) =>
      occurs(store, "mail", [off], { payload: 1, max: 0 }),
  }),
  ...says("[]", {
    "triggers.occurrences before none": (store) => store.triggers.occurrences({ before: "none", max: 9 }),
  }),

  // Cursors that are none
  ...says("cursor.unknown", {
    "list by activity before no cursor, and before one of another order": (store) =>
      tellAll(["", "x", "7", "-1.5", "1."], (before) => store.list({ order: "activity", before })),
    "list by creation before no cursor, and before one of another order": (store) =>
      tellAll(["", "x", "1.5", "-1", " 1"], (before) => store.list({ order: "created", before })),
  }),
  ...says("", {
    "changes after no cursor": cursors((store, it) => store.changes(id.asCursor(it), { max: 9 })),
    "changes of no session after no cursor": cursors((store, it) =>
      store.changes(id.asCursor(it), { session: nobody, max: 9 }),
    ),
    "jobs.changes after no cursor": cursors((store, it) => store.jobs.changes(id.asJobCursor(it), { max: 9 })),
    "jobs.renew after no cursor": cursors((store, it) => store.jobs.renew(ann, NOW + 1, id.asJobCursor(it))),
  }),

  // Odd names are kept apart, and read as they are
  ...says("", ODD_NAMES, { writes: true }),
  ...says("1 2 3", JOINED_NAMES, { writes: true }),
  ...says("in order", ORDERS, { writes: true }),
];

// ── The stores ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Kind = "memory" | "sqlite" | "postgres";
/** Both stores that write rows say the same. */
const inRows = (said: string) => ({ sqlite: said, postgres: said });
/** What a store says today instead of what the table says. Take a case off the list when all stores say that. */
const DIFFERENT: { readonly [name: string]: { readonly [kind in Kind]?: string } } = {
  "the order of sessions": { memory: '"x" "é" "😀" "\uff41" "\ufffd"' },
  "the order of subscriptions": { memory: '"x" "é" "😀" "\uff41" "\ufffd"' },
  "the order of subscriptions with names that are no text": inRows('"\\u0000" "\\u0001" "\\ud800" "a\\u0000" "a" "b"'),
};

describePostgres("wrong calls", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    schema = new SharedSchema(await freshDatabase(), "errors");
  });
  afterAll(() => schema.end());

  const MAKERS: { readonly [kind in Kind]: () => Store | Promise<Store> } = {
    memory,
    sqlite: () => sqlite(":memory:", { durability: "process" }),
    postgres: () => schema.emptied({ listen: false }),
  };
  const KINDS = Object.keys(MAKERS) as readonly Kind[];

  interface Beginning {
    readonly world: World;
    readonly told: ReadonlyMap<string, string>;
    /** Odd names are written: only more of them may follow, as each kind of names has a place of its own. */
    isWritten?: true;
  }
  const begins = new Map<Kind, Beginning>();
  /** The beginning in a store, made anew when a call has changed it. */
  async function beginning(kind: Kind, writes = false): Promise<Beginning> {
    const known = begins.get(kind);
    if (known !== undefined && (writes || !known.isWritten)) return known;
    await known?.world.store.close();
    const world = await begun(await MAKERS[kind]());
    const made = { world, told: await all(world) };
    begins.set(kind, made);
    return made;
  }

  /** What a store says to a call, and what the call changes. */
  async function outcome(kind: Kind, { call, writes }: Case): Promise<string> {
    const made = await beginning(kind, writes);
    const said = await tell(() => call(made.world.store, made.world));
    if (writes) {
      made.isWritten = true;
      return said;
    }
    const after = await all(made.world);
    const changed = [...after.keys()].filter((what) => after.get(what) !== made.told.get(what));
    if (changed.length === 0) return said;
    begins.delete(kind);
    await made.world.store.close();
    return `${said}, and changes ${changed.join(", ")}`;
  }

  test("E7 D5 the three stores tell the same of the same beginning", async () => {
    const [first, ...rest] = await Promise.all(
      KINDS.map(async (kind) => {
        const { told } = await beginning(kind);
        return [...told].flatMap(([what, it]) => (what === "shown" ? [] : [[what, it.replace(OWN_COUNT, "")]]));
      }),
    );
    for (const each of rest) expect(each).toEqual(first);
  });

  async function answersTheSame(each: Case): Promise<void> {
    const told = await Promise.all(KINDS.map(async (kind) => [kind, await outcome(kind, each)] as const));
    const { name, said } = each;
    const isCode = /^[a-z]+\.[a-z]+$/.test(said);
    const isRight = (one: string) => (isCode ? one.startsWith(`${said} {`) && one.endsWith("}") : one === said);
    const right = told.map(([, one]) => one).find(isRight) ?? said;
    const known = DIFFERENT[name] ?? {};
    for (const [kind, one] of told)
      if (one !== "absent" && one !== known[kind]) expect(`${kind}: ${one}`).toBe(`${kind}: ${right}`);
    const isNeeded = told.some(([kind, one]) => one === known[kind]);
    expect(isNeeded, "Take this case off the list DIFFERENT.").toBe(name in DIFFERENT);
  }

  const [right, wrong] = [true, undefined].map((writes) => CASES.filter((each) => each.writes === writes));
  test.each(wrong!)("E7 D5 the three stores answer the same to a wrong call: $name", answersTheSame);
  test.each(right!)("E7 D5 the three stores keep apart and read the same: $name", answersTheSame);

  test("the list of differences names cases of the table, each of which has its own name", () => {
    const names = CASES.map(({ name }) => name);
    expect(names).toHaveLength(new Set(names).size);
    expect(names).toEqual(expect.arrayContaining(Object.keys(DIFFERENT)));
  });
});
