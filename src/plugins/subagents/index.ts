import { definePlugin, fail, hasCode, type PromptPart, type Services } from "../../plugin.ts";
import { AGENT_TOOLS, Calls, untilLetGo } from "./calls.ts";
import { CLOSE_INPUT, ERROR_INPUT, LIST_INPUT, MESSAGE_INPUT, spawnInput, waitInput } from "./inputs.ts";
import { isKept, keepEnds, keepResult, keepTurn } from "./keep.ts";
import { OPTIONS, type Settings } from "./options.ts";
import { type Agent, depthOf, type Reading, rosterAt, STATE, shown } from "./roster.ts";
import { CLOSE, LIST, MESSAGE, SPAWN, SUBMIT_ERROR, TEXTS, WAIT } from "./texts.ts";

export type { Capability, SubagentsOptions } from "./options.ts";
export type { Agent } from "./roster.ts";

/**
 * The time limit of one attempt at a call, instead of the runtime's limit. An attempt does not wait that long for
 * agents.
 */
const ATTEMPT_MS = 120_000;

/**
 * Lets the model start agents. An agent is a child session with a task; its last answer is the result of the call.
 *
 * Tools run in parallel and change no state (`calls.ts`). Hooks run one at a time and write the results to the roster
 * of agents (`keep.ts`).
 */
export const subagents = definePlugin({
  id: "bowline/subagents",
  options: OPTIONS,
  state: STATE,
  setup: ({ options: settings, session: { isRoot }, tool, query }) => {
    const calls = new Calls(settings);
    return {
      tools: [
        tool({
          name: SPAWN,
          path: "agents.spawn",
          description: spawnDescription(settings),
          input: spawnInput(settings),
          timeoutMs: ATTEMPT_MS,
          execute: (given, context) => untilLetGo(context, calls.spawn(given, context)),
        }),
        tool({
          name: MESSAGE,
          path: "agents.message",
          description: TEXTS.message,
          input: MESSAGE_INPUT,
          timeoutMs: ATTEMPT_MS,
          execute: (given, context) => untilLetGo(context, calls.message(given, context)),
        }),
        tool({
          name: WAIT,
          path: "agents.wait",
          description: TEXTS.wait,
          input: waitInput(settings),
          timeoutMs: ATTEMPT_MS,
          execute: (given, context) => untilLetGo(context, calls.wait(given, context)),
        }),
        tool({
          name: CLOSE,
          path: "agents.close",
          description: TEXTS.close,
          input: CLOSE_INPUT,
          execute: ({ agent }, context) => untilLetGo(context, calls.close(agent, context)),
        }),
        tool({
          name: LIST,
          path: "agents.list",
          description: TEXTS.list,
          input: LIST_INPUT,
          execute: (_, context) => untilLetGo(context, calls.list(context)),
        }),
        ...(isRoot
          ? []
          : [
              tool({
                name: SUBMIT_ERROR,
                description: TEXTS.submitError,
                input: ERROR_INPUT,
                execute: ({ reason }) => fail("agent.gave-up", reason),
              }),
            ]),
      ],
      prompt: ({ session, state }) => {
        const own = session.read();
        const roster = rosterAt(state.get(), depthOf(own));
        const { depth = 0, depthMax = settings.depthMax } = own.permissions?.subagent ?? {};
        const parts: PromptPart[] = taskPart(own);
        // An empty list has a part too, because the runtime renews a volatile part in each round only if the turn began
        // with it.
        if (depth < depthMax)
          parts.push({
            slot: "environment",
            title: "Agents",
            text: shown(roster),
            isVolatile: true,
            tools: AGENT_TOOLS,
          });
        return parts;
      },
      beforeTurn: (event) => keepEnds(event),
      checkpoint: (event) => (event.at === "after-work" ? keepEnds(event) : undefined),
      // Early, so that the roster gets the result of this plugin's tool before other plugins change it.
      afterToolCall: {
        order: "early",
        run: (event) => (isKept(event.call.name) ? keepResult(event.call.name, event.output, event) : undefined),
      },
      afterTurn: (event) => keepTurn(event.report, event),
      operations: {
        agents: query({
          description: "The agents of the session that are not closed, oldest first, as they are now.",
          run: async ({ session, jobs, state }) => {
            const { agents } = rosterAt(state.get(), depthOf(session.read()));
            const found = await Promise.all(agents.map((agent) => asItIs(agent, session, jobs)));
            return found.filter((agent) => agent !== undefined);
          },
        }),
      },
    };
  },
});

/**
 * A background agent in its present state: it may have ended since the last call. Undefined if it was closed with its
 * job.
 */
async function asItIs(agent: Agent, session: Services["session"], jobs: JobsView): Promise<Agent | undefined> {
  if (await isClosedByJob(agent, session, jobs)) return undefined;
  if (agent.status !== "running") return agent;
  const { openTurn } = await session.snapshot(agent.session);
  return openTurn === undefined ? { ...agent, status: "finished" } : agent;
}

type JobsView = Pick<Services["jobs"], "get">;
async function isClosedByJob(agent: Agent, session: Services["session"], jobs: JobsView): Promise<boolean> {
  try {
    const { state } = await jobs.get(agent.session);
    return state !== "running" && state !== "idle";
  } catch (error) {
    // In a fork, the job of an inherited agent belongs to another session, so it has no meaning here.
    if (hasCode(error, "job.foreign")) return (await session.snapshot(agent.session)).parentId === session.read().id;
    if (hasCode(error, "job.unknown") || hasCode(error, "service.unavailable")) return false;
    throw error;
  }
}

function spawnDescription({ capabilities, timeoutMs }: Settings): string {
  const kinds = [...capabilities].map(([name, { description }]) => `- ${name}: ${description}`);
  return TEXTS.spawn(timeoutMs, kinds.join("\n"));
}

function taskPart({ permissions }: Reading): PromptPart[] {
  const { capability, depth, depthMax } = permissions?.subagent ?? {};
  if (capability === undefined) return [];
  return [
    { slot: "intro", text: TEXTS.role(capability, depth, depthMax) },
    { slot: "intro", text: TEXTS.giveUp, tools: [SUBMIT_ERROR] },
  ];
}
