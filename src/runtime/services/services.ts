import { type ServiceName, type Services, unavailable } from "../../kernel/services.ts";
import { unwaited } from "../../model/awaitable.ts";
import { frozen } from "../../model/json.ts";
import { readingOf, snapshot } from "./reading.ts";
import { sessionsService } from "./sessions.ts";
import type { SessionSite } from "./site.ts";

type Makers = { readonly [N in ServiceName]: (site: SessionSite, plugin: string) => Services[N] };

/**
 * How each service is made. Which hook is given which is in `kernel/hooks.ts`. Every promise that a service gives is
 * `unwaited`: a plugin that does not await it must not end the process.
 */
const MAKERS: Makers = {
  session: (site) => ({
    read: () => readingOf(site.core, site.session.kept.stored, site.messages()),
    snapshot: (id) => unwaited(() => snapshot(site.core, id)),
  }),
  catalog: (site) => ({
    list: () => site.tools(),
    describe: (name) => unwaited(async () => site.session.toolset.describe(name, site)),
  }),
  membership: (site, plugin) => site.membership(plugin),
  sessions: sessionsService,
  graph: (site, plugin) => ({ append: (nodes, options) => unwaited(() => site.append(plugin, nodes, options)) }),
  complete: (site, plugin) => site.complete(plugin),
  blobs: ({ core: { blobs } }) => ({
    put: (data) => unwaited(() => blobs.put(data)),
    get: (hash) => unwaited(() => blobs.get(hash)),
  }),
  trace: (site, plugin) => ({ emit: (name, payload = null) => site.trace(`${plugin}.${name}`, { payload }) }),
  jobs: (_, plugin) => unavailable("jobs", plugin),
};

/** Services that are the same for every plugin: one frozen object serves them all. */
const FOR_ALL: ReadonlySet<ServiceName> = new Set(["session", "catalog", "sessions", "blobs"]);
export const isForAll = (name: ServiceName): boolean => FOR_ALL.has(name);

export const serviceOf = <N extends ServiceName>(site: SessionSite, name: N, plugin: string): Services[N] =>
  FOR_ALL.has(name) ? frozen(MAKERS[name](site, plugin)) : MAKERS[name](site, plugin);
