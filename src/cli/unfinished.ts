import type { SessionId, Store, TurnId } from "../index.ts";
import { textOf } from "../model/message.ts";
import { processName } from "../runtime/world.ts";
import type { StoredSession } from "../stores/store.ts";

/** A turn that was accepted and has not ended: it runs somewhere, or its process was killed. */
export interface Unfinished {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** The text of the turn's input. */
  readonly words: string;
}

const SESSIONS = 100;

/** All unfinished turns, oldest first, of one session or of all. */
export async function unfinishedIn(store: Store, session?: SessionId): Promise<readonly Unfinished[]> {
  const found: (Unfinished & { readonly at: number })[] = [];
  for await (const { id: sessionId, openTurn } of session === undefined ? all(store) : one(store, session)) {
    const [opened] = openTurn === undefined ? [] : await store.journal(openTurn, 0);
    if (opened?.kind === "opened") {
      const { turnId, input, at } = opened;
      found.push({ sessionId, turnId, words: textOf(input.parts), at });
    }
    for (const { turnId, place, message, at } of await store.inputs.list(sessionId))
      if (place !== "injected") found.push({ sessionId, turnId, words: textOf(message.parts), at });
  }
  return found.sort((a, b) => a.at - b.at).map(({ at: _, ...each }) => each);
}

async function* all(store: Store): AsyncGenerator<StoredSession> {
  for (let after: SessionId | undefined; ; ) {
    const page = await store.list({ max: SESSIONS, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < SESSIONS) return;
  }
}

async function* one(store: Store, id: SessionId): AsyncGenerator<StoredSession> {
  const session = await store.load(id);
  if (session !== undefined) yield session;
}

/** The process that works at a turn. */
export interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly isUs: boolean;
  readonly until: number;
}

const NOBODY = { id: "looking", process: "" };
const RUNNABLE_MAX = 100_000;

/**
 * The process that holds a session; undefined when none does. A store tells this only in answer to `open`. So this
 * opens sessions that cannot be run, where `busy` is the expected answer; should the store give a lease after all, it
 * is released at once.
 */
export async function holderOf(store: Store, session: SessionId): Promise<Holder | undefined> {
  const now = Date.now();
  if ((await store.agenda(now, RUNNABLE_MAX)).sessions.includes(session)) return undefined;
  const nothing = new Error("Only a look.");
  try {
    const answer = await store.open(session, NOBODY, now, () => {
      throw nothing;
    });
    if (answer.kind === "busy") return holder(answer.holder.process, answer.until);
    if ("lease" in answer) await store.release(answer.lease);
  } catch (error) {
    if (error !== nothing) throw error;
  }
  return undefined;
}

/** Reads a process's name, of the form `host/boot/pid/start`. */
function holder(process: string, until: number): Holder {
  const [, host = "", pid = ""] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(process) ?? [];
  return { host, pid: Number(pid), isUs: process === processName(), until };
}

const [OUR_HOST] = processName().split("/");
export const called = ({ host, pid }: Holder): string => `process ${pid}${host === OUR_HOST ? "" : ` on ${host}`}`;
