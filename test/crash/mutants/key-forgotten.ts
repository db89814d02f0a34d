import type { Store } from "bowline";
import { over } from "./over.ts";

/** The same input is not known again. */
export const store = (inner: Store): Store =>
  over(inner, {
    accept: ({ key: _, ...input }, owner, opening, max) => inner.accept(input, owner, opening, max),
  });
