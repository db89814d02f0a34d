import { RuntimeError } from "../../model/errors.ts";
import type { InputId, JobId, SessionId } from "../../model/ids.ts";
import type { JobEvent } from "../../model/job.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt, jobLost } from "../rows/faults.ts";
import { EXTERNAL, RERUNNABLE, turnAsParent } from "../rows/job.ts";
import type {
  JobAppended,
  JobLease,
  JobSent,
  JobSpawn,
  JobWrites,
  KeyedEvent,
  NewInput,
  ParkedJob,
  StoredJob,
  StoredJobEvent,
} from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction } from "./database.ts";
import { type Awaits, addAwaits, awaitsOf, isMet } from "./job-awaits.ts";
import { type Changes, changesOf, JobDraft, numbersOf } from "./job-draft.ts";
import { endCancelled, forgetJobs, hintAtJobs, isNobodys, keepAll, type Times } from "./job-ends.ts";
import { eventsUnder } from "./job-events.ts";
import { saidBy, say } from "./job-lines.ts";
import { holderOf } from "./job-owners.ts";
import {
  FIRST,
  firstOf,
  idOf,
  type JobRow,
  jobCursorOf,
  type KeptId,
  keptId,
  lockChildren,
  lockJob,
  lockJobsOf,
  lockTouching,
  movesIn,
  OVER,
  requireSpawned,
  type StoredRow,
  shownJob,
  startOver,
} from "./job-row.ts";
import { spawnJob, spawnJobs } from "./job-spawns.ts";
import type { SessionRow } from "./session-row.ts";
import { addWaits, moveWaits, type TellJob } from "./waits.ts";

/** Who accepts the inputs with which jobs wake their sessions. */
export interface Inputs {
  /** The id of an input that came before: under its key, or under its id. */
  inputBefore(tx: Transaction, session: number, input: NewInput): Promise<InputId | undefined>;
  /** Accepts an input that opens no turn here, under the lock of its session. */
  acceptWaiting(tx: Transaction, session: SessionRow, input: NewInput): Promise<void>;
}

/**
 * What happens to jobs. Who may take one (`job-claims.ts`), what the end of one means to others (`job-ends.ts`) and how
 * they are listed (`job-list.ts`) is not its job.
 *
 * 1. The fence: a lease holds while no later generation was given out and the job is neither parked nor over. Whether its
 *    owner is gone says only whether somebody else may claim the job.
 * 2. What is written about a job is written under the lock of its row. A write that wakes its session, or asks somebody,
 *    locks the session first: which one it is is read before, and looked at again after.
 * 3. A write locks and reads, decides, and sends what it writes with the commit. The numbers of changes are taken last.
 */
export class Jobs {
  readonly #db: Database;
  readonly #blobs: Blobs;
  #inputs: Inputs | undefined;

  constructor(db: Database, blobs: Blobs) {
    this.#db = db;
    this.#blobs = blobs;
  }

  /** Turns begin jobs, and jobs wake sessions: each needs the other. */
  wakesBy(inputs: Inputs): void {
    this.#inputs = inputs;
  }

  #keepNamed(tx: Transaction, events: readonly JobEvent[]): Promise<void> {
    return this.#blobs.keepNamed(tx, () => JSON.stringify(events));
  }

  #times(now: number): Times {
    return { now, time: this.#db.time(now) };
  }

  // ── Beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Begins a job unless it is there. */
  spawn(spawn: JobSpawn, max: number): Promise<StoredJob> {
    return this.#db.write((tx) => spawnJob(tx, this.#db, this.#blobs, spawn, max));
  }

  /**
   * Begins jobs with something else that is written, however many there are. What is there under an id stays. The session
   * that this is written in is locked already; it is to be called before facts are told.
   */
  async spawnAll(tx: Transaction, spawns: readonly JobSpawn[], now: number): Promise<void> {
    if (spawns.length > 0) await spawnJobs(tx, this.#db, this.#blobs, spawns, now);
  }

  // ── By its holder ─────────────────────────────────────────────────────────────────────────────────────────────────

  async append(
    lease: JobLease,
    events: readonly KeyedEvent[],
    now: number,
    more: JobWrites = {},
  ): Promise<JobAppended> {
    const work = (tx: Transaction) => this.#append(tx, lease, events, now, more);
    const { draft, changes, told, isParked } = await this.#db.write(work, this.#db.heldMs);
    const changed = (await numbersOf(this.#db, changes)).get(draft.before.n)!;
    const answer = { events: told, cursor: jobCursorOf(changed), seq: draft.seq };
    return isParked === undefined ? answer : { ...answer, isParked };
  }

  async #append(
    tx: Transaction,
    lease: JobLease,
    events: readonly KeyedEvent[],
    now: number,
    more: JobWrites,
  ): Promise<Appending> {
    const id = keptId(lease.jobId);
    const awaits = more.parks?.awaits && awaitsOf(more.parks.awaits);
    const isTouching = awaits !== undefined || events.some(({ event }) => mayTouch(event));
    const isTelling = hasSome(more.wakes) || hasSome(more.waits);
    const keys = events.map(({ key }) => key);
    const [session, rows, under, said] = await Promise.all([
      isTelling ? lockSessionOf(tx, id) : undefined,
      isTouching ? lockTouching(tx, [id], awaits?.jobs) : lockJob(tx, id).then((row) => (row ? [row] : [])),
      eventsUnder(tx, id, keys),
      more.says && saidBy(tx, id),
    ]);
    const before = rows.find((row) => row.id === id);
    if (before === undefined) throw jobLost(lease);
    if (isTelling && session?.n !== before.session) throw startOver();
    const draft = new JobDraft(before, keys, under);
    const isHeld = before.generation === lease.generation && !before.is_parked && before.state !== OVER;
    if (!isHeld) return { draft, changes: changesOf(tx, [draft]), ...repeated(draft, lease, events, more) };
    if (draft.isOrphan) requireAbandoned(before, events, more);
    await this.#keepNamed(
      tx,
      events.map(({ event }) => event),
    );
    const told = events.map((event) => draft.tell(event));
    const inputs = await this.#wake(tx, draft, session, more, now);
    const isParked = more.parks && canPark(draft, more.parks, awaits, rows);
    if (isParked) park(tx, draft, more.parks!, awaits);
    if (more.says !== undefined) say(tx, before.n, said!, more.says);
    await keepAll(tx, [draft], this.#times(now));
    const changes = changesOf(tx, [draft]);
    for (const input of inputs) await this.#inputs!.acceptWaiting(tx, session!, input);
    if (hasSome(more.waits) && draft.state !== OVER)
      await addWaits(tx, { session: before.session, turn: 0, job: before.id }, more.waits!);
    return { draft, changes, told, isParked };
  }

  /** Tells of inputs for the session that has the job, and answers those that are to be accepted. */
  async #wake(
    tx: Transaction,
    draft: JobDraft,
    session: SessionRow | undefined,
    { wakes = [], wakesMax = Infinity }: Pick<JobWrites, "wakes" | "wakesMax">,
    now: number,
  ): Promise<readonly NewInput[]> {
    const accepted: NewInput[] = [];
    for (const given of wakes) {
      const input = { ...given, sessionId: session!.id };
      // An input that came under the key before is the one that was told, whatever this one says.
      const known = beforeIn(accepted, input) ?? (await this.#inputs!.inputBefore(tx, session!.n, input));
      const inputId = known ?? input.id;
      const key = `wake/${inputId}`;
      if ((await draft.find(tx, key)) !== undefined) continue;
      const isFull = known === undefined && draft.moves.wakes >= wakesMax;
      if (!isFull && known === undefined) accepted.push(input);
      draft.tell({ key, event: { kind: "woke", inputId, at: now, ...(isFull ? { lost: "full" } : {}) } });
    }
    return accepted;
  }

  // ── By others ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async send(
    id: JobId,
    sent: KeyedEvent,
    now: number,
    more: Pick<JobWrites, "wakes" | "wakesMax"> = {},
  ): Promise<JobSent> {
    const sending = await this.#db.write((tx) => this.#send(tx, id, sent, now, more));
    if (sending === undefined) return { said: "unknown" };
    const { said = "accepted", draft, first, changes } = sending;
    const numbers = await numbersOf(this.#db, changes);
    return { said, job: shownJob(draft.row, first, numbers.get(draft.before.n)) };
  }

  async #send(tx: Transaction, id: JobId, sent: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax">) {
    const kept = keptId(id);
    const keys = ["spawned", "end", sent.key];
    const isTelling = hasSome(more.wakes);
    const [session, rows, under, holder] = await Promise.all([
      isTelling ? lockSessionOf(tx, kept) : undefined,
      mayTouch(sent.event) ? lockTouching(tx, [kept]) : lockJob(tx, kept).then((row) => (row ? [row] : [])),
      eventsUnder(tx, kept, keys),
      holderOf(tx, kept, this.#db.time(now)),
    ]);
    const before = rows.find((row) => row.id === kept);
    if (before === undefined) return undefined;
    if (isTelling && session?.n !== before.session) throw startOver();
    const draft = new JobDraft(before, keys, under);
    const first = requireSpawned(kept, draft.under("spawned")?.event);
    const said = refusal(draft, sent);
    if (said !== undefined) return { said, draft, first, changes: changesOf(tx, [draft]) };
    await this.#keepNamed(tx, [sent.event]);
    draft.tell(sent);
    if (sent.event.kind === "cancelling" && isNobodys(before, holder)) await endCancelled(tx, draft, now);
    draft.rouse();
    const inputs = await this.#wake(tx, draft, session, more, now);
    await keepAll(tx, [draft], this.#times(now));
    hintAtJobs(tx);
    const changes = changesOf(tx, [draft]);
    for (const input of inputs) await this.#inputs!.acceptWaiting(tx, session!, input);
    return { said, draft, first, changes };
  }

  /** A wait of a job was answered. Its session is locked; it is to be called before that is told as a fact. */
  readonly resolved: TellJob = async (tx, id, wait, answer, now) => {
    const key = `wait/${wait}`;
    const [before, under, open] = await Promise.all([
      lockJob(tx, id),
      eventsUnder(tx, id, [key]),
      tx.row("SELECT 1 FROM @wait WHERE id = $1 AND key IS NOT NULL", wait),
    ]);
    if (open === undefined) throw startOver(); // The job has ended before it was locked.
    if (before === undefined) throw corrupt(`The wait ${wait}`, "its job is missing");
    const draft = new JobDraft(before, [key], under);
    draft.tell({ key: await draft.freeKey(tx, key), event: { kind: "resolved", wait, answer, at: now } });
    draft.rouse();
    draft.keep(tx);
    hintAtJobs(tx);
  };

  /** A turn is over: what was begun in it, and is to end with it, is sent a cancel. To be called before facts are told. */
  async turnEnded(tx: Transaction, turn: string, now: number): Promise<void> {
    const parent = keyText(turnAsParent(turn));
    const rows = await lockChildren(tx, parent);
    if (rows.length > 0) await keepAll(tx, [], this.#times(now), [parent]);
  }

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async transfer(from: SessionId, to: SessionId, ids: readonly JobId[], now: number): Promise<readonly StoredJob[]> {
    const kept = [...new Set(ids.map(keptId))];
    const { drafts, firsts, changes } = await this.#db.write(async (tx) => {
      const [sessions, gone, rows, first] = await Promise.all([
        tx.rows<SessionRow>(LOCK_SESSIONS, [from, to]),
        tx.rows<{ id: SessionId }>("SELECT id FROM @gone WHERE id = ANY ($1::text[])", [from, to]),
        tx.rows<JobRow>("SELECT * FROM @job WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE", kept),
        tx.rows<Pick<StoredRow, "id" | "first">>(FIRSTS, kept),
      ]);
      const [source, target] = [from, to].map((id) => requireNotGone(id, sessions, gone)) as [number, number];
      const drafts = kept.map((id) => new JobDraft(requireRow(id, rows), [], []));
      for (const draft of drafts) {
        if (draft.before.session === target) continue;
        requireMovable(draft.before, source, from);
        const key = await draft.freeKey(tx, `transferred/${draft.before.seq + 1}`);
        draft.tell({ key, event: { kind: "transferred", to, at: now } });
        draft.change({ session: target });
      }
      for (const draft of drafts) {
        if (draft.told.length > 0) await moveWaits(tx, draft.before.id, target);
        draft.keep(tx);
      }
      return { drafts, firsts: first, changes: changesOf(tx, drafts) };
    });
    const numbers = await numbersOf(this.#db, changes);
    const jobs = new Map(
      drafts.map(({ row }) => {
        const first = firstOf(firsts.find(({ id }) => id === row.id)!);
        return [row.id, shownJob(row, first, numbers.get(row.n))] as const;
      }),
    );
    return ids.map((id) => jobs.get(keptId(id))!);
  }

  remove(id: JobId): Promise<boolean> {
    return this.#db.write(async (tx) => {
      const kept = keptId(id);
      const row = (await lockTouching(tx, [kept])).find((each) => each.id === kept);
      if (row === undefined || (row.state !== OVER && row.recovery !== EXTERNAL)) return false;
      await forgetJobs(tx, [row]);
      return true;
    });
  }

  /** Removes those of these jobs that are over. */
  async forgetOver(tx: Transaction, ids: readonly JobId[]): Promise<void> {
    if (ids.length === 0) return;
    const kept = new Set(ids.map(keptId));
    const rows = await lockTouching(tx, [...kept]);
    await forgetJobs(
      tx,
      rows.filter(({ id, state }) => kept.has(id) && state === OVER),
    );
  }

  /** Removes the jobs of a session that is about to be deleted, and is locked. */
  async forgetOf(tx: Transaction, session: number): Promise<void> {
    const rows = await lockJobsOf(tx, session);
    await forgetJobs(
      tx,
      rows.filter((row) => row.session === session),
    );
  }
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Appending {
  readonly draft: JobDraft;
  readonly changes: Changes;
  readonly told: readonly StoredJobEvent[];
  readonly isParked: boolean | undefined;
}

const hasSome = (list: readonly unknown[] | undefined): boolean => list !== undefined && list.length > 0;

/** Whether an event may make a job over or idle, which touches others. */
const mayTouch = (event: JobEvent): boolean =>
  event.kind === "ended" || event.kind === "cancelling" || (event.kind === "transitioned" && event.state === "idle");

const LOCK_SESSION_OF = "SELECT * FROM @session WHERE n = (SELECT session FROM @job WHERE id = $1) FOR UPDATE";

/** Locks the session that has a job, before the job: it may have another one once that is locked. */
const lockSessionOf = (tx: Transaction, id: KeptId): Promise<SessionRow | undefined> => tx.row(LOCK_SESSION_OF, id);

/** The answer to a call that was done before: the one that ended the job, or the one that parked it. */
function repeated(
  draft: JobDraft,
  lease: JobLease,
  events: readonly KeyedEvent[],
  { parks }: JobWrites,
): Pick<Appending, "told" | "isParked"> {
  const { before } = draft;
  const told = events.map(({ key }) => draft.under(key)).filter((event) => event !== undefined);
  const isParked = parks !== undefined && before.is_parked && before.generation === lease.generation;
  const isRepeat = before.state === OVER ? events.length > 0 : isParked;
  if (told.length < events.length || !isRepeat) throw jobLost(lease);
  return { told, isParked: parks === undefined ? undefined : before.is_parked };
}

/** Throws unless all that is said of an orphan is that it was abandoned. */
function requireAbandoned(row: JobRow, events: readonly KeyedEvent[], { waits, parks }: JobWrites): void {
  const isAbandoned = ({ event }: KeyedEvent): boolean => event.kind === "ended" && event.state === "abandoned";
  const isMore = hasSome(waits) || parks !== undefined;
  if (events.length === 0 || !events.every(isAbandoned) || isMore)
    throw new RuntimeError("job.bound", { id: idOf(row) });
}

/** An input of the same write that one is the repeat of. */
const beforeIn = (inputs: readonly NewInput[], { key, turnId }: NewInput): InputId | undefined =>
  inputs.find((each) => (key !== undefined && each.key === key) || each.turnId === turnId)?.id;

/** `rows` are the jobs that it awaits, and others. */
function canPark(
  { before, state }: JobDraft,
  { seen }: ParkedJob,
  awaits: Awaits | undefined,
  rows: readonly JobRow[],
): boolean {
  if (before.recovery !== RERUNNABLE || state === OVER || before.seq > seen) return false;
  return awaits === undefined || !isMet(awaits, rows);
}

function park(tx: Transaction, draft: JobDraft, { due }: ParkedJob, awaits: Awaits | undefined): void {
  draft.change({ owner: null, is_parked: true, due: due ?? null, awaits: awaits?.need ?? null });
  if (awaits !== undefined) addAwaits(tx, draft.before.n, awaits);
}

function refusal(draft: JobDraft, { key, event }: KeyedEvent): JobSent["said"] | undefined {
  if (draft.under(key) !== undefined) return "known";
  if (draft.state === OVER) return "over";
  const isFree = event.kind === "signalled" || event.kind === "cancelling";
  const isOfExternal = event.kind === "transitioned" || event.kind === "ended";
  return isFree || (isOfExternal && draft.before.recovery === EXTERNAL) ? undefined : "bound";
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

const LOCK_SESSIONS = "SELECT * FROM @session WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE";
const FIRSTS = `SELECT j.id, e.event AS first FROM @job j ${FIRST} WHERE j.id = ANY ($1::text[])`;

function requireNotGone(
  id: SessionId,
  sessions: readonly SessionRow[],
  gone: readonly { readonly id: SessionId }[],
): number {
  if (gone.some((each) => each.id === id)) throw new RuntimeError("session.deleted", { id });
  const row = sessions.find((each) => each.id === id);
  if (row === undefined) throw new RuntimeError("session.unknown", { id });
  return row.n;
}

function requireRow(id: KeptId, rows: readonly JobRow[]): JobRow {
  const row = rows.find((each) => each.id === id);
  if (row === undefined) throw new RuntimeError("job.unknown", { id: idOf({ id }) });
  return row;
}

function requireMovable(row: JobRow, source: number, from: SessionId): void {
  const id = idOf(row);
  if (row.session !== source) throw new RuntimeError("job.foreign", { id, session: from });
  if (row.state === OVER) throw new RuntimeError("job.over", { id, state: movesIn(row).state });
}
