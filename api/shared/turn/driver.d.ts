import { Cell, PlacedCall } from "./effect.js";
import { CellOutput } from "./event.js";
import { Draft, Message } from "../model/message.js";
import { Ending } from "../model/outcome.js";
import { Entry } from "../model/node.js";
import { Json, JsonObject } from "../model/json.js";
import { Limits } from "../model/limits.js";
import { ModelRequest, ModelSettings, Reply, ToolDeclaration } from "../model/request.js";
import { ToolResult } from "../model/tool.js";
/** What a protocol may know when it decides: nothing that a replay could see differently. */
interface RoundView {
  readonly round: number;
  /** The protocol's own notes, as it last left them in this turn. */
  readonly memo: Json;
  /** What this turn has added so far. */
  readonly log: readonly Entry[];
  readonly limits: Limits;
  /** The JSON Schema of the typed result that the caller asked for. */
  readonly output?: JsonObject;
}
interface RequestView extends RoundView {
  readonly system: string;
  /** The active frame: history, then this turn. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
  readonly settings?: ModelSettings;
}
/** What to do next. `add` is said to the model and kept; `memo` replaces the protocol's notes. */
type Decision = {
  readonly memo?: Json;
  readonly add?: readonly Draft[];
} & ({
  readonly kind: "calls";
  readonly calls: readonly PlacedCall[];
} | {
  readonly kind: "cell";
  readonly cell: Cell;
} |
/** The reply is the answer. */
{
  readonly kind: "answer";
} | {
  readonly kind: "finish";
  readonly value: Json;
  readonly by?: "model" | "tool";
} |
/** On to the next model call. */
{
  readonly kind: "ask";
} |
/** The same, because the reply was of no use: counts against `noProgressMax`. */
{
  readonly kind: "retry";
} | {
  readonly kind: "switchFrame";
  readonly task: string;
  readonly seed?: Json;
} | {
  readonly kind: "end";
  readonly ending: Ending;
});
interface PlacedResult extends ToolResult {
  readonly at: string;
}
/**
 * How a model acts, as the machine sees it. Pure and versioned: the same view gives the same answer in every run, and
 * a change that would answer an old journal differently takes a new version.
 */
interface ProtocolDriver {
  readonly id: string;
  readonly version: number;
  request(view: RequestView): ModelRequest;
  onReply(view: RoundView, reply: Reply): Decision;
  /** Its `add` must show every call of the reply a result, whatever it decides; `step` asks for it on a cancel too. */
  onResults(view: RoundView, reply: Reply, results: readonly PlacedResult[]): Decision;
  onExec(view: RoundView, reply: Reply, output: CellOutput, results: readonly PlacedResult[]): Decision;
}
export { Decision, ProtocolDriver, RequestView, RoundView };
