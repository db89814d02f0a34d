import { SweepOptions, Swept } from "../rows/sweep.js";
interface VacuumOptions extends SweepOptions {
  /**
   * Rewrites the whole file, which takes as long and as much room as the file is big. Nobody can write meanwhile, so it
   * throws `store.in-use` while other processes run turns or jobs. Without it, free pages at the end are given back in slices,
   * for `ms` at most; a file that an earlier version made must be compacted once before.
   */
  readonly compact?: boolean;
}
interface Vacuumed extends Swept {
  /** The size of free pages in the file, which later writes use. */
  readonly freeBytes: number;
  readonly isCompacted: boolean;
  /** Whether the write-ahead log could be emptied; not while another process reads. */
  readonly isLogEmptied: boolean;
}
export { VacuumOptions, Vacuumed };
