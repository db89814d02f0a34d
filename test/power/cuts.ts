// Chooses images: where the power is cut, and what the disk had written by then.
import { createHash } from "node:crypto";
import type { Mark } from "./agent.ts";
import { Disk, type Image, type Luck } from "./disk.ts";
import type { Recording } from "./record.ts";

export interface Cut {
  /** How many steps of the recording came before. */
  readonly at: number;
  /** How the disk was found; names a row of `LUCKS`. */
  readonly luck: string;
  readonly image: Image;
  /** What was told before the cut. */
  readonly marks: readonly Mark[];
}

type Random = () => number;

/** Every name as last made or removed, every size as last set, unless told otherwise; unwritten sectors are zero. */
const luck = (keepsSector: Luck["keepsSector"], rest: Partial<Luck> = {}): Luck => ({
  keepsSector,
  keepsSize: () => true,
  unwritten: () => 0,
  state: (_, count) => count - 1,
  ...rest,
});

/** Whole changes: the same answer for all sectors of one, and for its size. */
function whole(keeps: (nth: number, count: number) => boolean, rest: Partial<Luck> = {}): Luck {
  return luck(keeps, { keepsSize: keeps, ...rest });
}

/** By chance, but one answer per change. */
function someChanges(random: Random, share: number): (nth: number) => boolean {
  const kept: boolean[] = [];
  return (nth) => (kept[nth] ??= random() < share);
}

const LUCKS: { readonly [name: string]: (random: Random) => Luck } = {
  "nothing since the sync": () => whole(() => false, { state: () => 0 }),
  everything: () => whole(() => true),
  "only the last change": () => whole((nth, count) => nth === count - 1),
  "all but the first change": () => whole((nth) => nth > 0),
  "all but the last change": () => whole((nth, count) => nth < count - 1),
  "sizes without content": () => luck(() => false),
  "content without sizes": () => luck(() => true, { keepsSize: () => false }),
  "as far as a change, which is torn": (random) => {
    const place = random();
    return luck(
      (nth, count) => nth < Math.floor(place * count) || (nth === Math.floor(place * count) && random() < 0.5),
    );
  },
  "some changes": (random) => {
    const share = random();
    return whole(someChanges(random, share), { state: (_, count) => Math.floor(random() * count) });
  },
  "some sectors": (random) => {
    const share = random();
    return luck(() => random() < share, {
      keepsSize: () => random() < 0.5,
      state: (_, count) => Math.floor(random() * count),
    });
  },
  "most sectors": (random) => luck(() => random() < 0.98),
  "some sectors, garbage elsewhere": (random) => {
    const share = random();
    return luck(() => random() < share, { unwritten: () => Math.floor(random() * 256) });
  },
};

/** Chooses `count` images, no two alike, spread over the whole recording. Equal seeds give equal images. */
export function* cuts({ found, steps }: Recording, count: number, seed: number): Generator<Cut> {
  const random = generator(seed);
  const names = Object.keys(LUCKS);
  const seen = new Set<string>();
  for (let pass = 0; pass < 10 && seen.size < count; pass++) {
    const disk = new Disk(found);
    const marks: Mark[] = [];
    const places = Array.from({ length: count }, (_, n) => Math.floor(((n + random()) / count) * steps.length) + 1);
    let at = 0;
    for (const place of places) {
      while (at < place) {
        const step = steps[at++]!;
        if ("mark" in step) marks.push(step.mark);
        else disk.apply(step.change);
      }
      // Where little is unsynced many of them look the same, so another is tried.
      for (let tries = 0; tries < 6; tries++) {
        const luck = names[Math.floor(random() * names.length)]!;
        const image = disk.found(LUCKS[luck]!(random));
        const print = printOf(image, marks.length);
        if (seen.has(print)) continue;
        seen.add(print);
        yield { at, luck, image, marks: [...marks] };
        break;
      }
      if (seen.size === count) return;
    }
  }
}

/** The most that can be lost: nothing since the last sync, cut right before every next one. */
export function* dearest({ found, steps }: Recording): Generator<Cut> {
  const luck = "nothing since the sync";
  const disk = new Disk(found);
  const marks: Mark[] = [];
  for (const [at, step] of steps.entries()) {
    if ("mark" in step) marks.push(step.mark);
    else {
      if (/^sync/.test(step.change.kind))
        yield { at, luck, image: disk.found(LUCKS[luck]!(Math.random)), marks: [...marks] };
      disk.apply(step.change);
    }
  }
}

/** The same files after more was acknowledged are another image: more must be in them. */
function printOf(image: Image, marks: number): string {
  const hash = createHash("sha1").update(`${marks}`);
  for (const [name, bytes] of image) hash.update(`\n${name} ${bytes.length}\n`).update(bytes);
  return hash.digest("hex");
}

/** Random numbers from a seed (mulberry32). */
function generator(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
