/** What is done to a scenario: a process for each kill, and one more to finish. */
export type Trial =
  /** Killed at these boundaries, one life after the other. */
  | { readonly kind: "kills"; readonly at: readonly number[] }
  /** Killed whenever it comes to this place, until the runtime gives the turn up. */
  | { readonly kind: "loop"; readonly place: string }
  /** Stopped there until its lease has lapsed and another has done the work, then continued. */
  | { readonly kind: "stop"; readonly at: number }
  /** Two processes beside each other, the first of which is killed there and started again. */
  | { readonly kind: "pair"; readonly at: number };

export interface Amounts {
  readonly kills: "all" | number;
  readonly doubles: number;
  readonly triples: number;
  readonly loops: "all" | number;
  readonly stops: "all" | number;
  readonly pairs: "all" | number;
}

/** The same trials for the same seed and the same places. */
export function planned(places: readonly string[], amounts: Amounts, seed: number): readonly Trial[] {
  const random = generator(seed);
  const count = places.length;
  const anywhere = (): number => 1 + Math.floor(random() * count);
  // What is left for a later life is shorter: most of its kills would miss.
  const soon = (): number => 1 + Math.floor(random() ** 2 * count);
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const outward = places.filter((place) => /^before r\d+\.(ask|call)/.test(place));
  // Not right before an outward effect: to be stopped between the look at the clock and the start is beyond any check.
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

/** Where a process may be stopped for longer than its lease holds. */
export const STOPPABLE = /^(before|after) (append|commit|inputs\.claim)$|^after r\d+\./;

/** That many, from all over: one from each of as many equal parts. */
function spread<T>(from: readonly T[], count: "all" | number, random: () => number): readonly T[] {
  if (count === "all" || count >= from.length) return from;
  const part = from.length / count;
  return Array.from({ length: count }, (_, index) => from[Math.floor((index + random()) * part)] as T);
}

/** Mulberry32. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
