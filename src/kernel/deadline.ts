/** A limit on how long something may take. */
export interface Deadline {
  /** Restarts the time: the work is alive. */
  beat(): void;
  clear(): void;
}

class Entry implements Deadline {
  readonly late: () => void;
  readonly #group: Group;
  since = performance.now();
  isBeaten = false;
  /** Its index in the group's entries, so that it can be removed without a search. */
  index: number;

  constructor(late: () => void, group: Group) {
    this.late = late;
    this.#group = group;
    this.index = group.entries.length;
    group.entries.push(this);
  }

  beat(): void {
    this.isBeaten = true;
  }

  clear(): void {
    const { entries, ms, timer } = this.#group;
    if (entries[this.index] !== this) return;
    const last = entries.pop() as Entry;
    if (last !== this) {
      entries[this.index] = last;
      last.index = this.index;
    }
    if (entries.length === 0 && ms > LONG_MS) timer.unref();
  }
}

/**
 * Deadlines of one length share a timer that looks at all of them. A timer for each call would cost more than the call,
 * and nearly all calls are in time.
 */
class Group {
  readonly ms: number;
  readonly entries: Entry[] = [];
  /** Keeps the process alive only while the group has entries. */
  readonly timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.ms = ms;
    this.timer = setInterval(() => this.#look(), Math.max(1, ms / 8));
  }

  #look(): void {
    if (this.entries.length === 0) {
      clearInterval(this.timer);
      groups.delete(this.ms);
      return;
    }
    const now = performance.now();
    for (const entry of [...this.entries]) {
      if (entry.isBeaten) {
        entry.isBeaten = false;
        entry.since = now;
      } else if (now - entry.since >= this.ms) {
        entry.clear();
        try {
          entry.late();
        } catch {
          // Caught here, because no caller is above a timer, and the error of one deadline must not prevent the check
          // of the others.
        }
      }
    }
  }
}

/**
 * Timers of shorter deadlines always keep the process alive, because they delay its end by at most an eighth of this
 * time.
 */
const LONG_MS = 1_000;

const groups = new Map<number, Group>();
const NEVER: Deadline = { beat() {}, clear() {} };

/**
 * Calls `late` when `ms` have passed without a beat, at most an eighth later. Never calls it if `ms` is longer than a
 * timer can wait.
 */
export function within(ms: number, late: () => void): Deadline {
  if (ms > 2_147_483_647) return NEVER;
  let group = groups.get(ms);
  if (group === undefined) {
    group = new Group(ms);
    groups.set(ms, group);
  }
  if (group.entries.length === 0) group.timer.ref();
  return new Entry(late, group);
}
