// The agents of a session: the stored roster, joined with the child sessions and their jobs. These
// differ after a crash (a child whose call was never settled), after a delete, in a fork (agents of the original), and
// when a job was cancelled. Changes nothing: `keep.ts` writes the roster, `calls.ts` acts on agents.
import { hasCode, type Services, type StateView, ToolError } from "../../plugin.ts";
import { type Ended, lookAt } from "./ending.ts";
import { isClosing, type Standing, standingOf } from "./jobs.ts";
import {
  type Agent,
  agentFrom,
  agentsAmong,
  CHILDREN_LISTED,
  copyFor,
  depthOf,
  ended,
  type Reading,
  type Roster,
  rosterAt,
  withoutAgent,
} from "./roster.ts";
import { TEXTS } from "./texts.ts";

interface Found {
  readonly agent: Agent;
  readonly child: Reading;
  /** Whether the agent was made for this session, and not for the session from which this one was forked. */
  readonly isOurs: boolean;
}

/** The services of a tool or a hook of the owner. */
export interface Home extends Pick<Services, "session" | "sessions" | "jobs"> {
  readonly sessionId: string;
  readonly state: Pick<StateView<Roster>, "get">;
}

export async function householdOf(home: Home): Promise<Household> {
  const depth = depthOf(home.session.read());
  const children = await home.sessions.children();
  const remembered = rosterAt(home.state.get(), depth);
  const found = new Household(home, remembered, children, remembered, new Map());
  const standings = new Map<string, Standing>();
  let roster = remembered;
  for (const { name, child } of found.ours()) {
    const standing = await standingOf(home.jobs, child.id);
    standings.set(child.id, standing);
    if (isClosing(standing)) roster = withoutAgent(roster, name);
  }
  return new Household(home, roster, children, remembered, standings);
}

export class Household {
  /** The roster without agents whose jobs have ended. */
  readonly roster: Roster;
  /** The roster in the owner's state. */
  readonly remembered: Roster;
  readonly #home: Home;
  readonly #children: ReadonlyMap<string, Reading>;
  readonly #listed: number;
  readonly #standings: ReadonlyMap<string, Standing>;

  constructor(
    home: Home,
    roster: Roster,
    children: readonly Reading[],
    remembered: Roster,
    standings: ReadonlyMap<string, Standing>,
  ) {
    this.#home = home;
    this.roster = roster;
    this.remembered = remembered;
    this.#listed = children.length;
    this.#children = new Map(agentsAmong(children, roster.depth).map((child) => [child.id, child]));
    this.#standings = standings;
  }

  /** The open agents of this session, each with its session. */
  ours(): readonly { readonly name: string; readonly child: Reading }[] {
    return [...this.roster.agents, ...this.unknown()].flatMap(({ name, session }) => {
      const child = this.childOf({ name, session });
      return child === undefined ? [] : [{ name, child }];
    });
  }

  /** The agent's session, or this session's copy of it. Undefined if it belongs to another session. */
  childOf({ name, session }: Pick<Agent, "name" | "session">): Reading | undefined {
    return this.#children.get(session) ?? this.#children.get(copyFor(this.#home.sessionId, name));
  }

  /** The state of the job of an agent's session. */
  standing(session: string): Standing {
    return this.#standings.get(session) ?? "none";
  }

  /** Agents that are children but not in the roster: their calls were interrupted, or the results were lost. */
  unknown(): readonly Agent[] {
    const { agents, closed } = this.roster;
    const { sessionId } = this.#home;
    const known = new Set([...closed, ...agents.flatMap(({ name, session }) => [name, session])]);
    // An agent of the session from which this one was forked: only a copy of it can be a child here.
    for (const name of [...closed, ...agents.map((agent) => agent.name)])
      if (!this.#children.has(name)) known.add(copyFor(sessionId, name));
    return [...this.#children.values()].filter(({ id }) => !known.has(id)).map(agentFrom);
  }

  child(session: string): Reading | undefined {
    return this.#children.get(session);
  }

  isClosed(name: string): boolean {
    return this.roster.closed.includes(name);
  }

  requireRoomFor(id: string, max: number): void {
    if (this.#children.has(id)) return; // A repeated call finds the agent that it has made.
    const open = this.roster.agents.length + this.unknown().length;
    if (open < max && this.#listed < CHILDREN_LISTED) return;
    const problem = open < max ? TEXTS.tooManyEver(CHILDREN_LISTED) : TEXTS.tooMany(open);
    throw new ToolError("agent.limit", problem, { class: "limit" });
  }

  async require(name: string): Promise<Found> {
    const agent =
      this.roster.agents.find((each) => each.name === name || each.session === name) ??
      this.unknown().find((each) => each.name === name);
    const found = agent === undefined ? undefined : await this.#found(agent);
    if (found !== undefined) return found;
    throw new ToolError("agent.unknown", TEXTS.unknownAgent(JSON.stringify(name)), { class: "unavailable" });
  }

  async requireOpen(name: string): Promise<Found> {
    if (!this.isClosed(name)) return this.require(name);
    throw new ToolError("agent.closed", TEXTS.closedAgent(name), { class: "unavailable" });
  }

  async #found(agent: Agent): Promise<Found | undefined> {
    const own = this.childOf(agent);
    if (own?.id === agent.session) return { agent, child: own, isOurs: true };
    if (own !== undefined) return { agent: { ...agentFrom(own), name: agent.name }, child: own, isOurs: true };
    try {
      return { agent, child: await this.#home.session.snapshot(agent.session), isOurs: false };
    } catch (error) {
      if (hasCode(error, "session.unknown")) return undefined; // The session was deleted.
      throw error;
    }
  }

  /** For each agent, how its latest turn ended; undefined while it runs. */
  look(agents: readonly Agent[]): Promise<readonly (Ended | undefined)[]> {
    return Promise.all(
      agents.map(async (agent) => {
        const now = await this.#found(agent);
        return lookAt(now?.agent ?? agent, now?.child, now?.isOurs ?? false, this.#home.sessions);
      }),
    );
  }

  /** All agents in their present state. Agents that run in the roster are read again. */
  async all(): Promise<readonly Agent[]> {
    const agents = [...this.roster.agents, ...this.unknown()];
    const running = agents.filter(({ status }) => status === "running");
    const ends = new Map<string, Ended>();
    for (const ended of await this.look(running)) if (ended) ends.set(ended.agent, ended);
    return agents.map((agent) => {
      const end = ends.get(agent.name);
      return end === undefined ? agent : { ...agent, ...ended(end.status, this.#children.get(agent.session)?.head) };
    });
  }
}

/** A session and all agents below it, parents before children. */
export async function treeOf(top: Reading, sessions: Services["sessions"]): Promise<readonly Reading[]> {
  const tree = [top];
  for (let next = 0; next < tree.length; next++) {
    const above = tree[next] as Reading;
    tree.push(...agentsAmong(await sessions.children(above.id), depthOf(above)));
  }
  return tree;
}
