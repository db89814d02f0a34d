/** The kills of one run of a scenario. It has one process for each kill, and a last one that finishes. */
export type Trial =
  /** Kills the process at these boundaries, one life after the other. */
  | { readonly kind: "kills"; readonly at: readonly number[] }
  /** Kills the process each time it reaches this boundary, until the runtime abandons the turn. */
  | { readonly kind: "loop"; readonly place: string }
  /** Suspends the process until its lease has expired and another process has done the work, then continues it. */
  | { readonly kind: "stop"; readonly at: number }
  /** Runs two processes concurrently, kills the first at this boundary and starts it again. */
  | { readonly kind: "pair"; readonly at: number };

/** The number of trials of each kind. */
export interface Amounts {
  /** Trials with one kill, each at another boundary. Default: `all` boundaries. */
  readonly kills: "all" | number;
  /** Trials with a second kill in the process after the first. Default: 0. */
  readonly doubles: number;
  /** Trials with three kills. Default: 0. */
  readonly triples: number;
  /** Trials that kill every process at the same outward effect. Default: 0. */
  readonly loops: "all" | number;
  /** Trials that suspend a process until its lease has expired. Default: 0. */
  readonly stops: "all" | number;
  /** Trials with two concurrent processes. Default: 0. */
  readonly pairs: "all" | number;
}

/** Chooses trials. Equal seeds and boundaries give equal trials. */
export function planned(places: readonly string[], amounts: Amounts, seed: number): readonly Trial[] {
  const random = generator(seed);
  const count = places.length;
  const anywhere = (): number => 1 + Math.floor(random() * count);
  // Early boundaries are chosen more often, because later processes have less work left and would not reach a late one.
  const soon = (): number => 1 + Math.floor(random() ** 2 * count);
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const outward = places.filter((place) => /^before r\d+\.(ask|call|exec)/.test(place));
  // Not right before an outward effect: no host can notice a stop between its check of the clock and the start.
  const stoppable = all.filter((at) => STOPPABLE.test(places[at - 1] ?? ""));
  const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make);
  return [
    ...spread(all, amounts.kills, random).map((at): Trial => ({ kind: "kills", at: [at] })),
    ...times(amounts.doubles, (): Trial => ({ kind: "kills", at: [anywhere(), soon()] })),
    ...times(amounts.triples, (): Trial => ({ kind: "kills", at: [anywhere(), soon(), soon()] })),
    ...spread(outward, amounts.loops, random).map((place): Trial => ({ kind: "loop", place })),
    ...spread(stoppable, amounts.stops, random).map((at): Trial => ({ kind: "stop", at })),
    ...spread(all, amounts.pairs, random).map((at): Trial => ({ kind: "pair", at })),
  ];
}

/** Boundaries at which a process may be suspended until its lease has expired. */
export const STOPPABLE =
  /^(before|after) (append|park|commit|inputs\.claim|waits\.resolve|jobs\.append|triggers\.(occur|move))$|^after (r\d+\.|jobs\.claim)/;

/** Chooses `count` items, one from each of as many equal parts of the list. */
function spread<T>(from: readonly T[], count: "all" | number, random: () => number): readonly T[] {
  if (count === "all" || count >= from.length) return from;
  const part = from.length / count;
  return Array.from({ length: count }, (_, index) => from[Math.floor((index + random()) * part)] as T);
}

/** Random numbers from a seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
