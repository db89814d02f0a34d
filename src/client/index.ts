// The client of a Bowline server: `bowline/client`. It needs `fetch` and streams, and runs in browsers and in Node.
import type { RuntimeFact, SessionEvent } from "../model/event.ts";
import type { Accepted, BodyOf, InputBody, OutputOf, QueryOf, RouteName } from "../server/api.ts";
import { eventsOf, type Opening } from "./events.ts";
import { type ClientView, fold, rejoined } from "./fold.ts";
import { type Call, type ClientOptions, sender, unreachable } from "./http.ts";
import { type Retrying, retrying, TRIES } from "./retry.ts";
import type { JsonRoute, RequestOptions } from "./routes.ts";
import { Shown } from "./shown.ts";

export type {
  Accepted,
  Api,
  InputBody,
  InstalledPlugin,
  NewSessionBody,
  Problem,
  PublicWait,
  Status,
  UsageReport,
  UsageRow,
} from "../server/api.ts";
export {
  type ClientCall,
  type ClientInput,
  type ClientRetry,
  type ClientText,
  type ClientTurn,
  type ClientView,
  type ClientWait,
  type EndedTurn,
  fold,
  foldTree,
  type RunningTurn,
  rejoined,
} from "./fold.ts";
export { ClientError, type ClientOptions } from "./http.ts";
export type { JsonRoute, PathOf, RequestOptions } from "./routes.ts";

/** The id of a turn, or a session after a cursor. */
export type FollowTarget = string | { readonly session: string; readonly after?: string | undefined };
export type StreamOptions = Retrying;
export interface ObserveOptions extends Retrying {
  /** The cursor of the last fact that you have. Default: all facts from the first. */
  readonly after?: string | undefined;
  /** Also the events of all descendants. */
  readonly tree?: boolean | undefined;
}
export interface EventsOptions extends Retrying {
  /** The cursor of the last fact that you have. Default: all facts from the first. */
  readonly after?: string | undefined;
  readonly owner?: string | undefined;
  readonly tag?: string | undefined;
}
export interface SendOptions extends Omit<InputBody, "text" | "parts"> {
  readonly signal?: AbortSignal | undefined;
}

export type Client = ReturnType<typeof createClient>;

/** Makes a client. It keeps no connection open between calls. */
export function createClient(options: ClientOptions) {
  const send = sender(options);
  const { silentMs } = options;

  async function json<N extends RouteName>(name: N, call: Call): Promise<OutputOf<N>> {
    const response = await send(name, call);
    if (response.status === 204) return null as OutputOf<N>;
    return response.json().catch((error: unknown) => {
      throw call.signal?.aborted === true ? error : unreachable(error); // The connection broke in the middle of the body.
    }) as Promise<OutputOf<N>>;
  }
  const by = <N extends RouteName>(name: N, id: string, more: Call = {}) => json(name, { path: { id }, ...more });

  /** Reads a session, and tries again until the server answers. */
  const readAgain = (id: string, again: Retrying) =>
    retrying(() => by("getSession", id, { signal: again.signal }), Number.POSITIVE_INFINITY, again);

  /** The server sends a gap without its view, because not all clients need the view. This adds the view. */
  async function whole(events: readonly SessionEvent[], id: string, again: Retrying): Promise<readonly SessionEvent[]> {
    if (!events.some(({ kind }) => kind === "gap")) return events;
    const view = await readAgain(id, again);
    return events.map((event) => (event.kind === "gap" ? { ...event, view } : event));
  }

  /** The events of a stream, without repeated ones. */
  async function* once(opening: Omit<Opening, "send" | "silentMs">, id?: string): AsyncGenerator<SessionEvent, void> {
    const shown = new Shown();
    const opened = (): void => shown.again();
    for await (const events of eventsOf<SessionEvent>({ ...opening, send, silentMs, opened }))
      for (const event of id === undefined ? events : await whole(events, id, opening))
        yield* shown.fresh(event, id === undefined);
  }

  async function* followTurn(turnId: string, again: Retrying): AsyncGenerator<SessionEvent, void> {
    for await (const event of once({ ...again, name: "turnEvents", call: { path: { id: turnId } } })) {
      yield event;
      if (event.kind === "committed" && event.by === "turn" && event.turnId === turnId) return;
    }
  }

  const observe = (id: string, { after, tree, ...again }: ObserveOptions = {}): AsyncGenerator<SessionEvent, void> =>
    once({ ...again, name: "sessionEvents", call: { path: { id }, query: { after, tree } } }, id);

  async function* events({ after, owner, tag, ...again }: EventsOptions = {}): AsyncGenerator<RuntimeFact, void> {
    const call = { query: { after, owner, tag } };
    for await (const facts of eventsOf<RuntimeFact>({ ...again, send, silentMs, name: "events", call })) yield* facts;
  }

  async function* view(id: string, again: StreamOptions = {}): AsyncGenerator<ClientView, void> {
    const { signal } = again;
    const ended = (error: unknown): undefined => {
      if (signal?.aborted !== true) throw error;
    };
    const first = await retrying(() => by("getSession", id, { signal }), TRIES, again).catch(ended);
    if (first === undefined) return;
    let now = fold(undefined, first);
    yield now;
    const call = { path: { id }, query: { after: now.cursor } };
    const opened = (): void => void (now = rejoined(now)); // The stream repeats the previews of running turns.
    const stream = eventsOf<SessionEvent>({ ...again, send, silentMs, name: "sessionEvents", call, opened });
    for await (const events of stream) {
      const all = await whole(events, id, again).catch(ended);
      if (all === undefined) return;
      now = all.reduce<ClientView>(fold, now);
      yield now;
      if (!now.isBehind) continue;
      const read = await readAgain(id, again).catch(ended);
      if (read === undefined) return;
      now = fold(now, read);
      yield now;
    }
  }

  return {
    /** Sends a request of the table of routes. */
    request: <N extends JsonRoute>(name: N, options: RequestOptions<N>) => json(name, options as Call),
    /** Sends an input. The server accepts it once, even if the client loses the answer and retries. */
    send: (
      id: string,
      input: string | NonNullable<InputBody["parts"]>,
      { signal, key = newKey(), ...more }: SendOptions = {},
    ): Promise<Accepted> => {
      const said = typeof input === "string" ? { text: input } : { parts: input };
      return retrying(() => by("sendInput", id, { body: { ...said, key, ...more }, signal }), TRIES, { signal });
    },
    /** Reads a session: its messages, its open turn and its waits. */
    read: (id: string) => by("getSession", id),
    /** The events of a turn until its end, or those of a session after a cursor. */
    follow: (target: FollowTarget, options: StreamOptions = {}): AsyncGenerator<SessionEvent, void> => {
      if (typeof target === "string") return followTurn(target, options);
      return observe(target.session, { ...options, after: target.after });
    },
    /** The events of a session: each fact once, and previews while turns run. */
    observe,
    /** The facts of all sessions that the caller may see. */
    events,
    /** The view of a session after each change. */
    view,
    sessions: {
      create: (body: BodyOf<"createSession"> = {}) => json("createSession", { body }),
      get: (id: string) => by("getSession", id),
      /** The entry of a session in lists. */
      find: (id: string) => by("findSession", id),
      list: (query: QueryOf<"listSessions"> = {}) => json("listSessions", { query }),
      history: (id: string, query: QueryOf<"sessionHistory"> = {}) => by("sessionHistory", id, { query }),
      fork: (id: string, body: BodyOf<"forkSession"> = {}) => by("forkSession", id, { body }),
      delete: (id: string) => by("deleteSession", id),
      /** Cancels the open turn and all waiting inputs. */
      cancel: (id: string, reason?: string) => by("cancelSession", id, { body: { reason } }),
      usage: (id: string) => by("sessionUsage", id),
      tools: (id: string) => by("sessionTools", id),
    },
    turns: {
      list: (query: QueryOf<"listTurns"> = {}) => json("listTurns", { query }),
      get: (id: string) => by("getTurn", id),
      timeline: (id: string) => by("turnTimeline", id),
      journal: (id: string) => by("turnJournal", id),
      cancel: (id: string, reason?: string) => by("cancelTurn", id, { body: { reason } }),
    },
    waits: {
      list: (query: QueryOf<"listWaits"> = {}) => json("listWaits", { query }),
      get: (id: string) => by("getWait", id),
      /** Answers a wait: an approval, or a value. The first answer counts. */
      answer: (id: string, body: BodyOf<"answerWait">) => by("answerWait", id, { body }),
      /** Withdraws the question. */
      revoke: (id: string) => by("revokeWait", id),
    },
    jobs: {
      list: (query: QueryOf<"listJobs"> = {}) => json("listJobs", { query }),
      get: (id: string) => by("getJob", id),
      cancel: (id: string, reason?: string) => by("cancelJob", id, { body: { reason } }),
      signal: (id: string, name: string, body: BodyOf<"signalJob"> = {}) =>
        json("signalJob", { path: { id, name }, body }),
    },
    triggers: {
      list: (query: QueryOf<"listTriggers"> = {}) => json("listTriggers", { query }),
      occurrences: (query: QueryOf<"listOccurrences"> = {}) => json("listOccurrences", { query }),
      emit: (event: string, body: BodyOf<"emitEvent"> = {}) => json("emitEvent", { path: { event }, body }),
    },
    blobs: {
      /** Stores bytes. Pass the returned attachment to `send` in `parts`. */
      put: (session: string, data: Uint8Array | Blob, { mediaType = "", name }: BlobOptions = {}) => {
        const type = mediaType || (data as Blob).type || "application/octet-stream";
        return by("putBlob", session, { query: { name }, body: data, headers: { "content-type": type } });
      },
      get: async (session: string, hash: string): Promise<Uint8Array> => {
        const response = await send("getBlob", { path: { id: session, hash } });
        return new Uint8Array(await response.arrayBuffer());
      },
    },
  };
}

export interface BlobOptions {
  readonly mediaType?: string | undefined;
  readonly name?: string | undefined;
}

/** `randomUUID` is missing on a page that came without TLS from another machine. */
const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
