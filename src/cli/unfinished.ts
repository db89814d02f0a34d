import type { PendingWait, SessionId, Store, TurnId } from "../index.ts";
import { textOf } from "../model/message.ts";
import { processName } from "../runtime/world.ts";
import type { StoredSession } from "../stores/store.ts";

/** A turn that was accepted and has not ended: it runs, waits, or its process was killed. */
export interface Unfinished {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** The text of the turn's input. */
  readonly words: string;
  /** The id of the protocol with which it began. */
  readonly protocol?: string;
  /** The turn is queued behind the open turn. */
  readonly isQueued?: true;
}

const SESSIONS = 100;

/** All unfinished turns, oldest first, of one session or of all. */
export async function unfinishedIn(store: Store, session?: SessionId): Promise<readonly Unfinished[]> {
  const found: (Unfinished & { readonly at: number })[] = [];
  for await (const { id: sessionId, openTurn } of session === undefined ? all(store) : one(store, session)) {
    const [opened] = openTurn === undefined ? [] : await store.journal(openTurn, 0);
    if (opened?.kind === "opened") {
      const { turnId, input, protocol, at } = opened;
      found.push({ sessionId, turnId, words: textOf(input.parts), protocol: protocol.id, at });
    }
    const behind = openTurn === undefined ? {} : { isQueued: true as const };
    for (const { turnId, place, message, at } of await store.inputs.list(sessionId))
      if (place !== "injected") found.push({ sessionId, turnId, words: textOf(message.parts), at, ...behind });
  }
  return found.sort((a, b) => a.at - b.at).map(({ at: _, ...each }) => each);
}

type Found = Pick<StoredSession, "id" | "openTurn">;

async function* all(store: Store): AsyncGenerator<Found> {
  for (let after: SessionId | undefined; ; ) {
    const page = await store.list({ max: SESSIONS, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < SESSIONS) return;
  }
}

async function* one(store: Store, id: SessionId): AsyncGenerator<Found> {
  const session = await store.load(id);
  if (session !== undefined) yield session;
}

/** The process that runs a turn. */
export interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly isUs: boolean;
  readonly until: number;
}

/** The state of a session with an unfinished turn. */
export type Standing =
  | { readonly kind: "held"; readonly holder: Holder }
  /** The turn is parked until it has an answer. `waits`: those of its tree, oldest first. */
  | { readonly kind: "waiting"; readonly waits: readonly Waited[] }
  /** No process runs it. The next process that opens the session resumes the turn. */
  | { readonly kind: "left" };
export type Waited = Pick<PendingWait, "kind" | "tool" | "arguments" | "reason" | "sessionId" | "askedAt" | "deadline">;

const NOBODY = { id: "looking", process: "" };
const RUNNABLE_MAX = 100_000;
const WAITS_MAX = 100;

/**
 * A store returns the holder of a session only from `open`. So this opens sessions that cannot run, and expects `busy`
 * or `parked`. If the store returns a lease instead, this releases it at once.
 */
export async function standingOf(store: Store, session: SessionId): Promise<Standing> {
  const now = Date.now();
  const nothing = new Error("Only a look.");
  try {
    const isRunnable = (await store.agenda(now, RUNNABLE_MAX)).sessions.includes(session);
    const answer = isRunnable
      ? undefined
      : await store.open(session, NOBODY, now, () => {
          throw nothing;
        });
    if (answer?.kind === "busy") return { kind: "held", holder: holder(answer.holder.process, now + answer.forMs) };
    if (answer?.kind === "parked") return { kind: "waiting", waits: await waitsIn(store, session) };
    if (answer !== undefined && "lease" in answer) await store.release(answer.lease);
  } catch (error) {
    if (error !== nothing) throw error;
  }
  return { kind: "left" };
}

/** The process that holds a session; undefined when none does. */
export async function holderOf(store: Store, session: SessionId): Promise<Holder | undefined> {
  const standing = await standingOf(store, session);
  return standing.kind === "held" ? standing.holder : undefined;
}

const waitsIn = async (store: Store, session: SessionId): Promise<readonly Waited[]> =>
  (await store.waits.list({ tree: session, max: WAITS_MAX })).map(({ sessionId, at, until, about }) => {
    const { kind, call, reason } = about;
    return { kind, tool: call.name, arguments: call.input, reason, sessionId, askedAt: at, deadline: until };
  });

/** Reads a process's name, of the form `host/boot/pid/start`. */
function holder(process: string, until: number): Holder {
  const [, host = "", pid = ""] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(process) ?? [];
  return { host, pid: Number(pid), isUs: process === processName(), until };
}

const [OUR_HOST] = processName().split("/");
export const called = ({ host, pid }: Holder): string => `process ${pid}${host === OUR_HOST ? "" : ` on ${host}`}`;
