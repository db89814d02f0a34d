import type { Store } from "bowline";
import { over } from "./over.ts";

const HOUR_MS = 3_600_000;

/** A session is taken over from whoever holds it. */
export const store = (inner: Store): Store =>
  over(inner, { open: (session, owner, now, opening) => inner.open(session, owner, now + HOUR_MS, opening) });
