import { RuntimeError } from "../../model/errors.ts";
import type { JobLease, Lease } from "../store.ts";

/** Errors that all stores of rows throw. */

export const corrupt = (item: string, problem: string, cause?: unknown): RuntimeError =>
  new RuntimeError("store.corrupt", { item, problem }, { cause });

export const leaseLost = ({ sessionId, generation }: Lease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId, generation });

/** The error names the job, because its session is uncertain: the job may have moved, or its session may be deleted. */
export const jobLost = ({ jobId, generation }: JobLease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId: jobId, generation });
