import { SweepOptions, Swept } from "../rows/sweep.js";
interface VacuumOptions extends SweepOptions {
  /**
   * Rewrites the whole file, which takes time and free disk space in proportion to its size. No process can write
   * meanwhile, so it throws `store.in-use` while other processes run turns or jobs. Default: free pages at the end are
   * returned in slices, for at most `ms`; a file of an earlier version must be compacted once first.
   */
  readonly compact?: boolean;
}
interface Vacuumed extends Swept {
  /** The size of free pages in the file, which later writes reuse. */
  readonly freeBytes: number;
  readonly isCompacted: boolean;
  /** Whether the write-ahead log was emptied. That fails while another process reads. */
  readonly isLogEmptied: boolean;
}
export { VacuumOptions, Vacuumed };
