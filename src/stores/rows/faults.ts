import { RuntimeError } from "../../model/errors.ts";
import type { JobLease, Lease } from "../store.ts";

/** The errors that every store of rows throws. */

export const corrupt = (item: string, problem: string, cause?: unknown): RuntimeError =>
  new RuntimeError("store.corrupt", { item, problem }, { cause });

export const leaseLost = ({ sessionId, generation }: Lease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId, generation });

/** A job has no session that is sure: it may have been handed over, or deleted with it. So the error names the job. */
export const jobLost = ({ jobId, generation }: JobLease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId: jobId, generation });
