import { hash } from "node:crypto";
import type { SessionChange } from "../store.ts";

/**
 * Returns the hash that distinguishes a repeated change from a conflict. A repeat may have other times, another `by` or
 * `base`, other receipts, and other job owners.
 */
export function contentOf(change: SessionChange): string {
  const { operation: _1, at: _2, base: _3, by: _4, receipt: _5, parts: _6, queueMax: _7, spawns, ...rest } = change;
  const jobs = spawns?.map(({ job }) => job);
  const json = JSON.stringify({ ...rest, jobs }, (key, value) => (key === "at" ? undefined : value));
  return hash("sha256", json, "base64url");
}
