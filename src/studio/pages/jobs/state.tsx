// The state of a job in a word: more exact than the record, which has `running` for all that has not ended.
import type { JSX } from "preact";
import { Badge } from "../../parts/basics.tsx";
import type { Job } from "../../types.ts";

export const isLive = ({ state }: Pick<Job, "state">): boolean => state === "running" || state === "idle";

export function JobBadge({ job, isWaiting }: { readonly job: Job; readonly isWaiting?: boolean }): JSX.Element {
  if (!isLive(job)) return <Badge state={job.state} />;
  if (job.cancel !== undefined) return <Badge state="waiting">cancelling</Badge>;
  if (isWaiting === true) return <Badge state="waiting" />;
  if (job.notBefore !== undefined && job.notBefore > Date.now() && job.steps === 0)
    return <Badge state="queued">planned</Badge>;
  if (job.recovery === "rerunnable" && job.starts === 0) return <Badge state="queued">queued</Badge>;
  return <Badge state={job.state} />;
}
