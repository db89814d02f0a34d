import { Attachable } from "./tool.js";
import { Attachment, TextPart } from "./message.js";
type InputPart = string | TextPart | Attachable | Attachment;
/** The input of a user: a text, or a list of texts and attachments. */
type Input = string | readonly InputPart[];
/** A message for the next boundary of a session, from the user or the system. */
interface InjectedMessage {
  readonly role: "user" | "system";
  readonly parts: readonly InputPart[];
}
/** Options of `sessions.inject`. */
interface InjectOptions {
  /**
   * Makes a repeat safe: the same id and message count once, and another message throws `input.conflict`. Ids and the
   * keys of turns must differ.
   */
  readonly id?: string | undefined;
}
export { InjectOptions, InjectedMessage, Input };
