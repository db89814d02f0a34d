import { Attachable } from "../model/tool.js";
import { Attachment } from "../model/message.js";
import { Json } from "../model/json.js";
import { NodeId } from "../model/ids.js";
type AppendNode = {
  readonly kind: "message";
  readonly role: "user" | "system";
  /** Can be empty if there are attachments. */
  readonly text: string;
  /** Bytes made with `attach`, or attachments of other messages. They follow the text. */
  readonly attachments?: readonly (Attachable | Attachment)[] | undefined;
} | {
  readonly kind: "plugin";
  readonly type: string;
  readonly body: Json;
};
interface AppendOptions {
  /**
   * A node that must still be on the active path. If it is not, the call returns `stale-branch`. Content after the node
   * does not matter.
   */
  readonly requiresAncestor?: string | undefined;
  /** Makes the call repeatable: a call with the same id adds nothing and returns the first answer. */
  readonly operationId?: string | undefined;
}
interface GraphAppendOptions extends AppendOptions {
  /** The session to append to. Default: the one in which the hook, tool or operation runs. */
  readonly session?: string | undefined;
}
type Appended = {
  readonly kind: "appended";
  readonly nodes: readonly NodeId[];
  readonly head: NodeId;
} |
/** Stored but not yet placed: the open turn adds it after the results of its round, or at its end. */
{
  readonly kind: "queued";
  readonly operationId: string;
} |
/** Nothing was written. `head` is the last node of the current path; left out while the path is empty. */
{
  readonly kind: "stale-branch";
  readonly required: string;
  readonly head?: NodeId;
};
export { AppendNode, AppendOptions, Appended, GraphAppendOptions };
