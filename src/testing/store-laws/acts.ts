// Actions that laws of several files share: the cast (`../cast.ts`) has the actors, and these functions act. Words name
// an operation, as they name an input, and the operation adds a node for each word.
import assert from "node:assert/strict";
import { asBlobHash, asEffectName, asTurnId, asWaitKey, nodeId, type SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { type Draft, text, textOf } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type {
  CancelRequest,
  Committed,
  Lease,
  Mail,
  OpenAnswer,
  Opening,
  ParkedTurn,
  PluginSnapshots,
  SessionChange,
  Standing,
  Store,
  Withdrawal,
} from "../../stores/store.ts";
import type { TurnEvent } from "../../turn/event.ts";
import {
  alice,
  begin,
  ben,
  commit,
  inputId,
  LAPSED,
  NOW,
  newSession,
  newWait,
  opening,
  type Sending,
  send,
  turn,
  usage,
} from "../cast.ts";

export const BOUNDARY = asEffectName("r1.boundary");
export const CALL = asEffectName("r1.call.0");
export const WAIT = asWaitKey("wait-key");
export const OTHER = asWaitKey("other-key");
export const NEVER = asTurnId("turn-never-begun");
export const ODD = "odd \u0000 \ud800 \udc00\ud800 é 😀 ' \" \\ \n";

export const failsToOpen: Opening = () => {
  throw new Error("This opening fails.");
};

/** Sends an input that must wait. */
export async function queue(store: Store, words: string, sending: Sending = {}): Promise<void> {
  assert.equal((await send(store, words, sending)).kind, "queued");
}

/** Creates a session and opens its first turn. */
export async function first(store: Store, words = "hello", sending: Sending = {}): Promise<Lease> {
  await store.create(newSession(sending.to ?? alice));
  return begin(store, words, sending);
}

export const open = async (store: Store, by = ben, now = LAPSED, session = alice): Promise<OpenAnswer> =>
  store.open(session, by, now, opening);

/** Opens a session that must have work: an unheld turn, or a waiting input. */
export async function take(store: Store, by = ben, now = LAPSED, session = alice): Promise<Lease> {
  const answer = await open(store, by, now, session);
  if (answer.kind !== "resumed" && answer.kind !== "opened") return assert.fail(`the session is ${answer.kind}`);
  return answer.lease;
}

export const state = (value: Json): PluginSnapshots => ({ notes: { version: "1", revision: 1, state: value } });

/**
 * Runs everything that waits, one turn after the other. Returns the words of the inputs in the order in which they ran.
 */
export async function drain(store: Store, session = alice): Promise<readonly string[]> {
  const run: string[] = [];
  for (;;) {
    const answer = await open(store, ben, LAPSED, session);
    if (answer.kind !== "opened") return run;
    run.push(textOf(answer.opened.input.parts));
    await commit(store, answer.lease);
  }
}

export const waiting = async (store: Store, session = alice): Promise<readonly string[]> =>
  (await store.inputs.list(session)).map((input) => textOf(input.message.parts));

/** Returns what a turn claimed: the words of inputs, the names of appends. */
const wordsIn = (claimed: Awaited<ReturnType<Store["inputs"]["claim"]>>): readonly string[] =>
  claimed.map((each) => ("operation" in each ? each.operation : textOf(each.message.parts)));

export const claim = async (store: Store, lease: Lease, boundary = BOUNDARY, max = 10): Promise<readonly string[]> =>
  wordsIn(await store.inputs.claim(lease, boundary, max));

/** Claims inputs, including those that wait for separate turns. */
export const claimAll = async (store: Store, lease: Lease, boundary = BOUNDARY, max = 10): Promise<readonly string[]> =>
  wordsIn(await store.inputs.claim(lease, boundary, max, true));

/** Withdraws one input and returns the answer; undefined if it does not exist. */
export const withdraw = async (store: Store, words: string, from = alice): Promise<Withdrawal["answer"] | undefined> =>
  (await store.inputs.withdraw(from, { id: inputId(words) }))[0]?.answer;

export const deferred = (key = WAIT): TurnEvent => ({ kind: "deferred", at: NOW, effect: CALL, key, until: NOW + 10 });

/** Opens a turn that waits for one answer until `NOW + 10`. */
export async function waits(store: Store, words = "hello", sending: Sending = {}, key = WAIT): Promise<Lease> {
  const lease = await first(store, words, sending);
  await store.append(lease, 1, [deferred(key)], NOW, [newWait(key)]);
  return lease;
}

export const yes = { kind: "value", value: "yes" } as const;
export const no = { kind: "value", value: "no" } as const;
export const late = { kind: "timeout" } as const;
export const revoked = { kind: "revoked" } as const;

/** Answers a wait, and returns the store's verdict. */
export const answer = async (store: Store, given: WaitAnswer, key = WAIT, now = NOW): Promise<string> =>
  (await store.waits.resolve(key, given, now)).said;

export const resolvedOf = async (store: Store, lease: Lease): Promise<Mail["resolved"]> =>
  (await store.renew(lease, NOW)).resolved;

export const work = async (store: Store, now = NOW, max = 10): Promise<readonly SessionId[]> =>
  (await store.agenda(now, max)).sessions;

export const stop = (requestId: string): CancelRequest => ({ requestId, reason: "Enough.", at: NOW + 1 });

export const FACTS = { max: 100 } as const;

/** Returns the kinds of all facts, in order. */
export const factKinds = async (
  store: Store,
  which: { readonly session?: SessionId; readonly tree?: SessionId } = {},
) => (await store.changes(undefined, { ...which, ...FACTS })).map(({ kind }) => kind);

export const listed = async (store: Store, page: Partial<Parameters<Store["waits"]["list"]>[0]> = {}) =>
  (await store.waits.list({ max: 100, ...page })).map(({ key }) => key);

/** Returns how a turn is parked: it waits for `WAIT` and sleeps until `NOW + 10`, with these changes. */
export const parked = ({ turnId }: Pick<Lease, "turnId">, other: Partial<ParkedTurn> = {}): ParkedTurn => ({
  turnId,
  wakeAt: NOW + 10,
  waits: [WAIT],
  ...other,
});

export async function park(store: Store, lease: Lease, other: Partial<ParkedTurn> = {}, now = NOW): Promise<void> {
  assert.deepEqual(await store.park(lease, parked(lease, other), now), { kind: "parked" });
}

export async function resume(store: Store, now = NOW, forOperation?: true): Promise<Lease> {
  const answer = await store.open(alice, ben, now, opening, forOperation);
  if (answer.kind !== "resumed") return assert.fail(`the session is ${answer.kind}`);
  return answer.lease;
}

export const HASH = asBlobHash("LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"); // The hash of "hello".
export const hello = () => new TextEncoder().encode("hello");

/** Makes three turns of two nodes each and returns the last commit. */
export async function threeTurns(store: Store): Promise<Committed> {
  await store.create(newSession(alice));
  await turn(store, "one", { says: ["1a", "1b"], plugins: state(1), usage: usage(1) });
  await turn(store, "two", { says: ["2a", "2b"], plugins: state(2), usage: usage(1) });
  return turn(store, "three", { says: ["3a", "3b"], plugins: state(3), usage: usage(1) });
}

export const FRAME: Entry = { at: NOW, kind: "frame", reason: "compacted", task: "Go on." };

export const change = (operation: string, rest: Partial<SessionChange> = {}): SessionChange => ({
  sessionId: alice,
  operation,
  at: NOW,
  ...rest,
});

/** The message of an input, as the turn that takes it stores it. */
export const said = (words: string): Draft => ({
  role: "user",
  parts: [text(words)],
  origin: { kind: "input", inputId: inputId(words) },
});

export const notes = (operation: string, ...words: readonly string[]): readonly Entry[] =>
  words.map((each, index): Entry => {
    if (each.startsWith("#")) return { at: NOW, kind: "plugin", plugin: "notes", type: "note", body: { each } };
    const message = { id: nodeId(operation, index), role: "user", parts: [text(each)] } as const;
    return { at: NOW, kind: "message", message };
  });

/** Applies a change that must be kept. */
export async function apply(store: Store, operation: string, rest: Partial<SessionChange> = {}): Promise<Committed> {
  const answer = await store.apply(change(operation, rest));
  return answer.kind === "committed" ? answer : assert.fail(`the change was ${answer.kind}`);
}

export const INJECT = { place: "injected" } as const;

/** Returns an opening that records its arguments besides the input. A store may call it twice: the last call counts. */
export function recordingOpening(): { readonly opening: Opening; readonly told: () => readonly Standing[] } {
  const told = new Map<string, Standing>();
  return {
    told: () => [...told.values()],
    opening(input, config, standing) {
      told.delete(input.id);
      told.set(input.id, standing);
      return opening(input, config, standing);
    },
  };
}

/** Sends an append, which may wait. */
export const append = async (store: Store, operation: string, rest: Partial<SessionChange> = {}) =>
  store.apply(change(operation, { by: "append", entries: notes(operation, operation), queueMax: 10, ...rest }));

export async function queueAppend(store: Store, operation: string, rest: Partial<SessionChange> = {}): Promise<void> {
  assert.deepEqual(await append(store, operation, rest), { kind: "queued" });
}
