/** The sections of the prompt, in the order in which they appear. */
declare const SLOTS: readonly ["intro", "execution", "guidance", "project", "context", "environment"];
type Slot = (typeof SLOTS)[number];
/** A piece of the system prompt. */
interface PromptPart {
  readonly slot: Slot;
  readonly text: string;
  /** Orders parts within a slot, lower first. Default: 0. */
  readonly priority?: number | undefined;
  /** A heading above the text. */
  readonly title?: string | undefined;
  /** Replaces every earlier part of this slot. With an empty text it clears the slot. */
  readonly replaces?: true | undefined;
  /**
   * The part is renewed before every model call and placed after the conversation, so that a change does not invalidate
   * the provider's cache.
   */
  readonly isVolatile?: true | undefined;
  /** Includes the part only while at least one of these tools is callable. */
  readonly tools?: readonly string[] | undefined;
}
export { PromptPart };
