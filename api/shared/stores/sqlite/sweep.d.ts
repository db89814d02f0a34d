interface SweepOptions {
  /** Younger blobs stay, named or not: most are put again soon. An hour unless given. */
  readonly olderThanMs?: number;
  /** How many blobs to decide on. */
  readonly max?: number;
  /** How long to search; a page under way is finished. */
  readonly ms?: number;
}
interface Swept {
  /** Nothing removed, because the search for names was not finished in time; another call goes on with it. */
  readonly isPartial: boolean;
  readonly deleted: number;
  readonly bytes: number;
  /** Old blobs that something names. */
  readonly kept: number;
  /** Old blobs not decided on. */
  readonly remaining: number;
}
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
export { SweepOptions, Swept, VacuumOptions, Vacuumed };
