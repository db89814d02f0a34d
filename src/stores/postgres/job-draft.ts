import { RuntimeError } from "../../model/errors.ts";
import { foldJob, type JobRecord } from "../../model/job.ts";
import { keyText } from "../rows/codec.ts";
import { BOUND, IDLE, type Moves, movesOf, OVER, RUNNING, stateIn } from "../rows/job.ts";
import type { KeyedEvent, StoredJobEvent } from "../store.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { eventUnder } from "./job-events.ts";
import { type JobRow, movesIn } from "./job-row.ts";

const EVENTS_MAX = 2 ** 22;

/**
 * A job that is written about: its row as it was when it was locked, as it comes to be, and what is told of it. Nothing is
 * sent before `keep`: what else a write must lock comes first, and the number of a change is taken last.
 */
export class JobDraft {
  readonly before: JobRow;
  readonly told: StoredJobEvent[] = [];
  moves: Moves;
  #columns: Partial<JobRow> = {};
  /** What stands under the keys that were looked for. */
  readonly #under = new Map<string, StoredJobEvent | undefined>();

  /** `keys` were looked for, and `events` is what was found. All that is told has such a key, or one of `freeKey`. */
  constructor(before: JobRow, keys: Iterable<string>, events: readonly StoredJobEvent[]) {
    this.before = before;
    this.moves = movesIn(before);
    for (const key of keys) this.#under.set(key, undefined);
    for (const event of events) this.#under.set(event.key, event);
  }

  get seq(): number {
    return this.before.seq + this.told.length;
  }

  get state(): number {
    return stateIn(this.moves);
  }

  get isNowOver(): boolean {
    return this.state === OVER && this.before.state !== OVER;
  }

  /** It is over or idle by this write: those that await it may go on. */
  get isNowDone(): boolean {
    return this.isNowOver || (this.state === IDLE && this.before.state === RUNNING);
  }

  /** Whether it is bound and somebody else has claimed it than the one it was begun with: no event tells of that. */
  get isOrphan(): boolean {
    return this.before.recovery === BOUND && this.before.generation > this.moves.starts;
  }

  get row(): JobRow {
    const { before, seq, state } = this;
    const over = { owner: null, is_parked: false, due: null, awaits: null, parent: null };
    const moves = this.told.length === 0 ? before.moves : JSON.stringify(this.moves);
    return { ...before, ...this.#columns, ...(this.isNowOver ? over : {}), seq, state, moves };
  }

  under(key: string): StoredJobEvent | undefined {
    return this.#under.get(key);
  }

  /** Tells an event unless there is one of its key, and answers what stands under it. A job ends once. */
  tell({ key, event }: KeyedEvent): StoredJobEvent {
    const end = event.kind === "ended" ? this.told.find((each) => each.event.kind === "ended") : undefined;
    const there = end ?? this.#under.get(key);
    if (there !== undefined) return there;
    const stored = { seq: this.seq + 1, key, event };
    if (stored.seq >= EVENTS_MAX) throw new RuntimeError("job.steps", { max: EVENTS_MAX });
    this.told.push(stored);
    this.#under.set(key, stored);
    this.moves = movesOf(foldJob(this.moves as JobRecord, event)); // It reads nothing of a record but what changes.
    return stored;
  }

  change(columns: Partial<JobRow>): void {
    this.#columns = { ...this.#columns, ...columns };
  }

  /** Something came for it: if it is parked, it is due. One that was never begun keeps its time. */
  rouse(): void {
    if (this.before.is_parked) this.change({ due: 0 });
  }

  /** What stands under a key, whether it was looked for or not. */
  async find(tx: Transaction, key: string): Promise<StoredJobEvent | undefined> {
    if (!this.#under.has(key)) this.#under.set(key, await eventUnder(tx, this.before.n, key));
    return this.#under.get(key);
  }

  /** This key, or one like it that no event has: what the store says must not be kept out by what others sent. */
  async freeKey(tx: Transaction, key: string): Promise<string> {
    for (let free = key; ; free += "+") if ((await this.find(tx, free)) === undefined) return free;
  }

  /** Writes what was told, and the row. One that has more events is changed last of all jobs. */
  keep(tx: Transaction): void {
    const { before, row, told } = this;
    for (const { seq, key, event } of told) tx.queue(ADD_EVENT, row.n, seq, keyText(key), JSON.stringify(event));
    if (before.awaits !== null && row.awaits === null) tx.queue("DELETE FROM @job_await WHERE job = $1", row.n);
    const isStep = STAYING.every((column) => row[column] === before[column]);
    const columns = STAYING.map((column): Value => row[column]);
    if (told.length === 0) {
      if (!isStep) tx.queue(MOVE, row.n, ...columns);
    } else if (isStep) tx.queue(STEP, row.n, before.changed, row.seq, row.moves);
    else tx.queue(KEEP, row.n, before.changed, row.seq, row.moves, ...columns);
  }
}

const STAYING = [...(["session", "parent", "state", "owner", "generation", "is_parked", "due", "awaits"] as const)];
const staying = (first: number): string => STAYING.map((column, nth) => `${column} = $${first + nth}`).join(", ");

const ADD_EVENT = "INSERT INTO @job_event VALUES ($1, $2, $3, $4)";
// The number is held to the end of the transaction: whoever changes another job waits until then.
const NEXT = `c AS (UPDATE @counter SET value = value + 1 WHERE name = 'job' RETURNING value),
  b AS (DELETE FROM @job_change WHERE n = $2::bigint), a AS (INSERT INTO @job_change SELECT value, $1::bigint FROM c)`;
const TOLD = "seq = $3, moves = $4, changed = c.value";
const STEP = `WITH ${NEXT} UPDATE @job SET ${TOLD} FROM c WHERE n = $1::bigint`;
const KEEP = `WITH ${NEXT} UPDATE @job SET ${TOLD}, ${staying(5)} FROM c WHERE n = $1::bigint`;
const MOVE = `UPDATE @job SET ${staying(2)} WHERE n = $1`;

const CHANGES = "SELECT n, changed, seq FROM @job WHERE n = ANY ($1::bigint[])";

/** Jobs that were written about, and the numbers that this gave them: known once the write is kept. */
export interface Changes {
  readonly drafts: readonly JobDraft[];
  readonly numbers: Promise<ReadonlyMap<number, number>>;
}

/**
 * Asks for the numbers of changes, once all that was sent before is done. The answer comes with that of the commit, and is
 * awaited after it (`numbersOf`): so nobody holds the counter while it waits for an answer.
 */
export function changesOf(tx: Transaction, drafts: readonly JobDraft[]): Changes {
  const told = drafts.filter((draft) => draft.told.length > 0).map(({ before }) => before.n);
  const rows = told.length === 0 ? Promise.resolve([]) : tx.rows<ChangeRow>(CHANGES, told);
  const numbers = rows.then((found) => new Map(found.map(({ n, changed }) => [n, changed])));
  numbers.catch(() => {}); // What fails here has failed the transaction, which says so; or the connection was lost.
  return { drafts, numbers };
}

type ChangeRow = Pick<JobRow, "n" | "changed" | "seq">;

/** The number of each job's latest change, after a write that was kept. */
export async function numbersOf(db: Database, { drafts, numbers }: Changes): Promise<ReadonlyMap<number, number>> {
  const known = new Map(drafts.map(({ before }) => [before.n, before.changed]));
  try {
    return new Map([...known, ...(await numbers)]);
  } catch {
    // The answer was lost with that to the commit. Where more was told of a job since, what it had before has to do: who
    // goes on from there misses nothing.
    const seqs = new Map(drafts.map(({ before, seq }) => [before.n, seq]));
    const rows = await db.rows<ChangeRow>(CHANGES, [...known.keys()]);
    const same = rows.filter(({ n, seq }) => seqs.get(n) === seq);
    return new Map([...known, ...same.map(({ n, changed }) => [n, changed] as const)]);
  }
}
