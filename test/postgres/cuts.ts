/**
 * Loses the connection of a call at every piece that the client sends, and compares what the call answers, and all that the
 * database holds afterwards, with a run in which nothing was lost.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import { type PostgresStore, postgres } from "../../src/stores/postgres.ts";
import { type CutAt, startProxy, type TcpProxy } from "../kit/proxy.ts";
import { freshDatabase } from "../kit/shared-postgres.ts";
import type { Write } from "./writes.ts";

export type Moment = Extract<CutAt, { client: unknown }>["when"];
export const MOMENTS: readonly Moment[] = ["before", "sent", "answered"];
export interface Cut {
  /** Which of the pieces that the client sends, from 1. */
  readonly piece: number;
  readonly when: Moment;
  /** The server cannot tell what became of a transaction, as after a crash. */
  readonly isInDoubt?: boolean;
}

interface Ran {
  readonly answer: unknown;
  readonly kept: unknown;
  readonly pieces: number;
  readonly wasCut: boolean;
}

/** Numbers of rows begin here. They are told by it wherever they are: those of an attempt that failed leave gaps. */
const FIRST = 1_000_000_000;
/** By the clock of the machine, or by chance; or a number that only has to change. */
const BY_CHANCE = new Set(["blob.at", "job.claim", "session.optioned"]);

export class CutWorld {
  readonly #url: string;
  readonly #proxy: TcpProxy;
  readonly #direct: pg.Pool;
  #tables: readonly string[] = [];

  private constructor(url: string, proxy: TcpProxy) {
    this.#url = url;
    this.#proxy = proxy;
    this.#direct = new pg.Pool({ connectionString: url, max: 1 });
    this.#direct.on("error", () => {}); // Whoever drops the database ends its connections.
  }

  static async start(): Promise<CutWorld> {
    const url = await freshDatabase();
    const world = new CutWorld(url, await startProxy(url));
    const store = postgres(url);
    await store.ready();
    await store.close();
    const { rows } = await world.#direct.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'bowline' AND tablename NOT IN ('meta', 'era') ORDER BY 1",
    );
    world.#tables = rows.map(({ name }) => name);
    return world;
  }

  async end(): Promise<void> {
    await this.#direct.end();
    await this.#proxy.close();
  }

  /** Runs the call with this cut and compares; answers whether it came to the cut. */
  async judge(write: Write, cut: Cut, whole: Ran): Promise<boolean> {
    const ran = await this.run(write, cut);
    const where = `${write.name}, cut at piece ${cut.piece} of ${whole.pieces}, ${cut.when}`;
    // Whoever is in doubt is told how things stand: that a wait was answered before, though it was by the same call.
    const isOther = cut.isInDoubt === true || isDeepStrictEqual(ran.answer, write.orAnswers);
    if (!isOther) assert.deepEqual(ran.answer, whole.answer, `the answer of ${where}`);
    assert.deepEqual(ran.kept, whole.kept, `what is kept after ${where}`);
    return ran.wasCut;
  }

  async run(write: Write, cut?: Cut): Promise<Ran> {
    await this.#empty();
    const store = postgres(this.#proxy.url(this.#url), { clock: "caller", connections: 2, listen: false });
    try {
      return await this.#runOn(store, write, cut);
    } finally {
      await store.close();
    }
  }

  async #runOn(store: PostgresStore, write: Write, cut: Cut | undefined): Promise<Ran> {
    const act = await write.prepare(store);
    await store.latest(); // A connection is open.
    if (cut?.isInDoubt === true) await this.#direct.query("DELETE FROM bowline.era");
    let pieces = 0;
    let wasCut = false;
    const isMeant = (): boolean => ++pieces === cut?.piece;
    void this.#proxy.cutWhen({ client: isMeant, when: cut?.when ?? "before" }).then(() => {
      wasCut = true;
    });
    const answer = await act(store);
    void this.#proxy.cutWhen({ client: () => false, when: "before" });
    const kept = await this.#kept();
    return { ...numbered({ answer, kept }), pieces, wasCut };
  }

  async #empty(): Promise<void> {
    const others = this.#tables.filter((name) => name !== "counter");
    await this.#direct.query(
      `BEGIN; ${others.map((name) => `DELETE FROM bowline.${name};`).join("")}
       UPDATE bowline.counter SET value = 0; COMMIT; ALTER SEQUENCE bowline.number RESTART WITH ${FIRST}`,
    );
  }

  async #kept(): Promise<object> {
    const columns = this.#tables.map(
      (name) => `(SELECT json_agg(to_json(t) ORDER BY t::text COLLATE "C") FROM bowline.${name} t) AS "${name}"`,
    );
    const { rows } = await this.#direct.query<Record<string, readonly Record<string, unknown>[] | null>>(
      `SELECT ${columns.join(", ")}`,
    );
    return Object.fromEntries(
      Object.entries(rows[0]!).map(([table, found]) => [
        table,
        (found ?? []).map((row) =>
          Object.fromEntries(
            Object.entries(row).map(([column, value]) => [
              column,
              BY_CHANCE.has(`${table}.${column}`) ? typeof value : value,
            ]),
          ),
        ),
      ]),
    );
  }
}

/** The same with the numbers of rows counted from 0, without gaps. */
function numbered<T>(value: T): T {
  const text = JSON.stringify(value);
  const all = new Set([...text.matchAll(/(?<![\d.])1\d{9}(?![\d.])/g)].map(([found]) => Number(found)));
  const ranks = new Map([...all].sort((a, b) => a - b).map((found, rank) => [found, rank]));
  return JSON.parse(text.replaceAll(/(?<![\d.])1\d{9}(?![\d.])/g, (found) => `${ranks.get(Number(found))!}`)) as T;
}
