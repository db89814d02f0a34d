// Opens an agent from the settings: the one of an app, or the built-in one. Loads only the code of the one it opens.
import type { Agent } from "./agent.ts";
import type { Io, Settings } from "./io.ts";
import type { Mode } from "./mode.ts";

/**
 * Opens a session, or a new one without an id. Opening resumes unfinished turns of the session. Returns undefined if a
 * newer version of the app replaces this version before it may start.
 */
export async function openAgent(io: Io, settings: Settings, id?: string): Promise<Agent | undefined> {
  if (settings.app === undefined) return (await import("./bundled.ts")).openBundled(io, settings, id);
  return (await import("./app.ts")).openApp(io, settings.app, settings, id);
}

/** Closes a built-in agent and opens its session again in this mode, even if a turn is unfinished. */
export async function reopenAgent({ session, close }: Agent, io: Io, settings: Settings, mode: Mode): Promise<Agent> {
  await close();
  return (await import("./bundled.ts")).openBundled(io, { ...settings, mode }, session.id, true);
}
