/** Something that must happen in time. */
export interface Deadline {
  /** It is alive: count from now. */
  beat(): void;
  clear(): void;
}

class Entry implements Deadline {
  readonly late: () => void;
  readonly #group: Group;
  since = performance.now();
  isBeaten = false;
  /** Its place in the group. */
  index: number;

  constructor(late: () => void, group: Group, index: number) {
    this.late = late;
    this.#group = group;
    this.index = index;
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
  readonly #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isHeld = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(late: () => void): Deadline {
    const entry = new Entry(late, this, this.#entries.length);
    this.#entries.push(entry);
    this.#timer ??= setInterval(() => this.#look(), Math.max(1, this.#ms / 8));
    if (!this.#isHeld) this.#hold(true);
    return entry;
  }

  remove(entry: Entry): void {
    if (this.#entries[entry.index] !== entry) return;
    const last = this.#entries.pop() as Entry;
    if (last !== entry) {
      this.#entries[entry.index] = last;
      last.index = entry.index;
    }
    if (this.#entries.length === 0 && this.#ms > LONG_MS) this.#hold(false);
  }

  /** Whether the process waits for the timer; asked for only where a forgotten one would be noticed. */
  #hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#timer?.ref();
    else this.#timer?.unref();
  }

  #look(): void {
    if (this.#entries.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#isHeld = false;
      groups.delete(this.#ms);
      return;
    }
    const now = performance.now();
    for (const entry of [...this.#entries]) {
      if (entry.isBeaten) {
        entry.isBeaten = false;
        entry.since = now;
      } else if (now - entry.since >= this.#ms) {
        this.remove(entry);
        try {
          entry.late();
        } catch {
          // Nobody is above a timer to catch it; whoever set it has said what there was to say.
        }
      }
    }
  }
}

/** A shorter timer may keep the process for an eighth of this at most, which nobody notices. */
const LONG_MS = 1_000;

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
