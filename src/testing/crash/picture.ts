// Reads a store into plain values: the durable data after a kill, and the final content. `judge.ts` compares them; this
// file only finds what is wrong in any scenario.
import { asBlobHash, type TurnId } from "../../model/ids.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import { inputIdOf, type Message } from "../../model/message.ts";
import type { NodeBody } from "../../model/node.ts";
import { pairingProblem } from "../../model/pairing.ts";
import type { Spent, Usage } from "../../model/usage.ts";
import type { Change, ListedSession, Opening, Segment, Store, StoredSession } from "../../stores/store.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { type PictureOfJob, recordedJobs, remainingJobs, type WrongJob } from "./jobs.ts";
import { type PictureOfOccurrence, type PictureOfSubscription, remainingTriggers } from "./triggers.ts";

/** The content of a store, without data that differs from run to run: ids are numbered, times and node ids omitted. */
export interface Picture {
  readonly sessions: { readonly [id: string]: PictureOfSession };
  /** The outcome of every accepted turn, in the order of acceptance; null for a turn without one. */
  readonly outcomes: readonly Json[];
  /** All jobs, in the order of their start. */
  readonly jobs: readonly PictureOfJob[];
  /** Sorted by session and id. */
  readonly subscriptions: readonly PictureOfSubscription[];
  /** All occurrences, in order. */
  readonly occurrences: readonly PictureOfOccurrence[];
}
export interface PictureOfSession {
  readonly parentId?: string;
  /** Oldest first. */
  readonly messages: readonly PictureOfMessage[];
  /** Nodes other than messages: those of plugins, and starts of frames. Oldest first. */
  readonly nodes: readonly PictureOfNode[];
  readonly plugins: { readonly [id: string]: { readonly version: string; readonly state: Json } };
  readonly turns: number;
  /** The waits of its turns and their answers: one line per fact, sorted. */
  readonly waits: readonly string[];
  /** Usage without calls of unknown cost, because a killed call is one. */
  readonly usage: Json;
}
export type PictureOfNode = Exclude<NodeBody, { readonly kind: "message" }>;
export interface PictureOfMessage {
  readonly role: string;
  /** All text of the message, including tool results. */
  readonly text: string;
  readonly parts: readonly Json[];
  readonly origin?: Json;
}

/** What was durable when a process was killed. */
export interface Recorded {
  /** Answered effects of open turns, each as `turn effect`. */
  readonly answered: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
  readonly journals: ReadonlyMap<string, readonly TurnEvent[]>;
  /** Steps of jobs, each as `job name`. */
  readonly steps: ReadonlySet<string>;
  /** Ended jobs. */
  readonly over: ReadonlySet<string>;
}

async function facts(store: Store): Promise<readonly Change[]> {
  const found: Change[] = [];
  for (;;) {
    const more = await store.changes(found.at(-1)?.cursor, { max: 1_000 });
    found.push(...more);
    if (more.length < 1_000) return found;
  }
}

const acceptedTurns = async (store: Store): Promise<readonly TurnId[]> => [
  ...new Set(
    (await facts(store)).flatMap((fact) =>
      fact.kind === "accepted" && fact.turnId !== undefined ? [fact.turnId] : [],
    ),
  ),
];

export async function recordedIn(store: Store): Promise<Recorded> {
  const answered = new Set<string>();
  const ended = new Set<string>();
  const journals = new Map<string, readonly TurnEvent[]>();
  for (const turn of await acceptedTurns(store)) {
    if ((await store.terminal(turn)) !== undefined) ended.add(turn);
    const events = await store.journal(turn, 0);
    if (events.length > 0) journals.set(turn, events);
    for (const event of events) if ("effect" in event) answered.add(`${turn} ${event.effect}`);
  }
  return { answered, ended, journals, ...(await recordedJobs(store)) };
}

/** The result of reading a place. A second read must give an equal result. */
export interface Reading {
  readonly recorded: Recorded;
  readonly sessions: readonly ListedSession[];
  readonly facts: readonly Change[];
}

export const shownIn = async (store: Store): Promise<Reading> => ({
  recorded: await recordedIn(store),
  sessions: await store.list(),
  facts: await facts(store),
});

/** A violation in any scenario. */
type WrongThere = WrongJob | { readonly kind: "unpaired"; readonly problem: string };

/** The final store, and its violations in any scenario. */
export interface Remains {
  readonly picture: Picture;
  readonly wrong: readonly WrongThere[];
  /** How often the message of each input is in the graph, by the input's id. */
  readonly inputs: ReadonlyMap<string, number>;
}

export async function remainsOf(store: Store): Promise<Remains> {
  const wrong: WrongThere[] = [];
  const inputs = new Map<string, number>();
  const seen = new Set<string>();
  const sessions: { [id: string]: PictureOfSession } = {};
  const told = await facts(store);
  for (const { id } of await store.list()) {
    const session = (await store.load(id)) as StoredSession;
    const segments = [...(await store.view(session.id))].reverse();
    for (const segment of segments) countInputs(segment, seen, inputs);
    const messages = segments.flatMap(({ entries }) =>
      entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : [])),
    );
    const nodes = segments.flatMap(({ entries }) =>
      entries.flatMap(({ at: _, ...entry }) => (entry.kind === "message" ? [] : [entry as PictureOfNode])),
    );
    const unpaired = unpairedIn(segments);
    if (unpaired !== undefined) wrong.push({ kind: "unpaired", problem: `in session ${session.id} ${unpaired}` });
    sessions[session.id] = {
      ...(session.parentId === undefined ? {} : { parentId: session.parentId }),
      messages: await Promise.all(messages.map((message) => seenMessage(store, message))),
      nodes,
      plugins: Object.fromEntries(
        Object.entries(session.plugins)
          .map(([id, { version, state }]) => [id, { version, state }] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
      turns: session.turns,
      waits: told.flatMap((fact) => (fact.sessionId === session.id ? waitIn(fact) : [])).sort(),
      usage: usageIn(session),
    };
  }
  const outcomes: Json[] = [];
  for (const turn of await acceptedTurns(store)) {
    const terminal = await store.terminal(turn);
    const isWithdrawn = (await store.find(turn))?.state === "withdrawn";
    if (terminal === undefined && !isWithdrawn) wrong.push({ kind: "stuck", problem: `turn ${turn} has no outcome` });
    outcomes.push(terminal === undefined ? null : withoutIds(terminal.outcome as unknown as Json));
  }
  for (const { id } of await store.list()) {
    const inputsThere = await store.inputs.list(id);
    // An injected input waits for a turn that may never come.
    for (const { id: input, place } of inputsThere) if (place === "injected") inputs.set(input, 1);
    const waiting = inputsThere.filter(({ place }) => place !== "injected");
    if (waiting.length > 0) wrong.push({ kind: "stuck", problem: `${waiting.length} inputs of session ${id} wait` });
    // Skips the check of the lease, because it would open the turn of a waiting input.
    if (waiting.length > 0) continue;
    const held = await store.open(id, NOBODY, Date.now() + CENTURY_MS, opening);
    if (held.kind === "resumed")
      wrong.push({ kind: "stuck", problem: `the slot of session ${id} is held by turn ${held.lease.turnId}` });
  }
  for (const { sessionId, effect } of await store.waits.list({ max: 1_000 }))
    wrong.push({ kind: "stuck", problem: `somebody is still asked for ${effect} of session ${sessionId}` });
  const left = await remainingJobs(store, inputs, new Set(Object.keys(sessions)));
  const triggers = await remainingTriggers(store);
  wrong.push(...left.wrong, ...triggers.wrong);
  const { subscriptions, occurrences } = triggers;
  const picture = numbered({ sessions, outcomes, jobs: left.jobs, subscriptions, occurrences });
  return { picture, wrong, inputs };
}

function waitIn(fact: Change): readonly string[] {
  if (fact.kind === "waiting") return [`${fact.turnId} ${fact.effect} ${fact.about.kind}`];
  if (fact.kind !== "resolved") return [];
  return [`${fact.turnId} ${fact.effect} ${fact.how}${fact.by === undefined ? "" : ` by ${fact.by}`}`];
}

/**
 * The kit acts as a process on another machine, which must wait until leases expire. After `CENTURY_MS` all have
 * expired.
 */
const NOBODY = { id: "crash kit", process: "elsewhere" };
const CENTURY_MS = 100 * 365 * 24 * 3_600_000;
const opening: Opening = () => {
  throw new Error("The crash kit opens no turn.");
};

/** `seen` prevents counting shared segments of forks twice. */
function countInputs({ commit, entries }: Segment, seen: Set<string>, inputs: Map<string, number>): void {
  for (const [index, entry] of entries.entries()) {
    const place = `${commit}.${index}`;
    const inputId = entry.kind === "message" ? inputIdOf(entry.message) : undefined;
    if (inputId === undefined || seen.has(place)) continue;
    seen.add(place);
    inputs.set(inputId, (inputs.get(inputId) ?? 0) + 1);
  }
}

function unpairedIn(segments: readonly Segment[]): string | undefined {
  let before: Message | undefined;
  for (const entry of segments.flatMap(({ entries }) => entries)) {
    if (entry.kind === "frame") before = undefined;
    if (entry.kind !== "message") continue;
    const problem = pairingProblem(before, entry.message);
    if (problem !== undefined) return problem;
    before = entry.message;
  }
  return before === undefined ? undefined : pairingProblem(before, { role: "user", parts: [] });
}

async function seenMessage(store: Store, { role, parts, origin }: Message): Promise<PictureOfMessage> {
  const shown = await Promise.all(parts.map((part) => seenPart(store, part as unknown as Json)));
  return {
    role,
    text: shown.map(textIn).join(""),
    parts: shown,
    ...(origin === undefined ? {} : { origin: origin as unknown as Json }),
  };
}

/** Replaces an attachment by whether the store has its bytes, and removes times from the trail of a call. */
async function seenPart(store: Store, part: Json): Promise<Json> {
  if (!isObject(part)) return part;
  if ("trail" in part) return seenPart(store, timeless(part as JsonObject));
  if (part.kind === "attachment") {
    const data = await store.blobs.get(asBlobHash(String(part.hash)));
    return { ...(part as JsonObject), found: data?.byteLength ?? null };
  }
  if (!Array.isArray(part.parts)) return part as Json;
  return { ...(part as JsonObject), parts: await Promise.all(part.parts.map((each: Json) => seenPart(store, each))) };
}

const timeless = ({ trail, ...part }: JsonObject): Json => ({
  ...part,
  happened: JSON.parse(JSON.stringify(trail), (key, value) => (key === "at" ? undefined : value)),
});

function textIn(part: Json): string {
  if (!isObject(part)) return "";
  if (Array.isArray(part.parts)) return (part.parts as Json[]).map(textIn).join("");
  return part.kind === "text" ? String(part.text) : "";
}

function usageIn({ usage, ledger }: StoredSession): Json {
  const plain = ({ unknownCalls: _, estimatedInput: _in, estimatedOutput: _out, ...known }: Usage): Json => ({
    ...known,
  });
  return {
    total: plain(usage),
    rows: ledger.map(({ usage: spent, ...row }: Spent) => ({ ...row, usage: plain(spent) }) as unknown as Json),
  };
}

/** Removes node ids: they contain the id of the turn, which differs between runs. The position identifies a message. */
function withoutIds(outcome: Json): Json {
  if (!isObject(outcome) || !isObject(outcome.message)) return outcome;
  const { id: _, ...message } = outcome.message;
  return { ...(outcome as JsonObject), message: message as Json };
}

/** 24 digits for ids from time and chance, 26 for those from a hash. */
const GENERATED = /\b(trn|inp|ses|can|opr|job|sub|occ)_(?:[0-9a-hjkmnp-tv-z]{24}|[\w-]{26})(?![\w-])/g;

/** Replaces generated ids by numbers, in the order of their first appearance. */
function numbered(picture: Picture): Picture {
  const known = new Map<string, string>();
  const text = JSON.stringify(picture).replace(GENERATED, (id, prefix: string) => {
    const name = known.get(id) ?? `${prefix} ${known.size + 1}`;
    known.set(id, name);
    return name;
  });
  return JSON.parse(text) as Picture;
}
