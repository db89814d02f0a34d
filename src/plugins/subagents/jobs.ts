// An agent is also a job of its owner, so that it is listed, waited for and cancelled like all other work in the
// background.
//
// agent-job-1: The id of the job is that of the agent's session. A fork has jobs for its own copies of agents alone.
// agent-job-2: An ended job means that its agent is closed. One that was handed over means so, too: it is another session's
//    from then on.
// agent-job-3: Agents also work on a store without jobs.
import { hasCode, type Services } from "../../plugin.ts";
import type { Agent } from "./roster.ts";

type Jobs = Services["jobs"];

/** `none`: nobody has registered it yet. */
export type Standing = "live" | "over" | "elsewhere" | "none" | "unavailable";

/** How the job of an agent stands that is a child of this session. */
export async function standingOf(jobs: Jobs, session: string): Promise<Standing> {
  try {
    await jobs.validate([session]);
    return "live";
  } catch (error) {
    if (hasCode(error, "job.unstarted")) return "live"; // It begins with the answer of this very hook or call.
    if (hasCode(error, "job.unknown")) return "none";
    if (hasCode(error, "job.over")) return "over";
    if (hasCode(error, "job.foreign")) return "elsewhere";
    if (hasCode(error, "service.unavailable")) return "unavailable";
    throw error;
  }
}

/** Rule 2 */
export const isClosing = (standing: Standing): boolean => standing === "over" || standing === "elsewhere";

/** Registers the job with the answer of this call or hook. A rerun finds it. */
export async function register(jobs: Jobs, { session, task }: Pick<Agent, "session" | "task">): Promise<void> {
  try {
    await jobs.register({ id: session, kind: "subagent", label: task, childId: session });
  } catch (error) {
    // A session that has all the jobs it may have can have agents all the same: they are registered later.
    if (!hasCode(error, "job.full") && !hasCode(error, "service.unavailable")) throw error;
  }
}
