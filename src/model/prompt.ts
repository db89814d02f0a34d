/** In template order. */
export const SLOTS = ["intro", "execution", "guidance", "project", "context", "environment"] as const;
export type Slot = (typeof SLOTS)[number];

export interface PromptPart {
  readonly slot: Slot;
  readonly text: string;
  /** Lower first; 0 unless given. */
  readonly priority?: number;
  readonly title?: string;
  /** Kept only while one of these tools is callable. */
  readonly tools?: readonly string[];
}
