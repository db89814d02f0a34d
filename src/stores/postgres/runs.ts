import type { InputId, SessionId, TurnId } from "../../model/ids.ts";
import type { Database } from "./database.ts";

/** The numbers of a turn and its session. They never change and are never reused. */
export interface Run {
  readonly session: number;
  readonly turn: number;
  readonly sessionId: SessionId;
  readonly inputId: InputId;
}

const FIND = `SELECT t.n AS turn, t.session, s.id AS "sessionId", t.input_id AS "inputId"
  FROM @turn t JOIN @session s ON s.n = t.session WHERE t.id = $1`;

const RUNS = 5_000;

/** Caches the numbers of turns, because the holder of a turn writes with them many times. */
export class Runs {
  readonly #db: Database;
  readonly #runs: Map<TurnId, Run>;

  constructor(db: Database) {
    this.#db = db;
    this.#runs = db.remembers(new Map());
  }

  remember(turn: TurnId, run: Run): void {
    if (this.#runs.size >= RUNS) this.#runs.clear();
    this.#runs.set(turn, run);
  }

  known(turn: TurnId): Run | undefined {
    return this.#runs.get(turn);
  }

  /** Returns the numbers of a turn, open or not. */
  async find(turn: TurnId): Promise<Run | undefined> {
    const known = this.#runs.get(turn);
    if (known !== undefined) return known;
    const run = await this.#db.row<Run>(FIND, turn);
    if (run !== undefined) this.remember(turn, run);
    return run;
  }
}
