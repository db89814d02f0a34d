import { Transcript } from "../graph/transcript.ts";
import {
  type Complete,
  type ServiceName,
  type Services,
  type SessionReading,
  type TurnEnd,
  unavailable,
} from "../kernel/services.ts";
import { hasCode, RuntimeError } from "../model/errors.ts";
import { asSessionId, asTurnId, type SessionId, type TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import type { CancelAnswer } from "../model/outcome.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { ToolManifest } from "../model/tool.ts";
import type { StoredSession } from "../stores/store.ts";
import { hashOf } from "../tools/catalog.ts";
import { effectiveConfig } from "./accept.ts";
import type { Core, Neighbour, NeighbourOptions } from "./core.ts";
import { authorityOf } from "./sessions.ts";

/** Where a service is used: in a turn, in an operation, or between them. */
export interface ServiceHome {
  readonly core: Core;
  readonly sessionId: SessionId;
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
    send: (id, input, options = {}) => send(home.core, id, input, options),
    result: (id, turnId, options) => result(home, id, turnId, options?.signal),
    cancel: (id, turnId, reason) => cancel(home.core, id, turnId, reason),
    children: (id) => children(home.core, id === undefined ? home.sessionId : asSessionId(id)),
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

async function using<T>(core: Core, id: string, use: (session: Neighbour) => Promise<T>): Promise<T> {
  try {
    await requireKnown(core, id);
    const session = await core.neighbours.open(asSessionId(id));
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  } catch (error) {
    // The turn that asks is being let go, to be gone on with elsewhere: an answer would be recorded as its tool's failure.
    if (core.door.isClosed && hasCode(error, "runtime.closed")) return new Promise<never>(() => {});
    throw error;
  }
}

async function requireKnown({ store }: Core, id: string): Promise<StoredSession> {
  const stored = await store.load(asSessionId(id));
  if (stored === undefined) throw new RuntimeError("session.unknown", { id });
  return stored;
}

const send = (core: Core, id: string, input: string, options: NeighbourOptions): Promise<{ turnId: TurnId }> =>
  using(core, id, async (session) => ({ turnId: await session.turn(input, options).id }));

/** A session that waited for itself, or for one above it that waits for it, would wait for ever. */
async function result(
  { core, sessionId }: ServiceHome,
  id: string,
  turnId: string,
  signal: AbortSignal | undefined,
): Promise<TurnEnd> {
  for (
    let above: SessionId | undefined = sessionId;
    above !== undefined;
    above = (await core.store.load(above))?.parentId
  )
    if (above === id) throw new RuntimeError("operation.reentrant", { name: "sessions.result" });
  return using(core, id, (session) => {
    const ended = session.follow(turnId).result();
    if (signal === undefined) return ended;
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return Promise.race([ended, left.promise]).finally(() => signal.removeEventListener("abort", leave));
  });
}

/** Goes to the store, not to the session: to open it would take it up. What runs here or elsewhere looks there. */
export async function cancel(
  { store, world, neighbours }: Core,
  id: string,
  turn: string | undefined,
  reason = "The turn that wanted it was stopped.",
): Promise<CancelAnswer> {
  const session = asSessionId(id);
  const target = turn === undefined ? (await store.load(session))?.openTurn : asTurnId(turn);
  if (turn === undefined)
    for (const { id: input } of await store.inputs.list(session)) await store.inputs.withdraw(session, { id: input });
  if (target === undefined) return { kind: "unknown" };
  const request = { requestId: world.id("can"), reason, at: world.now() };
  const answer = await store.cancel(target, request, session);
  neighbours.find(session)?.poke();
  return answer;
}

async function children(core: Core, parent: SessionId): Promise<readonly SessionReading[]> {
  const found = await core.store.list({ parent, max: CHILDREN_MAX });
  return found.map((stored) => readingOf(core, stored, []));
}
const CHILDREN_MAX = 1_000;

/** Any session, as it is committed. */
export async function snapshot(core: Core, given: string): Promise<SessionReading> {
  const id = asSessionId(given);
  const stored = await requireKnown(core, id);
  const { messages } = Transcript.from(stored.head === undefined ? [] : await core.store.view(id, { toFrame: true }));
  return readingOf(core, stored, messages);
}

export function readingOf(core: Core, stored: StoredSession, messages: readonly Message[]): SessionReading {
  const { id, parentId, head, usage, turns, openTurn } = stored;
  const authority = authorityOf(stored);
  return {
    id,
    messages,
    config: effectiveConfig(core, stored.config),
    usage,
    turns,
    ...(parentId === undefined ? {} : { parentId }),
    ...(head === undefined ? {} : { head }),
    ...(openTurn === undefined ? {} : { openTurn }),
    ...(Object.keys(authority).length === 0 ? {} : { authority }),
  };
}
