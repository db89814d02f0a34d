import type { SessionId, Store } from "../index.ts";
import { textOf } from "../model/message.ts";
import { shownPlace } from "./database-file.ts";
import { existingStore } from "./existing-store.ts";
import { EXIT, type Io, type Settings } from "./io.ts";
import { ago, counted, waitedFor } from "./print.ts";
import { firstWords, jsonFor, textFor } from "./text.ts";
import { called, standingOf, unfinishedIn, type Waited } from "./unfinished.ts";

/** One session in the output of `--json`. */
interface Listed {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly createdAt: number;
  readonly lastAt: number;
  readonly turns: number;
  /**
   * `waiting`: its turn waits for an answer. `interrupted`: a process died in the middle of a turn. Opening the session
   * resumes the turn.
   */
  readonly state: "idle" | "running" | "waiting" | "interrupted";
  readonly holder?: string;
  /** What the open turn waits for, in this session and below it. */
  readonly waits?: readonly Waited[];
  readonly lastAnswer?: string;
}

/** `bowline sessions`: lists the sessions of the store, the latest first. */
export async function sessions(io: Io, settings: Settings): Promise<number> {
  const store = await existingStore(io, settings.db);
  const found = await list(store);
  if (settings.json) io.stdout.write(`${jsonFor(settings, found, 2)}\n`);
  else if (found.length === 0) io.stdout.write(`There are no sessions in ${await shownPlace(io, settings.db)} yet.\n`);
  else io.stdout.write(table(found, io.stdout.columns ?? Number.POSITIVE_INFINITY, textFor(settings)));
  return EXIT.ok;
}

async function list(store: Store): Promise<readonly Listed[]> {
  try {
    const open = new Set((await unfinishedIn(store)).map(({ sessionId }) => sessionId));
    const found: Listed[] = [];
    for (const { id, parentId, createdAt, turns } of await store.list()) {
      const { answer, at } = await lastOf(store, id);
      found.push({
        id,
        ...(parentId === undefined ? {} : { parentId }),
        createdAt,
        lastAt: at ?? createdAt,
        turns,
        ...(open.has(id) ? await stateOf(store, id) : { state: "idle" }),
        ...(answer === undefined ? {} : { lastAnswer: answer }),
      });
    }
    return found.sort((a, b) => b.lastAt - a.lastAt);
  } finally {
    await store.close();
  }
}

async function stateOf(store: Store, id: SessionId): Promise<Pick<Listed, "state" | "holder" | "waits">> {
  const standing = await standingOf(store, id);
  if (standing.kind === "held") return { state: "running", holder: called(standing.holder) };
  return standing.kind === "left" ? { state: "interrupted" } : { state: "waiting", waits: standing.waits };
}

/** How many of the last turns are searched for an answer. An older answer is not worth showing. */
const LOOKED_AT = 3;

async function lastOf(store: Store, id: SessionId): Promise<{ readonly answer?: string; readonly at?: number }> {
  const segments = await store.view(id, { max: LOOKED_AT });
  const entries = segments.flatMap((segment) => segment.entries.toReversed());
  const at = entries[0]?.at;
  for (const entry of entries) {
    if (entry.kind !== "message" || entry.message.role !== "assistant") continue;
    const answer = textOf(entry.message.parts, "shown");
    if (answer.trim() !== "") return { answer, at: at as number };
  }
  return at === undefined ? {} : { at };
}

const WORDS_MIN = 20;
const WORDS_MAX = 60;

function table(found: readonly Listed[], columns: number, text: (words: string) => string): string {
  const rows = found.map((each) => [firstWords(each.id, 40), counted(each.turns, "turn"), ago(each.lastAt)]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const left = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return found
    .map((each, index) => {
      const room = Math.max(WORDS_MIN, Math.min(WORDS_MAX, columns - (left[index]?.length ?? 0) - 3));
      return `${`${left[index]}  ${noted(each)}${firstWords(each.lastAnswer ?? "", room, text)}`.trimEnd()}\n`;
    })
    .join("");
}

function noted({ state, holder, waits = [] }: Listed): string {
  if (state === "running") return `(runs a turn: ${holder}) `;
  if (state === "interrupted") return "(interrupted) ";
  return state === "waiting" ? `(${waitingFor(waits)}) ` : "";
}

/** Without a question the turn sleeps, or waits for a turn of another session. */
export function waitingFor(waits: readonly Waited[]): string {
  const [first, ...others] = waits;
  if (first === undefined) return "waits";
  return `waits for ${waitedFor(first)}${others.length === 0 ? "" : `, and ${others.length} more`}`;
}
