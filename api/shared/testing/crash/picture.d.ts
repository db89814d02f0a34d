import { Json } from "../../model/json.js";
import { NodeBody } from "../../model/node.js";
import { PictureOfJob } from "./jobs.js";
import { PictureOfOccurrence, PictureOfSubscription } from "./triggers.js";
/** All that a store holds, without what differs from run to run: ids are numbered, times and node ids left out. */
interface Picture {
  readonly sessions: {
    readonly [id: string]: PictureOfSession;
  };
  /** The outcome of every accepted turn, in the order of acceptance; null for a turn without one. */
  readonly outcomes: readonly Json[];
  /** All jobs that are there, in the order in which they were begun. */
  readonly jobs: readonly PictureOfJob[];
  /** By session and id. */
  readonly subscriptions: readonly PictureOfSubscription[];
  /** What has happened, in that order. */
  readonly occurrences: readonly PictureOfOccurrence[];
}
interface PictureOfSession {
  readonly parentId?: string;
  /** Oldest first. */
  readonly messages: readonly PictureOfMessage[];
  /** Nodes that are no messages: of plugins, and where frames begin. Oldest first. */
  readonly nodes: readonly PictureOfNode[];
  readonly plugins: {
    readonly [id: string]: {
      readonly version: string;
      readonly state: Json;
    };
  };
  readonly turns: number;
  /** What its turns waited for, and how that was answered: a line for each such fact, in the order of their words. */
  readonly waits: readonly string[];
  /** Usage without the calls of unknown cost, because a call that was killed is one. */
  readonly usage: Json;
}
type PictureOfNode = Exclude<NodeBody, {
  readonly kind: "message";
}>;
interface PictureOfMessage {
  readonly role: string;
  /** All text of the message, tool results included. */
  readonly text: string;
  readonly parts: readonly Json[];
  readonly origin?: Json;
}
export { Picture };
