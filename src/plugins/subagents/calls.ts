import {
  type Deferral,
  defer,
  hasCode,
  type Json,
  type JsonSchema,
  jsonSchema,
  type NewSessionRequest,
  type StateView,
  type ToolContext,
  ToolError,
} from "../../plugin.ts";
import { type Ended, endedBy, endOf, endWithin, requireFinished, stoppedWithOwner, timedOut } from "./ending.ts";
import { type Household, householdOf, treeOf } from "./household.ts";
import type { MessageInput, SpawnInput, WaitInput } from "./inputs.ts";
import { register } from "./jobs.ts";
import type { Capability, Settings } from "./options.ts";
import { type Agent, copyFor, depthOf, nameFor, type Reading, type Roster, type Status, taskLine } from "./roster.ts";
import { CLOSE, LIST, MESSAGE, SPAWN, SUBMIT_ERROR, TEXTS, WAIT } from "./texts.ts";

/** The tools for starting agents. Agents at the greatest depth do not have them. */
export const AGENT_TOOLS: readonly string[] = [SPAWN, MESSAGE, WAIT, CLOSE, LIST];

/** How long a call waits for an agent's turn before it defers. Most quick turns end in this time. */
const BRIEF_MS = 100;
/**
 * How long a repeated call waits for the report of an end that is already stored, because the agent's hooks run first.
 */
const TOLD_MS = 30_000;
/** How long to wait for an agent to stop. */
const STOP_MS = 5_000;
const CLOSE_MS = 10_000;
/** How often closing searches for agents that were started while it stopped others. */
const CLOSE_PASSES = 4;

type Context = ToolContext & { readonly state: StateView<Roster> };
export interface Started {
  readonly agent: string;
  readonly turn: string;
  readonly status: "running";
}

/** The turn that a call started in an agent, and when. It is recorded, so that the call finds it when it runs again. */
type Sent = {
  /** The agent's name. */
  readonly name: string;
  readonly session: string;
  readonly turn: string;
  readonly at: number;
  /** The beginning of its task. Older versions omit it. */
  readonly task?: string;
};

const wrong = (code: string, message: string): ToolError => new ToolError(code, message, { class: "arguments" });

/**
 * The tool calls of one session.
 *
 * agent-call-1: Calls run in parallel and change no state: `keep.ts` changes it when they are settled.
 * agent-call-2: A call may be run again after a crash. Ids of agents and keys of turns come from the idempotency key,
 *    so that a rerun finds what it has started instead of starting it twice.
 * agent-call-3: If a call is cancelled or exceeds its time, it stops the turn that it waits for. If the runtime closes,
 *    the call stops nothing, because another process runs it again.
 * agent-call-4: A call waits only for a moment. Then it defers (`defer`), so that its turn can be parked. It runs again
 *    when the agent's turn has ended or its time has passed, and does not defer twice.
 * agent-call-5: A repeated call finds its agent in its record and does not start it again, so that a deleted agent
 * stays deleted.
 * agent-call-6: The job of an agent begins with the answer of the call, also if the call defers.
 */
export class Calls {
  readonly #settings: Settings;
  /** Agents are created one at a time, because two calls at once could both take the last free place. */
  #making: Promise<unknown> = Promise.resolve();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  // ── Spawn ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async spawn(given: SpawnInput, context: Context): Promise<Ended | Started | Deferral> {
    const sent = await context.once("sent", () => this.#spawned(given, context));
    await registered(sent, context);
    return this.#followed(sent, given.background, context);
  }

  async #spawned({ task, output, seed = [], ...given }: SpawnInput, context: Context): Promise<Sent> {
    const { sessions, session, idempotencyKey, turnId, signal } = context;
    if (task.trim() === "") throw wrong("agent.task", TEXTS.noTask);
    const [name, capability] = this.#capability(given.capability);
    if (output !== undefined) await requireSchema(output);
    const permissions = this.#permissions(name, capability, session.read(), turnId);
    const { model, instructions, settings, copiesState = false } = capability;
    const id = nameFor(idempotencyKey);
    const texts = typeof seed === "string" ? [seed] : seed;
    await this.#make(id, context, {
      id,
      ifExists: "take",
      kind: "child",
      config: {
        label: taskLine(task),
        ...(model === undefined ? {} : { model }),
        ...(instructions === undefined ? {} : { instructions }),
        ...(settings === undefined ? {} : { settings }),
      },
      permissions,
      copiesState,
      seed: texts
        .filter((text) => text.trim() !== "")
        .map((text) => ({ role: "user", parts: [{ kind: "text", text }] })),
    });
    signal.throwIfAborted();
    const at = Date.now();
    const { turnId: turn } = await sessions.send(id, task, {
      key: idempotencyKey,
      ...(output === undefined ? {} : { output }),
    });
    return { name: id, session: id, turn, at, task: taskLine(task) };
  }

  #capability(given: string | undefined): readonly [string, Capability] {
    const { capabilities } = this.#settings;
    const names = [...capabilities.keys()];
    const name = given ?? (names.length === 1 ? (names[0] as string) : "");
    const found = capabilities.get(name);
    if (found !== undefined) return [name, found];
    const listed = names.join(", ");
    const problem =
      given === undefined ? TEXTS.noCapability(listed) : TEXTS.unknownCapability(JSON.stringify(given), listed);
    throw wrong("agent.capability", problem);
  }

  /** An agent at the greatest depth has no tools to start agents with. */
  #permissions(name: string, { tools, hiddenTools = [] }: Capability, own: Reading, turnId: string) {
    const { depthMax = this.#settings.depthMax } = own.permissions?.subagent ?? {};
    const depth = depthOf(own) + 1;
    if (depth > depthMax) throw new ToolError("agent.depth", TEXTS.tooDeep(depthMax), { class: "limit" });
    const hidden = [...this.#settings.hiddenTools, ...hiddenTools, ...(depth === depthMax ? AGENT_TOOLS : [])];
    return {
      ...(hidden.length === 0 ? {} : { hiddenTools: hidden }),
      ...(tools === undefined ? {} : { toolAccess: [...tools, SUBMIT_ERROR] }),
      subagent: { capability: name, depth, depthMax, cause: turnId },
    };
  }

  #make(id: string, context: Context, request: NewSessionRequest): Promise<void> {
    const made = this.#making.then(async () => {
      const household = await householdOf(context);
      household.requireRoomFor(id, this.#settings.childrenMax);
      context.signal.throwIfAborted();
      await context.sessions.create(request);
    });
    this.#making = made.catch(() => {});
    return made;
  }

  // ── Follow ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #followed(sent: Sent, background = false, context: Context): Promise<Ended | Started | Deferral> {
    const { name: agent, session, turn, at } = sent;
    if (background) return { agent, turn, status: "running" };
    const until = at + this.#settings.timeoutMs;
    const ended = await this.#awaited(sent, until, context);
    if (ended !== undefined) return requireFinished(ended);
    return defer({ turns: [{ session, turn }], cancels: true, ifStopped: stoppedWithOwner(agent, turn), until });
  }

  /**
   * Waits for the agent's turn; undefined if the call must defer. If the call is cancelled or exceeds its time, this
   * stops the turn first (agent-call-3).
   */
  async #awaited(sent: Sent, until: number, { sessions, signal, attempt }: Context): Promise<Ended | undefined> {
    const { timeoutMs } = this.#settings;
    const { name, session, turn } = sent;
    try {
      const ended = await endWithin(patience(attempt, until), sessions, sent, turn, signal);
      if (ended !== undefined || isPutAside(attempt, until)) return ended;
    } catch (error) {
      // Any other reason: this process only releases the turn, and the next process runs the call again.
      if (!hasCode(signal.reason, "tool.cancelled") && !hasCode(signal.reason, "tool.timeout")) throw error;
      const answer = await sessions.cancel(session, turn, TEXTS.ownerStopped);
      if (answer.kind === "already-completed") return endedBy(name, turn, answer.outcome);
      throw stoppedWithOwner(name, turn); // `keep.ts` waits for it at the end of the turn.
    }
    const answer = await sessions.cancel(session, turn, TEXTS.tookTooLong(timeoutMs));
    if (answer.kind === "already-completed") return endedBy(name, turn, answer.outcome);
    const ended = await endWithin(STOP_MS, sessions, sent, turn);
    if (ended?.status === "finished") return ended; // It finished before the cancel reached it.
    throw timedOut(name, turn, timeoutMs);
  }

  async message(given: MessageInput, context: Context): Promise<Ended | Started | Deferral> {
    const sent = await context.once("sent", () => this.#messaged(given, context));
    await registered(sent, context);
    return this.#followed(sent, given.background, context);
  }

  async #messaged({ agent: name, message }: MessageInput, context: Context): Promise<Sent> {
    const { sessions, sessionId, turnId, idempotencyKey } = context;
    if (message.trim() === "") throw wrong("agent.message", TEXTS.noMessage);
    const { agent, child, isOurs } = await (await householdOf(context)).requireOpen(name);
    const session = isOurs ? agent.session : copyFor(sessionId, agent.name);
    if (!isOurs) {
      // The agent belongs to the session that this one is a fork of. The first message makes a copy of the agent in its
      // state at the fork, because the original must not receive the message.
      const { subagent } = child.permissions ?? {};
      await sessions.create({
        id: session,
        ifExists: "take",
        kind: "fork",
        from: agent.session,
        ...(agent.head === undefined ? {} : { at: agent.head }),
        config: { label: agent.task },
        ...(subagent === undefined ? {} : { permissions: { subagent: { ...subagent, cause: turnId } } }),
      });
    }
    context.signal.throwIfAborted();
    const at = Date.now();
    const { turnId: turn } = await sessions.send(session, message, { key: idempotencyKey });
    return { name: agent.name, session, turn, at, task: agent.task };
  }

  // ── Wait, close, list ─────────────────────────────────────────────────────────────────────────────────────────────

  async wait({ agents, until: need = "all", timeoutMs }: WaitInput, context: Context): Promise<Json | Deferral> {
    const { sessions, signal, attempt } = context;
    const household = await householdOf(context);
    const names = [...new Set(agents)];
    const open = names.filter((name) => !household.isClosed(name));
    const { at, found } = await waitedFor(open, household, context);
    const until = at + Math.min(timeoutMs ?? this.#settings.timeoutMs, this.#settings.timeoutMs);
    const ends = new Map<string, Ended>();
    const isEnough = need === "any" && open.length < names.length;
    if (Date.now() < until && !isEnough) {
      const ms = patience(attempt, until);
      const enough = new AbortController();
      const stop = AbortSignal.any([signal, enough.signal]);
      const ending = found.map(async ({ turn, ...agent }) => {
        const ended = turn === undefined ? undefined : await endWithin(ms, sessions, agent, turn, stop);
        if (ended !== undefined) ends.set(agent.name, ended);
      });
      try {
        await (need === "any" ? Promise.race(ending) : Promise.all(ending));
      } finally {
        enough.abort();
        await Promise.allSettled(ending);
      }
      const turns = found.flatMap(({ name, session, turn }) =>
        turn === undefined || ends.has(name) ? [] : [{ session, turn }],
      );
      const isMet = turns.length === 0 || (need === "any" && turns.length < found.length);
      if (!isMet && isPutAside(attempt, until)) return defer({ turns, need, until });
    }
    const others = found.filter(({ name }) => !ends.has(name));
    for (const ended of await (await householdOf(context)).look(others)) if (ended) ends.set(ended.agent, ended);
    const completed: { [agent: string]: Json } = {};
    const pending: { [agent: string]: Json } = {};
    for (const name of names) if (household.isClosed(name)) completed[name] = { status: "closed" };
    for (const { name } of found) {
      const { agent: _, ...ended } = ends.get(name) ?? {};
      if (ends.has(name)) completed[name] = ended as Json;
      else pending[name] = { status: "running" };
    }
    return { completed, pending };
  }

  /** Stops parents before children, so that no agent can start new ones below it. */
  async close(name: string, context: Context): Promise<Json> {
    const { sessions, signal } = context;
    const household = await householdOf(context);
    if (household.isClosed(name)) return { closed: name, agents: {} };
    const { agent, child, isOurs } = await household.require(name);
    const agents: { [id: string]: Status | "idle" } = {};
    // The agent's work belongs to the session from which this one was forked.
    if (!isOurs) return { closed: agent.name, agents };
    const until = AbortSignal.any([signal, AbortSignal.timeout(CLOSE_MS)]);
    for (let pass = 0; pass < CLOSE_PASSES && !until.aborted; pass++) {
      const tree = await treeOf((await sessions.children()).find(({ id }) => id === child.id) ?? child, sessions);
      for (const { id } of tree) agents[id] ??= "idle";
      const open = tree.filter(({ openTurn }) => openTurn !== undefined);
      if (open.length === 0) break;
      for (const { id } of open) await sessions.cancel(id, undefined, TEXTS.closed);
      const stopping = open.map(async ({ id, openTurn }) => {
        agents[id] = "running";
        const ended = await endOf(sessions, { ...agent, name: id, session: id }, openTurn as string, until);
        agents[id] = ended.status;
      });
      await Promise.allSettled(stopping);
    }
    signal.throwIfAborted();
    if (household.standing(child.id) === "live") await context.jobs.complete(child.id, "completed");
    return { closed: agent.name, agents };
  }

  async list(context: Context): Promise<Json> {
    const household = await householdOf(context);
    const agents = await household.all();
    return {
      agents: agents.map(({ name, capability, task, status }) => ({ agent: name, capability, task, status })),
      closed: [...household.roster.closed],
    };
  }
}

/** agent-call-6. A failed call registers no job. If it made an agent, `keep.ts` registers the job. */
const registered = async ({ session, task }: Sent, { jobs }: Context): Promise<void> =>
  task === undefined || task === "" ? undefined : register(jobs, { session, task });

/**
 * How long this attempt waits before it defers. A later attempt runs when an agent has ended, or when no time is left.
 */
const patience = (attempt: number, until: number): number =>
  Math.min(until - Date.now(), attempt === 1 ? BRIEF_MS : TOLD_MS);

/** agent-call-4 */
const isPutAside = (attempt: number, until: number): boolean => attempt === 1 && Date.now() < until;

/**
 * The agents for which the call waits, recorded at its start, because the turn of an agent that ends later would not be
 * known.
 */
async function waitedFor(names: readonly string[], household: Household, { once }: Context): Promise<Waited> {
  const waited = await once("waited", async () => {
    const found = await Promise.all(names.map((name) => household.require(name)));
    return { at: Date.now(), found: found.map(({ agent }) => agent) } as unknown as Json;
  });
  return waited as unknown as Waited;
}
interface Waited {
  readonly at: number;
  readonly found: readonly Agent[];
}

async function requireSchema(output: JsonSchema): Promise<void> {
  try {
    await jsonSchema(output)["~standard"].validate({}); // A schema is compiled with its first value.
  } catch (error) {
    if (!hasCode(error, "schema.invalid")) throw error;
    throw wrong("agent.output", TEXTS.badOutput(error.details.problem));
  }
}

/**
 * Does not return the failure of a call that fails because the runtime closes, because the journal would record it as
 * the call's result. The call stays open until this process releases the turn. Another process runs it again
 * (agent-call-3).
 */
export async function untilLetGo<T>({ signal }: Pick<Context, "signal">, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!hasCode(error, "runtime.closed")) throw error;
    while (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    throw error;
  }
}
