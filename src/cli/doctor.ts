import type { SessionId, Store, TurnId } from "../index.ts";
import { addressOf, databaseFileOf, MEMORY } from "./database-file.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { type Described, databaseAt, type Finding, fileAt, type Patient } from "./patients.ts";
import { counted } from "./print.ts";
import { waitingFor } from "./sessions.ts";
import { firstWords, jsonFor, printable } from "./text.ts";
import { called, standingOf, unfinishedIn, type Waited } from "./unfinished.ts";

/** The output of `--json`. */
interface Diagnosis extends Described {
  readonly sessions: number;
  readonly turns: number;
  readonly open: readonly {
    readonly session: SessionId;
    readonly turn: TurnId;
    readonly words: string;
    /**
     * The process that runs the turn. Absent if no process runs it: then the next process that opens the session
     * resumes the turn.
     */
    readonly holder?: string;
    readonly until?: number;
    /** What the turn waits for, here and in sessions below. Absent unless it is parked. */
    readonly waits?: readonly Waited[];
    /** The turn is queued behind the open turn of its session. */
    readonly isQueued?: true;
  }[];
  readonly findings: readonly Finding[];
}

/** `bowline doctor`: checks the whole store and changes nothing. */
export async function doctor(io: Io, settings: Settings): Promise<number> {
  const patient = await patientOf(io, settings);
  const found = await examine(patient);
  io.stdout.write(settings.json ? `${jsonFor(settings, found, 2)}\n` : reportOf(found, patient));
  return found.findings.length === 0 ? EXIT.ok : EXIT.failed;
}

async function patientOf(io: Io, { db }: Settings): Promise<Patient> {
  const address = addressOf(io, db);
  if (address !== undefined) return databaseAt(address);
  const place = databaseFileOf(io, db);
  if (place.path === MEMORY) throw new UsageError(`${MEMORY} has nothing to check.`, "Name a file: --db <file>.");
  return fileAt(place);
}

async function examine({ store, describe }: Patient): Promise<Diagnosis> {
  try {
    const findings = [...(await store.check({ deep: true }))];
    /** Continues after damage, because `check` has reported it already and the rest of the store must be shown too. */
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
      ...(await describe()),
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

const sized = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;

function stateOf({ session, holder, until, waits, isQueued }: Diagnosis["open"][number], patient: Patient): string {
  if (holder !== undefined) return `held by ${holder} until ${new Date(until ?? 0).toISOString()}`;
  const chat = patient.chat(session);
  if (waits !== undefined) return `it ${waitingFor(waits)} (${chat})`;
  return isQueued
    ? "it is queued behind the open turn"
    : `no process runs it; opening the session resumes it (${chat})`;
}

function reportOf(diagnosis: Diagnosis, patient: Patient): string {
  const { db, schema, bytes, logBytes, sessions, turns, open, findings } = diagnosis;
  const lines = [
    `${db}: schema ${schema}, ${sized(bytes)}${logBytes === 0 ? "" : ` and ${sized(logBytes)} of log`}, ${counted(sessions, "session")}, ${counted(turns, "turn")}`,
    ...open.map(
      (turn) => `Open in ${turn.session}: ${turn.turn} (${firstWords(turn.words, 40)}), ${stateOf(turn, patient)}`,
    ),
    ...findings.map(({ item, problem }) => `${item}: ${problem}`),
    findings.length === 0 ? "No damage was found." : `${counted(findings.length, "finding")}. Nothing was changed.`,
  ];
  return `${lines.map(printable).join("\n")}\n`;
}
