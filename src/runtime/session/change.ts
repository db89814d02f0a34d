// Changes of a session between turns: one optimistic loop, and configure, compact, append and bookings, which use it.
// Not its job: plugins' operations (`operate.ts`), which use the loop too; commits of turns (`live-turn/`).
// C1 A change is one `store.apply`, with the plugin states that it changed: whole or not at all.
// C2 When another process moved the session, nothing was stored: `undo` runs, and the change is worked out again on the
//    session as it is then, unless `moved` ends it.
// C3 Work that throws stores nothing, but the completions that it paid for are booked.
// C4 After a fault of the store the session is read again: its states here are those of a change that was not stored.
import { compaction } from "../../kernel/compact.ts";
import type { ConfigPatch } from "../../kernel/operation.ts";
import type { Appended, AppendNode, AppendOptions } from "../../kernel/services.ts";
import type { SessionConfig } from "../../model/config.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeAddress, nodeId } from "../../model/ids.ts";
import { defined, describeThrown, isObject, ownJson, toJson } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Draft } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { Spent } from "../../model/usage.ts";
import type { Committed, SessionChange } from "../../stores/store.ts";
import { requireConfig } from "../checks.ts";
import { finishOthers } from "./elsewhere.ts";
import type { LiveSession } from "./session.ts";

export type Change = Pick<SessionChange, "by" | "entries" | "config" | "spent" | "requires">;

/** A change as worked out on the session as it is now. */
export interface Worked<T> {
  /** Stored with changed plugin states and paid completions. With none of the three nothing is written. */
  readonly change?: Change;
  /** The caller's result; `kept` is undefined when there was nothing to store. */
  done(kept: Committed | undefined): T | Promise<T>;
  /** Takes back what was done outside the change, which was not stored. */
  undo?(): Promise<void>;
  /** C2: a result ends the change, undefined works it out again. */
  moved?(): Promise<T | undefined>;
}

export interface Working {
  /** The same in every attempt, so that its nodes have the same ids. */
  readonly operation: string;
  /** Paid completions: booked with the change, or alone if it fails (C3). */
  readonly spent: Spent[];
}

/** Works a change out and stores it (C1 to C4). */
export function changeSession<T>(
  session: LiveSession,
  name: string,
  work: (working: Working) => Promise<Worked<T>>,
  operation: string = session.core.world.id("opr"),
  /** Ends the wait for the session; once the work has begun, it has to heed the signal itself. */
  signal?: AbortSignal,
): Promise<T> {
  const { kept } = session;
  const run = async (): Promise<T> => {
    for (let isSwept = false; ; ) {
      await kept.refresh();
      session.use(kept.stored.options);
      const spent: Spent[] = [];
      let worked: Worked<T>;
      try {
        worked = await work({ operation, spent });
      } catch (error) {
        kept.states.forget();
        if (spent.length > 0) await keep(session, { spent, by: "completion" });
        throw error;
      }
      const changes = kept.states.take();
      const { change = {}, undo, moved } = worked;
      const isEmpty = (change.entries ?? []).length === 0 && change.config === undefined && spent.length === 0;
      if (isEmpty && changes === undefined) return worked.done(undefined);
      const plugins = changes === undefined ? {} : { plugins: kept.states.snapshots(changes) };
      let committed: Committed | undefined;
      try {
        committed = await keep(session, { ...change, ...plugins, ...(spent.length === 0 ? {} : { spent }) }, operation);
      } catch (error) {
        await undo?.();
        kept.isStale = true; // C4
        await kept.refresh().catch(() => {}); // A store that fails now is read when the session is next used.
        if (isSwept || !hasCode(error, "store.swept")) throw error;
        isSwept = true; // C2: what the change had put is put again.
        continue;
      }
      if (committed !== undefined) return worked.done(committed);
      await undo?.();
      const ended = await moved?.();
      if (ended !== undefined) return ended;
    }
  };
  return session.exclusive(name, run, signal);
}

/** Stores a change; undefined when the session has moved and the change must be worked out again (C2). */
async function keep(
  session: LiveSession,
  change: Change & Pick<SessionChange, "plugins">,
  operation?: string,
  onBusy?: () => void,
): Promise<Committed | undefined> {
  const { core, kept } = session;
  const { store, world } = core;
  const whole: SessionChange = {
    ...change,
    sessionId: session.id,
    operation: operation ?? world.id("opr"),
    at: world.now(),
    base: kept.stored.revision,
  };
  for (;;) {
    const answer = await store.apply(whole);
    if (answer.kind === "busy") {
      onBusy?.();
      if (await finishOthers(session)) return undefined;
      continue;
    }
    if (answer.kind === "committed") core.readers.moved(session);
    if (answer.kind !== "committed" || !kept.take(whole, answer)) await kept.refresh();
    return answer.kind === "committed" ? answer : undefined;
  }
}

const BOOK_TRIES = 100;

/** Books a completion. While something else has the session the caller does not wait: the booking follows it. */
export function book(session: LiveSession, spent: Spent): Promise<void> {
  const isFree = session.isIdle && !session.queue.isTaken; // A `lifecycle` hook must not wait for its own turn.
  const lost = (problem: unknown): void =>
    session.core.trace("usage.lost", { problem: describeThrown(problem), source: spent.source }, session.asPlace);
  return new Promise((resolve) => {
    const run = async (): Promise<void> => {
      for (let tries = 0; tries < BOOK_TRIES; tries++)
        if ((await keep(session, { spent: [spent], by: "completion" }, undefined, resolve)) !== undefined) return;
    };
    session.queue.putOperation({
      run: () => run().catch(lost).then(resolve),
      refuse: () => {
        lost("the runtime is closed");
        resolve();
      },
    });
    if (!isFree) resolve();
  });
}

export function configure(session: LiveSession, patch: ConfigPatch): Promise<SessionConfig> {
  requireConfig(patch);
  return changeSession(session, "configure", async () => {
    const config = await configured(session, patch);
    return {
      change: defined({ by: "configure" as const, config: config?.stored }),
      done: async () => {
        await config?.tell();
        return session.config;
      },
    };
  });
}

/** The settings to be stored. An equal config is neither stored nor told. */
export interface Configured {
  readonly stored: Partial<SessionConfig>;
  /** Tells plugins, once it is stored. */
  tell(): Promise<void>;
}

/** What a patch makes of the config. A field that equals the runtime's is stored only if it was asked for. */
export async function configured(session: LiveSession, patch: ConfigPatch): Promise<Configured | undefined> {
  const { core, composition, kept } = session;
  const previous = session.config;
  const asked = ownJson({ ...kept.stored.config, ...patch }) as Partial<SessionConfig>;
  const wanted: SessionConfig = { ...core.config, ...asked };
  if (isEqual(wanted, previous)) return undefined;
  const current = await composition.hooks.transform(
    "config",
    wanted,
    session.site(),
    (config) => ({ config }),
    (_, answer) => answer,
  );
  if (isEqual(current, previous)) return undefined;
  const isOwn = ([key, value]: [string, unknown]): boolean =>
    key in asked || !isEqual(value, core.config[key as keyof SessionConfig]);
  return {
    stored: Object.fromEntries(Object.entries(current).filter(isOwn)),
    tell: () => session.tell({ kind: "sessionConfigChanged", previous, current: session.config }),
  };
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export type Compacted =
  | { readonly kind: "compacted"; readonly frame: NodeId }
  /** No plugin compacts, or there is nothing to compact. */
  | { readonly kind: "nothing" };

export function compact(session: LiveSession): Promise<Compacted> {
  const { core, kept } = session;
  return changeSession(session, "compact", async ({ operation, spent }) => {
    const { composition } = session;
    const { messages } = kept.transcript;
    const nothing: Worked<Compacted> = { change: { by: "compact" }, done: () => ({ kind: "nothing" }) };
    if (messages.length === 0 || !composition.hooks.has.compact) return nothing;
    const site = session.site(undefined, (each) => void spent.push(each));
    const seed = await compaction(composition.hooks, messages, "asked", site);
    if (seed === undefined) return nothing;
    return {
      change: { by: "compact", entries: frameOf(operation, core.world.now(), seed) },
      done: () => ({ kind: "compacted", frame: nodeId(operation, 0) }),
    };
  });
}

const frameOf = (operation: string, at: number, seed: readonly Draft[]): readonly Entry[] => [
  { at, kind: "frame", reason: "compaction" },
  ...seed.map(
    (draft, index): Entry => ({ at, kind: "message", message: { id: nodeId(operation, index + 1), ...draft } }),
  ),
];

/** Adds nodes after the head. An `operationId` of the caller counts within this session only. */
export function append(
  session: LiveSession,
  plugin: string,
  nodes: readonly AppendNode[],
  { requiresAncestor, operationId }: AppendOptions = {},
): Promise<Appended> {
  const { core, id } = session;
  const operation = operationId === undefined ? core.world.id("opr") : `${id}/${operationId}`;
  const requires = requiresAncestor === undefined ? {} : { requires: requiresAncestor as NodeId };
  const work = async (): Promise<Worked<Appended>> => {
    const entries = entriesOf(operation, plugin, nodes, core.world.now());
    return {
      change: { by: "append", entries, ...requires },
      done: (kept) => ({
        kind: "appended",
        nodes: entries.map((_, index) => nodeId(operation, index)),
        head: kept?.head as NodeId,
      }),
      moved: async () =>
        requiresAncestor === undefined || (await isOnPath(session, requiresAncestor))
          ? undefined
          : { kind: "stale-branch", required: requiresAncestor },
    };
  };
  return changeSession(session, "append", work, operation);
}

async function isOnPath({ core, id }: LiveSession, node: string): Promise<boolean> {
  const address = nodeAddress(node);
  for (const { commit, entries } of await core.store.view(id))
    if (commit === address?.commit) return address.index < entries.length;
  return false;
}

const MESSAGE: Known<Extract<AppendNode, { readonly kind: "message" }>> = { kind: true, role: true, text: true };
const NODE: Known<Extract<AppendNode, { readonly kind: "plugin" }>> = { kind: true, type: true, body: true };

/** Checks nodes and makes entries of them; the first has the number `from`. */
export function entriesOf(
  operation: string,
  plugin: string,
  nodes: readonly AppendNode[],
  at: number,
  from = 0,
): readonly Entry[] {
  const wrong = (problem: string): never => {
    throw new RuntimeError("input.invalid", { problem });
  };
  if (!Array.isArray(nodes) || nodes.length === 0) wrong("there is nothing to append");
  return nodes.map((node: AppendNode, index): Entry => {
    if (!isObject(node)) return wrong("a node is an object");
    if (node.kind === "message") {
      requireKnown("append", node, MESSAGE);
      if ((node.role !== "user" && node.role !== "system") || typeof node.text !== "string")
        wrong("only user and system messages of text can be appended");
      return {
        at,
        kind: "message",
        message: {
          id: nodeId(operation, from + index),
          role: node.role,
          parts: [{ kind: "text", text: node.text }],
          origin: { kind: "plugin", plugin },
        },
      };
    }
    if (node.kind !== "plugin" || typeof node.type !== "string")
      return wrong("a node is a message, or has a type and a body");
    requireKnown("append", node, NODE);
    const found = toJson(node.body);
    if ("problem" in found) return wrong(`a node's body is not JSON: ${found.path}: ${found.problem}`);
    return { at, kind: "plugin", plugin, type: node.type, body: found.json };
  });
}
