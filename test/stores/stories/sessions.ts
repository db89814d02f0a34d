import fc from "fast-check";
import {
  asEffectName,
  asInputId,
  asSessionId,
  asTurnId,
  asWaitKey,
  type Cursor,
  type InputId,
  nodeId,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../../../src/model/ids.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { text, textOf } from "../../../src/model/message.ts";
import type { Entry } from "../../../src/model/node.ts";
import type { TurnOutcome } from "../../../src/model/outcome.ts";
import { type WaitAnswer, type WaitedTurns, waitIdOf } from "../../../src/model/wait.ts";
import type { ChangedBy, InputRef, Lease, NewSession, Opening, Store } from "../../../src/stores/store.ts";
import {
  ann,
  ended,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  slept,
  spent,
  usage,
} from "../../../src/testing/cast.ts";
import { type Asked, answers, type Stories, step, storyOf, type Step as Tale } from "./tell.ts";

// Stories of sessions: their turns, inputs, waits, forks and changes.

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
type Step = Tale<Teller>;

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

const steps: readonly fc.Arbitrary<Step>[] = [
  fc
    .tuple(session, fc.option(session, { nil: undefined }), fc.nat(2))
    .map(([id, parent, n]) => step(`create ${id} ${parent}`, ({ store }) => store.create(made(id, parent, n)))),
  fc.tuple(session, session, fc.nat(2), fc.option(number, { nil: undefined })).map(([from, to, n, at]) =>
    step(`fork ${from} ${to} ${at}`, async ({ store }) => {
      const path = (await store.view(from)).flatMap(({ commit, entries }) =>
        entries.map((_, index) => nodeId(commit, index)),
      );
      return store.fork(from, made(to, undefined, n), at === undefined ? undefined : path[at % (path.length || 1)]);
    }),
  ),
  fc.tuple(session, key, fc.constantFrom("boundary", "turn", "wants", "injected")).map(([to, key, place]) =>
    step(`accept ${to} ${key} ${place}`, async ({ store, leases, inputs, turns }, nth) => {
      const input = newInput(`number-${nth}`, {
        to,
        key,
        place: place === "wants" ? "turn" : place,
        wants: place === "wants" ? { unwraps: true } : undefined,
        hash: "h",
      });
      const receipt = await store.accept(input, ann, standing, 5);
      if (receipt.kind === "opened") leases.set(to, receipt.lease);
      inputs.push(receipt.inputId);
      turns.push(receipt.turnId);
      return receipt;
    }),
  ),
  fc.tuple(session, fc.nat(3), fc.constantFrom(undefined, true as const)).map(([of, later, forOperation]) =>
    step(`open ${of} ${later} ${forOperation}`, async ({ store, leases }) => {
      const answer = await store.open(of, ann, NOW + later, standing, forOperation);
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
    step(`commit ${of} ${kinds} ${isMoved} ${settlesAll}`, async (teller) => {
      const { store } = teller;
      const lease = held(teller, of);
      const claimed: InputId[] = [];
      for (const at of BOUNDARIES) claimed.push(...(await store.inputs.claim(lease, at, 1)).map(({ id }) => id));
      const head = (await store.load(of))?.head;
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
      step(`options and a note ${of} ${n} ${name}`, async ({ store }) => [
        await store.setOptions(of, n === 0 ? {} : { notes: n }),
        await store.operations.note(of, `append-${of}-${name}`, "k", n),
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
      step(`wait ${of} ${kind} ${until} ${nth} ${again}`, async (teller, at) => {
        const { store, keys, keysOf, turns } = teller;
        const own = keysOf.get(of) ?? [];
        const key = (again ? own[nth % (own.length || 1)] : undefined) ?? asWaitKey(`wait-${at}`);
        const lease = held(teller, of);
        const about = aboutOf(kind, turns, nth);
        const early = kind === "early" ? { isEarly: true as const } : {};
        const wait = newWait(key, { until: NOW + until, ...(about === undefined ? {} : { about }), ...early });
        const { length } = await store.journal(lease.turnId, 0);
        const answer = await store.append(lease, length, [slept(key)], RENEWED, [wait]);
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
const deleting = session.map((of) => step<Teller>(`delete ${of}`, ({ store }) => store.delete(of)));

/** The number of an input is its place in the order of its store. */
const hidden: ReadonlySet<string> = new Set(["seq"]);

async function ask({ store, keys, leases }: Teller, chosen: number): Promise<Asked> {
  const told = (...acts: readonly (() => unknown)[]): Promise<readonly unknown[]> => answers(acts, hidden);
  const facts = await store.changes(undefined, { max: Infinity });
  const after = facts[chosen % (facts.length || 1)]?.cursor;
  const agendas = [0, 1, 2, 60_000].map((later) => async () => {
    const agenda = await store.agenda(NOW + later, Infinity);
    return { ...agenda, sessions: [...agenda.sessions].sort() };
  });
  const pages = [undefined, ...keys].map((key) => (key === undefined ? {} : { after: waitIdOf(key) }));
  const read = {
    latest: await store.latest(),
    agendas: await told(...agendas),
    waits: await told(...keys.map((key) => () => store.waits.get(waitIdOf(key)))),
    listed: await told(...pages.map((page) => () => store.waits.list({ ...page, max: 3 }))),
    facts: (await told(() => facts))[0] as Asked["facts"],
    sessions: await told(() => store.list()),
    of: await Promise.all(ids.map((id) => told(...questionsAbout(store, id, after)))),
  };
  // Last, as it is written that these leases hold longer.
  const mail = await told(...[...leases.values()].map((lease) => () => store.renew(lease, RENEWED)));
  return { ...read, mail };
}

function questionsAbout(store: Store, id: SessionId, after: Cursor | undefined): readonly (() => unknown)[] {
  const operations = Array.from({ length: 20 }, (_, name) => `append-${id}-${name}`);
  return [
    () => store.has(id),
    () => store.view(id),
    () => store.view(id, { toFrame: true }),
    () => store.inputs.list(id),
    () => store.list({ parent: id, max: 2 }),
    () => store.list({ origin: id }),
    () => store.booked(id),
    ...operations.flatMap((operation) => [
      () => store.operations.find(id, operation),
      () => store.operations.note(id, operation, "k"),
    ]),
    ...[1, 2, 3].map((n) => () => store.operations.find(id, `part-${n}`)),
    () => store.changes(after, { session: id, max: 3 }),
    () => store.changes(after, { tree: id, max: 3 }),
    () => store.changes(undefined, { tree: id, max: Infinity }),
    () => store.waits.list({ session: id, max: Infinity }),
    () => store.waits.list({ tree: id, max: 4 }),
  ];
}

export const sessionStories: Stories<Teller> = {
  story: storyOf(
    [...steps.map((arbitrary, nth) => ({ arbitrary, weight: WEIGHTS[nth]! })), { arbitrary: deleting, weight: 1 }],
    80,
  ),
  hidden,
  ask,
  async begin(store) {
    const [root, child, grandchild] = ids as [SessionId, SessionId, SessionId];
    for (const session of [made(root, undefined, 0), made(child, root, 1), made(grandchild, child, 0)])
      await store.create(session);
    return { store, leases: new Map(), inputs: [], turns: [], keys: [], keysOf: new Map() };
  },
};
