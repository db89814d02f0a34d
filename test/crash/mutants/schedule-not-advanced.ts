import type { Store } from "bowline";
import { overTriggers } from "./over.ts";

/** A time occurs, and its schedule stays where it is. */
export const store = (inner: Store): Store =>
  overTriggers(inner, { occur: (occurrence, deliveries, max) => inner.triggers.occur(occurrence, deliveries, max) });
