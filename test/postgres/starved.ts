/** A server that has no connection or no room left, and a worker that goes on by itself once it has. */
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool } from "bowline";
import type { Provider } from "bowline/provider";
import { type PostgresOptions, postgres } from "bowline/stores/postgres";
import { calls, recited, says } from "bowline/testing";
import pg from "pg";
import { remainsOf } from "../../src/testing/crash/picture.ts";
import { smallDisk } from "../kit/disk.ts";
import { startPostgres } from "../kit/postgres.ts";
import { within } from "../kit/reading.ts";
import { freshDatabase, sharedPostgres } from "../kit/shared-postgres.ts";

export interface Starved {
  readonly turns: number;
  readonly answered: number;
  /** What callers were told meanwhile, by code. */
  readonly told: { readonly [code: string]: number };
  readonly wrong: readonly string[];
}

/** Each session has at least so many. */
const TURNS = 3;

/** Sends turns to many sessions at once, each until it is answered, while `meanwhile` goes on; the worker stays the same. */
async function worked(
  url: string,
  judgeUrl: string,
  sessions: number,
  options: PostgresOptions,
  meanwhile: () => Promise<void>,
): Promise<Starved> {
  const begun = new Map<string, number>();
  const told: { [code: string]: number } = {};
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    onInterrupt: "fail",
    execute: async (_, { idempotencyKey }) => {
      begun.set(idempotencyKey, (begun.get(idempotencyKey) ?? 0) + 1);
      await sleep(Math.random() * 5);
      return "looked ".repeat(200);
    },
  });
  /** Finds its place in the turn. */
  const model: Provider = {
    id: "starved",
    modelId: "test",
    stream(request, given) {
      const messages = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user"));
      return recited(calls("look", {}, "a"), says("Done.")).stream({ ...request, messages }, given);
    },
  };
  const runtime = await createRuntime({ store: postgres(url, options), model, tools: [look] });
  let [sent, isOver] = [0, false];
  const surely = async (attempt: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const code = (error as { readonly code?: string }).code ?? String(error);
        told[code] = (told[code] ?? 0) + 1;
        await sleep(100);
      }
    }
  };
  const chains = Array.from({ length: sessions }, async (_, at) => {
    for (let nth = 0; nth < TURNS || !isOver; nth++, sent++)
      await surely(async () => {
        const session = await runtime.session(`s${at}`);
        await session.turn(`Look ${nth}.`, { key: `${nth}` }).result();
      });
  });
  const wrong: string[] = [];
  const over = meanwhile().finally(() => (isOver = true));
  await within(Promise.all([...chains, over]), 90_000).catch((error: unknown) =>
    wrong.push(String((error as Error).stack ?? error)),
  );
  await runtime.close();
  if (wrong.length > 0) return { turns: sent, answered: 0, told, wrong };
  const store = postgres(judgeUrl, { clock: "caller" });
  try {
    const remains = await remainsOf(store);
    wrong.push(...remains.wrong.map(({ kind, problem }) => `${kind}: ${problem}`));
    if (remains.inputs.size !== sent) wrong.push(`${remains.inputs.size} inputs are in the graph`);
    for (const [key, times] of begun) if (times > 1) wrong.push(`${key} ran ${times} times`);
    const answered = remains.picture.outcomes.filter((each) => (each as { kind?: string } | null)?.kind === "answered");
    return { turns: sent, answered: answered.length, told, wrong };
  } finally {
    await store.close();
  }
}

/** Many sessions share few connections. */
export async function fewConnections(sessions: number): Promise<Starved> {
  const url = await freshDatabase();
  return worked(url, url, sessions, { connections: 1 }, async () => {});
}

/** Others have all connections that the server gives, again and again. */
export async function noConnections(sessions: number, times: number): Promise<Starved> {
  const url = await freshDatabase();
  const limited = new URL(url);
  limited.username = `user_${limited.pathname.slice(1)}`;
  const admin = new pg.Client(await sharedPostgres());
  await admin.connect();
  await admin.query(`CREATE ROLE ${limited.username} LOGIN CONNECTION LIMIT 3`);
  await admin.query(`GRANT ALL ON DATABASE ${limited.pathname.slice(1)} TO ${limited.username}`);
  const options = { connections: 3, retryMs: 300, statementTimeoutMs: 300, listen: false } as const;
  try {
    return await worked(limited.href, url, sessions, options, async () => {
      for (let n = 0; n < times; n++) {
        await sleep(150);
        // Whoever is connected is sent away, and others come first.
        const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${limited.username}'`;
        await admin.query(cut);
        const hogs = Array.from({ length: 3 }, () => new pg.Client(limited.href));
        await Promise.allSettled(hogs.map((hog) => hog.on("error", () => {}).connect()));
        await sleep(600);
        await Promise.allSettled(hogs.map((hog) => hog.end()));
      }
    });
  } finally {
    await admin.query(`REASSIGN OWNED BY ${limited.username} TO CURRENT_USER`).catch(() => {});
    await admin.end();
  }
}

/** The disk of the server is full, again and again, and has room again. */
export async function fullDisk(sessions: number, times: number): Promise<Starved> {
  using disk = smallDisk(120);
  await using server = await startPostgres({ dataIn: disk.folder, settings: { max_wal_size: "32MB" } });
  const options = { retryMs: 2_000, statementTimeoutMs: 2_000, leaseMs: 2_000 };
  return await worked(server.url, server.url, sessions, options, async () => {
    for (let n = 0; n < times; n++) {
      await sleep(200);
      disk.fill(n % 2 === 0 ? 0 : 64 * 1024);
      // Something big that is written on the full disk, so that it is met soon.
      await server
        .query("CREATE TABLE IF NOT EXISTS big AS SELECT repeat('x', 1000) FROM generate_series(1, 50000)")
        .catch(() => {});
      await sleep(600);
      disk.free();
      await server.query("DROP TABLE IF EXISTS big").catch(() => {});
      await sleep(300);
      if (server.pid === undefined) await server.start(); // It ends itself when it cannot write its log.
      await sleep(300);
    }
  });
}

export const rowOf = (name: string, { turns, answered, told, wrong }: Starved): string =>
  `${name.padEnd(24)} ${turns} turns, ${answered} answered, ${wrong.length} wrong; callers were told: ${
    Object.entries(told)
      .map(([code, times]) => `${code} ${times}`)
      .join(", ") || "nothing"
  }`;
