import type { Awaitable } from "../model/awaitable.ts";
import type { SessionId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { ProtocolDriver } from "../turn/driver.ts";
import type { Cell } from "../turn/effect.ts";
import type { CellOutput } from "../turn/event.ts";
import type { Point } from "./point.ts";
import type { TriggerDeclaration } from "./trigger.ts";

/** The session half of a protocol. Everything is optional. */
export interface ProtocolSession {
  /** Called when a session was made. */
  initialize?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** Called when a session was opened again. */
  restore?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** Called before each model call. A result makes the turn go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{ readonly task: string; readonly seed?: Json } | undefined | void>;
}

/** What a protocol makes its preamble from. */
export interface PreambleInput {
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
export interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}

/** The machine's half of a protocol: how the model's replies are read. The value of the slot `protocolDriver`. */
export interface ProtocolDriverSlot {
  /** Pure: the same replies give the same decisions in every run. */
  readonly driver: ProtocolDriver;
  /**
   * Pure: what it answered is used again, in every turn and session with the same tools, as long as what it looked at
   * in `input` is the same.
   */
  preamble(input: PreambleInput): Preamble;
}

/** Runs the cells of a code protocol. */
export interface CodeExecutor {
  execute(cell: Cell, context: { readonly sessionId: SessionId; readonly signal: AbortSignal }): Awaitable<CellOutput>;
}

/** Turns raw model text into what a person sees. */
export type ProseProjector = (text: string) => string;
