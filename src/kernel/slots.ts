import type { Awaitable } from "../model/awaitable.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Addition } from "../model/node.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelRequest, ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { Usage } from "../model/usage.ts";
import type { ProtocolDriver } from "../turn/driver.ts";
import type { Point } from "./point.ts";
import type { Services } from "./services.ts";
import type { SessionReading } from "./session-requests.ts";
import type { TriggerDeclaration } from "./trigger.ts";

/** The session for which the protocol is called. */
export interface ProtocolPlace {
  readonly sessionId: SessionId;
  readonly isRoot: boolean;
}

/** The durable options of a protocol in one session, as JSON. The driver gets them as `view.options`. */
export interface ProtocolOptions {
  get(): Json | undefined;
  /** Sets them for the active frame and all later frames. They apply from the next turn on. */
  set(value: Json): void;
  /** Sets them for every frame, also for earlier frames that a fork can return to. */
  setAll(value: Json): void;
}

/** The argument of `beforeAsk`. */
export interface BeforeAsk
  extends ProtocolPlace,
    Pick<Services, "session" | "membership" | "graph" | "jobs" | "triggers" | "complete"> {
  readonly turnId: TurnId;
  readonly round: number;
  /** The next request, before `request` hooks. Changes by `membership` still affect this request. */
  readonly request: ModelRequest;
  readonly state: SessionReading;
  /** The usage of the latest model call, in any process; left out if that call was in an earlier frame. */
  readonly latestUsage?: Usage;
  readonly signal: AbortSignal;
}

/** A new frame in which the turn continues. */
export interface FrameSwitch {
  readonly task: string;
  readonly seed?: Json | undefined;
  readonly name?: string | undefined;
}

/** The session half of a protocol. Everything is optional. */
export interface ProtocolSession {
  /** Called when a session is opened for the first time. */
  initialize?(context: ProtocolPlace): Awaitable<void>;
  /** Called when an existing session or a new fork is opened, with the content of the session. */
  restore?(context: ProtocolPlace & { readonly state: SessionReading }): Awaitable<void>;
  /** Called at every opening, after `initialize` or `restore`, with the options of the plugins in this session. */
  configure?(
    context: ProtocolPlace & {
      readonly options: ProtocolOptions;
      readonly plugins: { readonly [plugin: string]: Json };
      readonly isNew: boolean;
      readonly isFork: boolean;
    },
  ): Awaitable<void>;
  /** Called when nodes were appended between turns while the session is open in this process. */
  appended?(context: ProtocolPlace & { readonly nodes: readonly Addition[] }): Awaitable<void>;
  /** Called before each model call. If it returns a frame, the turn continues in that new frame instead. */
  beforeAsk?(context: BeforeAsk): Awaitable<FrameSwitch | undefined | void>;
  /** Receives an extension for the session between turns, from `session.extend(value)`. Without it `extend` throws. */
  extend?(
    context: ProtocolPlace & {
      readonly extension: { readonly id: string; readonly value: Json };
      readonly options: ProtocolOptions;
    },
  ): Awaitable<void>;
}

/** The argument of `preamble`. */
export interface PreambleInput {
  /** The tools that the model may call. */
  readonly tools: readonly ToolDeclaration[];
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** The events that plugins declare. */
  readonly triggers: readonly TriggerDeclaration[];
  /**
   * The prompt parts of the runtime, the session, the turn and `context` hooks. Parts of `prompt` hooks are not
   * included, because these hooks run after the preamble.
   */
  readonly prompt: readonly PromptPart[];
}

/** How the model sees the tools: declarations and prompt parts. */
export interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}

/** The part of a protocol that reads the model's replies. The value of the slot `protocolDriver`. */
export interface ProtocolDriverSlot {
  /** Pure: the same replies give the same decisions in every run. */
  readonly driver: ProtocolDriver;
  /**
   * Pure: the runtime reuses its result in every turn and session with the same tools, while the fields of `input` that
   * it read stay the same.
   */
  preamble(input: PreambleInput): Preamble;
}

/**
 * Turns the text of a model into the text for a person: in previews, and in `shown` of the stored text. It must not
 * keep state between two texts.
 */
export interface ProseProjector {
  /** The visible part of a whole text. */
  text(raw: string): string;
  /**
   * The same for a text that arrives in pieces. Each call returns the text that can be shown now. All pieces together
   * must equal `text`. Without `stream`, a reply is shown only when it is complete.
   */
  stream?(): ProseStream;
}
export interface ProseStream {
  push(delta: string): string;
  /** The text has ended: returns the text that was held back. */
  end(): string;
  /**
   * Set it when the reply is complete before the model stops: how much of the last piece belongs to the reply. The
   * runtime then ends the model's stream and drops the rest.
   */
  readonly keeps?: number | undefined;
}
