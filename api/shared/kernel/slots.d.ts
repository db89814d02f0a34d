import { Addition } from "../model/node.js";
import { Any } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Json } from "../model/json.js";
import { ModelRequest, ToolDeclaration } from "../model/request.js";
import { Point } from "./point.js";
import { PromptPart } from "../model/prompt.js";
import { ProtocolDriver } from "../turn/driver.js";
import { Services, SessionReading } from "./services.js";
import { SessionId, TurnId } from "../model/ids.js";
import { TriggerDeclaration } from "./trigger.js";
import { Usage } from "../model/usage.js";
/** The session that a protocol is told of. */
interface ProtocolPlace {
  readonly sessionId: SessionId;
  readonly isRoot: boolean;
}
/** The durable options of a protocol in one session: JSON, which its driver is given as `view.options`. */
interface ProtocolOptions {
  get(): Json | undefined;
  /** Sets them for the frame that is active and for frames that begin later. Counts from the next turn on. */
  set(value: Json): void;
  /** Sets them for every frame, also for those that a fork goes back to. */
  setAll(value: Json): void;
}
/** What `beforeAsk` is given. */
interface BeforeAsk extends ProtocolPlace, Pick<Services, "session" | "graph" | "jobs" | "triggers" | "complete"> {
  readonly turnId: TurnId;
  readonly round: number;
  /** The request that would be sent, before `request` hooks. */
  readonly request: ModelRequest;
  readonly state: SessionReading;
  /** What the latest model call used, if this process has made one in the active frame. */
  readonly latestUsage?: Usage;
  readonly signal: AbortSignal;
}
/** A fresh frame that the turn goes on in. */
interface FrameSwitch {
  readonly task: string;
  readonly seed?: Json | undefined;
  readonly name?: string | undefined;
}
/** The session half of a protocol. Everything is optional. */
interface ProtocolSession {
  /** Called when a session is opened for the first time. */
  initialize?(context: ProtocolPlace): Awaitable<void>;
  /** Called when a session is opened again, or was made as a fork, with what it holds. */
  restore?(context: ProtocolPlace & {
    readonly state: SessionReading;
  }): Awaitable<void>;
  /** Called at every opening, after the above, with the options that plugins have in this session. */
  configure?(context: ProtocolPlace & {
    readonly options: ProtocolOptions;
    readonly plugins: {
      readonly [plugin: string]: Json;
    };
    readonly isNew: boolean;
    readonly isFork: boolean;
  }): Awaitable<void>;
  /** Called when nodes were appended between turns while the session is open here. */
  appended?(context: ProtocolPlace & {
    readonly nodes: readonly Addition[];
  }): Awaitable<void>;
  /** Called before each model call. A result makes the turn go on in a fresh frame instead. */
  beforeAsk?(context: BeforeAsk): Awaitable<FrameSwitch | undefined | void>;
  /** Takes an extension for the session, between turns: `session.extend(value)`. Without it there are none. */
  extend?(context: ProtocolPlace & {
    readonly extension: {
      readonly id: string;
      readonly value: Json;
    };
    readonly options: ProtocolOptions;
  }): Awaitable<void>;
}
/** What a protocol makes its preamble from. */
interface PreambleInput {
  /** The tools that the model may call. */
  readonly tools: readonly ToolDeclaration[];
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** The events that plugins declare. */
  readonly triggers: readonly TriggerDeclaration[];
  /**
   * The prompt parts of the runtime, the session, the turn and `context` hooks. Those of `prompt` hooks are not among
   * them: they are asked for when the tools are known.
   */
  readonly prompt: readonly PromptPart[];
}
/** What a protocol tells the model of the tools: declarations and prompt parts. */
interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}
/** The machine's half of a protocol: how the model's replies are read. The value of the slot `protocolDriver`. */
interface ProtocolDriverSlot {
  /** Pure: the same replies give the same decisions in every run. */
  readonly driver: ProtocolDriver;
  /**
   * Pure: what it answered is used again, in every turn and session with the same tools, as long as what it looked at
   * in `input` is the same.
   */
  preamble(input: PreambleInput): Preamble;
}
/**
 * Turns what a model says into what a person sees: previews, and `shown` of the text that is kept. Must not keep anything
 * between two texts.
 */
interface ProseProjector {
  /** What is to be seen of a whole text. */
  text(raw: string): string;
  /**
   * The same for a text that comes in pieces: what may be shown of it so far, and no more than that. All pieces together
   * must give the same as `text`. Without it nothing is shown of a reply until it is whole.
   */
  stream?(): ProseStream;
}
interface ProseStream {
  push(delta: string): string;
  /** Nothing more comes: what was held back. */
  end(): string;
  /**
   * Set when the reply is over, whatever the model goes on to say: how much of the last piece belongs to it. The model's
   * stream is ended then, and what is left over is not kept.
   */
  readonly keeps?: number | undefined;
}
export { PreambleInput, ProseProjector, ProtocolDriverSlot, ProtocolSession };
