// All that a model reads of the jobs of its session.
export const LIST = "jobs_list";
export const STOP = "jobs_stop";
export const WAIT = "jobs_wait";

export const TEXTS = {
  list:
    "Lists the background jobs of this session. Use it when you do not know a job's id, or whether it is still at work. " +
    "Returns `live`, the jobs that run or are idle, oldest first, and `ended`, the last ones that are over, newest first. " +
    "Each has id, label, kind and state (running, idle, completed, failed, cancelled, or abandoned when the program that did " +
    "the work is gone); one that is over also has its result or its error. Long results are cut.",

  stop:
    "Stops a background job for good. Use it when its result is no longer needed. Stopping an agent also stops the agents " +
    "below it. Returns the job as it is then; a job that was over before stays as it was.",
  id: `The id of the job, as ${LIST} returns it, for example job_0k3.`,
  reason: "Why it is stopped, in a few words. Whoever looks at the job later reads it.",
  stopped: "The model stopped it.",

  wait:
    "Waits for background jobs, and returns what they came to. Use it when you cannot go on without their results; " +
    "waiting costs nothing. `completed` has the jobs that are over, by id, each with state and result or error; a job that " +
    "is idle counts too. `pending` has those that are still at work: they go on, and you can wait for them again. Of an " +
    "agent it only tells that it is idle: read its answer with wait_agents.",
  ids: "The ids of 1 to 100 jobs to wait for.",
  need: "all: wait until every one of them is over. any: return as soon as one is over. Default: all.",
  timeout: (max: number) =>
    `The longest time to wait, in milliseconds. 0 returns at once with how things stand. Default and maximum: ${max}.`,

  // ── Prompt ────────────────────────────────────────────────────────────────────────────────────────────────────────

  moreJobs: `- more: call ${LIST}`,

  // ── Results and refusals ──────────────────────────────────────────────────────────────────────────────────────────

  cut: (shown: string, chars: number) => `${shown} … (${chars} characters)`,
  moreLive: (count: number) => `${count} more are live and not listed.`,
  unknownJob: (id: string) => `There is no job ${id} in this session. Call ${LIST} to see the jobs that there are.`,
};
