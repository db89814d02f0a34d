import { Draft, Message } from "./message.js";
import { Json } from "./json.js";
/** The content of a node in the session graph. */
type NodeBody = {
  readonly kind: "message";
  readonly message: Message;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly type: string;
  readonly body: Json;
} |
/** A fresh context window begins here; earlier nodes stay readable, but the model no longer sees them. */
{
  readonly kind: "frame";
  readonly reason: string;
  readonly task?: string;
  readonly name?: string;
};
/** The content of a node that gets its position and its id later. */
type Addition = {
  readonly kind: "message";
  readonly message: Draft;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly type: string;
  readonly body: Json;
};
/** A node that a turn adds. Its id follows from its index in the commit, and its parent is the entry before it. */
type Entry = {
  readonly at: number;
} & NodeBody;
export { Addition, Entry, NodeBody };
