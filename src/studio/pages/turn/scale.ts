// The time axis of a timeline. A long time in which nothing begins or ends is a break: it has a small fixed width, so that a
// wait of a night does not hide the work before and after it.
//
// scale-1 The axis keeps the order: a later time is never left of an earlier one.
// scale-2 A break contains no start and no end of an item.
import { clock, duration } from "../../format.ts";

export interface Interval {
  readonly from: number;
  readonly to: number;
}
export interface Break extends Interval {
  /** The place on the axis, from 0 to 1. */
  readonly at: number;
  readonly width: number;
}
export interface Tick {
  readonly at: number;
  readonly text: string;
}
export interface Scale {
  /** The place of a time on the axis, from 0 to 1. */
  place(time: number): number;
  readonly breaks: readonly Break[];
  /** About `wanted` ticks. */
  ticks(wanted: number): readonly Tick[];
}

interface Piece extends Interval {
  readonly isBreak: boolean;
}

/** An idle time is a break if it is so many times longer than all shorter pieces together. */
const IDLE = { times: 4, least: 5_000 };
/** Work is only shortened if it hides everything else. */
const WORK = { times: 40, least: 60_000 };
/** All breaks together have at most this part of the axis. */
const BREAKS_MAX = 0.35;

/** `breakWidth`: the part of the axis that a break has. Without it there are no breaks. */
export function scaleOf(
  whole: Interval,
  work: readonly Interval[],
  times: readonly number[],
  breakWidth: number | undefined,
): Scale {
  const to = Math.max(whole.to, whole.from + 1);
  const pieces =
    breakWidth !== undefined
      ? withBreaks({ from: whole.from, to }, work, times)
      : [{ from: whole.from, to, isBreak: false }];
  const broken = pieces.filter(({ isBreak }) => isBreak).length;
  const ownWidth = broken === 0 ? 0 : Math.min(breakWidth ?? 0, BREAKS_MAX / broken);
  const linear = pieces.reduce((sum, piece) => sum + (piece.isBreak ? 0 : lengthOf(piece)), 0);
  const perMs = linear === 0 ? 0 : (1 - broken * ownWidth) / linear;
  let at = 0;
  const placed = pieces.map((piece) => {
    const width = piece.isBreak ? ownWidth : lengthOf(piece) * perMs;
    const start = at;
    at += width;
    return { ...piece, at: start, width };
  });
  return {
    place: (time) => {
      const piece = placed.find((each) => time <= each.to) ?? placed.at(-1)!;
      const part = lengthOf(piece) === 0 ? 0 : (time - piece.from) / lengthOf(piece);
      return Math.min(1, Math.max(0, piece.at + Math.min(1, Math.max(0, part)) * piece.width));
    },
    breaks: placed.filter(({ isBreak }) => isBreak),
    ticks: (wanted) => {
      const step = niceStep(linear / wanted);
      return placed.flatMap((piece): readonly Tick[] => {
        if (piece.isBreak) return [];
        const steps = Math.max(1, Math.ceil((lengthOf(piece) / step) * 0.999));
        return Array.from({ length: steps }, (_, n) => {
          const ms = n * step;
          return { at: piece.at + ms * perMs, text: n === 0 ? clock(piece.from) : `+${duration(ms)}` };
        });
      });
    },
  };
}

const lengthOf = ({ from, to }: Interval): number => to - from;

/** Cuts the time at each start and end, and joins what is not a break. */
function withBreaks(whole: Interval, work: readonly Interval[], times: readonly number[]): readonly Piece[] {
  const cuts = [...new Set([whole.from, whole.to, ...times])]
    .filter((time) => time >= whole.from && time <= whole.to)
    .sort((a, b) => a - b);
  const idle = idleIn(cuts, work);
  const pieces = cuts.slice(1).map((to, nth) => ({ from: cuts[nth]!, to, isIdle: idle[nth]! }));
  let shorter = 0;
  const breaks = new Set<number>();
  for (const piece of [...pieces].sort((a, b) => lengthOf(a) - lengthOf(b))) {
    const length = lengthOf(piece);
    const { times: most, least } = piece.isIdle ? IDLE : WORK;
    if (length >= least && shorter > 0 && length > most * shorter) breaks.add(piece.from);
    else shorter += length;
  }
  const joined: Piece[] = [];
  for (const { from, to } of pieces) {
    const isBreak = breaks.has(from);
    const last = joined.at(-1);
    if (last !== undefined && !last.isBreak && !isBreak) joined[joined.length - 1] = { ...last, to };
    else joined.push({ from, to, isBreak });
  }
  return joined.length === 0 ? [{ ...whole, isBreak: false }] : joined;
}

/** Whether nothing works between each cut and the next one. */
function idleIn(cuts: readonly number[], work: readonly Interval[]): readonly boolean[] {
  const changes = new Map<number, number>();
  for (const { from, to } of work) {
    changes.set(from, (changes.get(from) ?? 0) + 1);
    changes.set(to, (changes.get(to) ?? 0) - 1);
  }
  let running = 0;
  return cuts.slice(0, -1).map((cut) => {
    running += changes.get(cut) ?? 0;
    return running === 0;
  });
}

/** 1, 2 or 5 of a power of ten milliseconds; above a minute, whole parts of minutes and hours. */
function niceStep(ms: number): number {
  const fixed = [60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];
  if (ms > 30_000) return fixed.find((each) => each >= ms) ?? Math.ceil(ms / 86_400_000) * 86_400_000;
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 1)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= ms) as number;
}
