import { Any, InputOf, OutputOf, Schema, ToolSchema } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Contribution } from "./point.js";
import { ExtensionDeclaration } from "./extension.js";
import { Gate, GateName, Gated, Hooks, Order, ToolRef, Ungated } from "./handlers.js";
import { Json } from "../model/json.js";
import { MonitorDeclaration } from "./monitor.js";
import { Operation, OperationMaker, SignaturesOf } from "./operation.js";
import { Permissions, PluginOptions } from "./session-requests.js";
import { SessionId } from "../model/ids.js";
import { Tool, ToolProvider, ToolSpec } from "./tool.js";
import { TriggerDeclaration } from "./trigger.js";
type StateOf<S> = S extends Schema ? OutputOf<S> : undefined;
type OptionsOf<O> = O extends Schema ? OutputOf<O> : undefined;
interface SetupContext<Options, Shared, S> {
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
  tool<I extends ToolSchema, O, Writes extends true | undefined = undefined, const Name extends string = string>(spec: ToolSpec<I, O, S, Writes> & {
    readonly name: Name;
  }): Tool<S, Name, InputOf<I>>;
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
type PluginParts<S = undefined> = Hooks<S> & OtherParts<S>;
interface OtherParts<S> {
  readonly tools?: readonly (Tool<S> | Tool | ToolProvider)[] | undefined;
  readonly operations?: {
    readonly [name: string]: Operation<Any, Any, Any, S>;
  } | undefined;
  readonly contributions?: readonly Contribution[] | undefined;
  readonly triggers?: readonly TriggerDeclaration[] | undefined;
  readonly monitors?: readonly MonitorDeclaration[] | undefined;
  /** The typed inputs of this plugin, for a turn or a session. Other plugins can read them too. */
  readonly extensions?: readonly ExtensionDeclaration[] | undefined;
}
/** The same with untyped gates, because `setup` types them by their tools (`Before` and `After`). */
type SomeParts<S> = Ungated<S> & { readonly [N in GateName]?: unknown; } & OtherParts<S>;
/** Makes an unknown key a compile error that contains the key. */
type Others<Parts> = Exclude<keyof Parts, keyof PluginParts>;
type NoOthers<Parts> = [Others<Parts>] extends [never] ? unknown : { readonly [K in Others<Parts>]: `\`${K & string}\` is not a hook`; };
/** Methods, so that a plugin can declare narrower parameters, for example the state of an old version. */
interface PluginMethods<O, Shared> {
  migrate(state: Json, from: string): Json;
  open(context: {
    readonly options: OptionsOf<O>;
    readonly signal: AbortSignal;
  }): Awaitable<Shared>;
  close(shared: Shared): Awaitable<void>;
}
interface PluginSpec<Parts, O extends Schema | undefined, S extends Schema | undefined, Shared, Before extends ToolRef = ToolRef, After extends ToolRef = ToolRef> {
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
  setup(context: SetupContext<OptionsOf<O>, Shared, StateOf<S>>): Parts & NoOthers<Parts> & Gated<StateOf<S>, Before, After>;
}
declare const definition: unique symbol;
/** A plugin, made by `definePlugin`. Install it with `createRuntime({ plugins: [plugin] })`. */
interface Plugin<Ops = unknown> {
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
interface PluginFactory<In, Ops = unknown> extends Plugin<Ops> {
  (...options: Given<In>): Plugin<Ops>;
  /**
   * Options for one session only: `runtime.session(id, { plugins: [frugal.options({ … })] })`. They are stored with the
   * session, so they must be JSON and hold no secrets.
   */
  options(options: In): PluginOptions;
}
type AnySpec = PluginSpec<Any, Any, Any, Any>;
interface Definition {
  readonly spec: AnySpec;
  /** The parsed options; undefined until some were given. */
  readonly options: unknown;
}
/** Makes a plugin from its id, schemas and `setup`. Throws `plugin.invalid` when the definition cannot be used. */
declare function definePlugin<Parts extends SomeParts<StateOf<S>>, O extends Schema | undefined = undefined, S extends Schema | undefined = undefined, Shared = undefined, Before extends ToolRef = ToolRef, After extends ToolRef = ToolRef>(spec: PluginSpec<Parts, O, S, Shared, Before, After>): PluginFactory<O extends Schema ? InputOf<O> : void, SignaturesOf<Parts>>;
export { Plugin, PluginFactory, definePlugin };
