import type { PluginSnapshots } from "../store.ts";

/** The body of a row that says that a plugin keeps nothing any more. */
export const NOTHING = "null";

/** The states that differ, as JSON; `null` for a plugin that keeps nothing any more. */
export function changedStates(before: PluginSnapshots, after: PluginSnapshots): readonly [string, string][] {
  if (before === after) return [];
  const changed: [string, string][] = [];
  for (const plugin of Object.keys(after)) {
    const [old, now] = [Object.hasOwn(before, plugin) ? before[plugin] : undefined, after[plugin]];
    if (old === now) continue; // The runtime hands back what it was given where nothing changed.
    const json = JSON.stringify(now);
    if (old === undefined || JSON.stringify(old) !== json) changed.push([plugin, json]);
  }
  for (const plugin of Object.keys(before)) if (!Object.hasOwn(after, plugin)) changed.push([plugin, NOTHING]);
  return changed;
}
