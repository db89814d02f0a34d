import { type PromptPart, SLOTS } from "../model/prompt.ts";

/**
 * Merges prompt parts. Drops empty parts, parts whose tools are not callable, and repeats of the same slot, priority
 * and text; sorts by slot, then priority, then as given. Equal parts give the identical text, because a provider's
 * prompt cache needs it. So volatile parts must not be in the list.
 */
export function mergePrompt(parts: readonly PromptPart[], tools: readonly string[]): readonly PromptPart[] {
  const seen = new Set<string>();
  const shownParts: PromptPart[] = [];
  for (const part of parts) {
    const text = part.text.trim();
    const key = `${part.slot}\n${part.priority ?? 0}\n${text}`;
    const isGated = part.tools !== undefined && !part.tools.some((tool) => tools.includes(tool));
    if (part.replaces === true && !isGated) forget(shownParts, seen, part.slot);
    if (text === "" || isGated || seen.has(key)) continue;
    seen.add(key);
    shownParts.push({ ...part, text });
  }
  return shownParts.sort(
    (a, b) => SLOTS.indexOf(a.slot) - SLOTS.indexOf(b.slot) || (a.priority ?? 0) - (b.priority ?? 0),
  );
}

function forget(parts: PromptPart[], seen: Set<string>, slot: PromptPart["slot"]): void {
  for (const key of [...seen]) if (key.startsWith(`${slot}\n`)) seen.delete(key);
  parts.splice(0, parts.length, ...parts.filter((part) => part.slot !== slot));
}

/** A section of the prompt: a heading over some slots. It is left out when they are empty. */
export interface Section {
  readonly title?: string | undefined;
  readonly slots: readonly PromptPart["slot"][];
}

/** Renders the parts. Without a template the slots follow each other without titles. */
export function renderPrompt(parts: readonly PromptPart[], template?: readonly Section[]): string {
  const sections = template ?? [{ slots: SLOTS }];
  const rendered = sections.map(({ title, slots }) => {
    const own = slots.flatMap((slot) => parts.filter((part) => part.slot === slot));
    const level = title === undefined ? "##" : "###";
    const texts = own.map((part) => (part.title === undefined ? part.text : `${level} ${part.title}\n\n${part.text}`));
    if (texts.length === 0) return "";
    return [...(title === undefined ? [] : [`## ${title}`]), ...texts].join("\n\n");
  });
  return rendered.filter((text) => text !== "").join("\n\n");
}

/** A copy for later comparisons, because a plugin can change its part in place. */
export const copied = (parts: readonly PromptPart[]): readonly PromptPart[] =>
  parts.map((part) => (part.tools === undefined ? { ...part } : { ...part, tools: [...part.tools] }));

export function isSamePrompt(before: readonly PromptPart[], now: readonly PromptPart[]): boolean {
  if (before.length !== now.length) return false;
  for (let index = 0; index < now.length; index++)
    if (!isSamePart(before[index] as PromptPart, now[index] as PromptPart)) return false;
  return true;
}

const isSamePart = (before: PromptPart, now: PromptPart): boolean =>
  before.slot === now.slot &&
  before.text === now.text &&
  before.priority === now.priority &&
  before.title === now.title &&
  before.replaces === now.replaces &&
  before.isVolatile === now.isVolatile &&
  before.tools?.join("\n") === now.tools?.join("\n");
