import { Json } from "../../model/json.js";
import { NodeBody } from "../../model/node.js";
import { PictureOfJob } from "./jobs.js";
import { PictureOfOccurrence, PictureOfSubscription } from "./triggers.js";
/** The content of a store, without data that differs from run to run: ids are numbered, times and node ids omitted. */
interface Picture {
  readonly sessions: {
    readonly [id: string]: PictureOfSession;
  };
  /** The outcome of every accepted turn, in the order of acceptance; null for a turn without one. */
  readonly outcomes: readonly Json[];
  /** All jobs, in the order of their start. */
  readonly jobs: readonly PictureOfJob[];
  /** Sorted by session and id. */
  readonly subscriptions: readonly PictureOfSubscription[];
  /** All occurrences, in order. */
  readonly occurrences: readonly PictureOfOccurrence[];
}
interface PictureOfSession {
  readonly parentId?: string;
  /** Oldest first. */
  readonly messages: readonly PictureOfMessage[];
  /** Nodes other than messages: those of plugins, and starts of frames. Oldest first. */
  readonly nodes: readonly PictureOfNode[];
  readonly plugins: {
    readonly [id: string]: {
      readonly version: string;
      readonly state: Json;
    };
  };
  readonly turns: number;
  /** The waits of its turns and their answers: one line per fact, sorted. */
  readonly waits: readonly string[];
  /** Usage without calls of unknown cost, because a killed call is one. */
  readonly usage: Json;
}
type PictureOfNode = Exclude<NodeBody, {
  readonly kind: "message";
}>;
interface PictureOfMessage {
  readonly role: string;
  /** All text of the message, including tool results. */
  readonly text: string;
  readonly parts: readonly Json[];
  readonly origin?: Json;
}
export { Picture };
