// Changes of a session between its turns: one optimistic loop, and its users configure, compact, append and bookings.
// Not its job: plugins' operations (`operate.ts`), which use the loop too; commits of turns (`live-turn/`).
// change-1 A change is one `store.apply`, including changed plugin states. The store writes all of it or nothing.
// change-2 If another process changed the session first, nothing is stored. `undo` runs, and the work runs again on the
//          new session, unless `moved` ends it.
// change-3 Work that throws or runs again stores nothing, but its paid completions are booked.
// change-4 After a fault of the store the session is read again, because the plugin states in memory belong to a change
// that was not stored.
// change-5 If another process stored a change under the same name first, the loop looks for that change. The turns that
//          it queued count and are not withdrawn.
// change-6 While a turn is open and only waits, the change becomes part of that turn (`applied`). Its nodes follow the
//          results of the round, its settings apply from the next turn on, and the commit of the turn stores it.

import type { Appended, AppendNode, AppendOptions } from "../../kernel/append.ts";
import { compaction } from "../../kernel/compact.ts";
import type { CompactOptions } from "../../kernel/directive.ts";
import { tracedIssue } from "../../kernel/hook-runner.ts";
import type { ConfigPatch } from "../../kernel/operation.ts";
import type { SessionConfig } from "../../model/config.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeId } from "../../model/ids.ts";
import { defined, describeThrown, ownJson } from "../../model/json.ts";
import type { Draft } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { Spent } from "../../model/usage.ts";
import type { Committed, PartOperation, PluginSnapshots, SessionChange } from "../../stores/store.ts";
import type { Appending, Applied, Changes } from "../../turn/event.ts";
import { requireConfig } from "../checks.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import {
  additionsIn,
  additionsOf,
  appendReceipt,
  appendWaiting,
  doneBefore,
  entriesOf,
  hashOfNodes,
  operationOf,
  staleAt,
} from "../services/graph.ts";
import type { Working } from "../services/service-context.ts";
import { exclusive } from "./reentrancy.ts";
import { visitTurn } from "./remote-turns.ts";
import type { LiveSession } from "./session.ts";

export type Change = Pick<
  SessionChange,
  "by" | "entries" | "config" | "spent" | "requires" | "receipt" | "parts" | "plugins" | "spawns"
>;

/** A change that was prepared for the present session. */
export interface Worked<T> {
  /** Stored with changed plugin states and paid completions. With none of the three nothing is written. */
  readonly change?: Change;
  /** The caller's result; `kept` is undefined when there was nothing to store. */
  done(saved: Committed | undefined): T | Promise<T>;
  /** Reverts side effects of the work if the change was not stored. */
  undo?(): Promise<void>;
  /** change-2: a result ends the change. If `moved` returns undefined, the work runs again. */
  moved?(): Promise<T | undefined>;
}

/** Runs the work and stores its change (change-1 to change-4). */
export function changeSession<T>(
  session: LiveSession,
  name: string,
  work: (working: Working) => Promise<Worked<T>>,
  /** The caller's name for it, unique over all sessions. */
  named?: string,
  /** Ends the wait for the session. After the work has begun, the work itself must observe the signal. */
  signal?: AbortSignal,
  /** Called when the change must wait for a turn of another process. */
  onBusy?: () => void,
): Promise<T> {
  const { snapshot, core } = session;
  const operation = named ?? core.world.id("opr");
  // With a name, an earlier write is found again. Without a name the work runs again only if certainly nothing was
  // written.
  const mayRepeat = (fault: unknown): boolean =>
    named !== undefined || hasCode(fault, "lease.lost") || hasCode(fault, "store.locked");
  const run = async (waiting: LiveTurn | undefined): Promise<T> => {
    const visited = (live: LiveTurn): Promise<T> => changeInTurn(session, live, work, operation, named !== undefined);
    if (waiting !== undefined) return visited(waiting);
    for (let isSwept = false, isBeaten = false; ; ) {
      await snapshot.refresh();
      if (snapshot.stored.openTurn !== undefined) {
        const met = await meetTurn(session, name, visited, mayRepeat, onBusy);
        if (met !== undefined) return met.value;
        continue;
      }
      session.use(snapshot.stored.options);
      const isNamed = named !== undefined;
      const working: Working = {
        operation,
        isNamed,
        at: core.world.now(),
        nodes: [],
        parts: [],
        spent: [],
        booked: [],
        spawns: [],
      };
      const { spent, nodes, parts } = working;
      let worked: Worked<T>;
      try {
        worked = await work(working).finally(() => (working.isOver = true));
      } catch (error) {
        snapshot.states.forget();
        await bookWork(session, working);
        throw error;
      }
      const changes = snapshot.states.take();
      if (changes !== undefined) snapshot.states.apply(changes);
      const { change = {}, undo, moved } = worked;
      const entries = [...nodes, ...(change.entries ?? [])];
      const isEmpty =
        entries.length === 0 &&
        change.config === undefined &&
        change.plugins === undefined &&
        spent.length === 0 &&
        working.spawns.length === 0;
      if (isEmpty && changes === undefined && change.receipt === undefined) return worked.done(undefined);
      const plugins =
        changes === undefined ? {} : { plugins: { ...snapshot.states.snapshots(changes), ...change.plugins } };
      let committed: Committed | undefined;
      try {
        const more = {
          ...(parts.length === 0 ? {} : { parts }),
          ...(spent.length === 0 ? {} : { spent }),
          ...(working.spawns.length === 0 ? {} : { spawns: core.background.jobs.starts.spawnsOf(working.spawns) }),
        };
        const saved = await keep(session, { ...change, entries, ...plugins, ...more }, operation, onBusy);
        committed = saved === "busy" ? undefined : saved;
      } catch (error) {
        snapshot.isStale = true; // change-4
        if (isNamed && !isBeaten && hasCode(error, "append.conflict")) {
          isBeaten = true; // change-5
          continue;
        }
        await undo?.();
        await snapshot.refresh().catch(() => {}); // A store that fails now is read when the session is next used.
        if (isSwept || !hasCode(error, "store.swept")) throw error;
        isSwept = true; // The next attempt stores the blobs of the change again.
        continue;
      }
      if (committed !== undefined) {
        core.background.loaded?.jobs.starts.beginAll(working.spawns);
        if (nodes.length > 0) await session.appended(additionsIn(nodes));
        return worked.done(committed);
      }
      await undo?.();
      if (!isNamed) await bookWork(session, working); // A named operation has a record, and its next attempt books it.
      const ended = await moved?.();
      if (ended !== undefined) return ended;
    }
  };
  return exclusive(session, name, run, mayRepeat, signal);
}

/**
 * Stores a change. Returns undefined if the session has changed and the work must run again (change-2), and `busy` if a
 * turn was opened in the meantime.
 */
async function keep(
  session: LiveSession,
  change: Change & Pick<SessionChange, "plugins">,
  operation?: string,
  onBusy?: () => void,
): Promise<Committed | "busy" | undefined> {
  const { core, snapshot } = session;
  const { store, world } = core;
  const whole: SessionChange = {
    ...change,
    sessionId: session.id,
    operation: operation ?? world.id("opr"),
    at: world.now(),
    base: snapshot.stored.revision,
  };
  const answer = await store.apply(whole);
  if (answer.kind === "busy") {
    onBusy?.();
    return "busy";
  }
  if (answer.kind === "committed") core.readers.moved(session);
  if (answer.kind !== "committed" || !snapshot.take(whole, answer)) await snapshot.refresh();
  return answer.kind === "committed" ? answer : undefined;
}

// ── In a turn that only waits (change-6) ──────────────────────────────────────────────────────────────────────────────────

/** Runs `visit` in the open turn when it only waits. Returns undefined if the work must run again. */
async function meetTurn<T>(
  session: LiveSession,
  name: string,
  visit: (live: LiveTurn) => Promise<T>,
  mayRepeat: (fault: unknown) => boolean = () => true,
  onBusy?: () => void,
): Promise<{ readonly value: T } | undefined> {
  let met: { readonly value: T } | { readonly error: unknown } | undefined;
  await visitTurn(
    session,
    name,
    async (live) => {
      met = await visit(live).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
    },
    onBusy,
  );
  const done = met as { readonly value: T } | { readonly error: unknown } | undefined;
  if (done === undefined || "value" in done) return done;
  const isLost = passingFault(done.error, session.core.store) !== undefined; // The turn is lost, so try again.
  if (isLost && mayRepeat(done.error)) return undefined;
  throw done.error;
}

async function changeInTurn<T>(
  session: LiveSession,
  live: LiveTurn,
  work: (working: Working) => Promise<Worked<T>>,
  operation: string,
  isNamed: boolean,
): Promise<T> {
  const { core, snapshot } = session;
  const at = core.world.now();
  const appends: Appending[] = [];
  const working: Working = {
    operation,
    isNamed,
    at,
    nodes: [],
    parts: [],
    spent: [],
    booked: [],
    spawns: [],
    waiting: { live, appends },
  };
  const { spent, booked } = working;
  let worked: Worked<T>;
  try {
    worked = await work(working).finally(() => (working.isOver = true));
  } catch (error) {
    snapshot.states.forget();
    if (spent.length > 0) await applyTo(live, { kind: "applied", at, operation, spent, parts: booked });
    throw error;
  }
  const { change = {} } = worked;
  const changes = { ...snapshot.states.take(), ...changesIn(change.plugins) };
  const nodes = additionsIn(change.entries ?? []);
  const all = nodes.length === 0 ? appends : [...appends, { nodes }];
  const parts = change.receipt === undefined ? [] : [{ operation, receipt: change.receipt }];
  const event: Applied = {
    kind: "applied",
    at,
    operation,
    ...(Object.keys(changes).length === 0 ? {} : { changes }),
    ...(all.length === 0 ? {} : { appends: all }),
    ...(change.config === undefined ? {} : { config: change.config }),
    ...(spent.length === 0 ? {} : { spent }),
    ...(parts.length === 0 ? {} : { parts }),
    ...(working.spawns.length === 0 ? {} : { spawns: working.spawns.map(({ job }) => job) }),
  };
  if (Object.keys(event).length > 3)
    try {
      for (const spawning of working.spawns) core.background.jobs.starts.toBegin(live.turnId, spawning);
      await applyTo(live, event);
    } catch (error) {
      await worked.undo?.();
      throw error;
    }
  return worked.done(undefined);
}

/** The states of a change that are not written through cells. */
const changesIn = (plugins: PluginSnapshots = {}): Changes =>
  Object.fromEntries(Object.entries(plugins).map(([id, { state, blobs }]) => [id, defined({ state, blobs })]));

/** Records the event, then folds it, so that it is durable before anything depends on it. */
async function applyTo(live: LiveTurn, event: Applied): Promise<void> {
  await live.run.record(event);
  live.fold(event);
}

const BOOK_TRIES = 100;
const BOOKING = "the booking of a completion";

/**
 * change-3: books paid completions, also if another process changes the session. Recorded ones are booked only once.
 */
async function bookWork(session: LiveSession, { spent, booked }: Working): Promise<void> {
  const { core, id } = session;
  for (let tries = 0; tries < BOOK_TRIES; tries++) {
    const known = await Promise.all(booked.map(({ operation }) => core.store.operations.find(id, operation)));
    const left = spent.filter((_, nth) => known[nth] === undefined);
    if (left.length === 0) return;
    const saved = await keep(session, { spent: left, by: "completion", parts: booked });
    if (saved === "busy") {
      const book = (live: LiveTurn): Promise<void> => bookInTurn(live, left, booked);
      if ((await meetTurn(session, BOOKING, book)) !== undefined) return;
    } else if (saved !== undefined) return;
  }
}

async function bookInTurn(live: LiveTurn, spent: readonly Spent[], parts: readonly PartOperation[]): Promise<void> {
  const { world } = live;
  const about = parts.length === 0 ? { spent } : { spent, parts };
  await applyTo(live, { kind: "applied", at: world.now(), operation: world.id("opr"), ...about });
}

/** Books a completion. If a turn or operation has the session, the caller does not wait, and the booking follows later. */
export function book(session: LiveSession, spent: Spent): Promise<void> {
  const isFree = session.isIdle && !session.queue.isTaken; // A `lifecycle` hook must not wait for its own turn.
  const lost = (problem: unknown): void =>
    session.core.trace("usage.lost", { problem: describeThrown(problem), source: spent.source }, session.asPlace);
  // A process that runs no turns cannot book inside a parked turn, so the booking waits in the store for that turn.
  if (!session.core.runs) return bookAs(session, spent, session.core.world.id("opr")).catch(lost);
  return new Promise((resolve) => {
    const inTurn = (live: LiveTurn): Promise<void> => bookInTurn(live, [spent], []);
    const run = async (waiting: LiveTurn | undefined): Promise<void> => {
      if (waiting !== undefined) return inTurn(waiting);
      for (let tries = 0; tries < BOOK_TRIES; tries++) {
        const saved = await keep(session, { spent: [spent], by: "completion" }, undefined, resolve);
        if (saved === "busy" ? (await meetTurn(session, BOOKING, inTurn)) !== undefined : saved !== undefined) return;
      }
    };
    session.putOperation({
      run: (waiting) => run(waiting).catch(lost).then(resolve),
      refuse: () => {
        lost("the runtime is closed");
        resolve();
      },
    });
    if (!isFree) resolve();
  });
}

/**
 * Books what a job has paid, once under this name, and durably before it returns. While a turn is open the booking waits in
 * the store: the turn takes it, or its commit books it. The job does not wait for the turn, because the turn may wait for
 * the job.
 */
export async function bookAs(session: LiveSession, spent: Spent, name: string): Promise<void> {
  const { core, id } = session;
  const about = { sessionId: id, operation: name, at: core.world.now(), by: "completion", spent: [spent] } as const;
  await core.store.apply({ ...about, queueMax: Number.MAX_SAFE_INTEGER });
  session.inputAccepted();
  await session.caughtUp();
}

export function configure(session: LiveSession, patch: ConfigPatch): Promise<SessionConfig> {
  requireConfig(patch);
  return changeSession(session, "configure", async () => {
    const config = await configured(session, patch);
    return {
      change: defined({ by: "configure" as const, config: config?.stored }),
      done: async () => {
        await config?.notify();
        return session.config;
      },
    };
  });
}

/** The settings to store. An equal config is not stored, and plugins are not notified. */
export interface Configured {
  readonly stored: Partial<SessionConfig>;
  /** Notifies plugins after the settings are stored. */
  notify(): Promise<void>;
}

/** The config with a patch. A field that equals the runtime's is stored only if the patch has it. */
export async function configured(session: LiveSession, patch: ConfigPatch): Promise<Configured | undefined> {
  const { core, composition, snapshot } = session;
  const previous = session.config;
  const asked = ownJson({ ...snapshot.stored.config, ...patch }) as Partial<SessionConfig>;
  const wanted: SessionConfig = { ...core.config, ...asked };
  if (isEqual(wanted, previous)) return undefined;
  const current = await composition.hooks.transform(
    "config",
    wanted,
    session.context(),
    (config) => ({ config }),
    (_, answer) => answer,
  );
  if (isEqual(current, previous)) return undefined;
  const isOwn = ([key, value]: [string, unknown]): boolean =>
    key in asked || !isEqual(value, core.config[key as keyof SessionConfig]);
  return {
    stored: Object.fromEntries(Object.entries(current).filter(isOwn)),
    notify: () => session.notifyLifecycle({ kind: "sessionConfigChanged", previous, current: session.config }),
  };
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export type Compacted =
  | { readonly kind: "compacted"; readonly frame: NodeId }
  /** No plugin compacts, there is nothing to compact, or no plugin's result is smaller. */
  | { readonly kind: "nothing" };

export function compact(session: LiveSession, options: CompactOptions): Promise<Compacted> {
  const { core, snapshot } = session;
  const { instructions } = options;
  return changeSession(session, "compact", async (working) => {
    const { composition, id } = session;
    // A frame cannot begin between a call and its result (I4).
    if (working.waiting !== undefined) throw new RuntimeError("session.waiting", { id, what: "be compacted" });
    const { messages } = snapshot.transcript;
    const nothing: Worked<Compacted> = { change: { by: "compact" }, done: () => ({ kind: "nothing" }) };
    if (messages.length === 0 || !composition.hooks.has.compact) return nothing;
    const asked = { messages, reason: "asked", ...(instructions === undefined ? {} : { instructions }) } as const;
    const seed = await compaction(composition.hooks, asked, session.context(undefined, working), (issue) =>
      core.trace("hook.issue", tracedIssue(issue), session.asPlace),
    );
    if (seed === undefined) return nothing;
    const { operation, nodes } = working;
    const at = nodes.length; // Nodes that compactors appended come before the frame.
    return {
      change: { by: "compact", entries: frameOf(operation, core.world.now(), seed, at) },
      done: () => ({ kind: "compacted", frame: nodeId(operation, at) }),
    };
  });
}

const frameOf = (operation: string, at: number, seed: readonly Draft[], from: number): readonly Entry[] => [
  { at, kind: "frame", reason: "compaction" },
  ...seed.map(
    (draft, index): Entry => ({ at, kind: "message", message: { id: nodeId(operation, from + index + 1), ...draft } }),
  ),
];

/** Adds the app's nodes after the head. An `operationId` counts within this session only. */
export function append(
  session: LiveSession,
  nodes: readonly AppendNode[],
  options: AppendOptions = {},
): Promise<Appended> {
  const { core, id } = session;
  const { requiresAncestor, operationId } = options;
  const operation = operationId === undefined ? core.world.id("opr") : operationOf(id, operationId);
  const requires = requiresAncestor === undefined ? {} : { requires: requiresAncestor as NodeId };
  const work = async ({ waiting }: Working): Promise<Worked<Appended>> => {
    const additions = await additionsOf(core, "app", nodes)();
    const hash = hashOfNodes(additions);
    const known = operationId === undefined ? undefined : await doneBefore(core, id, additions, options, operationId);
    if (known !== undefined) return { done: () => known };
    if (waiting !== undefined) {
      const answer = await appendWaiting(waiting, additions, {
        requiresAncestor,
        operationId: operationId ?? operation,
      });
      return { done: () => answer };
    }
    const ids = additions.map((_, index) => nodeId(operation, index));
    const entries = entriesOf(operation, additions, core.world.now());
    return {
      change: { by: "append", entries, receipt: appendReceipt(hash, ids), ...requires },
      done: async () => {
        await session.appended(additions);
        return { kind: "appended", nodes: ids, head: ids.at(-1) as NodeId };
      },
      moved: async () =>
        requiresAncestor === undefined || (await core.store.holds(id, requiresAncestor as NodeId))
          ? undefined
          : staleAt(core, id, requiresAncestor),
    };
  };
  return changeSession(session, "append", work, operation);
}
