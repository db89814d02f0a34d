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
  /** A session was made. */
  initialize?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** A session was opened again. */
  restore?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** Before each model call: may go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{
    readonly task: string;
    readonly seed?: Json;
  } | undefined | void>;
}
/** What a protocol tells the model. Made once per catalog. */
interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}
/** The other half: how a model acts. The value of the slot `protocolDriver`. */
interface ProtocolDriverSlot {
  /** Reads replies; pure. */
  readonly driver: ProtocolDriver;
  preamble(catalog: readonly ToolDeclaration[]): Preamble;
}
/** Runs cells for a code protocol. */
interface CodeExecutor {
  execute(cell: Cell, context: {
    readonly sessionId: SessionId;
    readonly signal: AbortSignal;
  }): Awaitable<CellOutput>;
}
/** Raw model text to what a person sees. */
type ProseProjector = (text: string) => string;
export { CodeExecutor, ProseProjector, ProtocolDriverSlot, ProtocolSession };
