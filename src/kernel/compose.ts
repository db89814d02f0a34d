import { RuntimeError } from "../model/errors.ts";
import { defined, describeThrown, isObject } from "../model/json.ts";
import { type Known, nearest, requireKnown } from "../model/known.ts";
import { isToolName } from "../model/tool.ts";
import type { Answer, Skips } from "../turn/event.ts";
import { declareExtensions, type Extensions } from "./extension.ts";
import type { Gate, GateName, Order, Placed, SlotName } from "./handlers.ts";
import { type Bound, type Filled, HookRunner, type ObserveHandler, ORDERS } from "./hook-runner.ts";
import { HOOK_NAMES, HOOKS, type HookName, type Owned, type RowData } from "./hooks.ts";
import { checkedMonitor, type MonitorDeclaration } from "./monitor.ts";
import { type OwnedOperation, operationsOf, wireName } from "./operation.ts";
import { type Installed, type SetupContext, setUp } from "./plugin.ts";
import { Contributions, contributionsOf } from "./point.ts";
import { isTool, isToolProvider, type Tool, type ToolProvider } from "./tool.ts";
import type { TriggerDeclaration } from "./trigger.ts";

/** The plugins of a session together: their handlers in order, and the parts that they add. */
export interface Composition {
  readonly hooks: HookRunner;
  /** The plugins' tools, in order of installation. */
  readonly tools: readonly Owned<Tool>[];
  readonly providers: readonly Owned<ToolProvider>[];
  /** Operations by wire name (`plugin.operation`). */
  readonly operations: ReadonlyMap<string, OwnedOperation>;
  readonly contributions: Contributions;
  readonly triggers: readonly Owned<TriggerDeclaration>[];
  /** By their names in the session. */
  readonly monitors: ReadonlyMap<string, Owned<MonitorDeclaration>>;
  readonly extensions: Extensions;
  /** Which stages the turn machine can skip with these plugins. `prepared` records it. */
  readonly stages: Stages;
  /** Whether a plugin or the protocol reads the usage of the latest model call. Only then turns store it. */
  readonly readsUsage: boolean;
}

type Stages = Pick<Extract<Answer, { readonly kind: "prepared" }>, "skips" | "responds" | "compacts">;

const SLOT_HOOKS: ReadonlySet<string> = new Set<SlotName>([
  "protocolSession",
  "protocolDriver",
  "codeExecutor",
  "proseProjector",
]);
const REQUIRED: readonly HookName[] = HOOK_NAMES.filter((hook) => (HOOKS[hook] as RowData).isRequired === true);
const KNOWN: ReadonlySet<string> = new Set([
  ...HOOK_NAMES,
  "tools",
  "operations",
  "contributions",
  "triggers",
  "monitors",
  "extensions",
]);

/**
 * Composes the plugins of a session. `protocol` is the default one: it is set up only if no plugin fills a required
 * slot.
 */
export function compose(
  plugins: readonly Installed[],
  protocol: Installed | undefined,
  options: ReadonlyMap<string, unknown>,
  session: SetupContext<unknown, unknown, unknown>["session"],
  makeTool: SetupContext<unknown, unknown, unknown>["tool"],
  observed: ObserveHandler | undefined,
  overran: (error: RuntimeError) => void,
): Composition {
  const placed = new Map<HookName, { readonly bound: Bound; readonly order: Order }[]>();
  const slots = new Map<HookName, Filled>();
  const tools: Owned<Tool>[] = [];
  const providers: Owned<ToolProvider>[] = [];
  const operations = new Map<string, OwnedOperation>();
  const given: ReturnType<typeof contributionsOf>[number][] = [];
  const triggers: Owned<TriggerDeclaration>[] = [];
  const monitors = new Map<string, Owned<MonitorDeclaration>>();
  const extensions: Parameters<typeof declareExtensions>[0] = new Map();
  const add = (plugin: Installed): void => {
    const parts = setUp(plugin, options.get(plugin.id) ?? plugin.options, session, makeTool);
    for (const key of Object.keys(parts)) {
      if (!KNOWN.has(key)) throw unknownHook(plugin.id, key);
      const part = parts[key];
      if (part === undefined) continue;
      if (key === "tools")
        for (const value of toolsOf(plugin.id, part))
          if (isTool(value)) tools.push({ plugin: plugin.id, value });
          else providers.push({ plugin: plugin.id, value });
      else if (key === "operations")
        for (const owned of operationsOf(plugin.id, part)) operations.set(wireName(plugin.id, owned.name), owned);
      else if (key === "contributions") given.push(...contributionsOf(plugin.id, part));
      else if (key === "triggers") for (const each of triggersOf(plugin.id, part)) addTrigger(triggers, each);
      else if (key === "monitors") for (const each of monitorsOf(plugin.id, part)) addMonitor(monitors, each);
      else if (key === "extensions") declareExtensions(extensions, plugin.id, part);
      else if (SLOT_HOOKS.has(key)) fill(slots, key as HookName, plugin, part);
      else place(placed, key as HookName, plugin, part);
    }
  };
  for (const plugin of plugins) add(plugin);
  if (protocol !== undefined && !REQUIRED.some((hook) => slots.has(hook))) add(protocol);
  for (const hook of REQUIRED) if (!slots.has(hook)) throw new RuntimeError("hook.missing", { hook });
  const hooks = new HookRunner(sorted(placed), slots, observed, overran);
  const contributions = new Contributions(given);
  return {
    hooks,
    tools,
    providers,
    operations,
    contributions,
    triggers,
    monitors,
    extensions,
    stages: stagesOf(hooks),
    readsUsage: hooks.has.context || hooks.slot("protocolSession")?.beforeAsk !== undefined,
  };
}

function unknownHook(plugin: string, hook: string): RuntimeError {
  const known = [...KNOWN];
  const meant = nearest(hook, known);
  return new RuntimeError("hook.unknown", {
    plugin,
    hook,
    known,
    ...(meant === undefined ? {} : { nearest: meant }),
  });
}

/** Whether the session stores the state of its code, which the answer of `finalize` contains. */
const keepsCode = (hooks: HookRunner): boolean => hooks.slot("codeExecutor")?.snapshot !== undefined;

function stagesOf(hooks: HookRunner): Stages {
  const { has } = hooks;
  const skips: Skips = {
    ...(hooks.slot("protocolSession")?.beforeAsk === undefined
      ? { prepare: has.prompt && keepsCode(hooks) ? "unless-code" : true }
      : {}),
    ...(has.beforeToolCall ? {} : { gate: true }),
    ...(has.afterToolCall || has.projectResult ? {} : { settle: true }),
    ...(has.afterTurn || has.lifecycle ? {} : { finalize: keepsCode(hooks) ? "unless-code" : true }),
  };
  return { skips, ...(has.response ? { responds: true } : {}), ...(has.compact ? { compacts: true } : {}) };
}

function toolsOf(plugin: string, part: unknown): readonly (Tool | ToolProvider)[] {
  if (!Array.isArray(part) || !part.every((given) => isTool(given) || isToolProvider(given)))
    throw new RuntimeError("plugin.invalid", {
      plugin,
      problem: "its tools must be a list, each made with `tool`, `defineTool` or `defineToolProvider`",
    });
  return part;
}

const TRIGGER: Known<TriggerDeclaration> = { name: true, description: true, payload: true };

function triggersOf(plugin: string, part: unknown): readonly Owned<TriggerDeclaration>[] {
  const isTrigger = (each: unknown): each is TriggerDeclaration =>
    isObject(each) && typeof each.name === "string" && each.name !== "";
  if (!Array.isArray(part) || !part.every(isTrigger))
    throw new RuntimeError("plugin.invalid", { plugin, problem: "its triggers must be a list of { name, … }" });
  for (const each of part) requireKnown(`triggers of ${plugin}`, each, TRIGGER);
  return part.map((value) => ({ plugin, value }));
}

function addTrigger(triggers: Owned<TriggerDeclaration>[], added: Owned<TriggerDeclaration>): void {
  const before = triggers.find(({ value }) => value.name === added.value.name);
  if (before !== undefined)
    throw new RuntimeError("plugin.invalid", {
      plugin: added.plugin,
      problem: `the trigger ${added.value.name} is also declared by ${before.plugin}`,
    });
  triggers.push(added);
}

function monitorsOf(plugin: string, part: unknown): readonly Owned<MonitorDeclaration>[] {
  const isMonitor = (each: unknown): each is MonitorDeclaration =>
    isObject(each) && typeof each.id === "string" && typeof each.command === "string";
  if (!Array.isArray(part) || !part.every(isMonitor))
    throw new RuntimeError("plugin.invalid", { plugin, problem: "its monitors must be a list of { id, command, … }" });
  return part.map((value) => {
    try {
      const { isArmed, ...spec } = value;
      if (isArmed !== undefined && typeof isArmed !== "boolean")
        throw new RuntimeError("monitor.invalid", { problem: "its isArmed must be true or false" });
      return { plugin, value: { ...checkedMonitor(spec), id: value.id, ...defined({ isArmed }) } };
    } catch (error) {
      const problem = `the monitor ${value.id}: ${describeThrown(error)}`;
      throw new RuntimeError("plugin.invalid", { plugin, problem }, { cause: error });
    }
  });
}

function addMonitor(monitors: Map<string, Owned<MonitorDeclaration>>, added: Owned<MonitorDeclaration>): void {
  const id = `${added.plugin}/${added.value.id}`;
  if (monitors.has(id))
    throw new RuntimeError("plugin.invalid", { plugin: added.plugin, problem: `it declares the monitor ${id} twice` });
  monitors.set(id, added);
}

/** The shape that a slot's value must have, for plugins written without types. */
const SHAPES: { readonly [N in SlotName]: (value: { readonly [field: string]: unknown }) => boolean } = {
  protocolSession: () => true,
  protocolDriver: ({ driver, preamble }) =>
    isObject(driver) &&
    typeof preamble === "function" &&
    ["request", "onReply", "onResults", "onExec"].every((each) => typeof driver[each] === "function"),
  codeExecutor: ({ execute, ...others }) =>
    typeof execute === "function" &&
    [others.restore, others.dirty, others.snapshot, others.release].every(
      (each) => each === undefined || typeof each === "function",
    ),
  proseProjector: ({ text, stream }) =>
    typeof text === "function" && (stream === undefined || typeof stream === "function"),
};

function fill(slots: Map<HookName, Filled>, hook: HookName, owner: Installed, value: unknown): void {
  const { id: plugin } = owner;
  const isRight = isObject(value) && SHAPES[hook as SlotName](value);
  if (!isRight)
    throw new RuntimeError("plugin.invalid", { plugin, problem: `${hook} does not fit the type of the slot` });
  const before = slots.get(hook);
  if (before !== undefined) throw new RuntimeError("hook.exclusive", { hook, plugins: [before.owner.id, plugin] });
  slots.set(hook, { owner, value });
}

const HANDLER: Known<Placed<unknown> & Gate<GateName>> = {
  order: true,
  deadlineMs: true,
  atEnd: true,
  tools: true,
  run: true,
};

function place(
  placed: Map<HookName, { bound: Bound; order: Order }[]>,
  hook: HookName,
  plugin: Installed,
  part: unknown,
): void {
  const row: RowData = HOOKS[hook];
  const list = placed.get(hook) ?? [];
  for (const given of Array.isArray(part) ? part : [part]) {
    const handler = (typeof given === "function" ? { run: given } : given) as {
      run?: unknown;
      order?: Order;
      deadlineMs?: number;
      atEnd?: boolean;
      tools?: unknown;
    } | null;
    if (typeof handler?.run !== "function")
      throw new RuntimeError("plugin.invalid", { plugin: plugin.id, problem: `${hook} must be a function` });
    requireKnown(`${hook} of ${plugin.id}`, handler, HANDLER);
    if (
      handler.deadlineMs !== undefined &&
      !(typeof handler.deadlineMs === "number" && handler.deadlineMs > 0 && handler.deadlineMs <= 2_147_483_647)
    )
      throw new RuntimeError("plugin.invalid", {
        plugin: plugin.id,
        problem: `the deadlineMs of ${hook} must be a number above 0`,
      });
    if (handler.atEnd !== undefined && hook !== "stream")
      throw new RuntimeError("plugin.invalid", {
        plugin: plugin.id,
        problem: `\`atEnd\` belongs to \`stream\`, not to ${hook}`,
      });
    if (handler.order !== undefined && !ORDERS.includes(handler.order))
      throw new RuntimeError("plugin.invalid", {
        plugin: plugin.id,
        problem: `the order of ${hook} must be early, normal or late`,
      });
    list.push({
      bound: {
        plugin,
        deadlineMs: handler.deadlineMs ?? row.deadlineMs,
        run: handler.run as Bound["run"],
        ...(handler.atEnd === true ? { atEnd: true } : {}),
        ...(handler.tools === undefined ? {} : { tools: gatedTools(plugin.id, hook, handler.tools) }),
      },
      order: handler.order ?? plugin.order,
    });
  }
  if (row.family === "single" && list.length > 1) {
    throw new RuntimeError("hook.exclusive", { hook, plugins: list.map(({ bound }) => bound.plugin.id) });
  }
  placed.set(hook, list);
}

function gatedTools(plugin: string, hook: HookName, given: unknown): NonNullable<Bound["tools"]> {
  const wrong = (problem: string): never => {
    throw new RuntimeError("plugin.invalid", { plugin, problem });
  };
  if (HOOKS[hook].family !== "gate") return wrong(`${hook} is not for tools, so it takes no \`tools\``);
  const isRef = (each: unknown): each is Tool | string => isTool(each) || isToolName(each);
  if (!Array.isArray(given) || given.length === 0 || !given.every(isRef))
    return wrong(`the \`tools\` of ${hook} must be a list of tools or their names`);
  return new Map(given.map((each) => (typeof each === "string" ? [each, undefined] : [each.name, each])));
}

const EMPTY: ReadonlyMap<HookName, readonly Bound[]> = new Map();
const sorted = (
  placed: ReadonlyMap<HookName, readonly { bound: Bound; order: Order }[]>,
): ReadonlyMap<HookName, readonly Bound[]> =>
  placed.size === 0
    ? EMPTY
    : new Map(
        [...placed].map(([hook, list]) => [
          hook,
          ORDERS.flatMap((order) => list.filter((each) => each.order === order).map((each) => each.bound)),
        ]),
      );
