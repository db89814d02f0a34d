import { Awaitable } from "../model/awaitable.js";
import { Cell } from "../turn/effect.js";
import { CellOutput } from "../turn/event.js";
import { Json } from "../model/json.js";
import { PromptPart } from "../model/prompt.js";
import { ProtocolDriver } from "../turn/driver.js";
import { SessionId } from "../model/ids.js";
import { ToolDeclaration } from "../model/request.js";
/** The session half of a protocol. Everything is optional. */
interface ProtocolSession {
  /** Called when a session was made. */
  initialize?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** Called when a session was opened again. */
  restore?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** Called before each model call. A result makes the turn go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{
    readonly task: string;
    readonly seed?: Json;
  } | undefined | void>;
  /** Takes an extension for the session, between turns: `session.extend(value)`. Without it there are none. */
  extend?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
    readonly extension: {
      readonly id: string;
      readonly value: Json;
    };
  }): Awaitable<void>;
}
/** What a protocol tells the model of the tools: declarations and prompt parts. Made once per catalog. */
interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}
/** The machine's half of a protocol: how the model's replies are read. The value of the slot `protocolDriver`. */
interface ProtocolDriverSlot {
  /** Pure: the same replies give the same decisions in every run. */
  readonly driver: ProtocolDriver;
  preamble(catalog: readonly ToolDeclaration[]): Preamble;
}
/** Runs the cells of a code protocol. */
interface CodeExecutor {
  execute(cell: Cell, context: {
    readonly sessionId: SessionId;
    readonly signal: AbortSignal;
  }): Awaitable<CellOutput>;
}
/** Turns raw model text into what a person sees. */
type ProseProjector = (text: string) => string;
export { CodeExecutor, ProseProjector, ProtocolDriverSlot, ProtocolSession };
