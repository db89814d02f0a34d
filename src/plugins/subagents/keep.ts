// Keeps the roster of agents up to date. Only hooks write state, because they run one at a time. Tools of one reply run
// in parallel and return their changes in their results.
import {
  emitEvent,
  hasCode,
  type Json,
  type Message,
  type StateCell,
  type ToolOutput,
  type TurnOutcome,
} from "../../plugin.ts";
import { asReported, endWithin, type ReportedTurn, reportedBy } from "./ending.ts";
import { type Home, type Household, householdOf, treeOf } from "./household.ts";
import { register, standingOf } from "./jobs.ts";
import {
  type Agent,
  agentFrom,
  copyFor,
  depthOf,
  ended,
  type Roster,
  rosterAt,
  withAgent,
  withoutAgent,
} from "./roster.ts";
import { CLOSE, MESSAGE, SPAWN, TEXTS, WAIT } from "./texts.ts";

/** The services of a hook that may change state. */
interface Writing extends Home {
  readonly turnId?: string;
  readonly state: Pick<StateCell<Roster>, "get" | "update">;
}

// ── After a call ────────────────────────────────────────────────────────────────────────────────────────────────────

export const isKept = (tool: string): boolean => tool === SPAWN || tool === MESSAGE || tool === WAIT || tool === CLOSE;

/** Writes the result of one of this plugin's tools to the roster. */
export async function keepResult(tool: string, output: ToolOutput, home: Writing): Promise<void> {
  if (tool === CLOSE) return keepClosed(output, home);
  const reported = tool === WAIT ? completedIn(output) : [reportedBy(output)].filter((each) => each !== undefined);
  if (reported.length === 0) return;
  const household = await householdOf(home);
  let { roster } = household;
  for (const each of reported) {
    const agent = agentAfter(each, household, home, tool !== WAIT);
    if (agent !== undefined) roster = withAgent(roster, agent);
  }
  if (roster === household.remembered) return;
  await keepJobs(household, roster.agents, home);
  home.state.update(() => roster);
}

function agentAfter(
  { agent: name, turn, status }: ReportedTurn,
  household: Household,
  home: Writing,
  isNew: boolean,
): Agent | undefined {
  const known = household.roster.agents.find((agent) => agent.name === name);
  const child = household.child(copyFor(home.sessionId, name)) ?? household.child(known?.session ?? name);
  const before = known ?? (child === undefined ? undefined : agentFrom(child));
  // A result of `wait_agents` can belong to an earlier turn of the agent. It must not end the newer turn.
  if (before === undefined || (!isNew && before.turn !== turn)) return undefined;
  const { head, ...rest } = before;
  return {
    ...rest,
    turn,
    ...(child === undefined ? {} : { session: child.id }),
    ...(isNew && home.turnId !== undefined ? { by: home.turnId } : {}),
    ...ended(status, child?.head ?? head),
  };
}

function completedIn(output: ToolOutput): readonly ReportedTurn[] {
  if (output.kind !== "value") return [];
  const { completed } = (output.value ?? {}) as { readonly completed?: { readonly [agent: string]: Json } };
  return Object.entries(completed ?? {}).flatMap(
    ([agent, end]) => asReported({ ...(end as { readonly [field: string]: Json }), agent }) ?? [],
  );
}

function keepClosed(output: ToolOutput, { session, state }: Writing): void {
  const { closed } = (output.kind === "value" ? (output.value ?? {}) : {}) as { readonly closed?: Json };
  if (typeof closed !== "string") return;
  state.update((roster) => withoutAgent(rosterAt(roster, depthOf(session.read())), closed));
}

// ── Between rounds ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Writes to the roster which running agents have ended, and which are closed because their jobs have ended. */
export async function keepEnds(home: Writing): Promise<void> {
  const { agents } = rosterAt(home.state.get(), depthOf(home.session.read()));
  if (agents.length === 0) return;
  await unlessClosing(async () => {
    if (agents.some(({ status }) => status === "running") || (await hasNews(agents, home)))
      await keepAll(await householdOf(home), home);
  });
}

/** Whether the state of one of their jobs is out of date. Reads no sessions, because most often nothing has changed. */
async function hasNews(agents: readonly Agent[], { jobs }: Writing): Promise<boolean> {
  for (const { session } of agents) {
    const standing = await standingOf(jobs, session);
    if (standing === "unavailable") return false;
    if (standing !== "live") return true;
  }
  return false;
}

/** A closing runtime refuses reads. That must not fail the turn, because another runtime resumes it. */
async function unlessClosing<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, "runtime.closed")) return undefined;
    throw error;
  }
}

/** Writes the present state of all agents, also of those that no call returned. */
async function keepAll(household: Household, home: Writing): Promise<readonly Agent[]> {
  const agents = await household.all();
  const { roster, remembered } = household;
  await keepJobs(household, agents, home);
  const isSame =
    roster.closed === remembered.closed &&
    agents.length === remembered.agents.length &&
    agents.every((agent, at) => agent === remembered.agents[at]);
  if (!isSame) home.state.update(() => ({ ...roster, agents }));
  return agents;
}

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Updates the jobs of these agents: each agent has one job, whose state shows whether the agent works. */
async function keepJobs(household: Household, agents: readonly Agent[], { jobs, sessions }: Writing): Promise<void> {
  const { remembered } = household;
  for (const agent of agents) {
    const child = household.childOf(agent);
    if (child === undefined) {
      await endDeleted(jobs, agent);
      continue;
    }
    const standing = household.standing(child.id);
    if (standing === "none") await register(jobs, { session: child.id, task: agent.task });
    const before = remembered.agents.find(({ name }) => name === agent.name)?.status ?? "running";
    if (standing === "live" && before !== agent.status)
      await jobs.transition(child.id, agent.status === "running" ? "running" : "idle");
  }
  // An agent that got a message while its job was cancelled may work again.
  for (const agent of remembered.agents) {
    const child = household.childOf(agent);
    if (child?.openTurn !== undefined && household.standing(child.id) === "over")
      await sessions.cancel(child.id, undefined, TEXTS.closed);
  }
}

/**
 * Ends the job of an agent without a session: the session was deleted, or belongs to the session from which this one
 * was forked.
 */
async function endDeleted(jobs: Writing["jobs"], { session }: Agent): Promise<void> {
  if ((await standingOf(jobs, session)) !== "live") return;
  const error = { code: "agent.unknown", message: TEXTS.deleted };
  await jobs.complete(session, { state: "cancelled", error });
}

// ── At the end of a turn ────────────────────────────────────────────────────────────────────────────────────────────

const STOP_MS = 5_000;

interface Report {
  readonly outcome: TurnOutcome;
  readonly messages: readonly Message[];
}

/** Stops the agents of a turn that was stopped or has failed. Emits `unfinished` with the agents that continue. */
export function keepTurn({ outcome, messages }: Report, home: Writing) {
  const hasAgents = home.state.get().agents.length > 0;
  if (!hasAgents && !callsIn(messages).some(({ name }) => name === SPAWN)) return;
  return unlessClosing(async () => {
    if (outcome.kind === "stopped" || outcome.kind === "failed") await stopAgents(messages, home);
    const agents = await keepAll(await householdOf(home), home);
    const running = agents.filter(({ status }) => status === "running");
    if (running.length === 0) return;
    const named = running.map(({ name, session, capability, task }) => ({ agent: name, session, capability, task }));
    return emitEvent("unfinished", { agents: named });
  });
}

/**
 * Stops every agent that the turn started or sent a message to, also those whose calls were lost because the process
 * died.
 */
async function stopAgents(messages: readonly Message[], home: Writing): Promise<void> {
  const { sessions, sessionId, turnId } = home;
  const household = await householdOf(home);
  const unanswered = new Set(callsIn(messages).flatMap(({ name, agent }) => (name === MESSAGE ? (agent ?? []) : [])));
  const stop = async (agent: Agent): Promise<void> => {
    await sessions.cancel(agent.session, undefined, TEXTS.ownerStopped);
    if (agent.turn !== undefined) await endWithin(STOP_MS, sessions, agent, agent.turn);
  };
  const stopping = [...household.roster.agents, ...household.unknown()].map(async (agent) => {
    const child = household.child(agent.session) ?? household.child(copyFor(sessionId, agent.name));
    if (child === undefined) return;
    if (child.permissions?.subagent?.cause === turnId) {
      const open = (await treeOf(child, sessions)).filter(({ openTurn }) => openTurn !== undefined);
      await Promise.all(open.map((each) => stop(agentFrom(each))));
    } else if (unanswered.has(agent.name)) await stop(agentFrom(child));
    else if (agent.by === turnId && agent.turn !== undefined) {
      // Cancels the turn even if the call already returned `stopped`. This does not wait: an agent that has not started
      // the turn ends it when it starts.
      await sessions.cancel(agent.session, agent.turn, TEXTS.ownerStopped);
      if (child.openTurn === agent.turn) await endWithin(STOP_MS, sessions, agent, agent.turn);
    }
  });
  await Promise.all(stopping);
}

interface CallMade {
  readonly name: string;
  /** The agent of the call, if the call was cancelled or its end is unknown. */
  readonly agent?: string;
}

function callsIn(messages: readonly Message[]): readonly CallMade[] {
  const parts = messages.flatMap((message) => message.parts);
  const lost = new Set(
    parts.flatMap((part) =>
      part.kind === "toolResult" && (part.status === "cancelled" || part.status === "unknown") ? [part.callId] : [],
    ),
  );
  return parts.flatMap((part): readonly CallMade[] => {
    if (part.kind !== "toolCall") return [];
    const { agent } = part.input as { readonly agent?: Json };
    const isLost = lost.has(part.callId) && typeof agent === "string";
    return [isLost ? { name: part.name, agent } : { name: part.name }];
  });
}
