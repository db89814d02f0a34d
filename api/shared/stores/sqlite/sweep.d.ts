interface SweepOptions {
  /** Younger blobs stay, named or not: someone may be about to name them. An hour unless given, two minutes at least. */
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
  /** Rewrites the whole file without its free pages. Takes as long and as much room as the file is big, and blocks. */
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
