// What the scenarios of jobs have in common.
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, type JobRecord, type Runtime, type Session, type Store } from "bowline";

/** Settles when all jobs of a session are over that are there now or come meanwhile. */
export async function allOver({ jobs }: Session): Promise<readonly JobRecord[]> {
  for (;;) {
    const live = await jobs.list({ isLive: true });
    if (live.length === 0) return jobs.list();
    await jobs.await(live.map(({ id }) => id));
  }
}

export const isOver = ({ endedAt }: JobRecord): boolean => endedAt !== undefined;

/** Settles when a session has nothing to do any more: no live job, no input that would open a turn, no turn. */
export async function quiet(store: Store, session: Session): Promise<void> {
  for (;;) {
    await allOver(session); // What it tells its session is there with its end.
    const waiting = await store.inputs.list(session.id);
    const isOpen = (await store.load(session.id))?.openTurn !== undefined;
    if (!isOpen && waiting.every(({ place }) => place === "injected")) return;
    await sleep(5);
  }
}

/** Settles when a session has had so many turns. */
export async function turnsOf(session: Session, turns: number): Promise<void> {
  for (;;) {
    if ((await session.read()).turns >= turns) return;
    await sleep(5);
  }
}

/** Sends a signal once; a job of an earlier life may be over. */
export async function signal({ jobs }: Pick<Session, "jobs">, id: string, name: string, payload = name): Promise<void> {
  try {
    await jobs.signal(id, name, payload, { key: name });
  } catch (error) {
    if (!hasCode(error, "job.over")) throw error;
  }
}

/** Long enough for a job that waits to be given up, where `parkAfterMs` is a few. */
const REST_MS = 25;

/** Settles when somebody is asked something in a session and its job rests, or the job is over. */
export async function asked(runtime: Runtime, session: Session, job: string): Promise<readonly { key: string }[]> {
  for (;;) {
    const waits = await runtime.waits.list({ session: session.id });
    if (waits.length > 0) await sleep(REST_MS);
    if (waits.length > 0) return waits;
    const { state } = await session.jobs.get(job);
    if (state !== "running" && state !== "idle") return [];
    await sleep(5);
  }
}
