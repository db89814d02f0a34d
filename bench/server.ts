// A PostgreSQL server as an operator would run it: its data on a disk, every commit waits for that, and the settings are
// those of a new installation. The tests' own server is quicker and safer to lose.
import { globSync, readFileSync } from "node:fs";
import { type Postgres, startPostgres } from "../test/kit/postgres.ts";

export { findPostgres, POSTGRES_ABSENT } from "../test/kit/postgres.ts";

const SETTINGS = { shared_buffers: "128MB", max_wal_size: "1GB" };
/** Of the times in `/proc`; Linux tells programs so on every machine. */
const TICK_MS = 10;

export const serve = (): Promise<Postgres> => startPostgres({ fsync: true, settings: SETTINGS });

/**
 * The processor time that the server has used, all its processes together, in steps of 10 ms each. It can be told on
 * Linux only.
 */
export function cpuMsOf(server: Postgres): number {
  let ticks = 0;
  for (const file of globSync("/proc/[0-9]*/stat")) {
    const [pid, fields] = [Number(file.split("/")[2]), fieldsIn(file)];
    const [, parent] = fields;
    if (pid !== server.pid && Number(parent) !== server.pid) continue;
    ticks += Number(fields[USER]) + Number(fields[USER + 1]);
    // Processes that have ended count as their parent's.
    if (pid === server.pid) ticks += Number(fields[USER + 2]) + Number(fields[USER + 3]);
  }
  return ticks * TICK_MS;
}

/** Where the time of the user is, counted from the state; those of the system and of ended children follow. */
const USER = 11;

function fieldsIn(file: string): readonly string[] {
  try {
    // The name of the program, in parentheses, may hold anything.
    return readFileSync(file, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return []; // It has ended meanwhile.
  }
}
