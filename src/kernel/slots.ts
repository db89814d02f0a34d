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
  /** Called when a session was made. */
  initialize?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** Called when a session was opened again. */
  restore?(context: { readonly sessionId: SessionId; readonly isRoot: boolean }): Awaitable<void>;
  /** Called before each model call. A result makes the turn go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{ readonly task: string; readonly seed?: Json } | undefined | void>;
  /** Takes an extension for the session, between turns: `session.extend(value)`. Without it there are none. */
  extend?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
    readonly extension: { readonly id: string; readonly value: Json };
  }): Awaitable<void>;
}

/** What a protocol tells the model of the tools: declarations and prompt parts. Made once per catalog. */
export interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}

/** The machine's half of a protocol: how the model's replies are read. The value of the slot `protocolDriver`. */
export interface ProtocolDriverSlot {
  /** Pure: the same replies give the same decisions in every run. */
  readonly driver: ProtocolDriver;
  preamble(catalog: readonly ToolDeclaration[]): Preamble;
}

/** Runs the cells of a code protocol. */
export interface CodeExecutor {
  execute(cell: Cell, context: { readonly sessionId: SessionId; readonly signal: AbortSignal }): Awaitable<CellOutput>;
}

/** Turns raw model text into what a person sees. */
export type ProseProjector = (text: string) => string;
