// All that a model reads of the jobs of its session.
export const LIST = "jobs_list";
export const STOP = "jobs_stop";
export const WAIT = "jobs_wait";
export const START = "jobs_start";
export const SIGNAL = "jobs_signal";

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

  start: (tasks: string) =>
    "Starts a task as a background job. Use it for work that takes long, or that can be done while you do something else: the " +
    "job goes on beside your turn and after it. Returns { id, label, note } at once; the result of the task comes later, with " +
    `${WAIT}.\n\nTasks:\n${tasks}`,
  task: (name: string, description: string, input: string, signals: string) =>
    [
      `- ${name}`,
      ...(description === "" ? [] : [`: ${description}`]),
      ...(input === "" ? [] : [`\n  input: ${input}`]),
      ...(signals === "" ? [] : [`\n  signals: ${signals}`]),
    ].join(""),
  taskName: "The name of the task: one of those in this tool's description.",
  input: "What the task is given: an object that fits its input. Leave it out for a task that takes none.",
  label: "What this job is for, in a few words. You read it beside its result. Default: the name of the task.",
  wake: (unlessGiven: string) =>
    `How you hear of its end. none: only by ${WAIT}; take this for a job that you will wait for. notify: by a message when you ` +
    `next act, and you are not woken. wake: by a message that opens a turn for you. Default: ${unlessGiven}.`,
  begins: `It begins with this answer: from your next call on you can wait for it with ${WAIT}.`,

  signal:
    "Sends a signal to a background job that takes it. Use it when the job waits for something that you know or decide. It is " +
    "kept until the job takes it. Returns { id, sent }, and not what the job makes of it.",
  signalName: "The name of a signal that the job takes, for example signed.",
  payload: "What the signal says: any JSON that fits its schema. Leave it out where nothing is to be said.",

  // ── Prompt ────────────────────────────────────────────────────────────────────────────────────────────────────────

  moreJobs: `- more: call ${LIST}`,

  // ── Results and refusals ──────────────────────────────────────────────────────────────────────────────────────────

  cut: (shown: string, chars: number) => `${shown} … (${chars} characters)`,
  moreLive: (count: number) => `${count} more are live and not listed.`,
  unknownJob: (id: string) => `There is no job ${id} in this session. Call ${LIST} to see the jobs that there are.`,
  overJob: (id: string, state: string) =>
    `The job ${id} is over: it is ${state}, and takes no signals. Read what came of it with ${WAIT}.`,
  wrongInput: (task: string, problem: string) => `The input of ${task} is not right: ${problem}`,
  missingTask: (task: string) => `The task ${task} is not there. Go on without it, and say so.`,
  full: (max: number) =>
    `No job was started: ${max} are not over, which is the most allowed. Wait for some with ${WAIT}, or stop what is not ` +
    `needed with ${STOP}, then try again.`,
};
