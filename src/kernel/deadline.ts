/** Something that must happen in time. */
export interface Deadline {
  /** It is alive: count from now. */
  beat(): void;
  clear(): void;
}

class Entry implements Deadline {
  since = Date.now();
  isBeaten = false;
  readonly late: () => void;
  readonly #group: Group;

  constructor(late: () => void, group: Group) {
    this.late = late;
    this.#group = group;
  }

  beat(): void {
    this.isBeaten = true;
  }

  clear(): void {
    this.#group.remove(this);
  }
}

/** Deadlines of one length share a timer that looks at them all: calls are many, and nearly all are in time. */
class Group {
  readonly #ms: number;
  readonly #entries = new Set<Entry>();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#ms = ms;
    this.#timer = setInterval(() => this.#look(), Math.max(1, ms / 8));
  }

  add(late: () => void): Deadline {
    const entry = new Entry(late, this);
    if (this.#entries.size === 0) this.#timer.ref();
    this.#entries.add(entry);
    return entry;
  }

  remove(entry: Entry): void {
    this.#entries.delete(entry);
    if (this.#entries.size === 0) this.#timer.unref(); // Nothing to wait for: the process may end.
  }

  #look(): void {
    const now = Date.now();
    for (const entry of this.#entries) {
      if (entry.isBeaten) {
        entry.isBeaten = false;
        entry.since = now;
      } else if (now - entry.since >= this.#ms) {
        this.remove(entry);
        entry.late();
      }
    }
  }
}

const groups = new Map<number, Group>();
const NEVER: Deadline = { beat() {}, clear() {} };

/** Calls `late` when `ms` have passed without a beat, at most an eighth later; never when `ms` is beyond what timers can do. */
export function within(ms: number, late: () => void): Deadline {
  if (ms > 2_147_483_647) return NEVER;
  let group = groups.get(ms);
  if (group === undefined) {
    group = new Group(ms);
    groups.set(ms, group);
  }
  return group.add(late);
}
