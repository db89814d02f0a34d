import { describe, RuntimeError } from "../model/errors.ts";
import type { Draft, Message, Part } from "../model/message.ts";
import type { HookCallContext, HookRunner, Issue } from "./hook-runner.ts";
import type { Compaction, CompactionSees } from "./hook-values.ts";
import { messageFrom, type Owned } from "./owned.ts";

/** How often the compactors are called, until one makes the conversation smaller. */
const TRIES = 3;

/**
 * Asks compactors for the messages at the beginning of a new frame. The first answer that makes the conversation
 * smaller counts. System prompt and tools do not change, so a smaller conversation is a smaller request. Undefined if
 * no compactor answers, or if no answer is smaller in `TRIES` rounds. In the second case it calls `useless` with the
 * last answer.
 */
export async function compaction(
  hooks: HookRunner,
  asked: Omit<CompactionSees, "attempt">,
  callContext: HookCallContext,
  useless: (issue: Issue) => void,
): Promise<readonly Draft[] | undefined> {
  const { messages } = asked;
  const before = sizeOf(messages);
  let larger: { readonly plugin: string; readonly after: number } | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    let isAny = false;
    const frame = await hooks.first("compact", { ...asked, attempt }, callContext, (answer) => {
      const found = begun(answer, messages);
      if (found === undefined) return undefined;
      isAny = true;
      const after = sizeOf(found);
      if (after < before) return found;
      larger = { plugin: answer.plugin, after };
      return undefined;
    });
    if (frame !== undefined) return frame;
    if (!isAny) break;
  }
  if (larger !== undefined)
    useless({ plugin: larger.plugin, code: "compact.useless", ...describe("compact.useless", { ...larger, before }) });
  return undefined;
}

/** The messages at the beginning of the new frame. Undefined for an empty answer: then the next compactor is asked. */
function begun(
  { plugin, value }: Owned<Compaction | readonly Draft[]>,
  messages: readonly Message[],
): readonly Draft[] | undefined {
  const { seed, tail }: Compaction = isList(value) ? { seed: value } : value;
  const said = seed.filter(({ parts }) => !parts.every(isBlank)).map((draft) => messageFrom({ plugin, value: draft }));
  const frame = [...said, ...carried(messages, tail, said.length, plugin)];
  return frame.length === 0 ? undefined : frame;
}

/** If a model answers a request for a summary only with calls, the text is blank and is not a summary. */
const isBlank = (part: Part): boolean => part.kind === "text" && part.text.trim() === "";

const isList = (value: Compaction | readonly Draft[]): value is readonly Draft[] => Array.isArray(value);

/**
 * The approximate size in a request, in bytes. An attachment is only a reference here, and counts as a picture or a
 * document.
 */
const sizeOf = (messages: readonly Draft[]): number =>
  messages.reduce(
    (sum, { role, parts }) => sum + role.length + JSON.stringify(parts).length + attached(parts) * ATTACHMENT_BYTES,
    0,
  );
const attached = (parts: readonly Part[]): number =>
  parts.reduce((sum, part) => sum + (part.kind === "attachment" ? 1 : "parts" in part ? attached(part.parts) : 0), 0);
const ATTACHMENT_BYTES = 4_800;

/**
 * The messages from `tail` on, which the new frame keeps. They begin with no result without its call, and without a
 * seed they begin with a user message.
 */
function carried(
  messages: readonly Message[],
  tail: string | undefined,
  seeds: number,
  plugin: string,
): readonly Draft[] {
  if (tail === undefined) return [];
  const at = messages.findIndex(({ id }) => id === tail);
  if (at < 0)
    throw new RuntimeError("hook.answer", {
      plugin,
      hook: "compact",
      problem: `its tail ${tail} is not a message of this conversation`,
    });
  const isLegal = ({ role, parts }: Message): boolean =>
    (seeds > 0 ? role !== "tool" : role === "user") && !parts.some(({ kind }) => kind === "codeOutput");
  const from = messages.findIndex((message, index) => index >= at && isLegal(message));
  if (from < 0) return [];
  return messages
    .slice(from)
    .map(({ id, role, parts }) => ({ role, parts, origin: { kind: "carried", from: id } as const }));
}
