// An agent is also a job of its owner, so that listing, waiting and cancelling work as for all other background work.
//
// agent-job-1: The id of the job is that of the agent's session. A fork has jobs only for its own copies of agents.
// agent-job-2: If the job has ended or was handed over to another session, the agent is closed for its owner.
// agent-job-3: Agents also work on a store without jobs.
import { hasCode, type Services } from "../../plugin.ts";
import type { Agent } from "./roster.ts";

type Jobs = Services["jobs"];

/** `none`: it is not registered yet. */
export type Standing = "live" | "over" | "elsewhere" | "none" | "unavailable";

/** The state of the job of an agent that is a child of this session. */
export async function standingOf(jobs: Jobs, session: string): Promise<Standing> {
  try {
    await jobs.validate([session]);
    return "live";
  } catch (error) {
    if (hasCode(error, "job.unstarted")) return "live"; // The job begins with the answer of this hook or call.
    if (hasCode(error, "job.unknown")) return "none";
    if (hasCode(error, "job.over")) return "over";
    if (hasCode(error, "job.foreign")) return "elsewhere";
    if (hasCode(error, "service.unavailable")) return "unavailable";
    throw error;
  }
}

/** agent-job-2 */
export const isClosing = (standing: Standing): boolean => standing === "over" || standing === "elsewhere";

/** Registers the job with the answer of this call or hook. If the call runs again, it finds the job. */
export async function register(jobs: Jobs, { session, task }: Pick<Agent, "session" | "task">): Promise<void> {
  try {
    await jobs.register({ id: session, kind: "subagent", label: task, childId: session });
  } catch (error) {
    // A session at its limit of jobs can still have agents: their jobs are registered later.
    if (!hasCode(error, "job.full") && !hasCode(error, "service.unavailable")) throw error;
  }
}
