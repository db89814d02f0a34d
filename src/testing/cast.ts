// The cast of the laws and of the tests of stores and hosts: inputs, owners, sessions. It is shared, so that a change
// of a store's contract is made here and a failing test shows known names. Sessions are `alice` and `bob`, owners `ann`
// and `ben`. The name of an input is its text: "hello" has the id `input-hello` and opens `turn-hello`.
import assert from "node:assert/strict";
import type { Awaitable } from "../model/awaitable.ts";
import {
  asCallId,
  asEffectName,
  asInputId,
  asSessionId,
  asTurnId,
  type InputId,
  type NodeId,
  nodeId,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../model/ids.ts";
import type { JsonObject } from "../model/json.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import { type Draft, type Part, text, textOf } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import { NO_USAGE, type Spent, type Usage } from "../model/usage.ts";
import { argsHashOf, type WaitAbout } from "../model/wait.ts";
import {
  type CommitAnswer,
  type Committed,
  type EndedTurn,
  LEASE_MS,
  type Lease,
  type NewInput,
  type NewSession,
  type NewWait,
  type Opening,
  type Owner,
  type Receipt,
  type Segment,
  type Store,
  type TurnWants,
} from "../stores/store.ts";
import type { TurnEvent } from "../turn/event.ts";

export const alice = asSessionId("alice");
export const bob = asSessionId("bob");
// The process of these owners is on no machine that a store can inspect, so no store can prove them dead.
export const ann: Owner = { id: "ann", process: "elsewhere" };
export const ben: Owner = { id: "ben", process: "elsewhere" };

export const NOW = 1_000_000;
/** When a lease that was taken at `NOW` has expired. */
export const LAPSED = NOW + LEASE_MS;
/** Clocks that are far behind, right, and far ahead. */
export const SKEWED = [NOW - 20 * LEASE_MS, NOW, NOW + 1_000 * LEASE_MS];

/** Asserts that a duration is positive and at most that of a lease. The caller counts it from its own clock. */
export function requireHeld({ heldMs }: { readonly heldMs: number }): void {
  assert.ok(heldMs > 0 && heldMs <= LEASE_MS, `A lease that was just taken or renewed holds for ${heldMs} ms.`);
}

export const inputId = (words: string): InputId => asInputId(`input-${words}`);
export const turnId = (words: string): TurnId => asTurnId(`turn-${words}`);
/** Returns a node of the turn that these words opened. */
export const node = (words: string, index: number): NodeId => nodeId(turnId(words), index);

export const newSession = (id: SessionId = alice): NewSession => ({ id, config: { model: "house/model" }, at: NOW });

export interface Sending {
  readonly to?: SessionId;
  readonly by?: Owner;
  readonly key?: string | undefined;
  readonly place?: NewInput["place"];
  readonly wants?: TurnWants | undefined;
  readonly at?: number;
  readonly pendingMax?: number;
  /** The content, if the words are only a name. */
  readonly parts?: readonly Part[];
  /** Other words under a known key are a conflict, unless their hashes are equal. */
  readonly hash?: string;
  readonly metadata?: JsonObject;
}

export function newInput(words: string, sending: Sending = {}): NewInput {
  const {
    to = alice,
    key,
    place = "turn",
    wants,
    at = NOW,
    parts = [text(words)],
    hash = `hash of ${words}`,
    metadata,
  } = sending;
  return {
    id: inputId(words),
    sessionId: to,
    turnId: turnId(words),
    ...(key === undefined ? {} : { key }),
    message: { role: "user", parts },
    place,
    ...(wants === undefined ? {} : { wants }),
    ...(metadata === undefined ? {} : { metadata }),
    hash,
    at,
  };
}

export const opening: Opening = (input) => ({
  kind: "opened",
  at: input.at,
  sessionId: input.sessionId,
  turnId: input.turnId,
  inputId: input.id,
  input: input.message,
  step: 1,
  protocol: { id: "tool-calls", version: 1 },
  host: "journal",
  plugins: [],
  limits: DEFAULT_LIMITS,
  config: { model: "house/model" },
});

export const send = async (store: Store, words: string, sending: Sending = {}): Promise<Receipt> =>
  store.accept(newInput(words, sending), sending.by ?? ann, opening, sending.pendingMax ?? 100);

/** Sends to an idle session and returns the lease of the turn that opens. */
export async function begin(store: Store, words: string, sending: Sending = {}): Promise<Lease> {
  const receipt = await send(store, words, sending);
  if (receipt.kind !== "opened") return assert.fail(`${words} was not opened but ${receipt.kind}`);
  return receipt.lease;
}

export const slept = (name: string): TurnEvent => ({ kind: "slept", at: NOW, effect: asEffectName(name) });

/** The question to a person: may this call run? */
export const approval: WaitAbout = {
  kind: "approval",
  call: { id: asCallId("c1"), name: "shell", input: { run: "ls" } },
  reason: "It runs a command.",
  argsHash: argsHashOf({ run: "ls" }),
};
/** Returns a wait for an approval until `NOW + 10`, with these changes. */
export const newWait = (key: WaitKey, other: Partial<NewWait> = {}): NewWait => ({
  key,
  effect: asEffectName("r1.call.0.wait"),
  at: NOW,
  until: NOW + 10,
  about: approval,
  ...other,
});

export const usage = (input: number): Usage => ({ ...NO_USAGE, input });
export const spent = (source: string, input: number): Spent => ({
  source,
  model: "house/model",
  usage: usage(input),
  calls: 1,
});

export const stopped = (words: string): TurnOutcome => ({
  kind: "stopped",
  by: "plugin",
  code: "law",
  reason: "The law says so.",
  text: words,
});

export const assistant = (...parts: readonly Part[]): Draft => ({ role: "assistant", parts });

export interface Ending extends Partial<Omit<EndedTurn, "turnId">> {
  /** Each becomes a node, unless there are `entries`. */
  readonly says?: readonly (string | Draft)[];
}

export function ended({ turnId }: Pick<Lease, "turnId">, { says = ["well"], ...rest }: Ending = {}): EndedTurn {
  const drafts = says.map((each): Draft => (typeof each === "string" ? assistant(text(each)) : each));
  const entries = drafts.map(
    (draft, index): Entry => ({ at: NOW, kind: "message", message: { id: nodeId(turnId, index), ...draft } }),
  );
  return {
    turnId,
    at: NOW + 5,
    outcome: stopped("well"),
    entries,
    plugins: {},
    usage: NO_USAGE,
    spent: [],
    inputs: [],
    ...rest,
  };
}

/** Returns the ending of a turn that the model answered: its words are the only node and the outcome. */
export function answering(turnId: TurnId, words: string): Ending {
  const message = { id: nodeId(turnId, 0), ...assistant(text(words)) };
  return { says: [words], outcome: { kind: "answered", message, text: words } };
}

export async function committed(answer: Awaitable<CommitAnswer>): Promise<Committed> {
  const commit = await answer;
  return commit.kind === "committed" ? commit : assert.fail("the turn was reopened");
}

/** Ends the turn on top of the current head. */
export async function commit(store: Store, lease: Lease, ending: Ending = {}): Promise<Committed> {
  const head = (await store.load(lease.sessionId))?.head;
  return committed(store.commit(lease, ended(lease, { ...(head === undefined ? {} : { base: head }), ...ending })));
}

/** Runs a whole turn on an idle session. By default the turn repeats the words of its input. */
export async function turn(
  store: Store,
  words: string,
  ending: Ending = {},
  sending: Sending = {},
): Promise<Committed> {
  return commit(store, await begin(store, words, sending), { says: [words], ...ending });
}

export const wordsOf = (segments: readonly Segment[]): readonly string[] =>
  [...segments].reverse().flatMap(({ entries }) => entries.map(wordsOfEntry));
const wordsOfEntry = (entry: Entry): string => (entry.kind === "message" ? textOf(entry.message.parts) : entry.kind);

/** Returns the words of all messages on the path, oldest first. */
export const said = async (store: Store, session = alice, from?: NodeId): Promise<readonly string[]> =>
  wordsOf(await store.view(session, from === undefined ? {} : { from }));
