import { Transcript } from "../graph/transcript.ts";
import {
  type Complete,
  type ServiceName,
  type Services,
  type SessionReading,
  unavailable,
} from "../kernel/services.ts";
import { RuntimeError } from "../model/errors.ts";
import { asSessionId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { ToolManifest } from "../model/tool.ts";
import { hashOf } from "../tools/catalog.ts";
import type { Core } from "./core.ts";

/** Where a service is used: in a turn, in an operation, or between them. */
export interface ServiceHome {
  readonly core: Core;
  messages(): readonly Message[];
  reading(messages: readonly Message[]): SessionReading;
  tools(): readonly ToolManifest[];
  describe(tool: string): Promise<ToolDeclaration | undefined>;
  membership(plugin: string): Services["membership"];
  complete(plugin: string): Complete;
  append(...given: Parameters<Services["graph"]["append"]>): ReturnType<Services["graph"]["append"]>;
  /** Made for this session: as its child, its fork, or on their own. */
  create(...given: Parameters<Services["sessions"]["create"]>): ReturnType<Services["sessions"]["create"]>;
  takeFirstInput(id: string): Promise<string | undefined>;
  trace(name: string, about: { readonly [key: string]: Json }): void;
}

type Makers = { readonly [N in ServiceName]: (home: ServiceHome, plugin: string) => Services[N] };

/** One way to make each service; which hook is given which is in the table. */
const MAKERS: Makers = {
  session: (home) => ({ read: () => home.reading(home.messages()), snapshot: (id) => snapshot(home.core, id) }),
  catalog: (home) => ({ list: () => home.tools(), describe: (name) => home.describe(name) }),
  membership: (home, plugin) => home.membership(plugin),
  sessions: (home) => ({
    create: (request) => home.create(request),
    takeFirstInput: (id) => home.takeFirstInput(id),
  }),
  graph: (home) => ({ append: (nodes, options) => home.append(nodes, options) }),
  complete: (home, plugin) => home.complete(plugin),
  blobs: ({ core: { store } }) => ({
    put: async (data) => {
      const hash = hashOf(data);
      await store.blobs.put(hash, data);
      return hash;
    },
    get: async (hash) => store.blobs.get(hash),
  }),
  trace: (home, plugin) => ({ emit: (name, payload = null) => home.trace(`${plugin}.${name}`, { payload }) }),
  jobs: (_, plugin) => unavailable("jobs", plugin),
};

export const serviceOf = <N extends ServiceName>(home: ServiceHome, name: N, plugin: string): Services[N] =>
  MAKERS[name](home, plugin);

/** Any session, as it is committed. */
export async function snapshot({ store, config }: Core, given: string): Promise<SessionReading> {
  const id = asSessionId(given);
  const stored = await store.load(id);
  if (stored === undefined) throw new RuntimeError("session.unknown", { id });
  const { parentId, head, usage, turns } = stored;
  const { messages } = Transcript.from(head === undefined ? [] : await store.view(id));
  return {
    id,
    messages,
    config: { ...config, ...stored.config },
    usage,
    turns,
    ...(parentId === undefined ? {} : { parentId }),
    ...(head === undefined ? {} : { head }),
  };
}
