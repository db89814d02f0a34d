import type { PluginSnapshots } from "../store.ts";

const SESSIONS = 1_000;

/** Caches the plugin states of recent sessions, each as of a revision. The states of a revision never change. */
export class LatestStates {
  readonly #bySession = new Map<number, { readonly revision: number; readonly plugins: PluginSnapshots }>();

  clear(): void {
    this.#bySession.clear();
  }

  at(session: number, revision: number): PluginSnapshots | undefined {
    const known = this.#bySession.get(session);
    return known?.revision === revision ? known.plugins : undefined;
  }

  set(session: number, revision: number, plugins: PluginSnapshots): PluginSnapshots {
    if (this.#bySession.size >= SESSIONS) this.#bySession.clear();
    this.#bySession.set(session, { revision, plugins });
    return plugins;
  }

  /** The session has moved to a revision with these states, or with unchanged ones. */
  moved(session: number, from: number, to: number, plugins: PluginSnapshots | undefined): void {
    const states = plugins ?? this.at(session, from);
    if (states !== undefined) this.set(session, to, states);
  }
}
