import type { Awaitable } from "../../model/awaitable.ts";
import type { BlobHash, SessionId } from "../../model/ids.ts";
import { LatestStates } from "../rows/latest-states.ts";
import type { Engine, Fast, Port, WriteOptions } from "../rules/port.ts";
import { type Rule, runNow } from "../rules/rule.ts";
import type { Lease, Shown, Store } from "../store.ts";
import { Blobs } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { FastTurns } from "./fast.ts";
import { follow, readShown, show } from "./live.ts";
import { SqlitePort } from "./port.ts";

/** Runs rules on a file, each in one transaction. A rule runs again from its beginning if the file was locked. */
export class SqliteEngine implements Engine {
  readonly kind = "sqlite";
  readonly isDurable = true;
  readonly db: Connection;
  readonly fast: Fast;
  readonly #port: SqlitePort;
  readonly #blobs: Blobs;

  constructor(db: Connection, now: () => number) {
    this.db = db;
    this.#blobs = new Blobs(db, now);
    const states = db.remembers(new LatestStates());
    this.#port = new SqlitePort(db, this.#blobs, states);
    this.fast = new FastTurns(db, states);
  }

  /** Runs the rule on one snapshot. */
  read<T>(rule: (db: Port) => Rule<T>): Awaitable<T> {
    return this.db.readAll(() => {
      this.#port.begin();
      return runNow(rule(this.#port));
    });
  }

  write<T>(rule: (db: Port) => Rule<T>, { isAcknowledged = false, isHeld = false }: WriteOptions = {}): Awaitable<T> {
    const work = (): T => {
      this.#port.begin();
      const answer = runNow(rule(this.#port));
      this.#port.finish();
      return answer;
    };
    return this.db.write(isAcknowledged, work, isHeld ? this.db.heldMs : undefined);
  }

  readonly blobs: Store["blobs"] = {
    put: (hash: BlobHash, data: Uint8Array) =>
      this.db.writeOne(false, () => this.#blobs.put(hash, data), this.db.heldMs),
    get: (hash: BlobHash) => this.db.read(() => this.#blobs.get(hash)),
  };

  readonly live: NonNullable<Store["live"]> = {
    follow: (sessions: readonly SessionId[], now: number, forMs: number) =>
      this.db.write(false, () => follow(this.db, sessions, now, forMs)),
    show: (lease: Lease, shown: Shown) => this.db.write(false, () => show(this.db, lease, shown)),
    read: (session: SessionId, after: number) => this.db.read(() => readShown(this.db, session, after)),
  };

  close(): void {
    this.db.close();
  }
}
