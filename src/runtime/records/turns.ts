// Turns as records: lists, all data of one turn, and its timeline. Nothing here opens a session.
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import {
  asJobId,
  asSessionId,
  asTurnId,
  asWaitKey,
  type BlobHash,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../../model/ids.ts";
import { defined, describeThrown } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import type { RecordedRound, RecordedWait, TurnDetails, TurnRecord, TurnTimeline } from "../../model/turn-record.ts";
import { costOf } from "../../model/usage.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { PendingInput, StoredSession, StoredTurn } from "../../stores/store.ts";
import type { ProtocolDriver } from "../../turn/driver.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { checkedOwner, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { resting } from "../resting.ts";
import { requireStored } from "../services/reading.ts";
import type { PromptParts } from "../toolset/artifacts.ts";
import { type Folded, timelineOf, type WhyResumed, whyResumed } from "./timeline.ts";

/** Which turns `turns.list` returns: the latest first. Several filters together narrow the list. */
export interface TurnsPage {
  readonly session?: string | undefined;
  /** Only turns of sessions with this owner. */
  readonly owner?: string | undefined;
  readonly state?: TurnRecord["state"] | undefined;
  readonly outcome?: TurnOutcome["kind"] | undefined;
  readonly model?: string | undefined;
  /** Turns that started at this time or later, and before `until`: milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** The `cursor` of the last turn of the page before. */
  readonly after?: string | undefined;
  /** Default: 100; at most 1,000. */
  readonly max?: number | undefined;
}
const PAGE: Known<TurnsPage> = {
  ...{
    session: true,
    owner: true,
    state: true,
    outcome: true,
    model: true,
    since: true,
    until: true,
    after: true,
    max: true,
  },
};
const MAX = { default: 100, most: 1_000 };
const STATES: readonly TurnRecord["state"][] = ["queued", "running", "waiting", "interrupted", "ended"];
const OUTCOMES: readonly TurnOutcome["kind"][] = ["answered", "finished", "stopped", "failed"];
/** A list ends when this many turns in a row started before `since`. */
export const OLDER_MAX = 1_000;
export const SLICE = 200;

/** All data of one turn. */
export interface TurnReport extends Omit<TurnDetails, "resumed"> {
  /** Each time that a process resumed it. `why` is omitted if the present build cannot follow the journal. */
  readonly resumed?: readonly {
    readonly at: number;
    readonly by?: string;
    readonly why?: WhyResumed;
    readonly isFault?: true;
  }[];
}

/** Turns of all sessions, open or ended, also those that other processes run. */
export interface Turns {
  list(page?: TurnsPage): Promise<readonly TurnRecord[]>;
  /** Finds a turn as `list` shows it. Undefined if there is none. */
  find(id: string): Promise<TurnRecord | undefined>;
  /** Throws `turn.unknown`. */
  get(id: string): Promise<TurnReport>;
  /** Throws `turn.unknown`, `turn.no-journal` if the journal is not kept, and `store.corrupt` if it is damaged. */
  timeline(id: string): Promise<TurnTimeline>;
  /** The events of the turn as they were recorded. Throws as `timeline`. */
  journal(id: string): Promise<readonly TurnEvent[]>;
}

export const turnsOf = (core: () => Core): Turns => ({
  list: async (page = {}) => list(core(), page),
  find: async (id) => find(core(), id),
  get: async (id) => get(core(), id),
  timeline: async (id) => timeline(core(), id),
  journal: async (id) => (await journalOf(core(), await requireTurn(core(), id))).events.map(withoutKeys),
});

/** A wait key can answer the wait, so only the public id leaves the runtime. */
function withoutKeys(event: TurnEvent): TurnEvent {
  const shown = (key: WaitKey): WaitKey => asWaitKey(waitIdOf(key));
  if (event.kind === "deferred") return { ...event, key: shown(event.key) };
  if (event.kind === "interrupted" && event.key !== undefined) return { ...event, key: shown(event.key) };
  if (event.kind !== "gated") return event;
  const verdicts = event.verdicts.map((each) => (each.kind === "wait" ? { ...each, key: shown(each.key) } : each));
  return { ...event, verdicts };
}

async function find(core: Core, id: string): Promise<TurnRecord | undefined> {
  const stored = typeof id === "string" ? await core.store.turns.get(asTurnId(id), timeOf(core).now) : undefined;
  return stored && withStart(core, recordOf(core, stored));
}

async function list(core: Core, page: TurnsPage): Promise<readonly TurnRecord[]> {
  requirePage(page);
  const { session, owner, state, outcome, model, since = -Infinity, until = Infinity, after, max = MAX.default } = page;
  const isWanted = (record: TurnRecord): boolean => {
    const startedAt = record.startedAt ?? record.endedAt;
    if (model !== undefined && record.model !== model) return false;
    if (startedAt === undefined) return since === -Infinity && until === Infinity;
    return startedAt >= since && startedAt < until;
  };
  const waiting = waitingInputs(core);
  const rest = resting();
  const found: TurnRecord[] = [];
  let older = 0;
  for (let before = after; found.length < max && older < OLDER_MAX; ) {
    const turns = await core.store.turns.list({
      max: SLICE,
      ...timeOf(core),
      ...(session === undefined ? {} : { session: asSessionId(session) }),
      ...(before === undefined ? {} : { before }),
    });
    for (const stored of turns) {
      const record = recordOf(core, stored);
      const startedAt = record.startedAt ?? record.endedAt;
      older = startedAt !== undefined && startedAt < since ? older + 1 : 0;
      if (owner !== undefined && stored.owner !== owner) continue;
      if (state !== undefined && record.state !== state) continue;
      if (outcome !== undefined && record.outcome !== outcome) continue;
      const whole = await withStart(core, record, waiting);
      if (isWanted(whole)) found.push(whole);
      if (found.length === max) return found;
    }
    before = turns.at(-1)?.cursor;
    if (turns.length < SLICE || before === undefined) break;
    await rest();
  }
  return found;
}

/** The time by which a lease has lapsed. No process but this one uses a store in memory, so none lapses there. */
export const timeOf = ({ store, world }: Core): { readonly now?: number } =>
  store.isDurable ? { now: world.now() } : {};

function requirePage(page: TurnsPage): void {
  requireOptions("turns.list", page, PAGE);
  const { state, outcome, after, max, since, until, session, model } = page;
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (state !== undefined && !STATES.includes(state)) wrong("state", `it must be one of ${STATES.join(", ")}`);
  if (outcome !== undefined && !OUTCOMES.includes(outcome))
    wrong("outcome", `it must be one of ${OUTCOMES.join(", ")}`);
  if (page.owner !== undefined) checkedOwner(page.owner);
  if (session !== undefined && typeof session !== "string") wrong("session", "it must be an id");
  if (model !== undefined && typeof model !== "string") wrong("model", "it must be the name of a model");
  for (const [option, value] of Object.entries({ since, until }))
    if (value !== undefined && !(typeof value === "number" && !Number.isNaN(value)))
      wrong(option, "it must be a time in milliseconds");
  if (after !== undefined && !(typeof after === "string" && /^[1-9]\d{0,15}$/.test(after)))
    throw new RuntimeError("cursor.unknown", { cursor: String(after) });
  if (max !== undefined && !(Number.isInteger(max) && max >= 1 && max <= MAX.most))
    wrong("max", `it must be a whole number from 1 to ${MAX.most}`);
}

/** An input that opens its turn within this time did not wait. */
const WAITED_MS = 100;
const queuedAt = (acceptedAt: number | undefined, startedAt: number): number | undefined =>
  acceptedAt !== undefined && startedAt - acceptedAt >= WAITED_MS ? acceptedAt : undefined;

const SHOWN_STATES = { waiting: "queued", open: "running", parked: "waiting", ended: "ended" } as const;

export function recordOf(
  { prices }: Core,
  { turnId: id, sessionId, state, isOrphan, end, cursor }: StoredTurn,
): TurnRecord {
  const shown = isOrphan === true ? "interrupted" : SHOWN_STATES[state];
  if (end === undefined) return { id, sessionId, state: shown, hasJournal: state !== "waiting", cursor };
  const { at: endedAt, outcome, code, usage, summary, journalBytes } = end;
  const { spent, ...about } = summary ?? { spent: undefined };
  const rows = spent ?? (summary && [{ source: "turn", model: summary.model, usage, calls: 1 }]);
  const cost = rows && costOf(rows, prices);
  const hasJournal = journalBytes !== undefined;
  return defined({
    id,
    sessionId,
    state: shown,
    outcome,
    code,
    ...about,
    acceptedAt: summary && queuedAt(summary.acceptedAt, summary.startedAt),
    endedAt,
    usage,
    cost,
    hasJournal,
    cursor,
  }) as TurnRecord;
}

/** Adds what is known of an open turn only from its journal, and of a queued one from its input. */
async function withStart(core: Core, record: TurnRecord, waiting = waitingInputs(core)): Promise<TurnRecord> {
  if (record.state === "ended") return record;
  if (record.state === "queued") {
    const input = await waiting(record);
    return input === undefined ? record : { ...record, ...defined({ acceptedAt: input.at, metadata: input.metadata }) };
  }
  const events = await readable(() => openEvents(core, record.sessionId, record.id));
  const opened = events[0] as Opened | undefined;
  if (opened === undefined) return record; // The turn has ended in the meantime.
  const { at: startedAt, config, metadata, acceptedAt } = opened;
  const rounds = Math.max(1, ...events.map((event) => ("effect" in event ? roundIn(event.effect) : 1)));
  const resumes = events.filter(({ kind }) => kind === "resumed").length;
  const known = {
    acceptedAt: queuedAt(acceptedAt, startedAt),
    startedAt,
    model: config.model,
    rounds,
    resumes: resumes === 0 ? undefined : resumes,
    metadata,
  };
  return { ...record, ...(defined(known) as Partial<TurnRecord>) };
}

/** A damaged journal must not hide its turn. `timeline` reports the damage. */
async function readable(read: () => Awaitable<readonly TurnEvent[]>): Promise<readonly TurnEvent[]> {
  try {
    return await read();
  } catch (error) {
    if (hasCode(error, "store.corrupt")) return [];
    throw error;
  }
}

/** The events of an open turn. A host that stores none of them has them in memory, if this process runs the turn. */
async function openEvents(
  { store, sessions }: Core,
  session: SessionId,
  turnId: TurnId,
): Promise<readonly TurnEvent[]> {
  const running = sessions.find(session)?.running;
  if (!store.isDurable && running?.turnId === turnId && running.events !== undefined) return [...running.events];
  return store.journal(turnId, 0);
}

/** Finds the inputs of queued turns. The inputs of a session are read once. */
function waitingInputs({ store }: Core) {
  const known = new Map<SessionId, Promise<readonly PendingInput[]>>();
  return async ({ sessionId, id }: Pick<TurnRecord, "sessionId" | "id">): Promise<PendingInput | undefined> => {
    const inputs = known.get(sessionId) ?? (async () => store.inputs.list(sessionId))();
    known.set(sessionId, inputs);
    return (await inputs).find((input) => input.turnId === id);
  };
}

const roundIn = (effect: string): number => Number(/^r(\d+)\./.exec(effect)?.[1] ?? 1);

async function requireTurn(core: Core, id: string): Promise<StoredTurn> {
  const found = typeof id === "string" ? await core.store.turns.get(asTurnId(id), timeOf(core).now) : undefined;
  if (found === undefined) throw new RuntimeError("turn.unknown", { turnId: typeof id === "string" ? id : typeof id });
  return found;
}

interface Journal {
  readonly events: readonly TurnEvent[];
  readonly isOpen: boolean;
}

const damaged = (turnId: TurnId, problem: string): RuntimeError =>
  new RuntimeError("store.corrupt", { item: `the journal of turn ${turnId}`, problem });

/** The whole journal of a turn, open or ended. */
async function journalOf(core: Core, { turnId, sessionId, end }: StoredTurn): Promise<Journal> {
  const { store } = core;
  if (end === undefined) {
    const events = await openEvents(core, sessionId, turnId);
    if (events.length > 0) return { events, isOpen: true };
    const again = await store.turns.get(turnId);
    if (again?.end === undefined) throw new RuntimeError("turn.no-journal", { turnId, problem: "it has not started" });
  }
  const stored = await store.turns.journal(turnId);
  if (stored === undefined) {
    // A sweep may have removed the journal in the meantime.
    const { journalBytes } = (await store.turns.get(turnId))?.end ?? {};
    if (journalBytes !== undefined) throw damaged(turnId, "it is missing");
    throw new RuntimeError("turn.no-journal", { turnId, problem: "it is not kept" });
  }
  const [own, ...events] = stored.events as [Opened | undefined, ...TurnEvent[]];
  if (own?.kind !== "opened") throw damaged(turnId, "its first event is missing");
  const opened = stored.setting === undefined ? own : { ...own, ...(await settingOf(core, turnId, stored.setting)) };
  return { events: [opened, ...events], isOpen: false };
}

async function settingOf(core: Core, turnId: TurnId, hash: BlobHash): Promise<Partial<Opened>> {
  const setting = await readBlob(core, hash);
  if (setting === undefined) throw damaged(turnId, "its setting is missing");
  return sound(turnId, () => JSON.parse(setting) as Partial<Opened>);
}

/** Reads values that the store does not always check. */
function sound<T>(turnId: TurnId, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw damaged(turnId, describeThrown(error));
  }
}

async function readBlob({ store }: Core, hash: BlobHash): Promise<string | undefined> {
  const data = await store.blobs.get(hash);
  return data && new TextDecoder().decode(data);
}

async function get(core: Core, id: string): Promise<TurnReport> {
  const { store } = core;
  const stored = await requireTurn(core, id);
  const { outcome: _, code: __, ...record } = await withStart(core, recordOf(core, stored));
  const [terminal, session, journal] = await Promise.all([
    stored.end === undefined ? undefined : store.terminal(stored.turnId),
    requireStored(core, stored.sessionId),
    journalOf(core, stored).catch(() => undefined), // `timeline` reports why it cannot be read.
  ]);
  const known = journal && reading(core, session, journal.events);
  const [from, to] = [record.startedAt ?? Infinity, record.endedAt ?? Infinity];
  const children = (await store.list({ parent: session.id })).filter(
    ({ createdAt }) => createdAt >= from && createdAt <= to,
  );
  return defined({
    ...record,
    input: known?.input ?? (record.state === "queued" ? await waitingInputs(core)(record) : undefined)?.message.parts,
    outcome: terminal?.outcome,
    endedAs: terminal?.committed.cursor,
    parentId: session.parentId,
    sentBy: (await senderOf(core, stored)) ?? (await jobOf(core, session)),
    children: children.map((child) => child.id),
    waits: known?.waits ?? [],
    resumed: known?.resumed,
  }) as TurnReport;
}

/** Plugins, tools and jobs send inputs under keys that begin with their turn or job. An app may use a similar key. */
async function senderOf({ store }: Core, { key = "" }: StoredTurn): Promise<TurnDetails["sentBy"]> {
  const [, turn, job] = /^(?:(trn_\w+)\/|job[:/](\w+)(?:[:/]|$))/.exec(key) ?? [];
  if (turn !== undefined && (await store.turns.get(asTurnId(turn))) !== undefined) return { turnId: asTurnId(turn) };
  if (job !== undefined && (await store.jobs.load(asJobId(job))) !== undefined) return { jobId: asJobId(job) };
  return undefined;
}

/** The job of a subagent. The plugin's key of the input does not name the job. */
async function jobOf({ store }: Core, { id, parentId }: StoredSession): Promise<TurnDetails["sentBy"]> {
  if (parentId === undefined) return undefined;
  const jobs = await store.jobs.list({ session: parentId, max: Infinity });
  const own = jobs.find(({ record }) => record.childId === id);
  return own && { jobId: own.record.id };
}

/** The data from the journal for `get`; undefined if its events are damaged. */
function reading(core: Core, session: StoredSession, events: readonly TurnEvent[]) {
  try {
    const opened = events[0] as Opened;
    const driver = driverFor(core, session, opened);
    return {
      input: opened.input.parts,
      waits: waitsIn(events, driver),
      resumed: resumedIn(events, driver),
    };
  } catch {
    return undefined; // `timeline` reports the damage.
  }
}

/** The questions of a turn. */
function waitsIn(events: readonly TurnEvent[], driver: ProtocolDriver | undefined): readonly RecordedWait[] {
  const { items } = timelineOf(events, driver);
  return items.flatMap((item): readonly RecordedWait[] => {
    if (item.kind !== "wait" || item.wants === "turns" || item.call === undefined) return [];
    const { effect, id, wants, call, reason, startedAt: askedAt, until, endedAt: answeredAt, how, by } = item;
    return [defined({ effect, id, wants, call, reason, askedAt, until, answeredAt, how, by }) as RecordedWait];
  });
}

function resumedIn(
  events: readonly TurnEvent[],
  driver: ProtocolDriver | undefined,
): NonNullable<TurnReport["resumed"]> {
  const why = whyResumed(events, driver);
  return events
    .filter((event) => event.kind === "resumed")
    .map(({ at, by, isFault }, nth) => defined({ at, by, why: why[nth], isFault }));
}

async function timeline(core: Core, id: string): Promise<TurnTimeline> {
  const stored = await requireTurn(core, id);
  const { events, isOpen, items, isExact } = await foldedTurn(core, stored);
  const opened = events[0] as Opened;
  return {
    turnId: stored.turnId,
    sessionId: stored.sessionId,
    isOpen,
    startedAt: opened.at,
    endedAt: stored.end?.at ?? (events.at(-1) as TurnEvent).at,
    isExact,
    rounds: await roundsIn(core, stored.turnId, events),
    items,
  };
}

async function foldedTurn(core: Core, stored: StoredTurn): Promise<Journal & Folded> {
  const journal = await journalOf(core, stored);
  const session = await requireStored(core, stored.sessionId);
  const driver = driverFor(core, session, journal.events[0] as Opened);
  return { ...journal, ...sound(stored.turnId, () => timelineOf(journal.events, driver)) };
}

/** What happened in a turn; undefined if its journal is damaged, or gone meanwhile. `timeline` reports why. */
export const readTimeline = (core: Core, stored: StoredTurn): Promise<Folded | undefined> =>
  foldedTurn(core, stored).catch((error: unknown) => {
    if (GONE.some((code) => hasCode(error, code))) return undefined;
    throw error;
  });
const GONE = ["store.corrupt", "turn.no-journal", "session.unknown"] as const;

/** The driver of the turn's protocol; undefined if it is not installed here in that version. */
function driverFor(core: Core, session: StoredSession, { options, protocol }: Opened): ProtocolDriver | undefined {
  try {
    const driver = core.sessions.driverOf(session, options);
    return driver.id === protocol.id && driver.version === protocol.version ? driver : undefined;
  } catch {
    return undefined;
  }
}

async function roundsIn(core: Core, turnId: TurnId, events: readonly TurnEvent[]): Promise<readonly RecordedRound[]> {
  const rounds: RecordedRound[] = [];
  const texts = new Map<BlobHash, Promise<string>>();
  const read = (hash: BlobHash): Promise<string> => {
    const known = texts.get(hash) ?? requireText(core, turnId, hash);
    texts.set(hash, known);
    return known;
  };
  let latest: { readonly prompt?: BlobHash; readonly catalog?: BlobHash; readonly parts?: BlobHash } = {};
  let startedAt = (events[0] as Opened).at;
  for (const event of events) {
    if (event.kind === "prepared") {
      const { prompt, catalog, parts } = event;
      latest = { ...latest, ...(defined({ prompt, catalog, parts }) as typeof latest) };
    }
    const isRound = event.kind === "prepared" || event.kind === "replied";
    const round = isRound ? roundIn(event.effect) : 0;
    if (isRound && rounds.at(-1)?.round !== round) {
      const { prompt, catalog, parts } = latest;
      const [system, tools, made] = [
        prompt && (await read(prompt)),
        catalog && (await read(catalog)),
        parts && (await read(parts)),
      ];
      const tail = event.kind === "prepared" ? event.tail : undefined;
      rounds.push(
        sound(turnId, () =>
          defined({
            round,
            startedAt,
            prompt: system,
            parts: made && partsIn(JSON.parse(made) as PromptParts),
            tools: tools && (JSON.parse(tools) as ToolDeclaration[]),
            tail,
          }),
        ) as RecordedRound,
      );
    }
    startedAt = event.at;
  }
  return rounds;
}

const partsIn = ({ given, plugins }: PromptParts): readonly PromptPart[] => [...given, ...plugins];

async function requireText(core: Core, turnId: TurnId, hash: BlobHash): Promise<string> {
  const text = await readBlob(core, hash);
  if (text === undefined) throw damaged(turnId, `the blob ${hash} is missing`);
  return text;
}
