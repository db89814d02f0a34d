import type { Composition } from "../kernel/compose.ts";
import {
  checkedInput,
  definitionOf,
  type OperationDefinition,
  type OperationKind,
  type OwnedOperation,
  type PluginEvent,
  POWERS,
  wireName,
} from "../kernel/operation.ts";
import type { Surroundings } from "../kernel/run.ts";
import type { Appended, AppendNode, AppendOptions, ServiceName } from "../kernel/services.ts";
import type { PluginStates } from "../kernel/states.ts";
import { RuntimeError } from "../model/errors.ts";
import { type NodeId, nodeId, type SessionId, type TurnId } from "../model/ids.ts";
import { type Awaitable, describeThrown, isObject, type Json, toJson } from "../model/json.ts";
import type { Entry } from "../model/node.ts";
import { check, type Schema } from "../model/schema.ts";
import type { Spent } from "../model/usage.ts";
import type { Core } from "./core.ts";

/** What a command or a task came to. */
export interface Receipt<O = unknown> {
  readonly plugin: string;
  readonly output: O;
  readonly events: readonly PluginEvent[];
  /** The turns it queued. */
  readonly queued: readonly TurnId[];
}
export interface OperationOptions {
  /** `null` passes no session; this session's id insists on it. */
  readonly session?: string | null;
  readonly signal?: AbortSignal;
}

/** What an operation needs of the session it runs on. */
export interface OperatedSession {
  readonly core: Core;
  readonly id: SessionId;
  readonly composition: Composition;
  readonly states: PluginStates;
  home(signal: AbortSignal | undefined, spend: ((spent: Spent) => Awaitable<void>) | undefined): Surroundings;
}

export function operationsIn({ composition }: OperatedSession): readonly OperationDefinition[] {
  return [...composition.operations.values()].map(definitionOf);
}

/** An operation called through the wrong kind is unknown: a query may be called where a command must not be. */
export function requireOperation({ composition }: OperatedSession, kind: OperationKind, name: string): OwnedOperation {
  const found = composition.operations.get(name);
  if (found?.operation.kind === kind) return found;
  const known = [...composition.operations].flatMap(([each, { operation }]) => (operation.kind === kind ? [each] : []));
  throw new RuntimeError("operation.unknown", { name, known });
}

/** Whether it runs on the session; what is forbidden gets none by default, and refuses none but an explicit one. */
function runsOnSession({ plugin, name, operation }: OwnedOperation, options: OperationOptions): boolean {
  const rule = operation.spec.session ?? "required";
  if (rule === "required" && options.session === null)
    throw new RuntimeError("operation.missing-session", { name: wireName(plugin, name) });
  if (rule === "forbidden" && typeof options.session === "string")
    throw new RuntimeError("operation.unexpected-session", { name: wireName(plugin, name) });
  return rule !== "forbidden" && options.session !== null;
}

export async function query(
  resident: OperatedSession,
  owned: OwnedOperation,
  input: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const isOn = runsOnSession(owned, options);
  const given = checkedInput(owned, input);
  const states = resident.states;
  const context = contextOf(resident, owned, given, isOn, options);
  if (isOn && states.has(owned.plugin)) context.state = states.settled(owned.plugin, `the query ${owned.name}`);
  return output(owned, await run(owned, context));
}

/** What ran, before it is kept. */
export interface Ran {
  readonly output: unknown;
  readonly events: readonly PluginEvent[];
  readonly entries: readonly Entry[];
  readonly turns: readonly { readonly input: string; readonly key?: string }[];
  readonly spent: readonly Spent[];
}

/** Runs a command or a task between turns; its changes of state are pending until the caller keeps them. */
export async function change(
  resident: OperatedSession,
  owned: OwnedOperation,
  input: unknown,
  options: OperationOptions,
  operation: string,
  spent: Spent[],
): Promise<Ran> {
  const isOn = runsOnSession(owned, options);
  const given = checkedInput(owned, input);
  const events: PluginEvent[] = [];
  const turns: { input: string; key?: string }[] = [];
  const context = contextOf(resident, owned, given, isOn, options, (each) => void spent.push(each));
  const { states } = resident;
  if (isOn && states.has(owned.plugin))
    context.state = states.cell(owned.plugin, `the ${owned.operation.kind} ${owned.name}`);
  context.emit = (name: string, payload: Json = null): void => {
    const found = toJson(payload);
    if (typeof name !== "string" || "problem" in found)
      throw new RuntimeError("operation.failed", {
        name: wireName(owned.plugin, owned.name),
        problem: "an event needs a name and a payload that is JSON",
      });
    events.push({ name, payload: found.json });
  };
  context.queueTurn = (words: string, about: { readonly key?: string } = {}): void => {
    requireSession();
    if (typeof words !== "string" || words.trim() === "")
      throw new RuntimeError("input.invalid", { problem: "a queued turn needs words" });
    turns.push({ input: words, ...about });
  };
  const requireSession = (): void => {
    if (!isOn) throw new RuntimeError("operation.missing-session", { name: wireName(owned.plugin, owned.name) });
  };
  if (!isOn) context.membership = { set: requireSession, grant: requireSession, revoke: requireSession };
  const nodes: Entry[] = [];
  const at = resident.core.world.now();
  // Kept with the operation's own change, or not at all.
  context.graph = {
    append: async (given: readonly AppendNode[], about: AppendOptions = {}): Promise<Appended> => {
      requireSession();
      if (about.requiresAncestor !== undefined)
        throw new RuntimeError("operation.failed", {
          name: wireName(owned.plugin, owned.name),
          problem: "an operation's own nodes follow the head, whatever it is",
        });
      const added = entriesOf(operation, owned.plugin, given, at, nodes.length);
      const ids = added.map((_, index) => nodeId(operation, nodes.length + index));
      nodes.push(...added);
      return { kind: "appended", nodes: ids, head: ids.at(-1) as NodeId };
    },
  };
  const result = await output(owned, await run(owned, context));
  const said = (isOn ? events : []).map(
    (event): Entry => ({ at, kind: "plugin", plugin: owned.plugin, type: "event", body: { ...event } }),
  );
  return { output: result, events, entries: [...nodes, ...said], turns, spent };
}

type Context = { [field: string]: unknown };

function contextOf(
  resident: OperatedSession,
  { plugin, operation }: OwnedOperation,
  input: unknown,
  isOn: boolean,
  options: OperationOptions,
  spend?: (spent: Spent) => Awaitable<void>,
): Context {
  const home = resident.home(options.signal, spend);
  const context: Context = {
    input,
    signal: options.signal ?? new AbortController().signal,
    read: (point: Parameters<typeof home.read>[0]) => home.read(point),
    ...(isOn ? { sessionId: resident.id } : {}),
  };
  for (const service of POWERS[operation.kind] as readonly ServiceName[])
    context[service] = home.service(service, plugin);
  return context;
}

async function run({ plugin, name, operation }: OwnedOperation, context: Context): Promise<unknown> {
  try {
    return await operation.spec.run(context as never);
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError(
      "operation.failed",
      { name: wireName(plugin, name), problem: describeThrown(error) },
      { cause: error },
    );
  }
}

function output({ plugin, name, operation }: OwnedOperation, value: unknown): unknown {
  if (operation.spec.output === undefined) return value;
  const wire = wireName(plugin, name);
  const result = check(operation.spec.output as Schema, value, `the output of ${wire}`);
  if (!result.ok)
    throw new RuntimeError("operation.failed", { name: wire, problem: `its output is not right: ${result.problem}` });
  return result.value;
}

/** Nodes that an operation adds, numbered from here. */
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
    const found = toJson(node.body);
    if ("problem" in found) return wrong(`a node's body is not JSON: ${found.path}: ${found.problem}`);
    return { at, kind: "plugin", plugin, type: node.type, body: found.json };
  });
}
