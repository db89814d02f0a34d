// The `graph` service: plugins and tools append nodes to their own session, or to another one.
// Not its job: where the nodes of a turn stand (`turn/move.ts`), storing a change between turns (`session/change.ts`).
// G1 In a turn, nodes for the own session belong to the effect in which they are appended: recorded with its answer, in
//    the turn's commit, dropped when the effect fails.
// G2 In an operation they join its change.
// G3 Everywhere else the store takes them: at once, or, while a turn is open, until that turn takes them in or ends.
//    Nobody waits for that turn, so that a child can append to the parent which waits for it.
// G4 An id of the caller's counts once in a session, whichever of these ways it takes.
import {
  APPEND,
  type Appended,
  type AppendNode,
  type AppendOptions,
  type GraphAppendOptions,
} from "../../kernel/services.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asSessionId, type NodeId, nodeAddress, nodeId, type SessionId } from "../../model/ids.ts";
import { bytesOver, isObject, type Json, toJson } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Addition, Entry } from "../../model/node.ts";
import type { ChangeAnswer, SessionChange } from "../../stores/store.ts";
import type { Appending } from "../../turn/event.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { requireStored } from "./reading.ts";
import type { InTurn, SessionSite, Working } from "./site.ts";

const OPTIONS: Known<GraphAppendOptions> = { ...APPEND, session: true };

export async function appendFrom(
  site: SessionSite,
  plugin: string,
  nodes: readonly AppendNode[],
  options: GraphAppendOptions = {},
): Promise<Appended> {
  requireOptions("graph.append", options, OPTIONS);
  const { session } = site;
  const additions = additionsOf(session.core, plugin, nodes);
  const key = site.nextKey(plugin) ?? session.core.world.id("opr");
  const append = (): Promise<Appended> => appendAt(site, plugin, additions, options, key);
  // A step of a task: a rerun appends nothing again, also where the job belongs to another session by then.
  if (site.turn !== undefined || site.job?.steps === undefined) return append();
  const step = async (): Promise<Json> => (await append()) as unknown as Json;
  return (await site.job.steps.step(`append/${key}`, step)) as unknown as Appended;
}

async function appendAt(
  site: SessionSite,
  plugin: string,
  additions: readonly Addition[],
  options: GraphAppendOptions,
  key: string,
): Promise<Appended> {
  const { session } = site;
  const target = options.session ?? session.id;
  if (target === session.id) {
    const { turn, working } = site;
    if (turn !== undefined) return inTurn(turn, plugin, additions, options, key);
    if (working !== undefined) return inOperation(session, working, additions, options);
  }
  const answer = await appendTo(session.core, target, additions, options, key);
  if (target === session.id) await session.caughtUp();
  return answer;
}

/**
 * Names of operations are unique over all sessions, those of callers within one. The first slash ends the session's id;
 * a name that begins with one is the runtime's own.
 */
export const operationOf = (session: SessionId, operationId: string): string => {
  requireWords("operationId", operationId, 256);
  return `${session.replace(/[%/]/g, encodeURIComponent)}/${operationId}`;
};

/** What is kept of an append, so that a repeat is answered alike. */
interface AppendReceipt {
  readonly hash: string;
  readonly nodes: readonly NodeId[];
}
export const appendReceipt = (hash: string, nodes: readonly NodeId[]): Json =>
  ({ hash, nodes }) satisfies AppendReceipt as unknown as Json;

export const hashOfNodes = (additions: readonly Addition[]): string => hashOf(JSON.stringify(additions));

const appended = (nodes: readonly NodeId[]): Appended => ({
  kind: "appended",
  nodes,
  head: nodes.at(-1) as NodeId,
});

// ── G1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function inTurn(
  { live, effect, where }: InTurn,
  plugin: string,
  nodes: readonly Addition[],
  options: AppendOptions,
  key: string,
): Promise<Appended> {
  const { core, session } = live;
  const { requiresAncestor, operationId } = options;
  const own = live.appendsOf(effect);
  if (requiresAncestor !== undefined && !(await isOnPath(core, session.id, requiresAncestor, live.grown())))
    return { kind: "stale-branch", required: requiresAncestor };
  const join = (added: Appending): number | undefined => {
    if (live.appending?.get(effect) === own) return live.append(own, added);
    throw new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
  };
  if (operationId === undefined) return placed(live, join({ nodes }), nodes.length, key);
  const known = await doneBefore(core, session.id, nodes, options, operationId);
  if (known !== undefined) return known;
  const name = operationOf(session.id, operationId);
  const hash = hashOfNodes(nodes);
  const before = live.appendedAs(name, own);
  if (before !== undefined) requireSame(before.hash, hash, operationId);
  const isThere = before !== undefined && before.mayBeDropped !== true;
  const from = isThere ? before.from : join({ nodes, operation: { name, hash } });
  return placed(live, from, nodes.length, operationId);
}

const placed = (live: LiveTurn, from: number | undefined, count: number, operationId: string): Appended =>
  from === undefined
    ? { kind: "queued", operationId }
    : appended(Array.from({ length: count }, (_, index) => nodeId(live.turnId, from + index)));

/** The receipts of the turn's named appends, for its commit. */
export const partsOf = (
  turnId: string,
  appends: readonly { readonly name: string; readonly hash: string; readonly from: number; readonly count: number }[],
): readonly { readonly operation: string; readonly receipt: Json }[] =>
  appends.map(({ name, hash, from, count }) => ({
    operation: name,
    receipt: appendReceipt(
      hash,
      Array.from({ length: count }, (_, index) => nodeId(turnId, from + index)),
    ),
  }));

// ── G2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function inOperation(
  { core, id }: { readonly core: Core; readonly id: SessionId },
  working: Working,
  additions: readonly Addition[],
  options: AppendOptions,
): Promise<Appended> {
  const { requiresAncestor, operationId } = options;
  const { operation, nodes, parts, at, waiting } = working;
  if (waiting !== undefined) {
    const known = operationId === undefined ? undefined : await doneBefore(core, id, additions, options, operationId);
    return known ?? appendWaiting(waiting, additions, { ...options, operationId: operationId ?? core.world.id("opr") });
  }
  const own = { commit: operation, length: nodes.length };
  if (requiresAncestor !== undefined && !(await isOnPath(core, id, requiresAncestor, own)))
    return { kind: "stale-branch", required: requiresAncestor };
  const join = (): readonly NodeId[] => {
    const from = nodes.length;
    nodes.push(...entriesOf(operation, additions, at, from));
    return additions.map((_, index) => nodeId(operation, from + index));
  };
  if (operationId === undefined) return appended(join());
  const known = await doneBefore(core, id, additions, options, operationId);
  if (known !== undefined) return known;
  const name = operationOf(id, operationId);
  const hash = hashOfNodes(additions);
  const part = parts.find((each) => each.operation === name);
  if (part !== undefined) return received(part.receipt, hash, operationId);
  const ids = join();
  parts.push({ operation: name, receipt: appendReceipt(hash, ids) });
  return appended(ids);
}

/** In an operation that runs in a turn which only waits: the nodes are the turn's, and stand after its results (I4). */
export async function appendWaiting(
  { live, appends }: NonNullable<Working["waiting"]>,
  nodes: readonly Addition[],
  { requiresAncestor, operationId }: AppendOptions & { readonly operationId: string },
): Promise<Appended> {
  const { core, session } = live;
  if (requiresAncestor !== undefined && !(await isOnPath(core, session.id, requiresAncestor, live.grown())))
    return { kind: "stale-branch", required: requiresAncestor };
  const name = operationOf(session.id, operationId);
  const hash = hashOfNodes(nodes);
  const before = live.appendedAs(name, appends);
  if (before !== undefined) requireSame(before.hash, hash, operationId);
  else appends.push({ nodes, operation: { name, hash } });
  return { kind: "queued", operationId };
}

// ── G3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function appendTo(
  core: Core,
  given: string,
  additions: readonly Addition[],
  options: AppendOptions,
  key: string,
): Promise<Appended> {
  const { id } = await requireStored(core, given);
  const named = options.operationId ?? key;
  const known = await doneBefore(core, id, additions, options, named);
  if (known !== undefined) return known;
  const answer = await handOver(core, id, additions, options, named);
  if (answer.kind !== "stale-branch") return answer;
  // A turn or an operation that had it as its part may have been quicker.
  return (await doneBefore(core, id, additions, options, named)) ?? answer;
}

/** Hands nodes to the store, which tells a repeat from a conflict. */
async function handOver(
  core: Core,
  id: SessionId,
  additions: readonly Addition[],
  { requiresAncestor }: AppendOptions,
  named: string,
): Promise<Appended> {
  const operation = operationOf(id, named);
  const hash = hashOfNodes(additions);
  const at = core.world.now();
  const change: SessionChange = {
    sessionId: id,
    operation,
    at,
    by: "append",
    entries: entriesOf(operation, additions, at),
    receipt: appendReceipt(
      hash,
      additions.map((_, index) => nodeId(operation, index)),
    ),
    queueMax: core.limits.pendingInputsMax,
    ...(requiresAncestor === undefined ? {} : { requires: requiresAncestor as NodeId }),
  };
  const answer = await applied(core, change, named);
  const open = core.sessions.find(asSessionId(id));
  open?.inputCame();
  if (answer.kind === "queued") return { kind: "queued", operationId: named };
  if (answer.kind !== "committed") return { kind: "stale-branch", required: requiresAncestor ?? "" };
  if (open !== undefined) {
    core.readers.moved(open);
    await open.toldAppended(additions);
  }
  return appended(additions.map((_, index) => nodeId(operation, index)));
}

/** A conflict names the id that the caller gave, not the name that the store knows it by. */
async function applied({ store }: Core, change: SessionChange, named: string): Promise<ChangeAnswer> {
  try {
    return await store.apply(change);
  } catch (error) {
    if (!hasCode(error, "append.conflict")) throw error;
    throw new RuntimeError("append.conflict", { operation: named }, { cause: error });
  }
}

// ── G4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function doneBefore(
  core: Core,
  session: SessionId,
  additions: readonly Addition[],
  options: AppendOptions,
  operationId: string,
): Promise<Appended | undefined> {
  const found = await core.store.operations.find(session, operationOf(session, operationId));
  if (found === undefined) return undefined;
  return found.kind === "queued" || found.receipt === undefined
    ? handOver(core, session, additions, options, operationId)
    : received(found.receipt, hashOfNodes(additions), operationId);
}

function received(receipt: Json, hash: string, operationId: string): Appended {
  const { hash: before, nodes } = (isObject(receipt) ? receipt : {}) as Partial<AppendReceipt>;
  requireSame(before, hash, operationId);
  return appended(nodes ?? []);
}

function requireSame(before: string | undefined, hash: string, operationId: string): void {
  if (before !== hash) throw new RuntimeError("append.conflict", { operation: operationId });
}

/** Whether a node is on the path to the head, or among those that the turn or the operation itself has added. */
async function isOnPath(
  { store }: Core,
  session: SessionId,
  node: string,
  own: { readonly commit: string; readonly length: number },
): Promise<boolean> {
  const address = typeof node === "string" ? nodeAddress(node) : undefined;
  if (address === undefined) return false;
  return address.commit === own.commit ? address.index < own.length : store.holds(session, node as NodeId);
}

// ── Nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const MESSAGE: Known<Extract<AppendNode, { readonly kind: "message" }>> = { kind: true, role: true, text: true };
const NODE: Known<Extract<AppendNode, { readonly kind: "plugin" }>> = { kind: true, type: true, body: true };

/** Checks nodes and says whose they are. */
export function additionsOf({ limits }: Core, plugin: string, nodes: readonly AppendNode[]): readonly Addition[] {
  const wrong = (problem: string): never => {
    throw new RuntimeError("input.invalid", { problem });
  };
  if (!Array.isArray(nodes) || nodes.length === 0) wrong("there is nothing to append");
  const additions = nodes.map((node: AppendNode): Addition => {
    if (!isObject(node)) return wrong("a node is an object");
    if (node.kind === "message") {
      requireKnown("append", node, MESSAGE);
      const { role, text } = node;
      if ((role !== "user" && role !== "system") || typeof text !== "string")
        wrong("only user and system messages of text can be appended");
      if (text.trim() === "") wrong("a message is empty");
      const origin = { kind: "plugin", plugin } as const;
      return { kind: "message", message: { role, parts: [{ kind: "text", text }], origin } };
    }
    if (node.kind !== "plugin" || typeof node.type !== "string")
      return wrong("a node is a message, or has a type and a body");
    requireKnown("append", node, NODE);
    const found = toJson(node.body);
    if ("problem" in found) return wrong(`a node's body is not JSON: ${found.path}: ${found.problem}`);
    return { kind: "plugin", plugin, type: node.type, body: found.json };
  });
  const max = limits.inputBytesMax;
  const bytes = bytesOver(JSON.stringify(additions), max);
  if (bytes !== undefined) throw new RuntimeError("limit.bytes", { what: "What is appended", bytes, max });
  return additions;
}

/** Gives nodes their places: the first has the number `from`. */
export const entriesOf = (operation: string, additions: readonly Addition[], at: number, from = 0): readonly Entry[] =>
  additions.map(
    (node, index): Entry =>
      node.kind === "message"
        ? { at, kind: "message", message: { id: nodeId(operation, from + index), ...node.message } }
        : { at, ...node },
  );

/** A queued append as a turn takes it in: there its nodes get other places. */
export const additionsIn = (entries: readonly Entry[]): readonly Addition[] =>
  entries.flatMap((entry): readonly Addition[] => {
    if (entry.kind === "frame") return [];
    if (entry.kind === "plugin") {
      const { at: _, ...node } = entry;
      return [node];
    }
    const { id: _, ...message } = entry.message;
    return [{ kind: "message", message }];
  });
