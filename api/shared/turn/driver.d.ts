import { Cell, PlacedCall } from "./effect.js";
import { CellOutput } from "./event.js";
import { Draft, Message } from "../model/message.js";
import { Ending } from "../model/outcome.js";
import { Entry } from "../model/node.js";
import { Json, JsonObject } from "../model/json.js";
import { Limits } from "../model/limits.js";
import { ModelRequest, ModelSettings, Reply, ToolDeclaration } from "../model/request.js";
import { ToolResult } from "../model/tool.js";
/** The input of a protocol's decision. It contains nothing that could differ in a replay. */
interface RoundView {
  readonly round: number;
  /** The protocol's latest notes in this turn. */
  readonly memo: Json;
  /** The entries that this turn has added so far. */
  readonly log: readonly Entry[];
  readonly limits: Limits;
  /** The JSON Schema of the requested typed result. */
  readonly output?: JsonObject;
  /** The result is the field `value` of the object that `output` describes. */
  readonly unwraps?: true;
  /** The protocol's own durable options in this frame. */
  readonly options?: Json;
  /** The caller's input for plugins, by extension id. */
  readonly extensions?: JsonObject;
}
/** The input of a protocol for a model request. */
interface RequestView extends RoundView {
  readonly system: string;
  /** The messages of the active frame: history, then this turn. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
  readonly settings?: ModelSettings;
}
/**
 * A protocol's decision about what happens next. `add` is sent to the model and stays in history; `memo` replaces the
 * protocol's notes.
 */
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
/** Ask the model again. */
{
  readonly kind: "ask";
} |
/** Ask again because the reply was useless; counts against `noProgressMax`. */
{
  readonly kind: "retry";
} | {
  readonly kind: "switchFrame";
  readonly task: string;
  readonly seed?: Json;
  readonly name?: string;
} | {
  readonly kind: "end";
  readonly ending: Ending;
});
interface PlacedResult extends ToolResult {
  readonly at: string;
}
/**
 * A protocol, as the machine sees it: how replies are parsed and acted on. Pure and versioned: the same view gives the
 * same decision in every run. A change that would decide differently on an old journal needs a new version.
 */
interface ProtocolDriver {
  readonly id: string;
  readonly version: number;
  request(view: RequestView): ModelRequest;
  onReply(view: RoundView, reply: Reply): Decision;
  /** Every decision must have an `add` with a result for every call of the reply. `step` also calls it on a cancel. */
  onResults(view: RoundView, reply: Reply, results: readonly PlacedResult[]): Decision;
  onExec(view: RoundView, reply: Reply, output: CellOutput, results: readonly PlacedResult[]): Decision;
}
export { Decision, ProtocolDriver, RequestView, RoundView };
