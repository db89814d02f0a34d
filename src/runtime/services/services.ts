import type { ServiceName, Services } from "../../kernel/services.ts";
import { unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { bytesOver, frozen, isObject, type JsonObject, toJson } from "../../model/json.ts";
import { appendFrom } from "./graph.ts";
import { historyFor, readingOf, snapshot } from "./reading.ts";
import type { ServiceContext } from "./service-context.ts";
import type { CallerPlace } from "./session-service.ts";
import { sessionsService } from "./sessions.ts";

type Makers = { readonly [N in ServiceName]: (context: ServiceContext, plugin: string) => Services[N] };

const placeOf = (context: ServiceContext, plugin: string): CallerPlace => {
  const { core, sessionId } = context;
  return { core, sessionId, plugin, callContext: context };
};

/**
 * Makes each service. `kernel/hooks.ts` has which hook gets which service. Results are frozen, like events. Every promise of
 * a service is `unwaited`, because a plugin that does not await it must not end the process.
 */
const MAKERS: Makers = {
  session: (context) => ({
    read: () => frozen(readingOf(context.core, context.session.snapshot.stored, context.messages())),
    snapshot: (id) => unwaited(async () => frozen(await snapshot(context.core, id))),
    history: (page = {}, id = context.sessionId) => unwaited(async () => frozen(await historyFor(context, page, id))),
  }),
  catalog: (context) => ({
    list: () => frozen(context.tools()),
    describe: (name) => unwaited(async () => frozen(await context.session.toolset.describe(name, context))),
  }),
  membership: (context, plugin) => context.membership(plugin),
  sessions: sessionsService,
  graph: (context, plugin) => ({
    append: (nodes, options) => unwaited(() => appendFrom(context, plugin, nodes, options)),
  }),
  complete: (context, plugin) => context.complete(plugin),
  blobs: ({ core: { blobs } }) => ({
    put: (data) => unwaited(() => blobs.put(data)),
    get: (hash) => unwaited(() => blobs.get(hash)),
  }),
  trace: (context, plugin) => ({
    emit: (name, payload = null, about) => context.trace(`${plugin}.${name}`, { payload }, contextOf(about)),
  }),
  jobs: (context, plugin) => context.core.background.jobsAt(placeOf(context, plugin)),
  monitors: (context, plugin) => context.core.background.monitorsAt(placeOf(context, plugin)),
  triggers: (context, plugin) => context.core.background.triggersAt(placeOf(context, plugin)),
};

const CONTEXT_MAX = 4_096;

/** The size is bounded, because sinks store and index it. */
function contextOf(given: unknown): JsonObject | undefined {
  if (given === undefined) return undefined;
  const found = toJson(given);
  if ("problem" in found || !isObject(found.json))
    throw new RuntimeError("options.invalid", { option: "context", problem: "it must be an object of JSON" });
  const bytes = bytesOver(JSON.stringify(found.json), CONTEXT_MAX);
  if (bytes !== undefined)
    throw new RuntimeError("limit.bytes", { what: "The context of a trace", bytes, max: CONTEXT_MAX });
  return found.json;
}

/** Services that are the same for every plugin: one frozen object serves them all. */
const FOR_ALL: ReadonlySet<ServiceName> = new Set(["session", "catalog", "blobs"]);
export const isForAll = (name: ServiceName): boolean => FOR_ALL.has(name);

export function serviceOf<N extends ServiceName>(context: ServiceContext, name: N, plugin: string): Services[N] {
  const service = MAKERS[name](context, plugin);
  if (FOR_ALL.has(name)) Object.freeze(service);
  return service;
}
