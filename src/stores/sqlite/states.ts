import { NOTHING } from "../rows/states.ts";
import type { PluginSnapshot, PluginSnapshots } from "../store.ts";
import { sealText, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/**
 * Plugin states, a row for each change: what did not change is not written again, and a fork finds what was kept at any
 * commit. `since` is the revision of the session that the row came with; a body of `null` says that the plugin keeps
 * nothing any more.
 */
export function statesAt(db: Connection, session: number, revision: number): PluginSnapshots {
  // The key leads from plugin to plugin, so that a long history is not read.
  const rows = db.rows<{ plugin: string; since: number; body: string }>(
    `WITH RECURSIVE name(plugin) AS (
       SELECT min(plugin) FROM state WHERE session = ?
       UNION ALL
       SELECT (SELECT min(plugin) FROM state WHERE session = ? AND plugin > name.plugin) FROM name
         WHERE name.plugin IS NOT NULL
     )
     SELECT s.plugin, s.since, s.body FROM name JOIN state s ON s.session = ? AND s.plugin = name.plugin
       AND s.since = (SELECT max(since) FROM state WHERE session = ? AND plugin = name.plugin AND since <= ?)`,
    session,
    session,
    session,
    session,
    revision,
  );
  const states: { [plugin: string]: PluginSnapshot } = {};
  for (const { plugin, since, body } of rows) {
    const snapshot = stateIn({ session, plugin, since, body });
    if (snapshot === null) continue;
    Object.defineProperty(states, plugin, { value: snapshot, enumerable: true, configurable: true, writable: true });
  }
  return states;
}

export interface StateRow {
  readonly session: number;
  readonly plugin: string;
  readonly since: number;
  readonly body: string;
}
export const stateIn = ({ session, plugin, since, body }: StateRow): PluginSnapshot | null =>
  unseal(body, seedOf(session, plugin, since), `The state of plugin ${plugin}`);

export function keepStates(
  db: Connection,
  session: number,
  since: number,
  changed: readonly (readonly [string, string])[],
): void {
  for (const [plugin, json] of changed) {
    const body = sealText(json, seedOf(session, plugin, since));
    db.run("INSERT INTO state (session, plugin, since, body) VALUES (?, ?, ?, ?)", session, plugin, since, body);
  }
}

/** Before schema 5 a plugin that kept nothing any more had no body, and a body that was lost looked the same. */
export function sealRemovals(db: Connection): void {
  for (const { session, plugin, since } of db.rows<StateRow>(
    "SELECT session, plugin, since FROM state WHERE body IS NULL",
  ))
    db.run(
      "UPDATE state SET body = ? WHERE session = ? AND plugin = ? AND since = ?",
      sealText(NOTHING, seedOf(session, plugin, since)),
      session,
      plugin,
      since,
    );
}

const seedOf = (session: number, plugin: string, since: number): number => sumOf([session, plugin, since]);
