import { createHash } from "node:crypto";
import { type Fields, optionsSchema, type Services } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

export type Reading = Awaited<ReturnType<Services["session"]["snapshot"]>>;

const STATUSES = ["running", "finished", "failed", "stopped"] as const;
export type Status = (typeof STATUSES)[number];

/** An agent in the state of its owner, which is the session that started it. */
export interface Agent {
  /** The model's name for the agent: the id of its first session. */
  readonly name: string;
  /** The id of its session: the same as `name`, or the id of a fork's copy. */
  readonly session: string;
  readonly capability: string;
  /** The beginning of its task, on one line. */
  readonly task: string;
  readonly status: Status;
  /** The id of the agent's latest turn. */
  readonly turn?: string;
  /** The id of the owner's turn that started the latest turn. */
  readonly by?: string;
  /** The head of the agent's conversation after that turn. */
  readonly head?: string;
}

export interface Roster {
  /** The depth of the owner: 0 in a root session. */
  readonly depth: number;
  /** Agents that are not closed, oldest first. */
  readonly agents: readonly Agent[];
  /** Names of closed agents, oldest first. */
  readonly closed: readonly string[];
}

/** The runtime lists at most this many children of a session. It would not list further agents. */
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

export const depthOf = ({ permissions }: Pick<Reading, "permissions">): number => permissions?.subagent?.depth ?? 0;

/**
 * A child with a copy of its parent's states begins with the parent's roster. The depth shows that the roster is not
 * the child's own.
 */
export const rosterAt = (roster: Roster, depth: number): Roster =>
  roster.depth === depth ? roster : { depth, agents: [], closed: [] };

/** The children that are agents. Children that another plugin made have the depth of their parent, not one more. */
export const agentsAmong = (children: readonly Reading[], depth: number): readonly Reading[] =>
  children.filter((child) => child.permissions?.subagent?.depth === depth + 1);

/** The same name for the same call, so that a repeated call finds its agent. */
export const nameFor = (idempotencyKey: string): string => `agt_${idempotencyKey.slice(0, NAME_CHARS)}`;
/** The session in which `owner` continues an agent that was made for another session. */
export const copyFor = (owner: string, name: string): string =>
  nameFor(createHash("sha256").update(`${owner}/${name}`).digest("base64url"));
const NAME_CHARS = 16;

export function agentFrom({ id, permissions, config, openTurn, head }: Reading): Agent {
  const { capability = "", cause } = permissions?.subagent ?? {};
  return {
    name: id,
    session: id,
    capability,
    task: config.label ?? "",
    ...(cause === undefined ? {} : { by: cause }),
    ...(openTurn === undefined ? ended("stopped", head) : { status: "running", turn: openTurn }),
  };
}

/** The head is present only for an agent that has ended, because the head moves while it works. */
export const ended = (status: Status, head: string | undefined): Pick<Agent, "status" | "head"> =>
  status === "running" || head === undefined ? { status } : { status, head };

/** The roster with this agent added or replaced. A closed agent stays closed. */
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

/** Without this, a task with line breaks could look like several agents in the prompt. */
export const taskLine = (task: string): string => cutTo(task.replace(/\s+/gu, " ").trim(), TASK_CHARS_MAX);

export function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

const SHOWN_MAX = 16;
const CLOSED_SHOWN_MAX = 4;

/** The roster in the prompt of every round: running agents first, then the newest. */
export function shown({ agents, closed }: Roster): string {
  if (agents.length === 0) return "";
  const newest = agents.toReversed();
  const isRunning = ({ status }: Agent): boolean => status === "running";
  const inOrder = [...newest.filter(isRunning), ...newest.filter((agent) => !isRunning(agent))];
  const lines = inOrder
    .slice(0, SHOWN_MAX)
    .map(({ name, capability, task, status }) => `- ${name} (${capability}, ${status}): ${task}`);
  const left = inOrder.length - SHOWN_MAX;
  if (left > 0) lines.push(TEXTS.moreAgents(left));
  if (closed.length > 0) {
    const more = closed.length > CLOSED_SHOWN_MAX ? ` and ${closed.length - CLOSED_SHOWN_MAX} more` : "";
    lines.push(`Closed: ${closed.slice(-CLOSED_SHOWN_MAX).toReversed().join(", ")}${more}.`);
  }
  return lines.join("\n");
}
