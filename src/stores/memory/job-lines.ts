import type { JobLine, JobLines, Saying } from "../store.ts";
import type { JobRow } from "./rows.ts";

interface Said {
  /** What is left of it, oldest first. */
  lines: readonly JobLine[];
  /** The number of the last line, also when that was dropped. */
  last: number;
  /** The latest call that took lines: its key, and between which numbers those lay. */
  key: string | undefined;
  from: number;
  taken: number;
}

const NOTHING: JobLines = { lines: [], taken: 0 };

/** What jobs have said. It stays when a job is over and no more is known of who held it, and goes with the job. */
export class Sayings {
  readonly #rows = new Map<JobRow, Said>();

  add(row: JobRow, { lines, max }: Saying): void {
    const said = this.#of(row);
    const all = said.lines.slice();
    for (const line of lines) {
      if (line.n <= said.last) continue;
      all.push(line);
      said.last = line.n;
    }
    said.lines = all.slice(Math.max(0, all.length - max));
  }

  lines(row: JobRow | undefined): JobLines {
    const said = row && this.#rows.get(row);
    return said === undefined ? NOTHING : { lines: said.lines, taken: said.taken };
  }

  take(row: JobRow, key: string): readonly JobLine[] {
    const said = this.#of(row);
    if (said.key !== key) {
      said.key = key;
      said.from = said.taken;
      said.taken = said.lines.at(-1)?.n ?? said.taken;
    }
    return said.lines.filter(({ n }) => n > said.from && n <= said.taken);
  }

  forget(row: JobRow): void {
    this.#rows.delete(row);
  }

  #of(row: JobRow): Said {
    const said = this.#rows.get(row) ?? { lines: [], last: 0, key: undefined, from: 0, taken: 0 };
    this.#rows.set(row, said);
    return said;
  }
}
