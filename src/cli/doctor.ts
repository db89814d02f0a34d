import { statSync } from "node:fs";
import type { SessionId, Store, TurnId } from "../index.ts";
import type { Finding } from "../stores/sqlite.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { MEMORY, openExisting, type Place, placeOf } from "./place.ts";
import { counted } from "./print.ts";
import { waitingFor } from "./sessions.ts";
import { firstWords, jsonFor, printable } from "./text.ts";
import { called, standingOf, unfinishedIn, type Waited } from "./unfinished.ts";

/** The output of `--json`. */
interface Diagnosis {
  readonly db: string;
  readonly schema: number;
  readonly bytes: number;
  /** The size of the write-ahead log beside the file, in bytes. */
  readonly logBytes: number;
  readonly sessions: number;
  readonly turns: number;
  readonly open: readonly {
    readonly session: SessionId;
    readonly turn: TurnId;
    readonly words: string;
    /** The process that works at the turn. Absent when there is none: the next to open the session goes on with it. */
    readonly holder?: string;
    readonly until?: number;
    /** What the turn waits for, here and in sessions below. Absent unless it is parked. */
    readonly waits?: readonly Waited[];
    /** It comes after the open turn of its session. */
    readonly isQueued?: true;
  }[];
  readonly findings: readonly Finding[];
}

/** `bowline doctor`: checks the whole store and changes nothing. */
export async function doctor(io: Io, settings: Settings): Promise<number> {
  const place = placeOf(io, settings.db);
  if (place.path === MEMORY) throw new UsageError(`${MEMORY} keeps nothing to look at.`, "Name a file: --db <file>.");
  const found = await examine(place);
  io.stdout.write(settings.json ? `${jsonFor(settings, found, 2)}\n` : told(found));
  return found.findings.length === 0 ? EXIT.ok : EXIT.failed;
}

async function examine(place: Place): Promise<Diagnosis> {
  const store = openExisting(place);
  try {
    const findings = [...(await store.check({ deep: true }))];
    /** Goes on after damage: `check` has reported it already, and the rest of the store is to be told too. */
    const unless = async <T>(otherwise: T, look: () => Promise<T>): Promise<T> => {
      try {
        return await look();
      } catch (error) {
        if (findings.length === 0) findings.push({ item: "The store", problem: String((error as Error).message) });
        return otherwise;
      }
    };
    const sessions = await unless([], async () => store.list());
    return {
      db: place.path,
      schema: schemaOf(place),
      bytes: bytesOf(place.path),
      logBytes: bytesOf(`${place.path}-wal`),
      sessions: sessions.length,
      turns: sessions.reduce((sum, { turns }) => sum + turns, 0),
      open: await unless([], () => openTurns(store)),
      findings,
    };
  } finally {
    await store.close();
  }
}

async function openTurns(store: Store): Promise<Diagnosis["open"]> {
  const found: Diagnosis["open"][number][] = [];
  for (const { sessionId: session, turnId: turn, ...about } of await unfinishedIn(store)) {
    const standing = await standingOf(store, session);
    if (standing.kind === "left" && (await store.terminal(turn)) !== undefined) continue; // The turn ended in the meantime.
    const open = { session, turn, ...about };
    if (standing.kind === "held")
      found.push({ ...open, holder: called(standing.holder), until: standing.holder.until });
    else found.push(standing.kind === "waiting" && !about.isQueued ? { ...open, waits: standing.waits } : open);
  }
  return found;
}

/**
 * The schema's version is read from the file, because the store's contract does not tell it. Opening has migrated it.
 */
function schemaOf({ path }: Place): number {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
  } finally {
    db.close();
  }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const sized = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;

function stateOf({ session, holder, until, waits, isQueued }: Diagnosis["open"][number], db: string): string {
  if (holder !== undefined) return `held by ${holder} until ${new Date(until ?? 0).toISOString()}`;
  const chat = `bowline chat --db ${db} --session ${session}, or with --app`;
  if (waits !== undefined) return `it ${waitingFor(waits)} (${chat})`;
  return isQueued
    ? "it comes after the one that is open"
    : `nobody is at it; the program that began it goes on with it (${chat})`;
}

function told({ db, schema, bytes, logBytes, sessions, turns, open, findings }: Diagnosis): string {
  const lines = [
    `${db}: schema ${schema}, ${sized(bytes)}${logBytes === 0 ? "" : ` and ${sized(logBytes)} of log`}, ${counted(sessions, "session")}, ${counted(turns, "turn")}`,
    ...open.map(
      (turn) => `Open in ${turn.session}: ${turn.turn} (${firstWords(turn.words, 40)}), ${stateOf(turn, db)}`,
    ),
    ...findings.map(({ item, problem }) => `${item}: ${problem}`),
    findings.length === 0 ? "No damage was found." : `${counted(findings.length, "finding")}. Nothing was changed.`,
  ];
  return `${lines.map(printable).join("\n")}\n`;
}
