// Messages and nodes that code adds to a conversation.
import type { NodeId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Known } from "../model/known.ts";
import type { Attachment } from "../model/message.ts";
import type { Attachable } from "../model/tool.ts";

export type AppendNode =
  | {
      readonly kind: "message";
      readonly role: "user" | "system";
      /** Can be empty if there are attachments. */
      readonly text: string;
      /** Bytes made with `attach`, or attachments of other messages. They follow the text. */
      readonly attachments?: readonly (Attachable | Attachment)[] | undefined;
    }
  | { readonly kind: "plugin"; readonly type: string; readonly body: Json };
export interface AppendOptions {
  /**
   * A node that must still be on the active path. If it is not, the call returns `stale-branch`. Content after the node
   * does not matter.
   */
  readonly requiresAncestor?: string | undefined;
  /** Makes the call repeatable: a call with the same id adds nothing and returns the first answer. */
  readonly operationId?: string | undefined;
}
export const APPEND: Known<AppendOptions> = { requiresAncestor: true, operationId: true };
export interface GraphAppendOptions extends AppendOptions {
  /** The session to append to. Default: the one in which the hook, tool or operation runs. */
  readonly session?: string | undefined;
}
export type Appended =
  | { readonly kind: "appended"; readonly nodes: readonly NodeId[]; readonly head: NodeId }
  /** Stored but not yet placed: the open turn adds it after the results of its round, or at its end. */
  | { readonly kind: "queued"; readonly operationId: string }
  /** Nothing was written. `head` is the last node of the current path; left out while the path is empty. */
  | { readonly kind: "stale-branch"; readonly required: string; readonly head?: NodeId };
