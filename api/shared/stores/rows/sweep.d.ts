interface SweepOptions {
  /** Blobs younger than this stay, because most are put again soon. Default: one hour. */
  readonly olderThanMs?: number;
  /** Maximum number of blobs to process. */
  readonly max?: number;
  /** Maximum search time. A started page is finished. */
  readonly ms?: number;
}
interface Swept {
  /** The search did not finish in time, so no blob was removed. Another call continues it. */
  readonly isPartial: boolean;
  readonly deleted: number;
  readonly bytes: number;
  /** Old blobs that have a reference. */
  readonly kept: number;
  /** Old blobs that were not processed. */
  readonly remaining: number;
}
export { SweepOptions, Swept };
