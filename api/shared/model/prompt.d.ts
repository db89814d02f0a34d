/** In template order. */
declare const SLOTS: readonly ["intro", "execution", "guidance", "project", "context", "environment"];
type Slot = (typeof SLOTS)[number];
interface PromptPart {
  readonly slot: Slot;
  readonly text: string;
  /** Lower first; 0 unless given. */
  readonly priority?: number;
  readonly title?: string;
  /** Takes the place of what came before in this slot, which an empty text clears. */
  readonly replaces?: true;
  /** Asked for anew before every model call, and said at the end: it never sits in what a provider caches. */
  readonly isVolatile?: true;
  /** Kept only while one of these tools is callable. */
  readonly tools?: readonly string[];
}
export { PromptPart };
