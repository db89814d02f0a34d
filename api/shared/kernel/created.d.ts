import { Attachment, Draft, Origin, TextPart } from "../model/message.js";
import { NodeId, SessionId } from "../model/ids.js";
import { PluginState } from "../turn/event.js";
type SessionKind = "fresh" | "child" | "fork";
/** A session that was created, or found with `ifExists: "take"`. */
interface CreatedSession {
  readonly id: SessionId;
  readonly kind: SessionKind;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
}
/** The input that a session was created with, for its first turn: `session.turn(input.parts)`. */
interface FirstInput extends Draft {
  readonly role: "user";
  readonly parts: readonly (TextPart | Attachment)[];
  /** The plugin that created the session; left out if the app created it. */
  readonly origin?: Origin;
}
/** A plugin's state as the session stores it, with its blobs as hashes. */
interface SavedState extends PluginState {
  /** The version of the plugin that wrote it, for `migrate`. */
  readonly version: string;
  /** The number of changes of this state so far. */
  readonly revision: number;
}
/** By plugin id. */
type SavedStates = {
  readonly [plugin: string]: SavedState;
};
export { CreatedSession, FirstInput, SavedStates, SessionKind };
