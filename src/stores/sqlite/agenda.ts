import type { SessionId } from "../../model/ids.ts";
import { isProvenDead } from "../rows/process.ts";
import type { Agenda } from "../store.ts";
import type { Connection } from "./connection.ts";
import { cursorOf, latestFact, limit, requireMeta } from "./facts.ts";
import { hasJobs, type JobsToDo, jobsToDo } from "./job-claims.ts";
import { jobCursorOf, RUNNING } from "./job-row.ts";
import { type ParkedRow, waitsOf } from "./parked-row.ts";
import { triggersToDo } from "./triggers.ts";
import { INJECTED, WITHDRAWN } from "./turn-row.ts";
import { liveTurns, type OpenTurn } from "./turns.ts";
import type { WaitRow } from "./wait-row.ts";
import { isOver } from "./waits.ts";

/** What was found to be done, and as of when. */
interface Found extends Omit<Agenda, "sessions" | "hasJobs" | "jobs"> {
  readonly stamp: string;
  /** The time, the size and the tasks that were asked for. */
  readonly now: number;
  readonly max: number;
  readonly tasks: string | undefined;
  /** Turns that somebody holds or held: whether they still do is a matter of time, and of processes that die. */
  readonly live: readonly OpenTurn[];
  /** Parked turns with mail, and sessions whose inputs wait to open a turn. */
  readonly sessions: readonly SessionId[];
  readonly toDo: JobsToDo;
}

/**
 * What is to be done. Every runtime asks once a second, most often for nothing: as long as nobody wrote, what was found
 * the last time holds, but for what time alone brings.
 */
export class Agendas {
  readonly #db: Connection;
  #found: Found | undefined;

  constructor(db: Connection) {
    this.#db = db;
    db.remembers(this);
  }

  clear(): void {
    this.#found = undefined;
  }

  at(now: number, max: number, operations: readonly string[] | undefined): Agenda {
    const { live, sessions, next, hasSchedules, hasCommits, latest, gone, toDo } = this.#find(now, max, operations);
    const work = [...lapsed(live, now), ...sessions];
    return {
      sessions: work.length > max ? work.slice(0, max) : work,
      ...(next === undefined ? {} : { next }),
      ...(hasJobs(toDo, now) ? { hasJobs: true } : {}),
      ...(hasSchedules === true ? { hasSchedules } : {}),
      ...(hasCommits === true ? { hasCommits } : {}),
      ...(toDo.latest === 0 ? {} : { jobs: jobCursorOf(toDo.latest) }),
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
    const toDo = jobsToDo(db, now, operations);
    const over = this.#waitingForOver();
    const due = db.rows<Due>(DUE, now, limit(max)).map(({ id }) => id);
    const [first] = db.rows<Due>(NOT_DUE, now, over.size + 1).filter(({ id }) => !over.has(id));
    const ready = db.rows<{ id: SessionId }>(READY, limit(max)).map(({ id }) => id);
    const latest = latestFact(db);
    const triggers = triggersToDo(db, now);
    const next = Math.min(first?.wake ?? Infinity, toDo.next ?? Infinity, triggers.next ?? Infinity);
    return {
      live: liveTurns(db),
      sessions: [...new Set([...due, ...over, ...ready])],
      toDo,
      ...triggers,
      ...(next === Infinity ? {} : { next }),
      ...(latest === 0 ? {} : { latest: cursorOf(latest) }),
      gone: requireMeta(db).gone,
    };
  }

  /** Sessions of parked turns that wait for other turns and jobs, which are over. */
  #waitingForOver(): ReadonlySet<SessionId> {
    const found = new Set<SessionId>();
    for (const row of this.#db.rows<WaitRow & Parked>(FOR_TURNS)) if (this.#isOver(row)) found.add(row.sessionId);
    return found;
  }

  #isOver(row: WaitRow & Parked): boolean {
    try {
      return isOver(this.#db, row) && waitsOf({ waits: row.of }).has(row.id);
    } catch {
      return true; // What is damaged is told to whoever opens the session; the others must not suffer from it.
    }
  }
}

/** Moves with every write, of this connection or of another. */
const STAMP = "SELECT data_version || '/' || total_changes() AS stamp FROM pragma_data_version";

interface Due {
  readonly id: SessionId;
  readonly wake: number;
}
const PARKED = "SELECT s.id, p.wake FROM parked p CROSS JOIN session s ON s.n = p.session";
const DUE = `${PARKED} WHERE p.wake <= ? ORDER BY p.wake LIMIT ?`;
const NOT_DUE = `${PARKED} WHERE p.wake > ? ORDER BY p.wake LIMIT ?`;

interface Parked {
  readonly sessionId: SessionId;
  /** The waits that the turn was parked with. */
  readonly of: ParkedRow["waits"];
}
// Of a turn or a job that is not over its row says so; of one that is, there may be none. What is over is then looked at closely:
// this reads texts without their checksums, so that the many that are not over cost little.
const FOR_TURNS = `SELECT w.*, s.id AS sessionId, p.waits AS of FROM wait w INDEXED BY wait_turns
  CROSS JOIN parked p ON p.session = w.session CROSS JOIN session s ON s.n = w.session
  WHERE w.is_turns = 1 AND w.answer IS NULL AND p.turn = w.turn AND CASE WHEN json_valid(substr(w.about, 9)) THEN
    EXISTS (SELECT 1 FROM json_each(substr(w.about, 9), '$.turns') e WHERE NOT EXISTS (SELECT 1 FROM turn t
      WHERE t.id = e.value ->> 'turnId' AND t.state < ${WITHDRAWN} AND t.done IS NULL AND t.ended_by IS NULL))
    OR EXISTS (SELECT 1 FROM json_each(substr(w.about, 9), '$.jobs') e
      WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.id = e.value AND j.state = ${RUNNING}))
    ELSE 1 END`;

// Who waits at all is answered by an index alone; only then is it asked whether it opens a turn.
const READY = `SELECT id FROM session s WHERE turn IS NULL AND n IN (SELECT session FROM turn WHERE state = 0)
  AND EXISTS (SELECT 1 FROM turn WHERE session = s.n AND state = 0 AND is_aside < ${INJECTED}) LIMIT ?`;

/** Sessions whose turns nobody holds any more: the lease has lapsed, or its holder is dead. */
function lapsed(turns: readonly OpenTurn[], now: number): readonly SessionId[] {
  const dead = new Map<string, boolean>();
  const isDead = (process: string): boolean => {
    const known = dead.get(process) ?? isProvenDead(process);
    dead.set(process, known);
    return known;
  };
  return turns.filter(({ until, process }) => until <= now || isDead(process)).map(({ id }) => id);
}
