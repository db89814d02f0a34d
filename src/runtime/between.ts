import type { Appended, AppendNode, AppendOptions } from "../kernel/services.ts";
import type { SessionConfig } from "../model/config.ts";
import { type InputId, type NodeId, nodeAddress, nodeId, type TurnId } from "../model/ids.ts";
import type { Draft } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { Spent } from "../model/usage.ts";
import type { Committed, NewInput, SessionChange, StoredSession } from "../stores/store.ts";
import { newInput } from "./accept.ts";
import { compaction } from "./compact.ts";
import { requireConfig } from "./config.ts";
import type { HomeSession } from "./home.ts";
import {
  change,
  entriesOf,
  type OperatedSession,
  type OperationOptions,
  query,
  type Ran,
  type Receipt,
  requireOperation,
} from "./operate.ts";

export type Change = Pick<SessionChange, "by" | "entries" | "plugins" | "config" | "spent" | "requires">;

/** A session as it is changed between turns. */
export interface BetweenTurns extends HomeSession, OperatedSession {
  readonly stored: StoredSession;
  /** Runs when no turn does, in order with them. */
  exclusive<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Keeps a change; undefined when the session has moved elsewhere and it must be worked out again. */
  keep(change: Change, operation?: string): Promise<Committed | undefined>;
  /** For whoever has the session to itself. */
  refresh(isForced?: boolean): Promise<void>;
  /** Another runtime may have gone on with the session. */
  catchUp(): Promise<void>;
  begin(input: NewInput, handle: undefined, output: undefined): TurnId | PromiseLike<TurnId>;
}

export async function ask(
  session: BetweenTurns,
  name: string,
  input: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const owned = requireOperation(session, "query", name);
  await session.catchUp();
  return query(session, owned, input, options);
}

/** A command or a task: its changes of state and its events are kept together, then the turns it wants are queued. */
export async function operate(
  session: BetweenTurns,
  kind: "command" | "task",
  name: string,
  input: unknown,
  options: OperationOptions,
): Promise<Receipt> {
  const owned = requireOperation(session, kind, name);
  return session.exclusive(name, async () => {
    const operation = session.core.world.id("opr");
    for (;;) {
      await session.refresh();
      let done: Ran;
      const spent: Spent[] = [];
      try {
        done = await change(session, owned, input, options, operation, spent);
      } catch (error) {
        session.states.forget();
        if (spent.length > 0) await session.keep({ spent, by: "completion" }); // It failed, and was paid for.
        throw error;
      }
      let queued: readonly Queued[];
      try {
        queued = await queue(session, done);
      } catch (error) {
        session.states.forget();
        throw error;
      }
      const receipt = {
        plugin: owned.plugin,
        output: done.output,
        events: done.events,
        queued: queued.map(({ turnId }) => turnId),
      };
      const changes = session.states.take();
      if (changes === undefined && done.entries.length === 0 && done.spent.length === 0) return receipt;
      const plugins = changes === undefined ? {} : session.states.snapshots(changes);
      try {
        if ((await session.keep({ plugins, entries: done.entries, spent: done.spent }, operation)) !== undefined)
          return receipt;
      } catch (error) {
        await unqueue(session, queued);
        await session.refresh(true); // Nothing was kept, so nothing counts.
        throw error;
      }
      await unqueue(session, queued); // The session moved elsewhere: all of it is worked out again.
    }
  });
}

interface Queued {
  readonly turnId: TurnId;
  /** Absent when the same key had queued it before. */
  readonly inputId?: InputId;
}

/** Accepted before the operation is kept, and run after it: they wait for the session as it does for them. */
async function queue(session: BetweenTurns, { turns }: Ran): Promise<readonly Queued[]> {
  const queued: Queued[] = [];
  try {
    for (const { input, key } of turns) {
      const made = await newInput(session.core, session.id, input, key, "turn");
      const turnId = await session.begin(made, undefined, undefined);
      queued.push(turnId === made.turnId ? { turnId, inputId: made.id } : { turnId });
    }
  } catch (error) {
    await unqueue(session, queued);
    throw error;
  }
  return queued;
}

async function unqueue({ core, id }: BetweenTurns, queued: readonly Queued[]): Promise<void> {
  for (const { inputId } of queued) if (inputId !== undefined) await core.store.inputs.withdraw(id, { id: inputId });
}

/** Nothing fires when nothing changes. What equals the runtime's config, and was not asked for, stays the runtime's. */
export function configure(session: BetweenTurns, patch: Partial<SessionConfig>): Promise<SessionConfig> {
  const { core, composition } = session;
  requireConfig(patch);
  return session.exclusive("configure", async () => {
    for (;;) {
      await session.refresh();
      const previous = session.config;
      const asked = definedOnly({ ...session.stored.config, ...patch });
      const wanted: SessionConfig = { ...core.config, ...asked };
      if (JSON.stringify(wanted) === JSON.stringify(previous)) return previous;
      const here = session.home(undefined, undefined);
      const current = await composition.hooks.transform(
        "config",
        wanted,
        here,
        (config) => ({ config }),
        (_, answer) => answer,
      );
      if (JSON.stringify(current) === JSON.stringify(previous)) return previous;
      const isOwn = ([key, value]: [string, unknown]): boolean =>
        key in asked || JSON.stringify(value) !== JSON.stringify(core.config[key as keyof SessionConfig]);
      if (
        (await session.keep({ by: "configure", config: Object.fromEntries(Object.entries(current).filter(isOwn)) })) ===
        undefined
      )
        continue;
      const event = { kind: "sessionConfigChanged", previous, current: session.config } as const;
      for (const { plugin = "", code, message } of await composition.hooks.observe("lifecycle", { event }, here))
        core.trace("hook.issue", { plugin, code, message }, { sessionId: session.id });
      return session.config;
    }
  });
}

export type Compacted =
  | { readonly kind: "compacted"; readonly frame: NodeId }
  /** Nobody compacts, or there is nothing to. */
  | { readonly kind: "nothing" };

/** Goes on in a fresh frame with what compactors make of the conversation. */
export function compact(session: BetweenTurns): Promise<Compacted> {
  const { core, composition } = session;
  return session.exclusive("compact", async () => {
    for (;;) {
      await session.refresh();
      const { messages } = session.transcript;
      if (messages.length === 0 || !composition.hooks.has("compact")) return { kind: "nothing" };
      const operation = core.world.id("opr");
      const spent: Spent[] = [];
      const here = session.home(undefined, (each) => void spent.push(each));
      let seed: readonly Draft[] | undefined;
      try {
        seed = await compaction(composition.hooks, messages, "asked", here);
      } catch (error) {
        session.states.forget();
        if (spent.length > 0) await session.keep({ spent, by: "completion" }); // It failed, and was paid for.
        throw error;
      }
      const changes = session.states.take();
      if (seed === undefined && changes === undefined && spent.length === 0) return { kind: "nothing" };
      const plugins = changes === undefined ? {} : session.states.snapshots(changes);
      const at = core.world.now();
      const entries: readonly Entry[] =
        seed === undefined
          ? []
          : [
              { at, kind: "frame", reason: "compaction" },
              ...seed.map(
                (draft, index): Entry => ({
                  at,
                  kind: "message",
                  message: { id: nodeId(operation, index + 1), ...draft },
                }),
              ),
            ];
      const kept = await session.keep({ by: "compact", plugins, entries, spent }, operation);
      if (kept === undefined) continue; // The session moved elsewhere: it is worked out again.
      return seed === undefined ? { kind: "nothing" } : { kind: "compacted", frame: nodeId(operation, 0) };
    }
  });
}

export function append(
  session: BetweenTurns,
  plugin: string,
  nodes: readonly AppendNode[],
  options: AppendOptions = {},
): Promise<Appended> {
  const { requiresAncestor, operationId } = options;
  const { core } = session;
  return session.exclusive("append", async () => {
    // The caller's own ids are good for this session only.
    const operation = operationId === undefined ? core.world.id("opr") : `${session.id}/${operationId}`;
    const entries = entriesOf(operation, plugin, nodes, core.world.now());
    const requires = requiresAncestor === undefined ? {} : { requires: requiresAncestor as NodeId };
    await session.refresh();
    for (;;) {
      const kept = await session.keep({ by: "append", entries, ...requires }, operation);
      if (kept?.head !== undefined)
        return { kind: "appended", nodes: entries.map((_, index) => nodeId(operation, index)), head: kept.head };
      if (requiresAncestor !== undefined && !(await isOnPath(session, requiresAncestor)))
        return { kind: "stale-branch", required: requiresAncestor };
    }
  });
}

async function isOnPath({ core, id }: BetweenTurns, node: string): Promise<boolean> {
  const address = nodeAddress(node);
  for (const { commit, entries } of await core.store.view(id))
    if (commit === address?.commit) return address.index < entries.length;
  return false;
}

const definedOnly = (config: Partial<SessionConfig>): Partial<SessionConfig> =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
