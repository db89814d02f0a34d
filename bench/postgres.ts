// What turns cost on a PostgreSQL server, with its data on a disk: in the worker, on the server, in round trips, with many
// sessions at once, after many turns, while nothing happens, and in room. The server is on the same machine, so it takes
// processors from the worker. The files are in TMPDIR; if that is not on a disk, waiting for one costs nothing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "bowline";
import type { Provider } from "bowline/provider";
import type { PostgresOptions } from "bowline/stores/postgres";
import pg from "pg";
import type { Postgres } from "../test/kit/postgres.ts";
import { startProxy } from "../test/kit/proxy.ts";
import type { Agent } from "./agent.ts";
import { METERS, median, wall } from "./meters.ts";
import { modelThatCalls } from "./own.ts";
import { Bank } from "./parked.ts";
import { fed, listed } from "./records.ts";
import * as script from "./script.ts";
import { cpuMsOf, serve } from "./server.ts";
import { built, builtPostgres, openerOf, type Side } from "./sides.ts";
import { expectAnswer, type Workloads } from "./workloads.ts";

const AT_ONCE = 16;
const TIMES_MORE = 2.5;
/** Of turns of ten calls, in all sessions together. */
const WARM_UPS = 160;
const TURNS = 320;
/** So many sessions take turns, so that no history becomes long. */
const SESSIONS = 20;
const OLD = 1_900;
const YOUNG = 100;
const PARKED = 200;
const IDLE_S = 10;
const IDLE_S_LONG = 60;
const CANCELS = 8;

export function postgresWorkloads(isLong: boolean): Workloads {
  const seconds = isLong ? IDLE_S_LONG : IDLE_S;
  const own = { isCount: true } as const;
  return {
    "PG-ten": {
      ...own,
      about: "ten rounds of one call, then text, in the worker; the floor is Bowline on SQLite with durability power",
      unit: "cpu us/turn",
      goal: () => 3.5,
      measure: (side) => onStore(side, (agent) => METERS.cpu(WARM_UPS, WARM_UPS, tenCallsOf(agent))),
    },
    "PG-ten.wall": {
      ...own,
      about: "the same until it is answered",
      unit: "wall us/turn",
      measure: (side) => onStore(side, (agent) => wall(WARM_UPS, WARM_UPS, tenCallsOf(agent))),
    },
    "PG-ten.server": {
      ...own,
      isAbsolute: true,
      about: "the same on the server, all its processes together",
      unit: "cpu us/turn",
      measure: async (side) => (side === "floor" ? 0 : onServer((agent, server) => serverCpu(agent, server))),
    },
    "PG-ten.trips": {
      ...own,
      isAbsolute: true,
      about: "the same: how often an answer of the server is waited for",
      unit: "round trips/turn",
      goal: () => 24,
      measure: async (side) => (side === "floor" ? 0 : roundTrips()),
    },
    [`PG-${AT_ONCE}`]: {
      ...own,
      about: `the same in ${AT_ONCE} sessions at once; the floor is one alone, of whose turns/s there are ${TIMES_MORE} times as many`,
      unit: "wall us/turn",
      goal: () => 1 / TIMES_MORE,
      measure: (side) => onServer((agent) => wallOfSessions(agent, side === "floor" ? 1 : AT_ONCE)),
    },
    "PG-flat": {
      ...own,
      roundsMax: 3,
      about: `turns from the ${OLD}th on, one call each, worker and server; the floor is from the ${YOUNG}th on, after as many in all`,
      unit: "cpu us/turn",
      goal: () => 1.2,
      measure: (side) => onServer((agent, server) => cpuOfLater(agent, server, side === "floor")),
    },
    "PG-parked": {
      ...own,
      isAdded: true,
      about: `what ${PARKED} parked turns whose results are awaited add in ${seconds} s, with BEGIN and COMMIT; the floor has none`,
      unit: "statements/s",
      goal: () => 0.1,
      measure: (side) => statementsWhileIdle(side === "floor" ? 0 : PARKED, seconds),
    },
    "PG-hint": {
      ...own,
      about: "from a cancel to the end of the call that runs in another runtime; the floor does not listen, but looks",
      unit: "wall ms",
      measure: (side) => cancelMs(side === "floor" ? { listen: false } : {}),
    },
    "PG-list": { ...listed(onQuickServer), roundsMax: 3 },
    "PG-feed": fed("PostgreSQL", 50, onServersStore),
  };
}

const tenCalls = (agent: Agent, sessionId: string) => expectAnswer(agent, sessionId, "loop:10", 10);
const tenCallsOf = (agent: Agent) => (index: number) => tenCalls(agent, `s${index % SESSIONS}`);

/** Nothing is looked for from time to time: that is no cost of turns. */
async function open(store: Store): Promise<Agent> {
  const open = await openerOf("bowline");
  return open({ script, durable: true, store, recover: "manual" });
}

/** Measures on SQLite for the floor, else on a server. */
async function onStore(side: Side, measure: (agent: Agent) => Promise<number>): Promise<number> {
  if (side === "bowline") return onServer(measure);
  const folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  try {
    const { sqlite } = await built();
    const agent = await open(sqlite(join(folder, "agent.db"), { durability: "power" }));
    const figure = await measure(agent);
    await agent.close();
    return figure;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onServer(measure: (agent: Agent, server: Postgres) => Promise<number>): Promise<number> {
  await using server = await serve();
  const { postgres } = await builtPostgres();
  const agent = await open(postgres(server.url));
  const figure = await measure(agent, server);
  await agent.close();
  return figure;
}

async function onServersStore(measure: (store: Store, url: string) => Promise<number>): Promise<number> {
  await using server = await serve();
  const { postgres } = await builtPostgres();
  return await measure(postgres(server.url), server.url);
}

/** For many sessions, which are created without waiting for the disk. What is measured only reads. */
async function onQuickServer(measure: (store: Store) => Promise<number>): Promise<number> {
  await using server = await serve();
  const { postgres } = await builtPostgres();
  const pool = new pg.Pool({ connectionString: server.url, options: "-c synchronous_commit=off", max: 16 });
  try {
    return await measure(postgres(pool));
  } finally {
    await pool.end();
  }
}

async function serverCpu(agent: Agent, server: Postgres): Promise<number> {
  const turn = tenCallsOf(agent);
  for (let index = 0; index < WARM_UPS; index++) await turn(index);
  const before = cpuMsOf(server);
  for (let index = 0; index < WARM_UPS; index++) await turn(index);
  return ((cpuMsOf(server) - before) * 1_000) / WARM_UPS;
}

async function roundTrips(): Promise<number> {
  await using server = await serve();
  await using proxy = await startProxy(server.url);
  const { postgres } = await builtPostgres();
  const agent = await open(postgres(proxy.url(server.url), { listen: false }));
  await tenCalls(agent, "s");
  const trips: number[] = [];
  for (let index = 0; index < SESSIONS; index++) {
    const before = proxy.roundTrips();
    await tenCalls(agent, "s");
    trips.push(proxy.roundTrips() - before);
  }
  await agent.close();
  // Of most turns: what is looked for every second comes into some, and the more so the slower they are.
  return median(trips);
}

/** Runs the same number of turns in all, however many sessions they are spread over. */
async function wallOfSessions(agent: Agent, sessions: number): Promise<number> {
  const turns = async (left: number): Promise<void> => {
    const session = async (_: unknown, index: number): Promise<void> => {
      for (let turn = index; left-- > 0; turn += sessions) {
        const text = await agent.turn(`s${turn % (sessions === 1 ? SESSIONS : sessions)}`, "loop:10");
        if (text !== script.TEXT) throw new Error(`The answer was ${JSON.stringify(text)}.`);
      }
    };
    await Promise.all(Array.from({ length: sessions }, session));
  };
  await turns(WARM_UPS);
  const before = performance.now();
  await turns(TURNS);
  return ((performance.now() - before) * 1_000) / TURNS;
}

async function cpuOfLater(agent: Agent, server: Postgres, isYoung: boolean): Promise<number> {
  const turn = (sessionId: string) => expectAnswer(agent, sessionId, "loop:1", 1);
  for (let count = 0; count < OLD; count++) await turn(isYoung && count >= YOUNG ? "other" : "s");
  const before = { worker: process.cpuUsage(), server: cpuMsOf(server) };
  for (let count = 0; count < YOUNG; count++) await turn("s");
  const { user, system } = process.cpuUsage(before.worker);
  return (user + system + (cpuMsOf(server) - before.server) * 1_000) / YOUNG;
}

async function statementsWhileIdle(turns: number, seconds: number): Promise<number> {
  await using server = await serve();
  const { postgres } = await builtPostgres();
  const pool = new pg.Pool({ connectionString: server.url, pipeline: true } as pg.PoolConfig);
  let statements = 0;
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    Object.assign(client, {
      query(...given: unknown[]) {
        statements++;
        return query(...given);
      },
    });
  });
  const bank = new Bank();
  try {
    await bank.park(await bank.open({ store: postgres(pool) }), turns);
    await sleep(3_000); // The runtime looks once at what was parked since it last looked.
    const before = statements;
    await sleep(seconds * 1_000);
    return (statements - before) / seconds;
  } finally {
    await bank[Symbol.asyncDispose]();
    await pool.end();
  }
}

async function cancelMs(options: PostgresOptions): Promise<number> {
  await using server = await serve();
  const [{ createRuntime, defineTool }, { postgres }] = [await built(), await builtPostgres()];
  let began = (): void => {};
  let endedAt = 0;
  const wait = defineTool({
    name: "wait",
    description: "Waits to be cancelled.",
    input: { type: "object" },
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => {
        const end = (): void => {
          endedAt = performance.now();
          resolve("It was cancelled.");
        };
        signal.addEventListener("abort", end, { once: true });
        began();
      }),
  });
  const open = (model: Provider) =>
    createRuntime({ store: postgres(server.url, options), model, tools: [wait], recover: "manual" });
  const [here, elsewhere] = [await open(modelThatCalls(["wait"])), await open(modelThatCalls([]))];
  const found: number[] = [];
  for (let index = 0; index < CANCELS; index++) {
    const begun = new Promise<void>((resolve) => (began = resolve));
    const turn = (await here.session(`s${index}`)).turn("calls");
    const { sessionId, turnId } = { sessionId: `s${index}`, turnId: await turn.id };
    const other = await elsewhere.session(sessionId);
    await begun;
    await sleep((index / CANCELS) * 1_000); // At another time of the second for each, in case it is looked every second.
    const before = performance.now();
    await other.cancel(turnId);
    const { outcome } = await turn.result();
    if (outcome.kind !== "stopped") throw new Error(`The turn ended otherwise: ${JSON.stringify(outcome)}`);
    found.push(endedAt - before);
    await other.close();
  }
  for (const runtime of [here, elsewhere]) await runtime.close();
  return median(found);
}
