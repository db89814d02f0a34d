import { hashesIn } from "./hashes.ts";

export interface SweepOptions {
  /** Blobs younger than this stay, because most are put again soon. Default: one hour. */
  readonly olderThanMs?: number;
  /** Maximum number of blobs to process. */
  readonly max?: number;
  /** Maximum search time. A started page is finished. */
  readonly ms?: number;
}
export interface Swept {
  /** The search did not finish in time, so no blob was removed. Another call continues it. */
  readonly isPartial: boolean;
  readonly deleted: number;
  readonly bytes: number;
  /** Old blobs that have a reference. */
  readonly kept: number;
  /** Old blobs that were not processed. */
  readonly remaining: number;
}

/** Removes the hashes in a text from the set of unnamed blobs. */
export function forgetNamed(
  unnamed: { readonly size: number; delete(hash: string): boolean },
  text: string | null,
): void {
  if (unnamed.size > 0 && text !== null) for (const name of hashesIn(text)) unnamed.delete(name);
}
