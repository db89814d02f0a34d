import { Json } from "./json.js";
import { Message } from "./message.js";
/** What a node of the session graph holds. */
type NodeBody = {
  readonly kind: "message";
  readonly message: Message;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly type: string;
  readonly body: Json;
} |
/** A fresh context window begins here; what came before stays readable. */
{
  readonly kind: "frame";
  readonly reason: string;
  readonly task?: string;
};
/** A node that a turn adds: its id follows from its place in the commit, its parent from the one before it. */
type Entry = {
  readonly at: number;
} & NodeBody;
export { Entry, NodeBody };
