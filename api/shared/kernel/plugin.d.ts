import { Any, InputOf, JsonSchema, OutputOf, Schema, ToolSchema } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Contribution } from "./point.js";
import { Hooks, Order } from "./hooks.js";
import { Json } from "../model/json.js";
import { Operation, OperationMaker, SignaturesOf } from "./operation.js";
import { SessionId } from "../model/ids.js";
import { Tool, ToolProvider, ToolSpec } from "./tool.js";
type StateOf<S> = S extends Schema ? OutputOf<S> : undefined;
type OptionsOf<O> = O extends Schema ? OutputOf<O> : undefined;
interface SetupContext<Options, Shared, S> {
  readonly options: Options;
  /** What `open` returned. */
  readonly shared: Shared;
  readonly session: {
    readonly id: SessionId;
    readonly parentId?: SessionId;
    readonly isRoot: boolean;
  };
  /** Makers that know the plugin's state. */
  tool<I extends ToolSchema, O, Writes extends true | undefined = undefined>(spec: ToolSpec<I, O, S, Writes>): Tool<S>;
  readonly query: OperationMaker<"query", S>;
  readonly command: OperationMaker<"command", S>;
  readonly task: OperationMaker<"task", S>;
}
/** An event that triggers can be subscribed to. */
interface TriggerDeclaration {
  /** `resource.event`. */
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of what comes with it. */
  readonly payload?: JsonSchema;
}
/** What a plugin adds to a session. */
type PluginParts<S = undefined> = Hooks<S> & {
  readonly tools?: readonly (Tool<S> | Tool | ToolProvider)[];
  readonly operations?: {
    readonly [name: string]: Operation<Any, Any, Any, S>;
  };
  readonly contributions?: readonly Contribution[];
  readonly triggers?: readonly TriggerDeclaration[];
};
/** A key that is no hook does not compile, and the compiler says which. */
type Others<Parts> = Exclude<keyof Parts, keyof PluginParts>;
type NoOthers<Parts> = [Others<Parts>] extends [never] ? unknown : { readonly [K in Others<Parts>]: `\`${K & string}\` is not a hook`; };
interface PluginSpec<Parts, O extends Schema | undefined, S extends Schema | undefined, Shared> {
  readonly id: string;
  readonly version?: string;
  /** Then the order of installation; there are no numbers to outbid. */
  readonly order?: Order;
  readonly options?: O;
  /** Must accept {}: that is the first state. The state must be JSON. */
  readonly state?: S;
  migrate?(state: Json, from: string): Json;
  /** Once per runtime: connections, caches. */
  open?(context: {
    readonly options: OptionsOf<O>;
    readonly signal: AbortSignal;
  }): Awaitable<Shared>;
  close?(shared: Shared): Awaitable<void>;
  /** At every open of a session: cheap, synchronous, no I/O. */
  setup(context: SetupContext<OptionsOf<O>, Shared, StateOf<S>>): Parts & NoOthers<Parts>;
}
declare const definition: unique symbol;
/** Installed with `createRuntime({ plugins })`. */
interface Plugin<Ops = unknown> {
  readonly id: string;
  readonly version: string;
  /** Types only: what its operations take and give. */
  readonly "~operations"?: Ops;
  readonly [definition]: Definition;
}
/** May be left out where nothing in them is needed. */
type Given<In> = [In] extends [void] ? [] : Record<never, never> extends In ? [options?: In] : [options: In];
interface PluginFactory<In, Ops = unknown> extends Plugin<Ops> {
  (...options: Given<In>): Plugin<Ops>;
  /** The same options for one session: `runtime.session(id, { plugins: [frugal.options({ … })] })`. */
  options(options: In): PluginOptions;
}
/** Options of one plugin for one session; they take the place of those it was installed with. */
interface PluginOptions {
  readonly plugin: string;
  readonly options: unknown;
}
type AnySpec = PluginSpec<Any, Any, Any, Any>;
interface Definition {
  readonly spec: AnySpec;
  /** Undefined until given; then parsed. */
  readonly options: unknown;
}
declare function definePlugin<Parts extends PluginParts<StateOf<S>>, O extends Schema | undefined = undefined, S extends Schema | undefined = undefined, Shared = undefined>(spec: PluginSpec<Parts, O, S, Shared>): PluginFactory<O extends Schema ? InputOf<O> : void, SignaturesOf<Parts>>;
export { Plugin, PluginFactory, PluginOptions, TriggerDeclaration, definePlugin };
