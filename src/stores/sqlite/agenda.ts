import type { SessionId } from "../../model/ids.ts";
import type { Agenda } from "../store.ts";
import type { Connection } from "./connection.ts";
import { cursorOf, latestFact, limit, requireMeta } from "./facts.ts";
import { type ParkedRow, waitsOf } from "./parked-row.ts";
import { isProvenDead } from "./process.ts";
import { INJECTED, WITHDRAWN } from "./turn-row.ts";
import { liveTurns, type OpenTurn } from "./turns.ts";
import type { WaitRow } from "./wait-row.ts";
import { isOver } from "./waits.ts";

/** What was found to be done, and as of when. */
interface Found extends Omit<Agenda, "sessions"> {
  readonly stamp: string;
  /** The time and the size that were asked for. */
  readonly now: number;
  readonly max: number;
  /** Turns that somebody holds or held: whether they still do is a matter of time, and of processes that die. */
  readonly live: readonly OpenTurn[];
  /** Parked turns with mail, and sessions whose inputs wait to open a turn. */
  readonly sessions: readonly SessionId[];
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

  at(now: number, max: number): Agenda {
    const { live, sessions, next, latest, gone } = this.#find(now, max);
    const work = [...lapsed(live, now), ...sessions];
    return {
      sessions: work.length > max ? work.slice(0, max) : work,
      ...(next === undefined ? {} : { next }),
      ...(latest === undefined ? {} : { latest }),
      gone,
    };
  }

  #find(now: number, max: number): Found {
    const { stamp } = this.#db.row<{ stamp: string }>(STAMP)!;
    const known = this.#found;
    const isStill = known?.stamp === stamp && known.max === max && known.now <= now && now < (known.next ?? Infinity);
    if (isStill) return known;
    this.#found = this.#look(stamp, now, max);
    return this.#found;
  }

  #look(stamp: string, now: number, max: number): Found {
    const db = this.#db;
    const over = this.#waitingForOver();
    const due = db.rows<Due>(DUE, now, limit(max)).map(({ id }) => id);
    const [first] = db.rows<Due>(NOT_DUE, now, over.size + 1).filter(({ id }) => !over.has(id));
    const ready = db.rows<{ id: SessionId }>(READY, limit(max)).map(({ id }) => id);
    const latest = latestFact(db);
    return {
      stamp,
      now,
      max,
      live: liveTurns(db),
      sessions: [...new Set([...due, ...over, ...ready])],
      ...(first === undefined || first.wake === Infinity ? {} : { next: first.wake }),
      ...(latest === 0 ? {} : { latest: cursorOf(latest) }),
      gone: requireMeta(db).gone,
    };
  }

  /** Sessions of parked turns that wait for other turns, which are over. */
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
// Of a turn that is not over its row says so; of one that is, there may be none. What is over is then looked at closely:
// this reads texts without their checksums, so that the many that are not over cost little.
const FOR_TURNS = `SELECT w.*, s.id AS sessionId, p.waits AS of FROM wait w INDEXED BY wait_turns
  CROSS JOIN parked p ON p.session = w.session CROSS JOIN session s ON s.n = w.session
  WHERE w.is_turns = 1 AND w.answer IS NULL AND p.turn = w.turn AND CASE WHEN json_valid(substr(w.about, 9)) THEN
    EXISTS (SELECT 1 FROM json_each(substr(w.about, 9), '$.turns') e WHERE NOT EXISTS (SELECT 1 FROM turn t
      WHERE t.id = e.value ->> 'turnId' AND t.state < ${WITHDRAWN} AND t.done IS NULL AND t.ended_by IS NULL))
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
