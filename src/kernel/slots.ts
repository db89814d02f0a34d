import type { Awaitable } from "../model/awaitable.ts";
import type { SessionId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { ProtocolDriver } from "../turn/driver.ts";
import type { Cell } from "../turn/effect.ts";
import type { CellOutput } from "../turn/event.ts";

/** The session half of a protocol. Everything is optional. */
export interface ProtocolSession {
  /** A session was made. */
  initialize?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** A session was opened again. */
  restore?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** Before each model call: may go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{ readonly task: string; readonly seed?: Json } | undefined | void>;
}

/** What a protocol tells the model. Made once per catalog. */
export interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}

/** The other half: how a model acts. The value of the slot `protocolDriver`. */
export interface ProtocolDriverSlot {
  /** Reads replies; pure. */
  readonly driver: ProtocolDriver;
  preamble(catalog: readonly ToolDeclaration[]): Preamble;
}

/** Runs cells for a code protocol. */
export interface CodeExecutor {
  execute(cell: Cell, context: { readonly sessionId: SessionId; readonly signal: AbortSignal }): Awaitable<CellOutput>;
}

/** Raw model text to what a person sees. */
export type ProseProjector = (text: string) => string;
