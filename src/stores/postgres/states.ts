import { fromKeyText, keyText } from "../rows/codec.ts";
import type { PluginSnapshot, PluginSnapshots } from "../store.ts";
import type { Transaction } from "./database.ts";
import { parsed } from "./text.ts";

// The key leads from plugin to plugin, so that a long history is not read.
const AT = `WITH RECURSIVE name(plugin) AS (
    (SELECT plugin FROM @state WHERE session = $1 ORDER BY plugin LIMIT 1)
    UNION ALL
    SELECT (SELECT s.plugin FROM @state s WHERE s.session = $1 AND s.plugin > name.plugin ORDER BY s.plugin LIMIT 1)
      FROM name WHERE name.plugin IS NOT NULL
  )
  SELECT latest.plugin, latest.body FROM name CROSS JOIN LATERAL (
    SELECT s.plugin, s.body FROM @state s WHERE s.session = $1 AND s.plugin = name.plugin AND s.since <= $2
      ORDER BY s.since DESC LIMIT 1) latest`;

/**
 * Plugin states, a row for each change: what did not change is not written again, and a fork finds what was kept at any
 * commit. `since` is the revision of the session that the row came with.
 */
export async function statesAt(
  tx: Pick<Transaction, "rows">,
  session: number,
  revision: number,
): Promise<PluginSnapshots> {
  const states: { [plugin: string]: PluginSnapshot } = {};
  for (const { plugin, body } of await tx.rows<{ plugin: string; body: string }>(AT, session, revision)) {
    const name = fromKeyText(plugin);
    const value = parsed<PluginSnapshot | null>(body, `The state of plugin ${name}`);
    if (value === null) continue;
    Object.defineProperty(states, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return states;
}

const KEEP = `INSERT INTO @state (session, plugin, since, body)
  SELECT $1::bigint, plugin, $2::bigint, body FROM unnest($3::text[], $4::text[]) AS changed(plugin, body)`;

/** Keeps what `changedStates` found, under the revision that it comes with. */
export function keepStates(
  tx: Transaction,
  session: number,
  since: number,
  changed: readonly (readonly [string, string])[],
): void {
  if (changed.length === 0) return;
  const [plugins, bodies] = [changed.map(([plugin]) => keyText(plugin)), changed.map(([, body]) => body)];
  tx.queue(KEEP, session, since, plugins, bodies);
}
