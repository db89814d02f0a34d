import { hashesIn } from "./hashes.ts";

/** What a sweep of blobs is asked, and what it answers. */

export interface SweepOptions {
  /** Younger blobs stay, named or not: most are put again soon. An hour unless given. */
  readonly olderThanMs?: number;
  /** How many blobs to decide on. */
  readonly max?: number;
  /** How long to search; a page under way is finished. */
  readonly ms?: number;
}
export interface Swept {
  /** Nothing removed, because the search for names was not finished in time; another call goes on with it. */
  readonly isPartial: boolean;
  readonly deleted: number;
  readonly bytes: number;
  /** Old blobs that something names. */
  readonly kept: number;
  /** Old blobs not decided on. */
  readonly remaining: number;
}

/** Takes the hashes that a text names from those that nothing was found to name. */
export function forgetNamed(
  unnamed: { readonly size: number; delete(hash: string): boolean },
  text: string | null,
): void {
  if (unnamed.size > 0 && text !== null) for (const name of hashesIn(text)) unnamed.delete(name);
}
