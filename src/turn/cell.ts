// Job: a code cell that runs: its segments, what it waits for, what it is given next.
// Not its job: the way of its calls through gate, attempts and settling, and when the next segment may run (`work.ts`);
// running code (the executor in the slot `codeExecutor`).
// C1. One segment at a time. Its beginning is `r1.exec`; then each gives the code one answer, the oldest first, so that
//     a replay of the same answers comes to the same heap.
// C2. Calls and sleeps of a cell are numbered together, from 0, without gaps: no position is used twice.
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

/** Gives the code the oldest answer that is due. While the turn winds down it is given nothing any more. */
export function nextSegment(move: Move, work: Work, running: CellWork): Work {
  const { segments, due, sleeps: _, returns: __, ...cell } = running;
  const [deliver, ...later] = due;
  if (deliver === undefined || move.state.winding !== undefined) return work;
  move.open({ name: name(`${work.prefix}.d${segments}`), kind: "exec", cell, time: move.at, deliver });
  return { ...work, cell: { ...running, segments: segments + 1, due: later } };
}

export const deliverNext = (work: Work, delivery: CellDelivery): Work =>
  work.cell === undefined ? work : { ...work, cell: { ...work.cell, due: [...work.cell.due, delivery] } };

/** C2: whether these are the next positions of the cell, in whatever order. */
export function areNext({ calls, cell }: Work, placed: readonly { readonly at: string }[]): boolean {
  const from = calls.length + (cell?.sleeps ?? 0);
  const taken = new Set(placed.map(({ at }) => at));
  for (let nth = 0; nth < placed.length; nth++) if (!taken.has(String(from + nth))) return false;
  return true;
}

/** The code waits: its sleeps begin. Undefined when a position is not the next one (C2), or no cell runs. */
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

/** The position of a sleep of the cell; undefined when the effect is none. */
export const sleepOf = (work: Work, { name: effect }: Effect): string | undefined =>
  effect.startsWith(sleepsOf(work)) ? effect.slice(sleepsOf(work).length) : undefined;
