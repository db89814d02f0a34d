// Turns as records: lists, one turn with all that is known of it, and its timeline. Nothing here opens a session.
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { asJobId, asSessionId, asTurnId, asWaitKey, type BlobHash, type WaitKey } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import type { RecordedRound, RecordedWait, TurnDetails, TurnRecord, TurnTimeline } from "../../model/turn-record.ts";
import { costOf } from "../../model/usage.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { StoredTurn } from "../../stores/store.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { checkedOwner, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { requireStored } from "../services/reading.ts";
import { timelineOf } from "./timeline.ts";

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
const OLDER_MAX = 1_000;
const SLICE = 200;

/** Turns of all sessions, open or ended, also those that other processes run. */
export interface Turns {
  list(page?: TurnsPage): Promise<readonly TurnRecord[]>;
  /** Finds a turn as `list` shows it. Undefined if there is none. */
  find(id: string): Promise<TurnRecord | undefined>;
  /** Throws `turn.unknown`. */
  get(id: string): Promise<TurnDetails>;
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
  const stored = typeof id === "string" ? await core.store.turns.get(asTurnId(id)) : undefined;
  return stored && withStart(core, recordOf(core, stored));
}

async function list(core: Core, page: TurnsPage): Promise<readonly TurnRecord[]> {
  requirePage(page);
  const { session, owner, state, outcome, model, since = -Infinity, until = Infinity, after, max = MAX.default } = page;
  const found: TurnRecord[] = [];
  let older = 0;
  for (let before = after; found.length < max && older < OLDER_MAX; ) {
    const turns = await core.store.turns.list({
      max: SLICE,
      ...(session === undefined ? {} : { session: asSessionId(session) }),
      ...(before === undefined ? {} : { before }),
    });
    for (const stored of turns) {
      const short = recordOf(core, stored);
      if (owner !== undefined && stored.owner !== owner) continue;
      if (state !== undefined && short.state !== state) continue;
      if (outcome !== undefined && short.outcome !== outcome) continue;
      const record = await withStart(core, short);
      const startedAt = record.startedAt ?? record.endedAt;
      older = startedAt !== undefined && startedAt < since ? older + 1 : 0;
      const isInTime =
        startedAt === undefined ? since === -Infinity && until === Infinity : startedAt >= since && startedAt < until;
      if (isInTime && (model === undefined || record.model === model)) found.push(record);
      if (found.length === max) break;
    }
    before = turns.at(-1)?.cursor;
    if (turns.length < SLICE || before === undefined) break;
  }
  return found;
}

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
    if (value !== undefined && typeof value !== "number") wrong(option, "it must be a time in milliseconds");
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

function recordOf({ prices }: Core, { turnId: id, sessionId, state, isOrphan, end, cursor }: StoredTurn): TurnRecord {
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

/** The start and the model of a running turn are in its journal only. */
async function withStart({ store }: Core, record: TurnRecord): Promise<TurnRecord> {
  if (record.state === "ended" || record.state === "queued") return record;
  const events = await readable(() => store.journal(record.id, 0));
  const opened = events[0] as Opened | undefined;
  if (opened === undefined) return record; // It has ended meanwhile.
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

const roundIn = (effect: string): number => Number(/^r(\d+)\./.exec(effect)?.[1] ?? 1);

async function requireTurn({ store }: Core, id: string): Promise<StoredTurn> {
  const found = typeof id === "string" ? await store.turns.get(asTurnId(id)) : undefined;
  if (found === undefined) throw new RuntimeError("turn.unknown", { turnId: typeof id === "string" ? id : typeof id });
  return found;
}

interface Journal {
  readonly events: readonly TurnEvent[];
  readonly isOpen: boolean;
}

/** The whole journal of a turn, open or ended. */
async function journalOf(core: Core, { turnId, end }: StoredTurn): Promise<Journal> {
  const { store } = core;
  if (end === undefined) {
    const events = await store.journal(turnId, 0);
    if (events.length > 0) return { events, isOpen: true };
    const again = await store.turns.get(turnId);
    if (again?.end === undefined) throw new RuntimeError("turn.no-journal", { turnId, problem: "it has not started" });
  }
  const kept = await store.turns.journal(turnId);
  if (kept === undefined) throw new RuntimeError("turn.no-journal", { turnId, problem: "it is not kept" });
  if (kept.setting === undefined) return { events: kept.events, isOpen: false };
  const item = `the journal of turn ${turnId}`;
  const setting = await readBlob(core, kept.setting);
  if (setting === undefined) throw new RuntimeError("store.corrupt", { item, problem: "its setting is missing" });
  const [own, ...events] = kept.events as [Opened, ...TurnEvent[]];
  return { events: [{ ...own, ...JSON.parse(setting) } as Opened, ...events], isOpen: false };
}

async function readBlob({ store }: Core, hash: BlobHash): Promise<string | undefined> {
  const data = await store.blobs.get(hash);
  return data && new TextDecoder().decode(data);
}

async function get(core: Core, id: string): Promise<TurnDetails> {
  const { store } = core;
  const stored = await requireTurn(core, id);
  const { outcome: _, code: __, ...record } = await withStart(core, recordOf(core, stored));
  const [terminal, session, events] = await Promise.all([
    stored.end === undefined ? undefined : store.terminal(stored.turnId),
    requireStored(core, stored.sessionId),
    journalOf(core, stored).then(
      (journal) => journal.events,
      () => undefined, // `timeline` reports why it cannot be read.
    ),
  ]);
  const opened = events?.[0] as Opened | undefined;
  const [from, to] = [record.startedAt ?? Infinity, record.endedAt ?? Infinity];
  const children = (await store.list({ parent: session.id, max: 1_000 })).filter(
    ({ createdAt }) => createdAt >= from && createdAt <= to,
  );
  return defined({
    ...record,
    input: opened?.input.parts ?? (await queuedInput(core, stored)),
    outcome: terminal?.outcome,
    endedAs: terminal?.committed.cursor,
    parentId: session.parentId,
    sentBy: await senderOf(core, stored),
    children: children.map((child) => child.id),
    waits: events === undefined ? [] : waitsIn(core, events, session),
    resumed: events?.flatMap((event) =>
      event.kind === "resumed" ? [defined({ at: event.at, by: event.by, isFault: event.isFault })] : [],
    ),
  }) as TurnDetails;
}

/** Plugins, tools and jobs send inputs under keys that begin with their turn or job. An app may use a similar key. */
async function senderOf({ store }: Core, { key = "" }: StoredTurn): Promise<TurnDetails["sentBy"]> {
  const [, turn, job] = /^(?:(trn_\w+)\/|job[:/](\w+)(?:[:/]|$))/.exec(key) ?? [];
  if (turn !== undefined && (await store.turns.get(asTurnId(turn))) !== undefined) return { turnId: asTurnId(turn) };
  if (job !== undefined && (await store.jobs.load(asJobId(job))) !== undefined) return { jobId: asJobId(job) };
  return undefined;
}

async function queuedInput({ store }: Core, { state, sessionId, turnId }: StoredTurn): Promise<TurnDetails["input"]> {
  if (state !== "waiting") return undefined;
  return (await store.inputs.list(sessionId)).find((input) => input.turnId === turnId)?.message.parts;
}

/** The questions of a turn. */
function waitsIn(
  core: Core,
  events: readonly TurnEvent[],
  session: Parameters<typeof driverFor>[1],
): readonly RecordedWait[] {
  const { items } = timelineOf(events, driverFor(core, session, events[0] as Opened));
  return items.flatMap((item): readonly RecordedWait[] => {
    if (item.kind !== "wait" || item.wants === "turns" || item.call === undefined) return [];
    const { effect, id, wants, call, reason, startedAt: askedAt, until, endedAt: answeredAt, how, by } = item;
    return [defined({ effect, id, wants, call, reason, askedAt, until, answeredAt, how, by }) as RecordedWait];
  });
}

async function timeline(core: Core, id: string): Promise<TurnTimeline> {
  const stored = await requireTurn(core, id);
  const { events, isOpen } = await journalOf(core, stored);
  const opened = events[0] as Opened;
  const session = await requireStored(core, stored.sessionId);
  const { items, isExact } = timelineOf(events, driverFor(core, session, opened));
  return {
    turnId: stored.turnId,
    sessionId: stored.sessionId,
    isOpen,
    startedAt: opened.at,
    endedAt: stored.end?.at ?? (events.at(-1) as TurnEvent).at,
    isExact,
    rounds: await roundsIn(core, events),
    items,
  };
}

/** The driver of the turn's protocol; undefined if it is not installed here in that version. */
function driverFor(core: Core, session: Awaited<ReturnType<typeof requireStored>>, { options, protocol }: Opened) {
  try {
    const driver = core.sessions.driverOf(session, options);
    return driver.id === protocol.id && driver.version === protocol.version ? driver : undefined;
  } catch {
    return undefined;
  }
}

async function roundsIn(core: Core, events: readonly TurnEvent[]): Promise<readonly RecordedRound[]> {
  const rounds: RecordedRound[] = [];
  const texts = new Map<BlobHash, Promise<string | undefined>>();
  const read = (hash: BlobHash | undefined): Promise<string | undefined> | undefined => {
    if (hash === undefined) return undefined;
    const known = texts.get(hash) ?? readBlob(core, hash);
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
    if (event.kind === "prepared" || event.kind === "replied") {
      const round = roundIn(event.effect);
      const tail = event.kind === "prepared" ? event.tail : undefined;
      const [prompt, catalog, parts] = await Promise.all([
        read(latest.prompt),
        read(latest.catalog),
        read(latest.parts),
      ]);
      if (rounds.at(-1)?.round !== round)
        rounds.push(
          defined({
            round,
            startedAt,
            prompt,
            parts: parts === undefined ? undefined : (JSON.parse(parts) as PromptPart[]),
            tools: catalog === undefined ? undefined : (JSON.parse(catalog) as ToolDeclaration[]),
            tail,
          }) as RecordedRound,
        );
    }
    startedAt = event.at;
  }
  return rounds;
}
