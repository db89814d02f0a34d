import type { Json, JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Draft, Message } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import type { Ending } from "../model/outcome.ts";
import type { ModelRequest, ModelSettings, Reply, ToolDeclaration } from "../model/request.ts";
import type { ToolResult } from "../model/tool.ts";
import type { Cell, PlacedCall } from "./effect.ts";
import type { CellOutput } from "./event.ts";

/** What a protocol may know when it decides: nothing that a replay could see differently. */
export interface RoundView {
  readonly round: number;
  /** The protocol's own notes, as it last left them in this turn. */
  readonly memo: Json;
  /** What this turn has added so far. */
  readonly log: readonly Entry[];
  readonly limits: Limits;
  /** The JSON Schema of the typed result that the caller asked for. */
  readonly output?: JsonObject;
}

export interface RequestView extends RoundView {
  readonly system: string;
  /** The active frame: history, then this turn. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
  readonly settings?: ModelSettings;
}

/** What to do next. `add` is said to the model and kept; `memo` replaces the protocol's notes. */
export type Decision = { readonly memo?: Json; readonly add?: readonly Draft[] } & (
  | { readonly kind: "calls"; readonly calls: readonly PlacedCall[] }
  | { readonly kind: "cell"; readonly cell: Cell }
  /** The reply is the answer. */
  | { readonly kind: "answer" }
  | { readonly kind: "finish"; readonly value: Json; readonly by?: "model" | "tool" }
  /** On to the next model call. */
  | { readonly kind: "ask" }
  /** The same, because the reply was of no use: counts against `noProgressMax`. */
  | { readonly kind: "retry" }
  | { readonly kind: "switchFrame"; readonly task: string; readonly seed?: Json }
  | { readonly kind: "end"; readonly ending: Ending }
);

export interface PlacedResult extends ToolResult {
  readonly at: string;
}

/**
 * How a model acts, as the machine sees it. Pure and versioned: the same view gives the same answer in every run, and
 * a change that would answer an old journal differently takes a new version.
 */
export interface ProtocolDriver {
  readonly id: string;
  readonly version: number;
  request(view: RequestView): ModelRequest;
  onReply(view: RoundView, reply: Reply): Decision;
  /** Its `add` must show every call of the reply a result, whatever it decides; `step` asks for it on a cancel too. */
  onResults(view: RoundView, reply: Reply, results: readonly PlacedResult[]): Decision;
  onExec(view: RoundView, reply: Reply, output: CellOutput, results: readonly PlacedResult[]): Decision;
}
