import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import type { Awaitable } from "../model/awaitable.ts";
import {
  asEffectName,
  asInputId,
  asSessionId,
  asTurnId,
  asWaitKey,
  type InputId,
  nodeId,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../model/ids.ts";
import type { JsonObject } from "../model/json.ts";
import { text, textOf } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import { type WaitAnswer, type WaitedTurns, waitIdOf } from "../model/wait.ts";
import { ann, ended, NOW, newInput, newSession, newWait, opening, slept, spent, usage } from "../testing/cast.ts";
import { memory } from "./memory.ts";
import { sqlite } from "./sqlite.ts";
import type { ChangedBy, InputRef, Lease, NewSession, Opening, Store } from "./store.ts";

// One story told to two stores: whatever happens in it, both give the same answers.

const ids = ["a", "b", "c", "d", "e"].map(asSessionId);
const FRAME: Entry = { at: NOW, kind: "frame", reason: "compaction" };
const nodes = (commit: string, kinds: readonly boolean[]): readonly Entry[] =>
  kinds.map((isFrame, index) => {
    if (isFrame) return FRAME;
    const message = { id: nodeId(commit, index), role: "assistant", parts: [text(`${commit} ${index}`)] } as const;
    return { at: NOW, kind: "message", message };
  });

/** What a turn is told at its opening is kept with it, where it is compared. */
const standing: Opening = (input, config, told) => ({
  ...opening(input, config, told),
  extensions: JSON.parse(JSON.stringify(told)) as JsonObject,
});

/** A store, and what it gave out. */
interface Teller {
  readonly store: Store;
  readonly leases: Map<SessionId, Lease>;
  readonly inputs: InputId[];
  /** The turns that were ever opened, and the waits that were ever given. */
  readonly turns: TurnId[];
  readonly keys: WaitKey[];
  readonly keysOf: Map<SessionId, WaitKey[]>;
}
type Step = (teller: Teller, nth: number) => unknown;

const plugins = (value: number) => ({ notes: { version: "1", revision: value, state: value } });
const made = (id: SessionId, parentId: SessionId | undefined, value: number): NewSession => ({
  ...newSession(id),
  ...(parentId === undefined ? {} : { parentId }),
  ...(value === 0 ? {} : { plugins: plugins(value) }),
});
const held = ({ leases }: Teller, session: SessionId): Lease =>
  leases.get(session) ?? {
    sessionId: session,
    turnId: asTurnId("none"),
    generation: 0,
    owner: ann,
    heldMs: 0,
    revision: 0,
  };

const session = fc.constantFrom(...ids, ids[0]!, ids[1]!, ids[2]!);
const kinds = fc.array(fc.boolean(), { maxLength: 3 });
const BOUNDARIES = ["b1", "b2"].map(asEffectName);
const boundary = fc.constantFrom(...BOUNDARIES);
const which = fc.constantFrom("id", "from", "k1", "k2\u0000");
const by = fc.constantFrom<ChangedBy | undefined>("append", "configure", "compact", "command", "completion", undefined);
const key = fc.constantFrom(undefined, "k1", "k2\u0000");
const number = fc.nat(12);
/** After all that happens. */
const RENEWED = NOW + 5;
const KINDS = ["asked", "asked", "early", "all", "any"] as const;

/** What is waited for: two of the turns there were, or an approval. */
function aboutOf(kind: (typeof KINDS)[number], turns: readonly TurnId[], nth: number): WaitedTurns | undefined {
  if (kind !== "all" && kind !== "any") return undefined;
  const two = [turns[nth % (turns.length || 1)], turns.at(-1)].map((id) => id ?? asTurnId("none"));
  return { kind: "turns", need: kind, turns: two.map((turnId) => ({ sessionId: ids[0]!, turnId })) };
}

/** Both stores answer at once. */
const now = <T>(answer: Awaitable<T>): T => answer as T;
const step = (name: string, run: Step): Step => Object.assign(run, { [fc.toStringMethod]: () => name });
const steps: readonly fc.Arbitrary<Step>[] = [
  fc
    .tuple(session, fc.option(session, { nil: undefined }), fc.nat(2))
    .map(([id, parent, n]) => step(`create ${id} ${parent}`, ({ store }) => store.create(made(id, parent, n)))),
  fc.tuple(session, session, fc.nat(2), fc.option(number, { nil: undefined })).map(([from, to, n, at]) =>
    step(`fork ${from} ${to} ${at}`, ({ store }) => {
      const path = now(store.view(from)).flatMap(({ commit, entries }) =>
        entries.map((_, index) => nodeId(commit, index)),
      );
      return store.fork(from, made(to, undefined, n), at === undefined ? undefined : path[at % (path.length || 1)]);
    }),
  ),
  fc.tuple(session, key, fc.constantFrom("boundary", "turn", "wants", "injected")).map(([to, key, place]) =>
    step(`accept ${to} ${key} ${place}`, ({ store, leases, inputs, turns }, nth) => {
      const input = newInput(`number-${nth}`, {
        to,
        key,
        place: place === "wants" ? "turn" : place,
        wants: place === "wants" ? { unwraps: true } : undefined,
        hash: "h",
      });
      const receipt = now(store.accept(input, ann, standing, 5));
      if (receipt.kind === "opened") leases.set(to, receipt.lease);
      inputs.push(receipt.inputId);
      turns.push(receipt.turnId);
      return receipt;
    }),
  ),
  fc.tuple(session, fc.nat(3), fc.constantFrom(undefined, true as const)).map(([of, later, forOperation]) =>
    step(`open ${of} ${later} ${forOperation}`, ({ store, leases }) => {
      const answer = now(store.open(of, ann, NOW + later, standing, forOperation));
      if (answer.kind === "opened" || answer.kind === "resumed") leases.set(of, answer.lease);
      return answer;
    }),
  ),
  fc
    .tuple(session, boundary, fc.constantFrom(1, 2, Infinity), fc.constantFrom(undefined, true as const))
    .map(([of, at, max, takesTurns]) =>
      step(`claim ${of} ${at} ${max} ${takesTurns}`, (teller) =>
        teller.store.inputs.claim(held(teller, of), at, max, takesTurns),
      ),
    ),
  fc.tuple(session, kinds, fc.boolean(), fc.boolean(), fc.nat(3)).map(([of, kinds, isMoved, settlesAll, n]) =>
    step(`commit ${of} ${kinds} ${isMoved} ${settlesAll}`, (teller) => {
      const { store } = teller;
      const lease = held(teller, of);
      const claimed = BOUNDARIES.flatMap((at) => now(store.inputs.claim(lease, at, 1)).map(({ id }) => id));
      const head = now(store.load(of))?.head;
      const entries = nodes(lease.turnId, kinds);
      const last = entries.at(-1);
      const outcome: TurnOutcome =
        last?.kind === "message"
          ? { kind: "answered", message: last.message, text: textOf(last.message.parts) }
          : { kind: "finished", by: "model", value: n };
      const ending = {
        outcome,
        entries,
        plugins: plugins(n),
        usage: usage(n),
        spent: [spent(`s${n}`, n)],
        inputs: settlesAll ? claimed : claimed.slice(1),
        ...(n === 0 ? {} : { parts: [{ operation: `part-${n}`, receipt: lease.turnId }] }),
        ...(n < 2 ? {} : { config: { model: `house/${n}` } }),
        cancel: "r",
        ...(head === undefined || isMoved ? {} : { base: head }),
      };
      return store.commit(lease, ended(lease, ending));
    }),
  ),
  fc.tuple(session, by, kinds, fc.nat(3)).map(([of, by, kinds, n]) =>
    step(`apply ${of} ${by} ${kinds}`, ({ store }, nth) => {
      const operation = `operation-${nth}`;
      const made = by === undefined ? {} : { by };
      const what = { entries: nodes(operation, kinds), plugins: plugins(n), spent: [spent(`s${n}`, n)] };
      return store.apply({ sessionId: of, operation, at: NOW, ...made, ...what });
    }),
  ),
  fc.tuple(session, fc.nat(20), kinds, fc.constantFrom(undefined, 2, 5)).map(([of, name, kinds, queueMax]) =>
    step(`append ${of} ${name} ${kinds} ${queueMax}`, ({ store }) => {
      const operation = `append-${of}-${name}`;
      const what = {
        entries: nodes(operation, kinds),
        receipt: name,
        parts: [{ operation: `part-${name}`, receipt: 0 }],
      };
      const made = queueMax === undefined ? {} : { queueMax };
      return store.apply({ sessionId: of, operation, at: NOW, by: "append", ...what, ...made });
    }),
  ),
  fc
    .tuple(session, fc.nat(3), fc.nat(20))
    .map(([of, n, name]) =>
      step(`options and a note ${of} ${n} ${name}`, ({ store }) => [
        store.setOptions(of, n === 0 ? {} : { notes: n }),
        store.operations.note(of, `append-${of}-${name}`, "k", n),
      ]),
    ),
  fc.tuple(session, which, fc.nat(30)).map(([of, which, nth]) =>
    step(`withdraw ${of} ${which} ${nth}`, ({ store, inputs }) => {
      const input = inputs[nth % (inputs.length || 1)] ?? asInputId("none");
      const ref: InputRef = which === "id" ? { id: input } : which === "from" ? { from: input } : { key: which };
      return store.inputs.withdraw(of, ref);
    }),
  ),
  fc
    .tuple(session, fc.constantFrom(...KINDS), fc.nat(4), fc.nat(30), fc.boolean())
    .map(([of, kind, until, nth, again]) =>
      step(`wait ${of} ${kind} ${until} ${nth} ${again}`, (teller, at) => {
        const { store, keys, keysOf, turns } = teller;
        const own = keysOf.get(of) ?? [];
        const key = (again ? own[nth % (own.length || 1)] : undefined) ?? asWaitKey(`wait-${at}`);
        const lease = held(teller, of);
        const about = aboutOf(kind, turns, nth);
        const early = kind === "early" ? { isEarly: true as const } : {};
        const wait = newWait(key, { until: NOW + until, ...(about === undefined ? {} : { about }), ...early });
        const length = now(store.journal(lease.turnId, 0)).length;
        const answer = store.append(lease, length, [slept(key)], RENEWED, [wait]);
        keys.push(key);
        keysOf.set(of, [...own, key]);
        return answer;
      }),
    ),
  fc.tuple(fc.nat(30), fc.constantFrom("value", "timeout", "revoked"), fc.nat(4)).map(([nth, kind, later]) =>
    step(`resolve ${nth} ${kind} ${later}`, ({ store, keys }) => {
      const key = keys[nth % (keys.length || 1)] ?? asWaitKey("none");
      const answer = kind === "timeout" ? { kind } : kind === "value" ? { kind, value: nth, by: "ann" } : { kind };
      return store.waits.resolve(key, answer as WaitAnswer, NOW + later);
    }),
  ),
  fc.tuple(session, fc.nat(3), fc.nat(3)).map(([of, left, later]) =>
    step(`park ${of} ${left} ${later}`, (teller) => {
      const lease = held(teller, of);
      const { turnId } = lease;
      const waits = teller.keys.slice(left);
      return teller.store.park(lease, { turnId, wakeAt: NOW + later, waits, cancel: "r" }, RENEWED);
    }),
  ),
  fc
    .tuple(fc.nat(30), fc.constantFrom("r", "s"))
    .map(([nth, requestId]) =>
      step(`cancel ${nth} ${requestId}`, ({ store, turns }) =>
        store.cancel(turns[nth % (turns.length || 1)] ?? asTurnId("none"), { requestId, reason: "", at: NOW }),
      ),
    ),
];
const WEIGHTS = [4, 4, 16, 10, 8, 8, 4, 10, 4, 6, 14, 10, 10, 2];
const deleting = session.map((of) => step(`delete ${of}`, ({ store }) => store.delete(of)));
const story = fc.array(
  fc.oneof(...steps.map((arbitrary, index) => ({ arbitrary, weight: WEIGHTS[index]! })), {
    arbitrary: deleting,
    weight: 1,
  }),
  { maxLength: 80, size: "max" },
);

/** The answer of a call, or the code of its error. Each store numbers inputs in its own way, so `seq` is left out. */
function answer(act: () => unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(act() ?? null, (key, value) => (key === "seq" ? undefined : value)));
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === undefined) throw error;
    return { code };
  }
}

/** Everything that can be asked. */
function all({ store, keys, leases }: Teller, fact: number): unknown {
  const facts = now(store.changes(undefined, { max: Infinity }));
  const after = facts[fact % (facts.length || 1)]?.cursor;
  return {
    latest: store.latest(),
    agendas: [0, 1, 2, 60_000].map((later) => {
      const agenda = now(store.agenda(NOW + later, Infinity));
      return { ...agenda, sessions: [...agenda.sessions].sort() };
    }),
    waits: keys.map((key) => store.waits.get(waitIdOf(key))),
    listed: [undefined, ...keys].map((key) => [
      answer(() => store.waits.list({ ...(key === undefined ? {} : { after: waitIdOf(key) }), max: 3 })),
    ]),
    mail: [...leases.values()].map((lease) => answer(() => store.renew(lease, RENEWED))),
    facts,
    sessions: store.list(),
    of: ids.map((id) => [
      answer(() => store.has(id)),
      answer(() => store.view(id)),
      answer(() => store.view(id, { toFrame: true })),
      answer(() => store.inputs.list(id)),
      answer(() => store.list({ parent: id, max: 2 })),
      answer(() => store.list({ origin: id })),
      answer(() => store.booked(id)),
      Array.from({ length: 20 }, (_, name) => `append-${id}-${name}`).map((operation) => [
        answer(() => store.operations.find(id, operation)),
        answer(() => store.operations.note(id, operation, "k")),
      ]),
      [1, 2, 3].map((n) => answer(() => store.operations.find(id, `part-${n}`))),
      answer(() => store.changes(after, { session: id, max: 3 })),
      answer(() => store.changes(after, { tree: id, max: 3 })),
      answer(() => store.changes(undefined, { tree: id, max: Infinity })),
      answer(() => store.waits.list({ session: id, max: Infinity })),
      answer(() => store.waits.list({ tree: id, max: 4 })),
    ]),
  };
}

test("D5 memory and sqlite give the same answers, whatever happens", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(story, number, async (steps, fact) => {
      const tellers = [memory(), sqlite(":memory:", { strength: "process" })].map((store) => ({
        store,
        leases: new Map(),
        inputs: [],
        turns: [],
        keys: [],
        keysOf: new Map(),
      }));
      const [root, child, grandchild] = ids as [SessionId, SessionId, SessionId];
      for (const { store } of tellers)
        for (const session of [made(root, undefined, 0), made(child, root, 1), made(grandchild, child, 0)])
          await store.create(session);
      for (const [nth, step] of steps.entries()) {
        const [one, two] = tellers.map((teller) => answer(() => step(teller, nth)));
        assert.deepEqual(two, one);
        if (nth % 10 !== 9 && nth !== steps.length - 1) continue;
        const [known, found] = tellers.map((teller) => answer(() => all(teller, fact)));
        assert.deepEqual(found, known);
      }
      for (const { store } of tellers) await store.close();
    }),
    { numRuns: sample(25, 200) },
  );
});
