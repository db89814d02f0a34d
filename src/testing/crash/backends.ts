import { describeThrown } from "../../model/json.ts";
import { amnesiacBackend } from "./backends/amnesiac.ts";
import type { CrashBackend, OpenedBackend, TrialResources } from "./backends/backend.ts";
import { sqliteBackend } from "./backends/sqlite.ts";

/** The backends of the kit by name. Your own backend may extend one, for example with another host. */
export const crashBackends: { readonly sqlite: CrashBackend; readonly amnesiac: CrashBackend } = {
  sqlite: sqliteBackend,
  amnesiac: amnesiacBackend,
};
export type CrashBackendName = keyof typeof crashBackends;

/** Takes a name or the URL of a module, because these can be sent to a process and a backend cannot. */
export async function backendAt(where: string): Promise<CrashBackend> {
  if (isName(where)) return crashBackends[where];
  if (!URL.canParse(where))
    throw new TypeError(
      `"${where}" is no place: name one of ${Object.keys(crashBackends).join(", ")}, or give the URL of a module.`,
    );
  const { default: place } = (await import(where)) as { readonly default?: Partial<CrashBackend> };
  if (typeof place?.open !== "function" || typeof place.look !== "function")
    throw new TypeError(`${where} has no place: its default export must have the functions open and look.`);
  return place as CrashBackend;
}

const isName = (where: string): where is CrashBackendName => Object.hasOwn(crashBackends, where);

/** Opens the backend in a process of a trial. A failure has its own message, because it is not the scenario's. */
export async function openBackend(where: string, at: TrialResources): Promise<OpenedBackend> {
  try {
    const opened: Partial<OpenedBackend> = await (await backendAt(where)).open(at);
    if (opened.store === undefined || opened.host === undefined)
      throw new TypeError("open must answer with a store and a host.");
    return opened as OpenedBackend;
  } catch (error) {
    throw new Error(`The place ${where} did not open: ${describeThrown(error)}`, { cause: error });
  }
}
