import type { PluginSnapshot, PluginSnapshots } from "../store.ts";

/** The body of a row for a plugin whose state was removed. */
export const NOTHING = "null";

/** Returns the changed states as JSON; `null` for a removed one. */
export function changedStates(before: PluginSnapshots, after: PluginSnapshots): readonly [string, string][] {
  if (before === after) return [];
  const changed: [string, string][] = [];
  for (const plugin of Object.keys(after)) {
    const [old, now] = [Object.hasOwn(before, plugin) ? before[plugin] : undefined, after[plugin]];
    if (old === now) continue; // The runtime passes unchanged states back by identity.
    const json = JSON.stringify(now);
    if (old === undefined || JSON.stringify(old) !== json) changed.push([plugin, json]);
  }
  for (const plugin of Object.keys(before)) if (!Object.hasOwn(after, plugin)) changed.push([plugin, NOTHING]);
  return changed;
}

/** Returns the changed states; null for a removed one. */
export function changedPlugins(
  before: PluginSnapshots,
  after: PluginSnapshots,
): readonly (readonly [string, PluginSnapshot | null])[] {
  if (before === after) return [];
  const changed: (readonly [string, PluginSnapshot | null])[] = [];
  for (const plugin of Object.keys(after)) {
    const [old, now] = [Object.hasOwn(before, plugin) ? before[plugin] : undefined, after[plugin]!];
    if (old === now) continue; // The runtime passes unchanged states back by identity.
    if (old === undefined || JSON.stringify(old) !== JSON.stringify(now)) changed.push([plugin, now]);
  }
  for (const plugin of Object.keys(before)) if (!Object.hasOwn(after, plugin)) changed.push([plugin, null]);
  return changed;
}
