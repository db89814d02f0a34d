/** What a sweep of blobs is asked, and what it answers. */
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
export { SweepOptions, Swept };
