import { asJobCursor, asJobId, type JobCursor, type JobId } from "../../model/ids.ts";
import { isOver, type JobRecord, type JobRecovery, type NewJob } from "../../model/job.ts";
import { fromKeyText, keyText } from "./codec.ts";

/** What every store of rows says of a job in columns, so that it is found without reading what it is. */

/** A job's id as text that can be kept. */
export type KeptId = string & { readonly kept: JobId };
export const keptId = (id: JobId): KeptId => keyText(id) as KeptId;
export const idOf = ({ id }: { readonly id: KeptId }): JobId => asJobId(fromKeyText(id));

/** The states of a job, as the indexes need them. */
export const RUNNING = 0;
export const IDLE = 1;
export const OVER = 2;

export const stateIn = (record: Pick<JobRecord, "state">): number => {
  if (record.state === "running") return RUNNING;
  return isOver(record) ? OVER : IDLE;
};

/** How a job goes on without its process, as `recovery` has it. */
const RECOVERIES: readonly JobRecovery[] = ["rerunnable", "owner-bound", "external"];
export const RERUNNABLE = 0;
export const BOUND = 1;
export const EXTERNAL = 2;

export const recoveryOf = ({ recovery }: NewJob): number => RECOVERIES.indexOf(recovery);

/** The `operation` of a job that any process can take: to deliver an input, or to abandon what is bound to another. */
export const ANYBODY = "";

/** The task that a process must have to run a job, or `ANYBODY`; null when nobody can take it. */
export function takerOf({ recovery, operation, delivers }: NewJob): string | null {
  if (recovery === "external") return null;
  if (recovery === "owner-bound" || delivers !== undefined) return ANYBODY;
  return operation === undefined ? null : keyText(operation);
}

/** The tasks that a process can run, as they are compared: what anybody can do is always among them. */
export const takes = (operations: readonly string[]): readonly string[] => [
  ANYBODY,
  ...new Set(operations.filter((operation) => operation !== "").map(keyText)),
];

/** What began a job, as `parent` has it. */
export const turnAsParent = (turn: string): string => `turn/${turn}`;
export const jobAsParent = (job: KeptId): string => `job/${job}`;

/** What began a job, if it is to end with that. */
export function parentOf({ parent, onParentEnd }: NewJob): string | null {
  if (parent === undefined || onParentEnd !== "cancel") return null;
  return "turnId" in parent ? turnAsParent(parent.turnId) : jobAsParent(keptId(parent.jobId));
}

/** What changes of a record. */
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

/** The whole record: what a job was begun with, and what has changed since. */
export function recordWith(moves: Moves, { at: _, ...job }: NewJob): JobRecord {
  return { ...job, ...moves };
}

export const jobCursorOf = (change: number): JobCursor => asJobCursor(String(change));
