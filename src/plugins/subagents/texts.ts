// All texts that a model reads about its agents, and that an agent reads about its owner.
export const SPAWN = "spawn_agent";
export const MESSAGE = "message_agent";
export const WAIT = "wait_agents";
export const CLOSE = "close_agent";
export const LIST = "list_agents";
export const SUBMIT_ERROR = "submit_error";
export const REASON_CHARS_MAX = 4_000;

const DAY_MS = 86_400_000;
const lasting = (ms: number): string => (ms < DAY_MS ? `${ms} ms` : `${Math.round(ms / DAY_MS)} days`);

export const TEXTS = {
  // ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  spawn: (timeoutMs: number, capabilities: string) =>
    "Starts an agent that works on a task by itself, and returns its result. Use it for work that can be done apart from " +
    "yours; agents that you start in the same reply work at the same time. The agent sees nothing of this conversation, " +
    "so `task` must contain everything it needs. Waits until the agent is done and returns { agent, turn, status, result }: " +
    "`agent` is its name for later calls, `result` its last answer. With `background` it returns at once, and the agent " +
    `goes on while you do other work. An agent that you wait for is stopped after ${lasting(timeoutMs)}.\n\n` +
    `Capabilities:\n${capabilities}`,
  task: "What the agent is to do: the goal, all facts, names and paths it needs, and what its answer must contain.",
  capability: "The kind of agent to start: one of the capabilities in this tool's description.",
  output:
    "A JSON Schema that the result must fit. The result is then a JSON value of that shape. Leave it out to get an answer in text.",
  seed: "One or more texts that the agent's conversation begins with, before the task, for example a document.",
  background: `true: return at once, and get the result later with ${WAIT}. false or left out: wait for the result.`,

  message:
    "Sends a message to an agent that you have started. Use it to ask a further question, to give the next task, or to go " +
    "on with an agent that failed or was stopped. The agent still knows its whole conversation. If it is at work, it " +
    "finishes that first. Waits for its answer and returns { agent, turn, status, result }, or returns at once with " +
    "`background`.",
  agent: `The name of the agent, as ${SPAWN} and ${LIST} return it, for example agt_4f0aQ2.`,
  words: "What to tell the agent. It is added to the agent's conversation as it is.",

  wait:
    "Waits for agents that work in the background, and returns their results. Use it to collect the results of agents " +
    "that you started with `background`. `completed` has the agents that are done, " +
    "by name, each with status and result, or with code and reason if it failed. `pending` has those that are still at " +
    "work: they go on, and you can wait for them again.",
  agents: "The names of 1 to 100 agents to wait for.",
  until: "all: wait until every one of them is done. any: return as soon as one is done. Default: all.",
  timeout: (max: number) =>
    `The longest time to wait, in milliseconds. 0 returns at once with how things stand. Default and maximum: ${max}.`,

  close:
    "Ends an agent for good, and stops what it and the agents below it are doing. Use it when you no longer need an agent, " +
    "and to make room when there are too many. A closed agent cannot be messaged again. Returns the agents that were " +
    "ended, each with its last status.",

  list:
    "Lists the agents that you have started. Use it when you do not know an agent's name or whether it is still at work. " +
    "Returns `agents`, each with its name, capability, task and status (running, finished, failed or stopped), and the " +
    "names of `closed` ones.",

  submitError:
    "Ends your task as failed, and reports the reason to the agent that gave you the task. Use it only when you cannot do " +
    "the task; to report a result, answer instead. Your work ends with this call.",
  reason: `Why the task cannot be done: what you tried, what is missing, and what would help. At most ${REASON_CHARS_MAX} characters.`,

  // ── Prompt ────────────────────────────────────────────────────────────────────────────────────────────────────────

  role: (capability: string, depth: number | undefined, depthMax: number | undefined) =>
    `You are an agent with the capability ${capability}, at depth ${depth} of ${depthMax}. Another agent gave you your task. ` +
    "It reads only your last answer: put everything it needs to know there.",
  giveUp: `If you cannot do the task, call \`${SUBMIT_ERROR}\` and say why.`,
  moreAgents: (count: number) => `- ${count} more: call ${LIST}`,

  // ── How a turn of an agent ended ──────────────────────────────────────────────────────────────────────────────────

  /** `reportedBy` parses the agent and the turn from the beginning of a failure, so change both together. */
  failed: (agent: string, turn: string, how: "failed" | "stopped", code: string | undefined, reason: string) =>
    `Agent ${agent} (turn ${turn}) ${how === "failed" ? "failed" : "was stopped"} (${code}): ${reason} ${TEXTS.goOn}`,
  timedOut: (agent: string, turn: string, ms: number) =>
    `Agent ${agent} (turn ${turn}) did not finish within ${ms} ms and was stopped. ${TEXTS.goOn}`,
  goOn: `It still knows its conversation: call ${MESSAGE} to go on with it.`,
  saidBefore: (text: string) => `Its last words were: ${text}`,
  ownerStopped: "The turn that started this agent was stopped.",
  tookTooLong: (ms: number) => `It took more than ${lasting(ms)}.`,
  closed: "The agent was closed.",
  deleted: "The agent's session was deleted.",

  // ── Refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────

  noTask: "`task` is empty, so no agent was started. Say in it what the agent is to do.",
  noMessage: "`message` is empty, so nothing was sent. Say in it what the agent is to know or do.",
  noCapability: (names: string) => `Set \`capability\`: there is more than one. Choose one of: ${names}.`,
  unknownCapability: (name: string, names: string) => `There is no capability ${name}. Choose one of: ${names}.`,
  badOutput: (problem: string) =>
    `\`output\` is not a JSON Schema that can be used: ${problem}. Correct it, or leave it out to get an answer in text.`,
  tooDeep: (max: number) => `You cannot start agents: they may be at most ${max} deep. Do this work yourself.`,
  tooMany: (count: number) =>
    `No agent was started: there are ${count}, which is the most allowed. End those that you no longer need with ${CLOSE}, then try again.`,
  tooManyEver: (max: number) =>
    `No agent was started: this session has started ${max} agents, which is the most allowed. Use ${MESSAGE} on one that you have.`,
  unknownAgent: (name: string) => `There is no agent ${name}. Call ${LIST} to see the agents that you have.`,
  closedAgent: (name: string) => `The agent ${name} is closed. Start another one with ${SPAWN}.`,
};
