import { RuntimeError } from "../model/errors.ts";
import type { Draft, Message, Part } from "../model/message.ts";
import type { HookRunner, Site } from "./hook-runner.ts";
import type { Compaction, CompactionSees } from "./hooks.ts";
import { type Owned, saidBy } from "./owned.ts";

/** A compactor is asked this often for something smaller than what was there. */
const TRIES = 3;

/**
 * Asks compactors what a new frame begins with; the first that gives anything decides, and without one the answer is
 * undefined. System prompt and tools stay as they are, so a smaller conversation is a smaller request. A seed that is
 * not smaller is refused, and is `compact.useless` in the end.
 */
export async function compaction(
  hooks: HookRunner,
  messages: readonly Message[],
  reason: CompactionSees["reason"],
  site: Site,
): Promise<readonly Draft[] | undefined> {
  const before = sizeOf(messages);
  for (let attempt = 1; ; attempt++) {
    const found = await hooks.first("compact", { messages, reason, attempt }, site, (answer) =>
      begun(answer, messages),
    );
    if (found === undefined) return undefined;
    const { plugin, frame } = found;
    const after = sizeOf(frame);
    if (after < before) return frame;
    if (attempt === TRIES) throw new RuntimeError("compact.useless", { plugin, before, after });
  }
}

/** What the new frame begins with. An answer with nothing in it is none, and the next compactor is asked. */
function begun(
  { plugin, value }: Owned<Compaction | readonly Draft[]>,
  messages: readonly Message[],
): { readonly plugin: string; readonly frame: readonly Draft[] } | undefined {
  const { seed, tail }: Compaction = isList(value) ? { seed: value } : value;
  const said = seed.map((draft) => saidBy({ plugin, value: draft }));
  const frame = [...said, ...carried(messages, tail, seed.length, plugin)];
  return frame.length === 0 ? undefined : { plugin, frame };
}

const isList = (value: Compaction | readonly Draft[]): value is readonly Draft[] => Array.isArray(value);

/** Bytes as a request would have them: an attachment is a reference here, and a picture or a document there. */
const sizeOf = (messages: readonly Draft[]): number =>
  messages.reduce(
    (sum, { role, parts }) => sum + role.length + JSON.stringify(parts).length + attached(parts) * ATTACHMENT_BYTES,
    0,
  );
const attached = (parts: readonly Part[]): number =>
  parts.reduce((sum, part) => sum + (part.kind === "attachment" ? 1 : "parts" in part ? attached(part.parts) : 0), 0);
const ATTACHMENT_BYTES = 4_800;

/** The messages from `tail` on that are carried over. A result never goes without its call, and without a seed a user speaks first. */
function carried(
  messages: readonly Message[],
  tail: string | undefined,
  seeds: number,
  plugin: string,
): readonly Draft[] {
  if (tail === undefined) return [];
  const at = messages.findIndex(({ id }) => id === tail);
  if (at < 0)
    throw new RuntimeError("hook.answer", { plugin, hook: "compact", problem: `its tail ${tail} is no message here` });
  const isLegal = ({ role, parts }: Message): boolean =>
    (seeds > 0 ? role !== "tool" : role === "user") && !parts.some(({ kind }) => kind === "codeOutput");
  const from = messages.findIndex((message, index) => index >= at && isLegal(message));
  if (from < 0) return [];
  return messages
    .slice(from)
    .map(({ id, role, parts }) => ({ role, parts, origin: { kind: "carried", from: id } as const }));
}
