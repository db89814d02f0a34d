import { hasCode, type Services, type StateView, ToolError } from "../../index.ts";
import { type Ended, lookAt } from "./ending.ts";
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
} from "./roster.ts";

interface Found {
  readonly agent: Agent;
  readonly child: Reading;
  /** Made for this session, not for one that it is a fork of. */
  readonly isOurs: boolean;
}

/** Where it is asked for: a tool, or a hook. */
export interface Home extends Pick<Services, "session" | "sessions"> {
  readonly sessionId: string;
  readonly state: Pick<StateView<Roster>, "get">;
}

export async function householdOf(home: Home): Promise<Household> {
  const depth = depthOf(home.session.read());
  const children = await home.sessions.children();
  return new Household(home, rosterAt(home.state.get(), depth), children);
}

/** The agents of a session: what it remembers of them, and their sessions as they are now. */
export class Household {
  readonly roster: Roster;
  readonly #home: Home;
  readonly #children: ReadonlyMap<string, Reading>;
  readonly #listed: number;

  constructor(home: Home, roster: Roster, children: readonly Reading[]) {
    this.#home = home;
    this.roster = roster;
    this.#listed = children.length;
    this.#children = new Map(agentsAmong(children, roster.depth).map((child) => [child.id, child]));
  }

  /** Those that no settled call has told of: it was interrupted, or its result was lost. */
  unknown(): readonly Agent[] {
    const { agents, closed } = this.roster;
    const { sessionId } = this.#home;
    const known = new Set([...closed, ...agents.flatMap(({ name, session }) => [name, session])]);
    for (const name of [...closed, ...agents.map((agent) => agent.name)])
      if (!this.#children.has(name)) known.add(copyFor(sessionId, name)); // Made for another session: if anything, a copy is ours.
    return [...this.#children.values()].filter(({ id }) => !known.has(id)).map(agentFrom);
  }

  child(session: string): Reading | undefined {
    return this.#children.get(session);
  }

  isClosed(name: string): boolean {
    return this.roster.closed.includes(name);
  }

  requireRoomFor(id: string, max: number): void {
    if (this.#children.has(id)) return; // It was made before.
    const open = this.roster.agents.length + this.unknown().length;
    if (open < max && this.#listed < CHILDREN_LISTED) return;
    const problem =
      open < max
        ? `This session has started ${CHILDREN_LISTED} agents, which is all it may.`
        : `There are ${open} agents, which is all there may be: close_agent those that are not needed any more.`;
    throw new ToolError("agent.limit", problem, { class: "limit" });
  }

  async require(name: string): Promise<Found> {
    const agent =
      this.roster.agents.find((each) => each.name === name || each.session === name) ??
      this.unknown().find((each) => each.name === name);
    const found = agent === undefined ? undefined : await this.#found(agent);
    if (found !== undefined) return found;
    throw new ToolError("agent.unknown", `This session has no agent ${JSON.stringify(name)}: see list_agents.`, {
      class: "unavailable",
    });
  }

  async requireOpen(name: string): Promise<Found> {
    if (!this.isClosed(name)) return this.require(name);
    throw new ToolError("agent.closed", `The agent ${name} is closed: start another with spawn_agent.`, {
      class: "unavailable",
    });
  }

  async #found(agent: Agent): Promise<Found | undefined> {
    const own = this.#children.get(agent.session) ?? this.#children.get(copyFor(this.#home.sessionId, agent.name));
    if (own?.id === agent.session) return { agent, child: own, isOurs: true };
    if (own !== undefined) return { agent: { ...agentFrom(own), name: agent.name }, child: own, isOurs: true };
    try {
      return { agent, child: await this.#home.session.snapshot(agent.session), isOurs: false };
    } catch (error) {
      if (hasCode(error, "session.unknown")) return undefined; // It was deleted.
      throw error;
    }
  }

  /** How the latest turn of each ended, where it has. */
  look(found: readonly { readonly agent: Agent }[]): Promise<readonly (Ended | undefined)[]> {
    return Promise.all(
      found.map(async ({ agent }) => {
        const now = await this.#found(agent);
        return lookAt(now?.agent ?? agent, now?.child, now?.isOurs ?? false, this.#home.sessions);
      }),
    );
  }

  /** All of them, with those that are not known to run any more as what became of them. */
  async all(): Promise<readonly Agent[]> {
    const agents = [...this.roster.agents, ...this.unknown()];
    const running = agents.filter(({ status }) => status === "running");
    const ends = new Map<string, Ended>();
    for (const ended of await this.look(running.map((agent) => ({ agent })))) if (ended) ends.set(ended.agent, ended);
    return agents.map((agent) => {
      const end = ends.get(agent.name);
      return end === undefined ? agent : { ...agent, ...ended(end.status, this.#children.get(agent.session)?.head) };
    });
  }
}

/** A session and the agents below it, parents first. */
export async function treeOf(top: Reading, sessions: Services["sessions"]): Promise<readonly Reading[]> {
  const tree = [top];
  for (let next = 0; next < tree.length; next++) {
    const above = tree[next] as Reading;
    tree.push(...agentsAmong(await sessions.children(above.id), depthOf(above)));
  }
  return tree;
}
