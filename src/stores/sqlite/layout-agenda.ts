import type { SessionId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import { jobCursorOf, RUNNING, tasksOf } from "../rows/job.ts";
import { isProvenDead } from "../rows/process.ts";
import { COMMITS, SCHEDULE } from "../rows/trigger.ts";
import type { Key } from "../rules/port.ts";
import type { Agenda } from "../store.ts";
import { INJECTED, JOB, type Table, TURN, WAIT, type WaitRow, WITHDRAWN } from "../tables.ts";
import { sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { cursorOf, limit } from "./facts.ts";
import type { Numbers } from "./layout-facts.ts";
import { LIMIT, readRow, SEQS, type StoredRow } from "./layout-rows.ts";
import { OPEN_SESSIONS } from "./layout-sessions.ts";
import { storedTableOf } from "./layouts.ts";

/** Finds a row by an index and checks it like a read of the rules. */
interface Finder {
  find<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Row | undefined;
}

/** Cached work, and the state of the file that it is for. */
interface Found extends Omit<Agenda, "sessions" | "hasJobs" | "jobs"> {
  readonly stamp: string;
  /** The time, the size and the tasks of the request. */
  readonly now: number;
  readonly max: number;
  readonly tasks: string | undefined;
  /** Turns with a lease. Whether it is still valid depends on time and on processes that die. */
  readonly live: readonly OpenTurn[];
  /** Parked turns with mail, and idle sessions with waiting inputs. */
  readonly sessions: readonly SessionId[];
  readonly jobs: JobsToDo;
}
interface OpenTurn {
  readonly id: SessionId;
  readonly process: string;
  readonly until: number;
}
interface JobsToDo {
  readonly isDue: boolean;
  /** The next time at which another unheld job can be claimed. */
  readonly next?: number;
  /** The processes that hold such jobs. */
  readonly owners: readonly Owner[];
  readonly latest: number;
}
interface Owner {
  readonly id: string;
  readonly process: string;
  readonly until: number;
  readonly seal: number;
}

/**
 * Returns the work of a store. Every runtime asks once a second, and mostly gets nothing. While nobody writes, the last answer
 * stays true except for what depends on time.
 */
export class Agendas {
  readonly #db: Connection;
  readonly #port: Finder;
  readonly #numbers: Numbers;
  #found: Found | undefined;

  constructor(db: Connection, port: Finder, numbers: Numbers) {
    this.#db = db;
    this.#port = port;
    this.#numbers = numbers;
  }

  clear(): void {
    this.#found = undefined;
  }

  at(now: number, max: number, operations: readonly string[] | undefined): Agenda {
    const { live, sessions, next, hasSchedules, hasCommits, latest, gone, jobs } = this.#find(now, max, operations);
    const work = [...lapsed(live, now), ...sessions];
    return {
      sessions: work.length > max ? work.slice(0, max) : work,
      ...(next === undefined ? {} : { next }),
      ...(jobs.isDue || jobs.owners.some((owner) => isGone(owner, now)) ? { hasJobs: true } : {}),
      ...(hasSchedules === true ? { hasSchedules } : {}),
      ...(hasCommits === true ? { hasCommits } : {}),
      ...(jobs.latest === 0 ? {} : { jobs: jobCursorOf(jobs.latest) }),
      ...(latest === undefined ? {} : { latest }),
      gone,
    };
  }

  #find(now: number, max: number, operations: readonly string[] | undefined): Found {
    const { stamp } = this.#db.row<{ stamp: string }>(STAMP)!;
    const known = this.#found;
    const tasks = operations?.join("\n");
    const isAsked = known?.stamp === stamp && known.max === max && known.tasks === tasks;
    if (isAsked && known.now <= now && now < (known.next ?? Infinity)) return known;
    this.#found = { stamp, now, max, tasks, ...this.#look(now, max, operations) };
    return this.#found;
  }

  #look(
    now: number,
    max: number,
    operations: readonly string[] | undefined,
  ): Omit<Found, "stamp" | "now" | "max" | "tasks"> {
    const db = this.#db;
    const jobs = this.#jobs(now, operations);
    const over = this.#waitingForOver();
    const due = db.rows<Due>(DUE, now, limit(max)).map(({ id }) => id);
    const [first] = db.rows<Due>(NOT_DUE, now, over.size + 1).filter(({ id }) => !over.has(id));
    const ready = db.rows<{ id: SessionId }>(READY, limit(max)).map(({ id }) => id);
    const latest = this.#numbers.latestFact();
    const triggers = this.#triggers(now);
    const next = Math.min(first?.wake ?? Infinity, jobs.next ?? Infinity, triggers.next ?? Infinity);
    return {
      live: db.rows<OpenTurn>(LIVE),
      sessions: [...new Set([...due, ...over, ...ready])],
      jobs,
      ...(triggers.hasSchedules ? { hasSchedules: true } : {}),
      ...(triggers.hasCommits ? { hasCommits: true } : {}),
      ...(next === Infinity ? {} : { next }),
      ...(latest === 0 ? {} : { latest: cursorOf(latest) }),
      gone: this.#numbers.gone(),
    };
  }

  #jobs(now: number, operations: readonly string[] | undefined): JobsToDo {
    const latest = this.#numbers.latestChange();
    if (operations === undefined || latest === 0) return { isDue: false, owners: [], latest };
    const can = JSON.stringify(tasksOf(operations).map(keyText));
    const times = this.#db.rows<{ first: number | null; next: number | null }>(TIMES, now, can);
    const next = times.reduce((least, time) => Math.min(least, time.next ?? Infinity), Infinity);
    return {
      isDue: times.some(({ first }) => first !== null && first <= now),
      ...(next === Infinity ? {} : { next }),
      owners: this.#db.rows<Owner>(HOLDERS, can),
      latest,
    };
  }

  #triggers(now: number): { readonly hasSchedules: boolean; readonly hasCommits: boolean; readonly next?: number } {
    const row = this.#db.row<{ first: number | null; next: number | null; commits: number }>(TRIGGERS, now)!;
    return {
      hasSchedules: row.first !== null && row.first <= now,
      hasCommits: row.commits === 1,
      ...(row.next === null ? {} : { next: row.next }),
    };
  }

  /** Returns sessions of parked turns whose awaited turns and jobs have ended. */
  #waitingForOver(): ReadonlySet<SessionId> {
    const found = new Set<SessionId>();
    for (const row of this.#db.rows<Parked>(FOR_TURNS)) if (this.#isOver(row)) found.add(row.sessionId);
    return found;
  }

  #isOver(row: Parked): boolean {
    try {
      const { id, about } = readRow(storedTableOf(WAIT).layout, row, false) as WaitRow;
      if (about?.kind !== "turns" || !(JSON.parse(row.of) as readonly string[]).includes(id)) return false;
      const { turns, jobs = [], need } = about;
      const over = [
        ...turns.map(({ turnId }) => this.#hasEnded(turnId)),
        ...jobs.map((job) => this.#port.find(JOB, "id", job)?.state !== RUNNING),
      ];
      return need === "all" ? over.every(Boolean) : over.some(Boolean);
    } catch {
      return true; // The process that opens the session reports the damage. It must not block other sessions.
    }
  }

  #hasEnded(id: string): boolean {
    const turn = this.#port.find(TURN, "id", id);
    return turn === undefined || turn.state === WITHDRAWN || turn.done !== null || turn.endedBy !== null;
  }
}

/** Changes with every write, of this connection or of another. */
const STAMP = "SELECT data_version || '/' || total_changes() AS stamp FROM pragma_data_version";

interface Due {
  readonly id: SessionId;
  readonly wake: number;
}
const PARKED = "SELECT s.id, p.wake FROM parked p CROSS JOIN session s ON s.n = p.session";
const DUE = `${PARKED} WHERE p.wake <= ? ORDER BY p.wake ${LIMIT}`;
const NOT_DUE = `${PARKED} WHERE p.wake > ? ORDER BY p.wake ${LIMIT}`;

interface Parked extends StoredRow {
  readonly sessionId: SessionId;
  /** The waits that the turn was parked with. */
  readonly of: string;
}
// A running turn or job has a row that shows it; an ended one may have none. The rows found are then checked
// exactly. The statement reads texts without verifying their checksums, so that the many running ones cost little.
const FOR_TURNS = `SELECT w.*, s.id AS sessionId, p.waits AS of FROM wait w INDEXED BY wait_turns
  CROSS JOIN parked p ON p.session = w.session CROSS JOIN session s ON s.n = w.session
  WHERE w.is_turns = 1 AND w.answer IS NULL AND p.turn = w.turn AND CASE WHEN json_valid(substr(w.about, 9)) THEN
    EXISTS (SELECT 1 FROM json_each(substr(w.about, 9), '$.turns') e WHERE NOT EXISTS (SELECT 1 FROM turn t
      WHERE t.id = e.value ->> 'turnId' AND t.state < ${WITHDRAWN} AND t.done IS NULL AND t.ended_by IS NULL))
    OR EXISTS (SELECT 1 FROM json_each(substr(w.about, 9), '$.jobs') e
      WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.id = e.value AND j.state = ${RUNNING}))
    ELSE 1 END`;

// An index alone returns the sessions with waiting rows. Only then each is checked for one that opens a turn.
const READY = `SELECT id FROM session s WHERE turn IS NULL AND n IN (SELECT session FROM turn WHERE state = 0)
  AND EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0 AND is_aside < ${INJECTED}) ${LIMIT}`;

const LIVE = `${OPEN_SESSIONS} SELECT t.id, t.process, max(t.until, coalesce((SELECT j.until FROM journal j
    WHERE j.k < (t.n + 1) * ${SEQS} ORDER BY j.k DESC LIMIT 1), 0)) AS until
  FROM open CROSS JOIN session t ON t.n = open.n WHERE NOT EXISTS (SELECT 1 FROM parked WHERE session = open.n)`;

const TIMES = `SELECT
    (SELECT min(due) FROM job INDEXED BY job_due
      WHERE operation = each.value AND owner IS NULL AND due IS NOT NULL) AS first,
    (SELECT min(due) FROM job INDEXED BY job_due
      WHERE operation = each.value AND owner IS NULL AND due IS NOT NULL AND due > ?) AS next
  FROM json_each(?) each`;
const HOLDERS = `SELECT * FROM job_owner WHERE EXISTS (SELECT 1 FROM json_each(?) each
  CROSS JOIN job INDEXED BY job_held ON job.owner = job_owner.id AND job.operation = each.value)`;

const IS_DUE = `is_enabled = 1 AND kind >= ${SCHEDULE} AND next IS NOT NULL`;
const TRIGGERS = `SELECT
  (SELECT min(next) FROM subscription INDEXED BY subscription_due WHERE ${IS_DUE}) AS first,
  (SELECT min(next) FROM subscription INDEXED BY subscription_due WHERE ${IS_DUE} AND next > ?) AS next,
  EXISTS (SELECT 1 FROM subscription INDEXED BY subscription_kind WHERE is_enabled = 1 AND kind = ${COMMITS}) AS commits`;

/** Returns sessions whose lease has expired or whose holder is dead. */
function lapsed(turns: readonly OpenTurn[], now: number): readonly SessionId[] {
  const dead = new Map<string, boolean>();
  const isDead = (process: string): boolean => {
    const known = dead.get(process) ?? isProvenDead(process);
    dead.set(process, known);
    return known;
  };
  return turns.filter(({ until, process }) => until <= now || isDead(process)).map(({ id }) => id);
}

/**
 * Returns whether an owner is gone. A damaged row counts as alive, because others would otherwise abandon its running
 * work.
 */
const isGone = ({ id, process, until, seal }: Owner, now: number): boolean =>
  seal === sumOf([id, process, until]) && (until <= now || isProvenDead(process));
