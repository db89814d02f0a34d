// The type of store laws, and functions that all of them use.
import assert from "node:assert/strict";
import type { Awaitable } from "../model/awaitable.ts";
import type { Code } from "../model/errors.ts";
import type { Store } from "../stores/store.ts";

/** One promise that every store makes. `check` gets an empty store and throws if the promise is broken. */
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
