// Actions that laws of jobs in several files share, beside the cast of jobs (`../../job-cast.ts`).
import { asEffectName, asSessionId, asWaitKey, type SessionId } from "../../../model/ids.ts";
import type { NewJob } from "../../../model/job.ts";
import type { WaitAnswer } from "../../../model/wait.ts";
import type { Change, JobSpawn, NewInput, Store } from "../../../stores/store.ts";
import { alice, begin, NOW, newInput, newSession, newWait, type Sending } from "../../cast.ts";
import { newJob, TASK } from "../../job-cast.ts";

export const WAIT = asWaitKey("job-wait");
export const OTHER = asWaitKey("other-job-wait");
export const yes: WaitAnswer = { kind: "value", value: "yes", by: "eve" };
export const asked = newWait(WAIT, { effect: asEffectName("job") });
export const carol = asSessionId("carol");
export const carl = { id: "carl", process: "elsewhere" };
export const dora = { id: "dora", process: "elsewhere" };

export const spawnOf = (name = "work", other: Partial<NewJob> = {}): JobSpawn => ({ job: newJob(name, other) });

/** Returns the input with which a job wakes its session. */
export const wake = (words: string, sending: Sending = {}): NewInput =>
  newInput(words, { key: `wake ${words}`, ...sending });

export const told = async (store: Store, session?: SessionId): Promise<readonly Change["kind"][]> =>
  (await store.changes(undefined, session === undefined ? { max: 100 } : { session, max: 100 })).map(
    ({ kind }) => kind,
  );

/** Returns whether a process with these operations has jobs to claim. */
export const hasJobs = async (store: Store, now = NOW, operations: readonly string[] = [TASK]): Promise<boolean> =>
  (await store.agenda(now, 10, operations)).hasJobs === true;

export const firstTurn = async (store: Store, words = "hello", to = alice) => {
  await store.create(newSession(to));
  return begin(store, words, { to });
};
