// Job: what a law of stores is, and the words that all of them are written with.
import assert from "node:assert/strict";
import type { Awaitable } from "../model/awaitable.ts";
import type { Code } from "../model/errors.ts";
import type { Store } from "../stores/store.ts";

/** One promise that every store makes. `check` is given an empty store and throws when the promise is broken. */
export interface StoreLaw {
  readonly law: string;
  check(store: Store): Awaitable<void>;
}

export const law = (law: string, check: StoreLaw["check"]): StoreLaw => ({ law, check });

export async function refused(code: Code, act: () => unknown): Promise<void> {
  await assert.rejects(
    async () => act(),
    (error: { readonly code?: unknown }) => {
      assert.equal(error.code, code);
      return true;
    },
  );
}
