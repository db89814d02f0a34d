import { createHash } from "node:crypto";
import { type Fields, optionsSchema, type Services } from "../../index.ts";

export type Reading = Awaited<ReturnType<Services["session"]["snapshot"]>>;

const STATUSES = ["running", "finished", "failed", "stopped"] as const;
export type Status = (typeof STATUSES)[number];

/** What a session remembers of an agent. */
export interface Agent {
  /** What the model calls it: the id of its session, unless that is a copy. */
  readonly name: string;
  /** The session that it is. */
  readonly session: string;
  readonly capability: string;
  /** Its beginning. */
  readonly task: string;
  readonly status: Status;
  /** The latest that was asked of it. */
  readonly turn?: string;
  /** The turn of ours that asked. */
  readonly by?: string;
  /** Where its conversation stood after that. */
  readonly head?: string;
}

export interface Roster {
  /** Of the session that has them: 0 in a root. */
  readonly depth: number;
  /** Oldest first, without those that are closed. */
  readonly agents: readonly Agent[];
  /** Names, oldest first. */
  readonly closed: readonly string[];
}

/** As many children as the runtime lists of one session. */
export const CHILDREN_LISTED = 1_000;
const CLOSED_MAX = 500;
const TASK_CHARS_MAX = 60;

export const STATE = optionsSchema<unknown, Roster>((given) => ({
  depth: given.whole("depth", {}, 0),
  agents: given.objects("agents", agentOf, []),
  closed: given.texts("closed", []),
}));

function agentOf(given: Fields): Agent {
  const [turn, by, head] = [given.text("turn", undefined), given.text("by", undefined), given.text("head", undefined)];
  return {
    name: given.text("name"),
    session: given.text("session"),
    capability: given.text("capability"),
    task: given.text("task"),
    status: given.oneOf("status", STATUSES),
    ...(turn === undefined ? {} : { turn }),
    ...(by === undefined ? {} : { by }),
    ...(head === undefined ? {} : { head }),
  };
}

export const depthOf = ({ authority }: Pick<Reading, "authority">): number => authority?.subagent?.depth ?? 0;

/** A child that was made with a copy of its parent's states has its parent's roster, which is not its own. */
export const rosterAt = (roster: Roster, depth: number): Roster =>
  roster.depth === depth ? roster : { depth, agents: [], closed: [] };

/** The children that are agents: another plugin's inherit the authority of who made them, and its depth. */
export const agentsAmong = (children: readonly Reading[], depth: number): readonly Reading[] =>
  children.filter((child) => child.authority?.subagent?.depth === depth + 1);

/** The same for the same call: a rerun finds what it has made. */
export const nameFor = (idempotencyKey: string): string => `agt_${idempotencyKey.slice(0, NAME_CHARS)}`;
/** The session in which `owner` goes on with an agent that was made for another session. */
export const copyFor = (owner: string, name: string): string =>
  nameFor(createHash("sha256").update(`${owner}/${name}`).digest("base64url"));
const NAME_CHARS = 16;

export function agentFrom({ id, authority, config, openTurn, head }: Reading): Agent {
  const { capability = "", cause } = authority?.subagent ?? {};
  return {
    name: id,
    session: id,
    capability,
    task: config.label ?? "",
    ...(cause === undefined ? {} : { by: cause }),
    ...(openTurn === undefined ? ended("stopped", head) : { status: "running", turn: openTurn }),
  };
}

/** While it is at work nobody knows where it will stand. */
export const ended = (status: Status, head: string | undefined): Pick<Agent, "status" | "head"> =>
  status === "running" || head === undefined ? { status } : { status, head };

/** With this agent as it is now, new or known. */
export function withAgent(roster: Roster, agent: Agent): Roster {
  const { agents, closed } = roster;
  if (closed.includes(agent.name)) return roster;
  const at = agents.findIndex(({ name }) => name === agent.name);
  return { ...roster, agents: at < 0 ? [...agents, agent] : agents.with(at, agent) };
}

export const withoutAgent = ({ depth, agents, closed }: Roster, name: string): Roster => ({
  depth,
  agents: agents.filter((agent) => agent.name !== name),
  closed: [...closed.filter((each) => each !== name), name].slice(-CLOSED_MAX),
});

/** One line of the prompt, whatever is in it. */
export const taskLine = (task: string): string => cutTo(task.replace(/\s+/gu, " ").trim(), TASK_CHARS_MAX);

export function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

const SHOWN_MAX = 16;
const CLOSED_SHOWN_MAX = 4;

/** For the model, in every round: those that run first, then the newest. */
export function shown({ agents, closed }: Roster): string {
  if (agents.length === 0) return "";
  const newest = agents.toReversed();
  const isRunning = ({ status }: Agent): boolean => status === "running";
  const inOrder = [...newest.filter(isRunning), ...newest.filter((agent) => !isRunning(agent))];
  const lines = inOrder
    .slice(0, SHOWN_MAX)
    .map(({ name, capability, task, status }) => `- ${name} (${capability}, ${status}): ${task}`);
  const left = inOrder.length - SHOWN_MAX;
  if (left > 0) lines.push(`- and ${left} more: list_agents`);
  if (closed.length > 0) {
    const more = closed.length > CLOSED_SHOWN_MAX ? ` and ${closed.length - CLOSED_SHOWN_MAX} more` : "";
    lines.push(`Closed: ${closed.slice(-CLOSED_SHOWN_MAX).toReversed().join(", ")}${more}.`);
  }
  return lines.join("\n");
}
