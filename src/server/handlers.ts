// The handlers of the routes. They use only the runtime: there is no second path to sessions and turns.
import type { ConfigPatch, OperationKind } from "../kernel/operation.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import { asBlobHash } from "../model/ids.ts";
import type { Input } from "../model/input.ts";
import { defined, type Json } from "../model/json.ts";
import { parsedCursor } from "../runtime/readers/cursor.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Session } from "../runtime/session/public-api.ts";
import type { AnyWait } from "../runtime/waits.ts";
import type { BodyOf, OutputOf, PublicWait, QueryOf, RouteName } from "./api.ts";
import { holdsBlob, type Uploads } from "./blobs.ts";
import { bytesOf } from "./body.ts";
import type { Caller } from "./caller.ts";
import { openapi } from "./openapi.ts";
import type { LIMITS } from "./options.ts";
import { searchSessions } from "./search.ts";
import type { Streams } from "./streams.ts";
import { version } from "./version.ts";

export interface Context<N extends RouteName> {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly request: Request;
  readonly streams: Streams;
  readonly uploads: Uploads;
  readonly limits: typeof LIMITS;
  /** The parameters of the path. */
  readonly path: { readonly [name: string]: string };
  readonly id: string;
  readonly query: QueryOf<N>;
  readonly body: BodyOf<N>;
}

type Answer<N extends RouteName> = OutputOf<N> extends "events" | "bytes" ? Response : OutputOf<N>;
type Handlers = { readonly [N in RouteName]: (context: Context<N>) => Answer<N> | Promise<Answer<N>> };

const LIST_MAX = 200;

export const HANDLERS: Handlers = {
  health: () => ({ ok: true, version }),
  openapi: () => openapi,

  listSessions: ({ runtime, caller, request, query: { search, isRoot, ...query } }) => {
    const page = { max: LIST_MAX, ...defined(query), ...ownedBy(caller, query.owner) };
    return searchSessions(runtime, page, { search, isRoot }, request.signal);
  },
  createSession: async ({ runtime, caller, body }) => {
    if (body.from !== undefined) await caller.requireSession(body.from, "send");
    return runtime.sessions.create({ ...body, ...ownedBy(caller, body.owner) });
  },
  getSession: ({ runtime, id }) => runtime.sessions.get(id),
  findSession: async ({ runtime, id }) => {
    const found = await runtime.sessions.find(id);
    if (found === undefined) throw new RuntimeError("session.unknown", { id });
    return found;
  },
  configureSession: ({ runtime, id, body }) => using(runtime, id, (session) => session.configure(body as ConfigPatch)),
  deleteSession: async ({ runtime, id }) => {
    await runtime.sessions.delete(id);
    return null;
  },
  sessionHistory: ({ runtime, id, query }) => runtime.sessions.history(id, query),
  sessionStates: ({ runtime, id }) => runtime.sessions.states(id),
  sessionTools: ({ runtime, id }) => using(runtime, id, (session) => session.tools.list()),
  sessionUsage: ({ runtime, id }) => runtime.sessions.usage(id),
  sessionOperations: ({ runtime, id }) => using(runtime, id, async (session) => session.operations()),
  invokeOperation: ({ runtime, id, path, body: { kind, input, id: operation } }) =>
    using(runtime, id, async (session) => {
      const options = operation === undefined ? {} : { operationId: operation };
      return (await session.invoke(
        kind as OperationKind,
        path.name as string,
        input,
        options,
      )) as OutputOf<"invokeOperation">;
    }),
  sessionPlugins: ({ runtime, id }) => using(runtime, id, (session) => session.plugins()),
  compareSessions: async ({ runtime, caller, id, path }) => {
    const other = path.other as string;
    await caller.requireSession(other, "read");
    return runtime.sessions.compare(id, other);
  },
  forkSession: async ({ runtime, id, body }) => {
    await using fork = await runtime.sessions.fork(id, body);
    return { id: fork.id };
  },
  compactSession: ({ runtime, id, body }) =>
    using(runtime, id, async (session) => (await session.compact(body)) as unknown as Json),
  cancelSession: ({ runtime, id, body }) => runtime.sessions.cancel(id, undefined, body.reason),
  sessionEvents: ({ runtime, caller, request, streams, id, query: { tree = false, after: given } }) => {
    const after = lastId(request) ?? given;
    if (after !== undefined && parsedCursor(after).session !== id && !tree)
      throw new RuntimeError("cursor.foreign", { session: id });
    const open = () => runtime.sessions.observe(id, defined({ after, tree }));
    return streams.answer(request, caller.name, { name: `session ${id} ${tree} ${after ?? ""}`, open });
  },

  sendInput: async ({ runtime, caller, uploads, id, body: { text, parts, ...options } }) => {
    if ((text === undefined) === (parts === undefined))
      throw new RuntimeError("server.invalid", { problem: "an input has either `text` or `parts`" });
    for (const part of parts ?? []) await requireUploaded(runtime, caller, uploads, id, part);
    return runtime.sessions.send(id, (text ?? parts) as Input, options);
  },
  listInputs: ({ runtime, id }) => using(runtime, id, (session) => session.inputs.list()),
  withdrawInput: ({ runtime, id, path }) =>
    using(runtime, id, (session) => session.inputs.cancel({ id: path.input as string })),
  putBlob: async ({ runtime, caller, uploads, request, limits, query: { name } }) => {
    const data = await bytesOf(request, limits.blobBytes);
    const mediaType = request.headers.get("content-type") ?? "application/octet-stream";
    const hash = await runtime.blobs.put(data);
    if (caller.owner !== undefined) uploads.add(caller.owner, hash);
    return {
      kind: "attachment",
      hash,
      mediaType,
      bytes: data.byteLength,
      ...defined({ name }),
    };
  },
  getBlob: async ({ runtime, id, path }) => {
    const hash = asBlobHash(path.hash as string);
    const attachment = await holdsBlob(runtime, id, hash);
    const data = attachment && (await runtime.blobs.get(hash));
    if (data === undefined)
      throw new RuntimeError("server.route", { method: "GET", path: `blob ${hash.slice(0, 80)}` });
    // Always a download, so that it cannot run as a page of this origin.
    const headers = { "content-type": "application/octet-stream", "content-disposition": "attachment" };
    const isImage = /^image\/(?:png|jpeg|gif|webp)$/.test(attachment?.mediaType ?? "");
    return new Response(data as Uint8Array<ArrayBuffer>, {
      headers: isImage ? { "content-type": attachment?.mediaType as string } : headers,
    });
  },

  listTurns: ({ runtime, caller, query }) => runtime.turns.list({ ...query, ...ownedBy(caller, query.owner) }),
  getTurn: ({ runtime, id }) => runtime.turns.get(id),
  turnTimeline: ({ runtime, id }) => runtime.turns.timeline(id),
  turnJournal: ({ runtime, id }) => runtime.turns.journal(id),
  turnEvents: async ({ runtime, caller, request, streams, id }) => {
    const seen = lastId(request);
    const after = seen === undefined ? 0 : Number(parsedCursor(seen).fact);
    if (after > 0 && after >= Number.parseInt((await runtime.turns.get(id)).endedAs ?? "", 10))
      // The client already has the end of the turn, so it must not connect again.
      return new Response(null, { status: 204 });
    const open = () => factsAfter(runtime.sessions.follow(id), after);
    return streams.answer(request, caller.name, { name: `turn ${id} ${after}`, open });
  },
  cancelTurn: async ({ runtime, id, body }) => {
    const turn = await runtime.turns.find(id);
    if (turn === undefined) throw new RuntimeError("turn.unknown", { turnId: id });
    return runtime.sessions.cancel(turn.sessionId, id, body.reason);
  },

  listWaits: async ({ runtime, caller, query: { session, tree, after: first, max = LIST_MAX } }) => {
    for (const id of [session, tree]) if (id !== undefined) await caller.requireSession(id, "read");
    const next = (after: AnyWait | undefined, most: number) =>
      runtime.waits.list(defined({ session, tree, after: after?.id ?? first, max: most }));
    return (await caller.own(max, next, ({ sessionId }) => sessionId)).map(publicWait);
  },
  getWait: async ({ runtime, id }) => publicWait(await requireWait(runtime, id)),
  answerWait: async ({ runtime, caller, id, body }) => {
    const by = caller.principal.name ?? caller.owner;
    return { kind: await runtime.waits.resolve({ id }, body, defined({ by })) };
  },
  revokeWait: async ({ runtime, caller, id }) => {
    const by = caller.principal.name ?? caller.owner;
    return { kind: await runtime.waits.revoke({ id }, defined({ by })) };
  },

  listJobs: async ({ runtime, caller, query: { session, isLive, after: first, max = LIST_MAX } }) => {
    if (session !== undefined) await caller.requireSession(session, "read");
    const next = (after: { readonly id: string } | undefined, most: number) =>
      runtime.jobs.list(defined({ session, isLive, after: after?.id ?? first, max: most }));
    return caller.own(max, next as never, ({ sessionId }: Awaited<ReturnType<Runtime["jobs"]["get"]>>) => sessionId);
  },
  getJob: ({ runtime, id }) => runtime.jobs.get(id),
  jobEvents: ({ runtime, id }) => runtime.jobs.events(id),
  cancelJob: ({ runtime, id, body }) => runtime.jobs.cancel(id, body.reason),
  signalJob: async ({ runtime, id, path, body: { payload, key } }) => {
    await runtime.jobs.signal(id, path.name as string, payload, defined({ key }));
    return null;
  },
  listTriggers: async ({ runtime, caller, query: { session } }) => {
    if (session !== undefined) await caller.requireSession(session, "read");
    const all = session === undefined ? await runtime.triggers.list() : await runtime.triggers.of(session).list();
    const owned = await Promise.all(all.map(({ sessionId }) => caller.owns(sessionId)));
    return all.filter((_, index) => owned[index]);
  },
  runTrigger: ({ runtime, id, path, body: { key } }) =>
    runtime.triggers.of(id).run(path.trigger as string, defined({ key })),
  setTrigger: ({ runtime, id, path, body: { isEnabled } }) =>
    runtime.triggers.of(id).update(path.trigger as string, { isEnabled }),
  removeTrigger: async ({ runtime, id, path }) => {
    const trigger = path.trigger as string;
    if (!(await runtime.triggers.of(id).remove(trigger)))
      throw new RuntimeError("trigger.missing", { id: trigger, session: id });
    return null;
  },
  listOccurrences: ({ runtime, caller, query }) => {
    requireNoOwner(caller);
    return runtime.triggers.occurrences(query);
  },
  emitEvent: ({ runtime, caller, path, body: { payload = null, key, source } }) => {
    requireNoOwner(caller);
    return runtime.triggers.emit(path.event as string, payload, defined({ key, source }));
  },

  usage: ({ runtime, caller, query }) => runtime.usage({ ...query, ...ownedBy(caller, query.owner) }),
  status: async ({ runtime, caller }) => {
    requireNoOwner(caller);
    return { version, since: Math.round(performance.timeOrigin), ...(await runtime.status()) };
  },
  check: async ({ runtime, caller, body: { deep } }) => {
    requireNoOwner(caller);
    const began = performance.now();
    const findings = await runtime.check(defined({ deep }));
    return { findings, ms: Math.round(performance.now() - began) };
  },

  events: ({ runtime, caller, request, streams, query }) => {
    const after = lastId(request) ?? query.after;
    const filter = defined({ after, tag: query.tag, ...ownedBy(caller, query.owner) });
    const open = () => runtime.observe(filter) as AsyncIterator<SessionEvent>;
    const name = `events ${JSON.stringify(filter)}`;
    return streams.answer(request, caller.name, { name, fromNow: after === "latest", open });
  },
};

/**
 * The events of a turn after the first facts, which the client has. This is not a generator, because a caller cannot
 * leave a generator while it waits.
 */
function factsAfter(turn: AsyncIterable<SessionEvent>, after: number): AsyncIterator<SessionEvent> {
  const events = turn[Symbol.asyncIterator]();
  return {
    next: async () => {
      for (;;) {
        const found = await events.next();
        if (found.done === true || !found.value.fact || Number.parseInt(found.value.cursor, 10) > after) return found;
      }
    },
    return: async () => (await events.return?.()) ?? { done: true, value: undefined },
  };
}

/**
 * Refuses a hash of another owner's bytes. Otherwise the session would hold the bytes, and this caller could read them.
 */
async function requireUploaded(
  runtime: Runtime,
  { owner }: Caller,
  uploads: Uploads,
  id: string,
  part: unknown,
): Promise<void> {
  const { kind, hash } = Object(part) as { readonly kind?: unknown; readonly hash?: unknown };
  if (owner === undefined || kind !== "attachment" || typeof hash !== "string") return;
  if (uploads.has(owner, hash) || (await holdsBlob(runtime, id, asBlobHash(hash))) !== undefined) return;
  throw new RuntimeError("server.invalid", { problem: "the attachment is not in this session: upload it again" });
}

/** If the caller has an owner, it overrides the owner of the request. */
function ownedBy({ owner }: Caller, asked: string | undefined): { readonly owner?: string } {
  if (owner !== undefined && asked !== undefined && asked !== owner)
    throw new RuntimeError("server.forbidden", { action: "read" });
  return defined({ owner: owner ?? asked });
}

/** What concerns all owners: a caller with an owner cannot have it. */
function requireNoOwner({ owner }: Caller): void {
  if (owner !== undefined) throw new RuntimeError("server.forbidden", { action: "manage" });
}

/**
 * The last id that a returning `EventSource` has received. It sends the id as UTF-8, but headers are read as Latin-1.
 */
function lastId({ headers }: Request): string | undefined {
  const id = headers.get("last-event-id");
  return id === null ? undefined : Buffer.from(id, "latin1").toString("utf8");
}

/** Opening a session creates it, so the session must exist before. */
async function using<T>(runtime: Runtime, id: string, run: (session: Session) => Promise<T>): Promise<T> {
  if ((await runtime.sessions.find(id)) === undefined) throw new RuntimeError("session.unknown", { id });
  await using session = await runtime.session(id);
  return await run(session); // Without `await` the session would be closed while this runs.
}

async function requireWait(runtime: Runtime, id: string): Promise<AnyWait> {
  const wait = await runtime.waits.get({ id });
  if (wait === undefined) throw new RuntimeError("wait.unknown", {});
  return wait;
}

/** A key is a secret that answers the wait. */
const publicWait = ({ key: _, ...wait }: AnyWait): PublicWait => wait as PublicWait;
