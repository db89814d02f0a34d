import type { Attachment, TextPart } from "./message.ts";
import type { Attachable } from "./tool.ts";

type InputPart = string | TextPart | Attachable | Attachment;
/** What a user says: text, or a list of texts and attachments. */
export type Input = string | readonly InputPart[];

/** A message for the next boundary of a session: what the user says, or what the system adds. */
export interface InjectedMessage {
  readonly role: "user" | "system";
  readonly parts: readonly InputPart[];
}
/** Options of `sessions.inject`. */
export interface InjectOptions {
  /**
   * Makes a repeat safe: the same id and message are taken in once; another message is `input.conflict`. Turns' keys
   * are of the same space.
   */
  readonly id?: string | undefined;
}
