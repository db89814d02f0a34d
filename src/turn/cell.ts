// A running code cell: its segments, what it waits for, and its next answer. `work.ts` takes its calls through gate,
// attempts and settling, and decides when the next segment may run. The executor in the slot `codeExecutor` runs the
// code.
// cell-1: One segment at a time. The first is `r1.exec`; each later one gives the code one answer, the oldest first. So
// a replay of the same answers gives the same heap.
// cell-2: Calls and sleeps of a cell are numbered together, from 0, without gaps: no position is used twice.
import { type Cell, type CellDelivery, type Effect, name, type PlacedSleep } from "./effect.ts";
import type { Answer } from "./event.ts";
import type { Move } from "./move.ts";
import type { CellWork, Work } from "./state.ts";

export function beginCell(move: Move, prefix: string, cell: Cell): Work {
  const { state } = move;
  const isFresh = state.code === "cleared" ? ({ isFresh: true } as const) : {};
  state.code = "ran";
  move.open({ name: name(prefix), kind: "exec", cell, time: move.at, ...isFresh });
  return { prefix, calls: [], gates: 0, cell: { ...cell, segments: 1, due: [], sleeps: 0, returns: 0 } };
}

/** Gives the code the oldest due answer. While the turn winds down, it gets none. */
export function nextSegment(move: Move, work: Work, running: CellWork): Work {
  const { segments, due, sleeps: _, returns: __, ...cell } = running;
  const [deliver, ...later] = due;
  if (deliver === undefined || move.state.winding !== undefined) return work;
  move.open({ name: name(`${work.prefix}.d${segments}`), kind: "exec", cell, time: move.at, deliver });
  return { ...work, cell: { ...running, segments: segments + 1, due: later } };
}

export const deliverNext = (work: Work, delivery: CellDelivery): Work =>
  work.cell === undefined ? work : { ...work, cell: { ...work.cell, due: [...work.cell.due, delivery] } };

/** cell-2: returns whether these are the next positions of the cell, in any order. */
export function areNext({ calls, cell }: Work, placed: readonly { readonly at: string }[]): boolean {
  const from = calls.length + (cell?.sleeps ?? 0);
  const taken = new Set(placed.map(({ at }) => at));
  for (let nth = 0; nth < placed.length; nth++) if (!taken.has(String(from + nth))) return false;
  return true;
}

/**
 * Starts the sleeps of code that waits. Returns undefined if a position is not the next one (cell-2), or no cell runs.
 */
export function waitFor(
  move: Move,
  work: Work,
  { calls, sleeps = NO_SLEEPS }: Pick<Extract<Answer, { readonly kind: "called" }>, "calls" | "sleeps">,
): Work | undefined {
  const { cell } = work;
  if (cell === undefined || !areNext(work, sleeps.length === 0 ? calls : [...calls, ...sleeps])) return undefined;
  if (sleeps.length === 0) return work;
  if (move.state.winding === undefined)
    for (const { at, ms } of sleeps)
      move.open({ name: name(`${sleepsOf(work)}${at}`), kind: "sleep", at: move.at, until: move.at + ms });
  return { ...work, cell: { ...cell, sleeps: cell.sleeps + sleeps.length } };
}
const NO_SLEEPS: readonly PlacedSleep[] = [];

const sleepsOf = ({ prefix }: Work): string => `${prefix}.sleep.`;

/** Returns the position of a sleep of the cell; undefined for another effect. */
export const sleepOf = (work: Work, { name: effect }: Effect): string | undefined =>
  effect.startsWith(sleepsOf(work)) ? effect.slice(sleepsOf(work).length) : undefined;
