import type { ServiceName, Services } from "../../kernel/services.ts";
import { unwaited } from "../../model/awaitable.ts";
import { frozen } from "../../model/json.ts";
import type { JobsPlace } from "../jobs/service.ts";
import { appendFrom } from "./graph.ts";
import { readingOf, snapshot } from "./reading.ts";
import { sessionsService } from "./sessions.ts";
import type { SessionSite } from "./site.ts";

type Makers = { readonly [N in ServiceName]: (site: SessionSite, plugin: string) => Services[N] };

const placeOf = (site: SessionSite, plugin: string): JobsPlace => {
  const { core, sessionId } = site;
  return { core, sessionId, plugin, site };
};

/**
 * How each service is made. Which hook is given which is in `kernel/hooks.ts`. What they return is frozen, as events
 * are. Every promise that a service gives is `unwaited`: a plugin that does not await it must not end the process.
 */
const MAKERS: Makers = {
  session: (site) => ({
    read: () => frozen(readingOf(site.core, site.session.kept.stored, site.messages())),
    snapshot: (id) => unwaited(async () => frozen(await snapshot(site.core, id))),
  }),
  catalog: (site) => ({
    list: () => frozen(site.tools()),
    describe: (name) => unwaited(async () => frozen(await site.session.toolset.describe(name, site))),
  }),
  membership: (site, plugin) => site.membership(plugin),
  sessions: sessionsService,
  graph: (site, plugin) => ({ append: (nodes, options) => unwaited(() => appendFrom(site, plugin, nodes, options)) }),
  complete: (site, plugin) => site.complete(plugin),
  blobs: ({ core: { blobs } }) => ({
    put: (data) => unwaited(() => blobs.put(data)),
    get: (hash) => unwaited(() => blobs.get(hash)),
  }),
  trace: (site, plugin) => ({ emit: (name, payload = null) => site.trace(`${plugin}.${name}`, { payload }) }),
  jobs: (site, plugin) => site.core.background.jobsAt(placeOf(site, plugin)),
  monitors: (site, plugin) => site.core.background.monitorsAt(placeOf(site, plugin)),
  triggers: (site, plugin) => site.core.background.triggersAt(placeOf(site, plugin)),
};

/** Services that are the same for every plugin: one frozen object serves them all. */
const FOR_ALL: ReadonlySet<ServiceName> = new Set(["session", "catalog", "blobs"]);
export const isForAll = (name: ServiceName): boolean => FOR_ALL.has(name);

export function serviceOf<N extends ServiceName>(site: SessionSite, name: N, plugin: string): Services[N] {
  const service = MAKERS[name](site, plugin);
  if (FOR_ALL.has(name)) Object.freeze(service);
  return service;
}
