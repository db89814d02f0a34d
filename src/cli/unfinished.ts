import type { SessionId, Store, TurnId } from "../index.ts";
import { textOf } from "../model/message.ts";
import { processName } from "../runtime/process.ts";

/** A turn that was accepted and has not ended: it runs somewhere, or its process was killed. */
export interface Unfinished {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** What was said to begin it. */
  readonly words: string;
}

/** Oldest first, over all sessions or of one. */
export async function unfinishedIn(store: Store, session?: SessionId): Promise<readonly Unfinished[]> {
  const accepted = new Map<TurnId, SessionId>();
  const page = { max: Number.POSITIVE_INFINITY, ...(session === undefined ? {} : { session }) };
  for (const change of await store.changes(undefined, page)) {
    if (change.kind === "accepted") accepted.set(change.turnId, change.sessionId);
    else if (change.by === "turn") accepted.delete(change.turnId);
  }
  const found: Unfinished[] = [];
  for (const [turnId, sessionId] of accepted) {
    const [opened] = await store.journal(turnId, 0);
    const waiting = (): ReturnType<Store["inputs"]["list"]> => store.inputs.list(sessionId);
    // What is neither was withdrawn, or taken by another turn.
    const said =
      opened?.kind === "opened" ? opened.input : (await waiting()).find((input) => input.turnId === turnId)?.message;
    if (said !== undefined) found.push({ sessionId, turnId, words: textOf(said.parts) });
  }
  return found;
}

/** Who is at a turn: `host`, and the number of its process there. */
export interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly isUs: boolean;
  readonly until: number;
}

const NOBODY = { id: "looking", process: "" };
const RUNNABLE_MAX = 100_000;

/**
 * Who holds a session; undefined when nobody does. A store is only asked to open it, so this asks where the answer will
 * be that somebody has it; should they be gone by then, what was given is given back at once.
 */
export async function holderOf(store: Store, session: SessionId): Promise<Holder | undefined> {
  const now = Date.now();
  if ((await store.runnable(now, RUNNABLE_MAX)).includes(session)) return undefined;
  const nothing = new Error("Only a look.");
  try {
    const answer = await store.open(session, NOBODY, now, () => {
      throw nothing;
    });
    if (answer.kind === "busy") return holder(answer.holder.process, answer.until);
    if (answer.kind !== "idle") await store.release(answer.lease);
  } catch (error) {
    if (error !== nothing) throw error;
  }
  return undefined;
}

/** `host/boot/pid/start`. */
function holder(process: string, until: number): Holder {
  const [, host = "", pid = ""] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(process) ?? [];
  return { host, pid: Number(pid), isUs: process === processName(), until };
}

const [OUR_HOST] = processName().split("/");
export const called = ({ host, pid }: Holder): string => `process ${pid}${host === OUR_HOST ? "" : ` on ${host}`}`;
