/** In template order. */
export const SLOTS = ["intro", "execution", "guidance", "project", "context", "environment"] as const;
export type Slot = (typeof SLOTS)[number];

export interface PromptPart {
  readonly slot: Slot;
  readonly text: string;
  /** Lower first; 0 unless given. */
  readonly priority?: number;
  readonly title?: string;
}

/**
 * The rule for prompt parts: trimmed, empty ones and repeats by (slot, priority, text) dropped, then by slot, then by
 * priority, then as given. Equal parts give the identical text, which is what a provider's prompt cache needs.
 */
export function mergePrompt(parts: readonly PromptPart[]): readonly PromptPart[] {
  const seen = new Set<string>();
  const kept: PromptPart[] = [];
  for (const part of parts) {
    const text = part.text.trim();
    const key = `${part.slot}\n${part.priority ?? 0}\n${text}`;
    if (text === "" || seen.has(key)) continue;
    seen.add(key);
    kept.push({ ...part, text });
  }
  return kept.sort((a, b) => SLOTS.indexOf(a.slot) - SLOTS.indexOf(b.slot) || (a.priority ?? 0) - (b.priority ?? 0));
}

export const renderPrompt = (parts: readonly PromptPart[]): string =>
  parts.map(({ title, text }) => (title === undefined ? text : `## ${title}\n\n${text}`)).join("\n\n");
