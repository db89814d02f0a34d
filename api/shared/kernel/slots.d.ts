import { Any } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Cell } from "../turn/effect.js";
import { CellOutput } from "../turn/event.js";
import { Json } from "../model/json.js";
import { Point } from "./point.js";
import { PromptPart } from "../model/prompt.js";
import { ProtocolDriver } from "../turn/driver.js";
import { SessionId } from "../model/ids.js";
import { ToolDeclaration } from "../model/request.js";
import { TriggerDeclaration } from "./trigger.js";
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
/** Runs the cells of a code protocol. */
interface CodeExecutor {
  execute(cell: Cell, context: {
    readonly sessionId: SessionId;
    readonly signal: AbortSignal;
  }): Awaitable<CellOutput>;
}
/** Turns raw model text into what a person sees. */
type ProseProjector = (text: string) => string;
export { CodeExecutor, PreambleInput, ProseProjector, ProtocolDriverSlot, ProtocolSession };
