// Sessions that other processes use too: the results of turns that end there, and turns that were left there.
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { nodeId, type TurnId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import type { Lease, OpenAnswer, Terminal } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type OpenedTurn, runTurn } from "../live-turn/run.ts";
import { LOOK_MS } from "./queue.ts";
import type { LiveSession } from "./session.ts";

export const openedBy = (answer: Extract<OpenAnswer, { readonly lease: Lease }>): OpenedTurn =>
  answer.kind === "opened"
    ? { lease: answer.lease, journal: [answer.opened], hasWaited: true }
    : { lease: answer.lease, journal: answer.journal, isResumed: true, hasWaited: true };

// ── Turns that handles here wait for ────────────────────────────────────────────────────────────────────────────────

/** Opens or resumes the next turn. Inputs that wait stay, if the session's options no longer parse: undefined. */
export async function nextTurn(session: LiveSession): Promise<OpenAnswer | undefined> {
  const { core, id, opening } = session;
  try {
    return await core.store.open(id, core.owner, core.world.now(), opening);
  } catch (error) {
    if (!hasCode(error, "plugin.options")) throw error;
    core.trace("turn.elsewhere", { problem: error.message }, session.asPlace);
    session.gaveUp(error);
    return undefined;
  }
}

/** Asks the store for the next turn. Turns of another process that has the session end there; handles here are told. */
export async function look(session: LiveSession): Promise<void> {
  const { core, queue } = session;
  const { world } = core;
  if (!queue.mayHaveMore) {
    if (!(await settleElsewhere(session))) await world.sleep(LOOK_MS);
    return;
  }
  const answer = await nextTurn(session);
  if (answer === undefined) return;
  if (answer.kind === "opened" || answer.kind === "resumed") return queue.putTurn(openedBy(answer));
  if ((await settleElsewhere(session)) || queue.hasReady) return;
  if (queue.isAccepting) return queue.arrived(); // The lease may be ours: an acceptance has not returned yet.
  if (answer.kind === "busy") return world.sleep(LOOK_MS);
  queue.mayHaveMore = false;
}

/** Tells the handles of turns that ended in other processes; false when there were none. */
export async function settleElsewhere(session: LiveSession): Promise<boolean> {
  let found = false;
  for (const turnId of session.followers.turns) if (await settle(session, turnId)) found = true;
  return found;
}

/** Tells the handles of a turn if it is over; false when it is not. */
export async function settle(session: LiveSession, turnId: TurnId): Promise<boolean> {
  if (turnId === session.now) return false; // `announce` tells them, after the `lifecycle` hooks.
  const { store } = session.core;
  const found = await store.find(turnId);
  const isGone = found === undefined || found.sessionId !== session.id;
  if (!isGone && found.state === "ended") {
    const terminal = await store.terminal(turnId);
    if (terminal !== undefined) await tellEnd(session, turnId, terminal);
    return terminal !== undefined;
  }
  if (!isGone && found.state !== "withdrawn") return false;
  session.fail(turnId, new RuntimeError(isGone ? "turn.unknown" : "input.withdrawn", { turnId }));
  return true;
}

/** Tells the handles how a turn ended. An input that another turn took ended as that turn did. */
async function tellEnd(
  session: LiveSession,
  turnId: TurnId,
  { turnId: by, outcome, usage, committed }: Terminal,
): Promise<void> {
  const at = committed.branch ?? committed.head;
  const [last] = at === undefined ? [] : await session.core.store.view(session.id, { from: at, max: 1 });
  const nodes = last?.commit === by ? last.entries.map((_, index) => nodeId(by, index)) : [];
  session.followers.done(session.id, committed, { turnId, outcome, usage, issues: [] }, nodes);
}

/** An operation met an open turn. One that was left is run here first; true: the change must be worked out again. */
export async function finishOthers(session: LiveSession): Promise<boolean> {
  const { core, queue } = session;
  if (queue.door === "closed") throw new RuntimeError("runtime.closed", {});
  const found = await core.store.open(session.id, core.owner, core.world.now(), session.opening);
  if (found.kind === "idle") return false;
  if (found.kind === "busy") {
    await core.world.sleep(LOOK_MS);
    return false;
  }
  await session.kept.refresh(true);
  await runTurn(session, openedBy(found));
  return true;
}

// ── Recovery ────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Recovered {
  /** How many sessions were resumed: they had an open turn or waiting inputs, and no process had them. */
  readonly sessions: number;
}

/** A session that was resumed here, and the end of its work. */
export interface TakenUp {
  readonly session: LiveSession;
  readonly done: Promise<void>;
}

/** How often a runtime looks for turns that other processes left. */
export const RECOVER_MS = 10_000;
const AT_ONCE = 8;
const PAGE = 64;
/** Resumed sessions that work at the same time. One whose turn only waits for an answer does not count. */
const WORKING_MAX = 100;
/** Resumed sessions that are held in memory, waiting ones included. */
const RESUMED_MAX = 10_000;

/** Whether a turn waits for answers of people and does nothing else, perhaps for days. */
function isWaiting({ running }: LiveSession): boolean {
  const open = running?.state?.open ?? [];
  return open.length > 0 && open.every(({ kind }) => kind === "wait");
}

/** The sessions that recovery has resumed and that are not done. */
export class UnderWay {
  readonly #resumed = new Map<LiveSession, Promise<void>>();
  #moved = Promise.withResolvers<void>();

  add({ session, done }: TakenUp): void {
    const watched = done
      .catch(() => {})
      .then(() => {
        session.onWaiting = undefined;
        this.#resumed.delete(session);
        this.#move();
      });
    session.onWaiting = () => this.#move();
    this.#resumed.set(session, watched);
  }

  #move(): void {
    const moved = this.#moved;
    this.#moved = Promise.withResolvers();
    moved.resolve();
  }

  /** Settles when another session may be resumed. */
  async room(): Promise<void> {
    while (this.#resumed.size >= WORKING_MAX && !this.#hasRoom) await this.#moved.promise;
  }
  get #hasRoom(): boolean {
    const working = [...this.#resumed.keys()].filter((session) => !isWaiting(session)).length;
    return working < WORKING_MAX && this.#resumed.size < RESUMED_MAX;
  }

  async done(): Promise<void> {
    await Promise.all(this.#resumed.values());
  }
}

/**
 * Resumes sessions with unfinished work and does not wait for their ends: a turn may take days. `takeUp` answers once a
 * session is resumed, with a promise of its end, or undefined when another process has it.
 */
export async function recover(
  core: Core,
  underWay: UnderWay,
  takeUp: (id: string) => Promise<TakenUp | undefined>,
  /** Sessions that an earlier look has found. */
  seen: Set<string> = new Set(),
): Promise<Recovered> {
  let sessions = 0;
  const begin = async (id: string): Promise<void> => {
    const taken = await takeUp(id);
    if (taken === undefined) return;
    sessions++;
    underWay.add(taken);
  };
  while (!core.door.isClosed) {
    // What was seen may be there again, for example because its model is not here: it must not hide the rest.
    const runnable = await core.store.runnable(core.world.now(), PAGE + seen.size);
    const found = runnable.filter((id) => !seen.has(id));
    if (found.length === 0) break;
    const worker = async (): Promise<void> => {
      for (let id = found.shift(); id !== undefined; id = found.shift()) {
        await underWay.room();
        if (core.door.isClosed) return;
        seen.add(id);
        try {
          await begin(id);
        } catch (error) {
          core.trace("session.recover", { problem: describeThrown(error) }, { sessionId: id });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
  return { sessions };
}
