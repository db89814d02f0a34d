// The `graph` service: plugins and tools append nodes to their own session, or to another one.
// Not its job: the position of a turn's nodes (`turn/move.ts`), storing a change between turns (`session/change.ts`).
// graph-1 In a turn, nodes for its own session belong to the effect that appends them. They are recorded with its
//         answer and stored by the turn's commit. If the effect fails, they are dropped.
// graph-2 In an operation, nodes join the change of the operation.
// graph-3 In all other cases the store gets the nodes at once. While a turn is open, it queues them until that turn
//         takes them or ends. The caller does not wait for that turn, so that a child can append to a parent that waits
//         for it.
// graph-4 An id of the caller counts once in a session, in any of these ways.
import { leafOf } from "../../graph/history.ts";
import { type Segment, segmentOn } from "../../graph/segment.ts";
import {
  APPEND,
  type Appended,
  type AppendNode,
  type AppendOptions,
  type GraphAppendOptions,
} from "../../kernel/append.ts";
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asSessionId, type EffectName, type NodeId, nodeAddress, nodeId, type SessionId } from "../../model/ids.ts";
import { bytesOver, defined, isObject, type Json, toJson } from "../../model/json.ts";
import { type Known, requireKnown } from "../../model/known.ts";
import type { Attachment } from "../../model/message.ts";
import type { Addition, Entry } from "../../model/node.ts";
import type { Attachable } from "../../model/tool.ts";
import type { ChangeAnswer, SessionChange } from "../../stores/store.ts";
import type { Appending } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";
import { bytesOf, isAttached, stored, whileSwept } from "./parts.ts";
import { requireStored } from "./reading.ts";
import type { InTurn, ServiceContext, Working } from "./service-context.ts";

const OPTIONS: Known<GraphAppendOptions> = { ...APPEND, session: true };

export async function appendFrom(
  context: ServiceContext,
  plugin: string,
  nodes: readonly AppendNode[],
  options: GraphAppendOptions = {},
): Promise<Appended> {
  requireAppend("graph.append", options, OPTIONS);
  const { session } = context;
  const additions = additionsOf(session.core, plugin, nodes);
  const key = context.nextKey(plugin) ?? session.core.world.id("opr");
  const append = (): Promise<Appended> => appendAt(context, plugin, additions, options, key);
  // A step of a task, so that a rerun does not append again, even if the job then belongs to another session.
  if (context.turn !== undefined || context.job?.steps === undefined) return append();
  const step = async (): Promise<Json> => (await append()) as unknown as Json;
  return (await context.job.steps.step(`append/${key}`, step)) as unknown as Appended;
}

/** Checks the options of an append, from a plugin or the app. */
export function requireAppend(where: string, options: AppendOptions, known: { readonly [name: string]: true }): void {
  requireOptions(where, options, known);
  if (options.requiresAncestor !== undefined) requireWords("requiresAncestor", options.requiresAncestor);
}

async function appendAt(
  context: ServiceContext,
  plugin: string,
  additions: Additions,
  options: GraphAppendOptions,
  key: string,
): Promise<Appended> {
  const { session } = context;
  const target = options.session ?? session.id;
  if (target === session.id) {
    const { turn, working } = context;
    if (turn !== undefined) return inTurn(turn, plugin, additions, options, key);
    if (working !== undefined) return inOperation(session, working, plugin, additions, options);
  }
  const answer = await appendTo(session.core, target, additions, options, key);
  if (target === session.id) await session.caughtUp();
  return answer;
}

/**
 * Operation names are unique over all sessions, and the ids of callers are unique within one session. The first slash
 * ends the session's id. A name that begins with a slash belongs to the runtime.
 */
export const operationOf = (session: SessionId, operationId: string): string => {
  requireWords("operationId", operationId, 256);
  return `${session.replace(/[%/]/g, encodeURIComponent)}/${operationId}`;
};

/** The record of an append, so that a repeat gets the same answer. */
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

// ── graph-1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function inTurn(
  { live, effect, where }: InTurn,
  plugin: string,
  additions: Additions,
  options: AppendOptions,
  key: string,
): Promise<Appended> {
  const { core, session } = live;
  const { requiresAncestor, operationId } = options;
  const draft = live.draftOf(effect);
  const made = additions();
  // Plain nodes are added synchronously, because a caller can omit the `await`.
  const nodes = isThenable(made) ? await made : made;
  const stale = await staleOn(core, session.id, requiresAncestor, () => grown(live, effect));
  if (stale !== undefined) return stale;
  const join = (added: Appending): number | undefined => {
    if (live.drafts?.get(effect) === draft) return live.conversation.append(draft, added);
    throw new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
  };
  if (operationId === undefined) return placed(live, join({ nodes }), nodes.length, key);
  const known = await doneBefore(core, session.id, nodes, options, operationId);
  if (known !== undefined) return known;
  const name = operationOf(session.id, operationId);
  const hash = hashOfNodes(nodes);
  const before = live.conversation.appendedAs(name, draft.appends);
  if (before !== undefined) requireSame(before.hash, hash, operationId);
  const isThere = before !== undefined && before.mayBeDropped !== true;
  const from = isThere ? before.from : join({ nodes, operation: { name, hash } });
  return placed(live, from, nodes.length, operationId);
}

const placed = (live: LiveTurn, from: number | undefined, count: number, operationId: string): Appended =>
  from === undefined
    ? { kind: "queued", operationId }
    : appended(Array.from({ length: count }, (_, index) => nodeId(live.turnId, from + index)));

/** The receipts of the turn's appends with an id, for its commit. */
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

// ── graph-2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Throws when the operation has ended: its plugin kept a service, or did not await a call. */
export function requireOpen(working: Pick<Working, "isOver">, plugin: string): void {
  if (working.isOver === true)
    throw new RuntimeError("state.parallel", { plugin, where: "an operation that has ended" });
}

async function inOperation(
  { core, id, snapshot }: LiveSession,
  working: Working,
  plugin: string,
  make: Additions,
  options: AppendOptions,
): Promise<Appended> {
  const { requiresAncestor, operationId } = options;
  const { operation, nodes, parts, at, waiting } = working;
  const stillOpen = (): void => requireOpen(working, plugin);
  const made = make();
  const additions = isThenable(made) ? await made : made;
  if (waiting !== undefined) {
    const known = operationId === undefined ? undefined : await doneBefore(core, id, additions, options, operationId);
    const named = { ...options, operationId: operationId ?? core.world.id("opr") };
    return known ?? appendWaiting(waiting, additions, named, stillOpen);
  }
  const stale = await staleOn(core, id, requiresAncestor, () => segmentOn(snapshot.stored.head, operation, nodes));
  if (stale !== undefined) return stale;
  const join = (): readonly NodeId[] => {
    stillOpen();
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

/** In an operation inside a waiting turn, the nodes belong to the turn and follow its results (I4). */
export async function appendWaiting(
  { live, appends }: NonNullable<Working["waiting"]>,
  nodes: readonly Addition[],
  { requiresAncestor, operationId }: AppendOptions & { readonly operationId: string },
  requireOpen?: () => void,
): Promise<Appended> {
  const { core, session } = live;
  const stale = await staleOn(core, session.id, requiresAncestor, () => grown(live));
  if (stale !== undefined) return stale;
  const name = operationOf(session.id, operationId);
  const hash = hashOfNodes(nodes);
  const before = live.conversation.appendedAs(name, appends);
  requireOpen?.();
  if (before !== undefined) requireSame(before.hash, hash, operationId);
  else appends.push({ nodes, operation: { name, hash } });
  return { kind: "queued", operationId };
}

// ── graph-3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function appendTo(
  core: Core,
  given: string,
  make: Additions,
  options: AppendOptions,
  key: string,
): Promise<Appended> {
  const { id } = await requireStored(core, given);
  const additions = await make();
  const named = options.operationId ?? key;
  const known = await doneBefore(core, id, additions, options, named);
  if (known !== undefined) return known;
  const answer = await whileSwept(() => handOver(core, id, additions, options, named), make);
  if (answer.kind !== "stale-branch") return answer;
  // A turn or an operation may have stored this append first, as its part.
  return (await doneBefore(core, id, additions, options, named)) ?? answer;
}

/** Passes nodes to the store, which distinguishes a repeat from a conflict. */
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
  open?.inputAccepted();
  if (answer.kind === "queued") return { kind: "queued", operationId: named };
  if (answer.kind !== "committed") return staleAt(core, id, requiresAncestor ?? "");
  if (open !== undefined) {
    core.readers.moved(open);
    await open.appended(additions);
  }
  return appended(additions.map((_, index) => nodeId(operation, index)));
}

/** A conflict contains the id of the caller, not the name in the store. */
async function applied({ store }: Core, change: SessionChange, named: string): Promise<ChangeAnswer> {
  try {
    return await store.apply(change);
  } catch (error) {
    if (!hasCode(error, "append.conflict")) throw error;
    throw new RuntimeError("append.conflict", { operation: named }, { cause: error });
  }
}

// ── graph-4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

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

/** The turn's part of the path, with the nodes of this effect whose position is known. */
export function grown(live: LiveTurn, effect?: EffectName): Segment {
  const { turnId, session, state, world } = live;
  const log = itemsOf(state.log);
  const own = effect === undefined ? [] : live.conversation.appendsAt(effect);
  const placed = own.flatMap(({ nodes, from }) => (from === undefined ? [] : nodes));
  const added = placed.length === 0 ? log : [...log, ...entriesOf(turnId, placed, world.now(), log.length)];
  return segmentOn(session.snapshot.stored.head, turnId, added);
}

/**
 * The answer to an append that requires a node which is not on the path. The path is the stored one and the nodes that the
 * turn or the operation has added.
 */
async function staleOn(
  { store }: Core,
  session: SessionId,
  required: string | undefined,
  ownPart: () => Segment,
): Promise<Appended | undefined> {
  if (required === undefined) return undefined;
  const own = ownPart();
  const address = nodeAddress(required);
  const isOwn = address?.commit === own.commit && address.index < own.entries.length;
  if (isOwn || (address !== undefined && (await store.holds(session, required as NodeId)))) return undefined;
  return defined({ kind: "stale-branch" as const, required, head: leafOf(own) });
}

/** The same without exclusive use of the session, with its present head. */
export async function staleAt({ store }: Core, session: SessionId, required: string): Promise<Appended> {
  return defined({ kind: "stale-branch" as const, required, head: (await store.load(session))?.head });
}

// ── Nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const MESSAGE: Known<Extract<AppendNode, { readonly kind: "message" }>> = {
  kind: true,
  role: true,
  text: true,
  attachments: true,
};
const NODE: Known<Extract<AppendNode, { readonly kind: "plugin" }>> = { kind: true, type: true, body: true };

/** Nodes to append. Each call stores their attachments again, because a sweep may have removed the bytes. */
export type Additions = () => Awaitable<readonly Addition[]>;

/** Checks nodes and sets their plugin. */
export function additionsOf(core: Core, plugin: string, nodes: readonly AppendNode[]): Additions {
  const wrong = (problem: string): never => {
    throw new RuntimeError("input.invalid", { problem });
  };
  if (!Array.isArray(nodes) || nodes.length === 0) wrong("the list of nodes is empty");
  let weight = 0;
  let hasAttachments = false;
  const additions = nodes.map((node: AppendNode): Addition => {
    if (!isObject(node)) return wrong("a node must be an object");
    if (node.kind === "message") {
      requireKnown("append", node, MESSAGE);
      const { role, text, attachments = [] } = node;
      if ((role !== "user" && role !== "system") || typeof text !== "string")
        wrong("an appended message must have the role user or system, and a `text`");
      if (!Array.isArray(attachments) || !attachments.every(isAttached))
        wrong("each of `attachments` must be attach(bytes, { mediaType }) or an attachment of a message");
      const isEmpty = text.trim() === "";
      if (isEmpty && attachments.length === 0) wrong("a message is empty");
      for (const each of attachments) weight += bytesOf(each);
      hasAttachments ||= attachments.length > 0;
      const origin = { kind: "plugin", plugin } as const;
      return { kind: "message", message: { role, parts: isEmpty ? [] : [{ kind: "text", text }], origin } };
    }
    if (node.kind !== "plugin" || typeof node.type !== "string")
      return wrong("a node must be a message, or have a type and a body");
    requireKnown("append", node, NODE);
    const found = toJson(node.body);
    if ("problem" in found) return wrong(`a node's body is not JSON: ${found.path}: ${found.problem}`);
    return { kind: "plugin", plugin, type: node.type, body: found.json };
  });
  const max = core.limits.inputBytesMax;
  const bytes = bytesOver(JSON.stringify(additions), max - weight);
  if (bytes !== undefined)
    throw new RuntimeError("limit.bytes", { what: "What is appended", bytes: bytes + weight, max });
  if (!hasAttachments) return () => additions;
  const given = nodes.map((node) => (node.kind === "message" ? [...(node.attachments ?? [])] : []));
  return () => Promise.all(additions.map((addition, index) => withAttachments(core, addition, given[index] ?? [])));
}

async function withAttachments(
  core: Core,
  addition: Addition,
  attachments: readonly (Attachable | Attachment)[],
): Promise<Addition> {
  if (addition.kind !== "message" || attachments.length === 0) return addition;
  const { message } = addition;
  return { kind: "message", message: { ...message, parts: [...message.parts, ...(await stored(core, attachments))] } };
}

/** Gives nodes their positions. The first node has the number `from`. */
export const entriesOf = (operation: string, additions: readonly Addition[], at: number, from = 0): readonly Entry[] =>
  additions.map(
    (node, index): Entry =>
      node.kind === "message"
        ? { at, kind: "message", message: { id: nodeId(operation, from + index), ...node.message } }
        : { at, ...node },
  );

/** A queued append that a turn takes. Its nodes get other positions in the turn. */
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
