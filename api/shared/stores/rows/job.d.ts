import { JobId } from "../../model/ids.js";
import { JobRecord } from "../../model/job.js";
/** The jobs that a parked job awaits, and whether it needs one or all of them. */
interface Awaits {
  readonly jobs: readonly JobId[];
  readonly need: "any" | "all";
}
/** The fields of a record that change. */
type Moves = Pick<JobRecord, "sessionId" | "state" | "createdAt" | "startedAt" | "endedAt" | "starts" | "steps" | "wakes" | "cancel" | "result" | "error">;
export { Awaits, Moves };
