// Job: a plugin: its definition and options, its `open` once per runtime, and its `setup` once per opened session.
// Not its job: putting the parts of several plugins together (`compose.ts`) and calling them (`hook-runner.ts`).

import { type Awaitable, ignoreRejection } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionId } from "../model/ids.ts";
import { describeThrown, frozen, idText, isObject, type Json, toJson } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { type Any, check, type InputOf, type OutputOf, type Schema, type ToolSchema } from "../model/schema.ts";
import type { ExtensionDeclaration } from "./extension.ts";
import type { Gate, Gated, GateName, Hooks, Order, ToolRef, Ungated } from "./handlers.ts";
import type { MonitorDeclaration } from "./monitor.ts";
import { isPluginId, makeOperation, type Operation, type OperationMaker, type SignaturesOf } from "./operation.ts";
import type { Contribution } from "./point.ts";
import type { Permissions, PluginOptions } from "./session-requests.ts";
import type { Tool, ToolProvider, ToolSpec } from "./tool.ts";
import type { TriggerDeclaration } from "./trigger.ts";

type StateOf<S> = S extends Schema ? OutputOf<S> : undefined;
type OptionsOf<O> = O extends Schema ? OutputOf<O> : undefined;

export interface SetupContext<Options, Shared, S> {
  readonly options: Options;
  /** The value that `open` returned, shared by all sessions of the runtime. */
  readonly shared: Shared;
  readonly session: {
    readonly id: SessionId;
    readonly parentId?: SessionId;
    readonly isRoot: boolean;
    /** Restrictions of the session; left out when there are none. */
    readonly permissions?: Permissions;
  };
  /** Makes a tool that gets the plugin's own state. */
  tool<I extends ToolSchema, O, Writes extends true | undefined = undefined, const Name extends string = string>(
    spec: ToolSpec<I, O, S, Writes> & { readonly name: Name },
  ): Tool<S, Name, InputOf<I>>;
  /**
   * Returns the handler unchanged. Use it for a handler of some tools, because otherwise TypeScript cannot infer its
   * types: `beforeToolCall: gate("beforeToolCall", { tools: [pay], run({ call }) { … } })`.
   */
  gate<N extends GateName, T extends ToolRef>(hook: N, handler: Gate<N, S, T>): Gate<N, S, T>;
  readonly query: OperationMaker<"query", S>;
  readonly command: OperationMaker<"command", S>;
  readonly task: OperationMaker<"task", S>;
}

/** The hooks, tools and operations that a plugin adds to a session. */
export type PluginParts<S = undefined> = Hooks<S> & OtherParts<S>;
interface OtherParts<S> {
  readonly tools?: readonly (Tool<S> | Tool | ToolProvider)[] | undefined;
  readonly operations?: { readonly [name: string]: Operation<Any, Any, Any, S> } | undefined;
  readonly contributions?: readonly Contribution[] | undefined;
  readonly triggers?: readonly TriggerDeclaration[] | undefined;
  readonly monitors?: readonly MonitorDeclaration[] | undefined;
  /** The typed inputs of this plugin, for a turn or a session. Other plugins can read them too. */
  readonly extensions?: readonly ExtensionDeclaration[] | undefined;
}
/** The same with untyped gates, because `setup` types them by their tools (`Before` and `After`). */
type SomeParts<S> = Ungated<S> & { readonly [N in GateName]?: unknown } & OtherParts<S>;

/** Makes an unknown key a compile error that contains the key. */
type Others<Parts> = Exclude<keyof Parts, keyof PluginParts>;
type NoOthers<Parts> = [Others<Parts>] extends [never]
  ? unknown
  : { readonly [K in Others<Parts>]: `\`${K & string}\` is not a hook` };

/** Methods, so that a plugin can declare narrower parameters, for example the state of an old version. */
export interface PluginMethods<O, Shared> {
  migrate(state: Json, from: string): Json;
  open(context: { readonly options: OptionsOf<O>; readonly signal: AbortSignal }): Awaitable<Shared>;
  close(shared: Shared): Awaitable<void>;
}

export interface PluginSpec<
  Parts,
  O extends Schema | undefined,
  S extends Schema | undefined,
  Shared,
  Before extends ToolRef = ToolRef,
  After extends ToolRef = ToolRef,
> {
  readonly id: string;
  /** Raise it when stored state must be migrated. Default: `"1"`. */
  readonly version?: string | undefined;
  /**
   * Runs the plugin's handlers before or after the handlers of other plugins. Default: `normal`. Plugins of the same
   * order run in the order of installation.
   */
  readonly order?: Order | undefined;
  /** The schema of the plugin's options. */
  readonly options?: O | undefined;
  /**
   * The schema of the state that the plugin keeps in each session. It must accept {}, which is the first state, and its
   * values must be JSON.
   */
  readonly state?: S | undefined;
  /** Converts state of another version of the plugin to this version. */
  readonly migrate?: PluginMethods<O, Shared>["migrate"] | undefined;
  /** Runs once per runtime, for connections and caches. */
  readonly open?: PluginMethods<O, Shared>["open"] | undefined;
  /** Releases the value of `open` when the runtime closes. */
  readonly close?: PluginMethods<O, Shared>["close"] | undefined;
  /**
   * Runs at every opening of a session and returns the plugin's hooks, tools and operations. Must be cheap and
   * synchronous, without I/O.
   */
  setup(
    context: SetupContext<OptionsOf<O>, Shared, StateOf<S>>,
  ): Parts & NoOthers<Parts> & Gated<StateOf<S>, Before, After>;
}

const definition: unique symbol = Symbol.for("bowline.plugin");

/** A plugin, made by `definePlugin`. Install it with `createRuntime({ plugins: [plugin] })`. */
export interface Plugin<Ops = unknown> {
  readonly id: string;
  readonly version: string;
  /** Types only: the inputs and outputs of its operations. */
  readonly "~operations"?: Ops;
  readonly [definition]: Definition;
}
/** Makes the options optional if none of them is required. */
type Given<In> = [In] extends [void] ? [] : Record<never, never> extends In ? [options?: In] : [options: In];
/**
 * A plugin that can be installed without options, or called with options: `plugins: [audit, budget({ tokens: 1_000
 * })]`.
 */
export interface PluginFactory<In, Ops = unknown> extends Plugin<Ops> {
  (...options: Given<In>): Plugin<Ops>;
  /**
   * Options for one session only: `runtime.session(id, { plugins: [frugal.options({ … })] })`. They are stored with the
   * session, so they must be JSON and hold no secrets.
   */
  options(options: In): PluginOptions;
}

// Inside the kernel a plugin's type parameters are erased: its options were checked when the plugin was made, its parts
// are checked in `compose`.
type AnySpec = PluginSpec<Any, Any, Any, Any>;
interface Definition {
  readonly spec: AnySpec;
  /** The parsed options; undefined until some were given. */
  readonly options: unknown;
}

/** Makes a plugin from its id, schemas and `setup`. Throws `plugin.invalid` when the definition cannot be used. */
export function definePlugin<
  Parts extends SomeParts<StateOf<S>>,
  O extends Schema | undefined = undefined,
  S extends Schema | undefined = undefined,
  Shared = undefined,
  Before extends ToolRef = ToolRef,
  After extends ToolRef = ToolRef,
>(
  spec: PluginSpec<Parts, O, S, Shared, Before, After>,
): PluginFactory<O extends Schema ? InputOf<O> : void, SignaturesOf<Parts>> {
  if (!isPluginId(spec.id)) {
    throw new RuntimeError("plugin.invalid", {
      plugin: idText(spec.id),
      problem: "its id must be 1 to 128 of letters, digits and . _ - / @",
    });
  }
  if (typeof spec.setup !== "function")
    throw new RuntimeError("plugin.invalid", { plugin: spec.id, problem: "it has no setup function" });
  if (spec.order !== undefined && !["early", "normal", "late"].includes(spec.order))
    throw new RuntimeError("plugin.invalid", { plugin: spec.id, problem: "its order must be early, normal or late" });
  requireKnown(`plugin ${spec.id}`, spec, SPEC);
  const version = spec.version ?? "1";
  const install = (given: unknown): Plugin => ({
    id: spec.id,
    version,
    [definition]: { spec, options: parseOptions(spec, given) },
  });
  const bare: Definition = { spec, options: undefined };
  Object.defineProperties(install, {
    id: { value: spec.id, enumerable: true },
    version: { value: version, enumerable: true },
    [definition]: { value: bare },
    options: {
      value: (given: unknown): PluginOptions => ({ plugin: spec.id, options: sessionOptions(spec, given).json }),
    },
  });
  return install as unknown as PluginFactory<O extends Schema ? InputOf<O> : void, SignaturesOf<Parts>>;
}

const SPEC: Known<AnySpec> = {
  id: true,
  version: true,
  order: true,
  options: true,
  state: true,
  migrate: true,
  open: true,
  close: true,
  setup: true,
};

function parseOptions(spec: AnySpec, given: unknown, of?: "stored"): unknown {
  const wrong = (problem: string): RuntimeError =>
    new RuntimeError("plugin.options", { plugin: spec.id, problem, ...(of === undefined ? {} : { of }) });
  if (spec.options === undefined) {
    if (given !== undefined) throw wrong("it takes none");
    return undefined;
  }
  const result = check(spec.options as Schema, given ?? {}, `the options of plugin ${spec.id}`);
  if (!result.ok) throw wrong(result.problem);
  return result.value;
}

/** Options of one session: the JSON for the store, and the value for `setup`. */
export interface CheckedOptions {
  /** Undefined for a plugin that takes no options. */
  readonly json: Json | undefined;
  readonly parsed: unknown;
}

/** Parses the JSON and not the original value, so that `setup` gets the same value now and after a restart. */
function sessionOptions(spec: AnySpec, given: unknown, of?: "stored"): CheckedOptions {
  const found = toJson(given ?? {});
  if ("problem" in found)
    throw new RuntimeError("plugin.options", {
      plugin: spec.id,
      problem: `${found.path}: ${found.problem}`,
      of: "session",
    });
  const json = given === undefined && spec.options === undefined ? undefined : frozen(found.json);
  return { json, parsed: parseOptions(spec, json, of) };
}

/** Checks options for one session, given by a caller or `stored` before. Throws `plugin.options`. */
export const optionsFor = ({ spec }: Installed, given: unknown, of?: "stored"): CheckedOptions =>
  sessionOptions(spec, given, of);

/** A plugin whose `open` has run: shared by all sessions of a runtime. */
export interface Installed {
  readonly id: string;
  readonly version: string;
  readonly order: Order;
  readonly spec: AnySpec;
  readonly options: unknown;
  readonly shared: unknown;
}

/**
 * Checks the list, parses default options and opens the plugins in order. If one fails, those already open are closed.
 */
export async function installPlugins(plugins: readonly Plugin[], signal: AbortSignal): Promise<readonly Installed[]> {
  const installed: Installed[] = [];
  const ids = new Set<string>();
  for (const plugin of plugins) {
    const made = (plugin as Partial<Plugin> | undefined)?.[definition];
    if (made === undefined)
      throw new RuntimeError("plugin.invalid", {
        plugin: String((plugin as { id?: unknown } | undefined)?.id ?? plugin),
        problem: "it was not made with definePlugin",
      });
    if (ids.has(plugin.id)) throw new RuntimeError("plugin.duplicate", { plugin: plugin.id });
    ids.add(plugin.id);
    if (made.options === undefined && made.spec.options !== undefined) parseOptions(made.spec, undefined);
  }
  for (const plugin of plugins) {
    const { spec, options: given } = plugin[definition];
    const options = given === undefined && spec.options !== undefined ? parseOptions(spec, undefined) : given;
    try {
      const shared = await spec.open?.({ options, signal });
      installed.push({ id: plugin.id, version: plugin.version, order: spec.order ?? "normal", spec, options, shared });
    } catch (error) {
      await closePlugins(installed, () => {});
      throw new RuntimeError("plugin.open", { plugin: plugin.id, problem: describeThrown(error) }, { cause: error });
    }
  }
  return installed;
}

/** Closes the plugins in reverse order. If one fails, the others are still closed. */
export async function closePlugins(
  installed: readonly Installed[],
  failed: (plugin: string, error: unknown) => void,
): Promise<void> {
  for (const plugin of installed.toReversed()) {
    try {
      await inTime(plugin.id, plugin.spec.close?.(plugin.shared));
    } catch (error) {
      failed(plugin.id, error);
    }
  }
}

const CLOSE_MS = 5_000;

function inTime(plugin: string, closing: Awaitable<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RuntimeError("plugin.close", { plugin, ms: CLOSE_MS })), CLOSE_MS);
    Promise.resolve(closing)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

const MAKERS = {
  query: makeOperation("query"),
  command: makeOperation("command"),
  task: makeOperation("task"),
  gate: <G>(_: GateName, handler: G): G => handler,
};

/** Runs a plugin's `setup` for one session. What it returns is checked by `compose`. */
export function setUp(
  plugin: Installed,
  options: unknown,
  session: SetupContext<unknown, unknown, unknown>["session"],
  tool: SetupContext<unknown, unknown, unknown>["tool"],
): { readonly [key: string]: unknown } {
  let parts: unknown;
  try {
    parts = plugin.spec.setup({ options, shared: plugin.shared, session, tool, ...MAKERS });
  } catch (error) {
    throw new RuntimeError("plugin.setup", { plugin: plugin.id, problem: describeThrown(error) }, { cause: error });
  }
  if (!isObject(parts))
    throw new RuntimeError("plugin.setup", { plugin: plugin.id, problem: "it did not return an object of hooks" });
  if (typeof parts.then === "function") ignoreRejection(parts);
  if (typeof parts.then === "function")
    throw new RuntimeError("plugin.setup", { plugin: plugin.id, problem: "it returned a promise; do I/O in `open`" });
  return parts;
}
