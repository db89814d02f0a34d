// The types of handlers, which follow from the table in `hooks.ts`: events, answers and what a plugin may install.
import type { Awaitable } from "../model/awaitable.ts";
import type { Json } from "../model/json.ts";
import type { Any } from "../model/schema.ts";
import type { StateCell, StateView, ToolCall } from "../model/tool.ts";
import type { CodeExecutor } from "./code.ts";
import type { DirectiveKind, DirectiveOf } from "./directive.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { HookName, HookTypes, Rows } from "./hooks.ts";
import type { Services } from "./services.ts";
import type { Tool } from "./tool.ts";

export type SeesOf<N extends HookName> = Rows[N] extends HookTypes<infer Sees, unknown> ? Sees : never;
export type AnswerOf<N extends HookName> = Rows[N] extends {
  readonly directives: readonly (infer K extends DirectiveKind)[];
}
  ? DirectiveOf<K>
  : Rows[N] extends HookTypes<unknown, infer Answer>
    ? Answer
    : never;

export type Took = Pick<SeesOf<"afterToolCall">, "durationMs" | "asked">;

/** Slots hold a value; every other hook is a handler. */
export type SlotName = { [N in HookName]: [SeesOf<N>] extends [never] ? N : never }[HookName];
export type HandledName = Exclude<HookName, SlotName>;

type StateFor<N extends HookName, S> = [S] extends [undefined]
  ? object
  : { readonly state: Rows[N]["state"] extends "write" ? StateCell<S> : StateView<S> };

type Around<N extends HandledName, S> = HandlerContext & Pick<Services, Rows[N]["services"][number]> & StateFor<N, S>;
export type HookEvent<N extends HandledName, S = undefined> = SeesOf<N> & Around<N, S>;

type Many<A> = A | readonly A[];
type Maybe<A, Sync> = Sync extends true ? A | void : Awaitable<A | void | undefined>;
type SyncOf<N extends HookName> = Rows[N] extends { readonly isSync: true } ? true : false;
export type HookAnswer<N extends HandledName> = Rows[N]["family"] extends "observe"
  ? Awaitable<void>
  : Rows[N]["family"] extends "collect" | "gate"
    ? Maybe<Many<AnswerOf<N>>, SyncOf<N>>
    : Rows[N]["family"] extends "single"
      ? Awaitable<AnswerOf<N>>
      : Maybe<AnswerOf<N>, SyncOf<N>>;

/** A handler that returns nothing has no opinion, in every family except `single`. */
export type Handler<N extends HandledName, S = undefined> = (event: HookEvent<N, S>) => HookAnswer<N>;

export type Order = "early" | "normal" | "late";
export interface Placed<H> {
  /** Overrides the plugin's own order. */
  readonly order?: Order | undefined;
  readonly deadlineMs?: number | undefined;
  /**
   * For `stream`: also called when the text has ended, with `chunk.isEnd`, to return text that the handler held back.
   */
  readonly atEnd?: true | undefined;
  readonly run: H;
}
export type Handlers<H> = H | Placed<H> | readonly (H | Placed<H>)[];

/** The hooks before and after a tool call. Their handlers can be limited to some tools. */
export type GateName = "beforeToolCall" | "afterToolCall";
/** A tool, or the name of one. */
export type ToolRef = Tool<Any> | string;
/** A call of one of these tools. `call.name` is the tool. */
type CallOf<T> =
  T extends Tool<Any, infer Name, infer In>
    ? Omit<ToolCall, "name" | "input"> & {
        readonly name: Name;
        readonly input: unknown extends In ? Json : In;
      }
    : Omit<ToolCall, "name"> & { readonly name: T & string };
type GateEvent<N extends GateName, S, T> = Omit<SeesOf<N>, "call"> & { readonly call: CallOf<T> } & Around<N, S>;

/** A handler of a gate, with its order and its tools. */
export interface Gate<N extends GateName, S = undefined, T extends ToolRef = ToolRef> {
  /** Overrides the plugin's own order. */
  readonly order?: Order | undefined;
  readonly deadlineMs?: number | undefined;
  /**
   * Calls the handler only for these tools. A tool matches by its name, from any source, also when it is granted under
   * another name. The input of the call has passed the tool's schema. A call with an invalid input is settled before,
   * and later handlers do not see it. `call.input` is what the model sent, so its type is the input of the schema,
   * without defaults and transforms. Default: all calls, also calls with an invalid input.
   */
  readonly tools?: readonly T[] | undefined;
  // A method, because handlers for different tools can be in one list.
  run(event: GateEvent<N, S, T>): HookAnswer<N>;
}
type Gates<N extends GateName, S, T extends ToolRef> =
  | Handler<N, S>
  | Gate<N, S, T>
  | readonly (Handler<N, S> | Gate<N, S>)[];
/** The gates of a plugin, typed by their tools. */
export interface Gated<S, Before extends ToolRef, After extends ToolRef> {
  readonly beforeToolCall?: Gates<"beforeToolCall", S, Before> | undefined;
  readonly afterToolCall?: Gates<"afterToolCall", S, After> | undefined;
}

/** All hooks but the gates. */
export type Ungated<S> = {
  readonly [N in Exclude<HandledName, GateName>]?: Rows[N]["family"] extends "single"
    ? Handler<N, S> | Placed<Handler<N, S>> | undefined
    : Handlers<Handler<N, S>> | undefined;
} & { readonly [N in SlotName]?: (N extends "codeExecutor" ? CodeExecutor<S> : AnswerOf<N>) | undefined };
export type Hooks<S = undefined> = Ungated<S> & Gated<S, ToolRef, ToolRef>;
