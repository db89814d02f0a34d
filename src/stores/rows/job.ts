import { asJobCursor, type JobCursor, type JobId } from "../../model/ids.ts";
import { isOver, type JobRecord, type JobRecovery, type NewJob } from "../../model/job.ts";
import { keyText } from "./codec.ts";

/** Columns of a job that find it without reading its body. */

/** A job id in the form that can be stored. */
export type KeptId = string & { readonly kept: JobId };
export const keptId = (id: JobId): KeptId => keyText(id) as KeptId;

/** Job states as the indexes store them. */
export const RUNNING = 0;
export const IDLE = 1;
export const OVER = 2;

export const stateIn = (record: Pick<JobRecord, "state">): number => {
  if (record.state === "running") return RUNNING;
  return isOver(record) ? OVER : IDLE;
};

/** The values of `recovery`: how a job can continue without its process. */
const RECOVERIES: readonly JobRecovery[] = ["rerunnable", "owner-bound", "external"];
export const RERUNNABLE = 0;
export const BOUND = 1;
export const EXTERNAL = 2;

export const recoveryOf = ({ recovery }: NewJob): number => RECOVERIES.indexOf(recovery);

/**
 * The `operation` of a job that any process can run: to deliver an input, or to abandon a job that is bound to another
 * owner.
 */
export const ANYBODY = "";

/** Returns the task that a process needs to run a job, or `ANYBODY`; null if no process can claim it. */
export function taskOf({ recovery, operation, delivers }: NewJob): string | null {
  if (recovery === "external") return null;
  if (recovery === "owner-bound" || delivers !== undefined) return ANYBODY;
  return operation ?? null;
}

/** Returns the tasks that a process can run, with `ANYBODY`. */
export const tasksOf = (operations: readonly string[]): readonly string[] => [...new Set([ANYBODY, ...operations])];

/** The values of `parent`: what started a job. */
export const turnAsParent = (turn: string): string => `turn/${turn}`;
export const parentJob = (id: JobId): string => `job/${keyText(id)}`;

/** Returns the parent of a job that ends with it. */
export function parentOfJob({ parent, onParentEnd }: NewJob): string | null {
  if (parent === undefined || onParentEnd !== "cancel") return null;
  return "turnId" in parent ? turnAsParent(parent.turnId) : parentJob(parent.jobId);
}

/** The jobs that a parked job awaits, and whether it needs one or all of them. */
export interface Awaits {
  readonly jobs: readonly JobId[];
  readonly need: "any" | "all";
}

/** The fields of a record that change. */
export type Moves = Pick<
  JobRecord,
  | "sessionId"
  | "state"
  | "createdAt"
  | "startedAt"
  | "endedAt"
  | "starts"
  | "steps"
  | "wakes"
  | "cancel"
  | "result"
  | "error"
>;

export const movesOf = (record: JobRecord): Moves => {
  const { sessionId, state, createdAt, startedAt, endedAt, starts, steps, wakes, cancel, result, error } = record;
  return {
    ...{ sessionId, state, createdAt, starts, steps, wakes },
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(cancel === undefined ? {} : { cancel }),
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  };
};

/** Returns the whole record: the unchanging fields and the current ones. */
export function recordWith(moves: Moves, { at: _, ...job }: NewJob): JobRecord {
  return { ...job, ...moves };
}

export const jobCursorOf = (change: number): JobCursor => asJobCursor(String(change));
