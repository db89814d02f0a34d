// The input of a protocol's preamble, and a record of the parts that the protocol read.
// Not its job: storing preambles (`artifacts.ts`).
// A preamble is a pure function, so it depends only on the data that it read. If a protocol does not read the prompt,
// sessions with different instructions share one artifact.
import type { Owned } from "../../kernel/hooks.ts";
import type { Contributions, Point } from "../../kernel/point.ts";
import { copied, isSamePrompt } from "../../kernel/prompt.ts";
import type { PreambleInput } from "../../kernel/slots.ts";
import type { TriggerDeclaration } from "../../kernel/trigger.ts";
import { frozen } from "../../model/json.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import type { Any } from "../../model/schema.ts";

/** The data of a session and its turn for a preamble, besides the tools. */
export interface Surroundings {
  readonly contributions: Contributions;
  readonly triggers: readonly Owned<TriggerDeclaration>[];
  readonly prompt: readonly PromptPart[];
}

/** What a preamble read, besides the tools. A missing field means that it did not read it. */
export interface Seen {
  readonly points: Map<Point<Any, Any>, readonly Owned<unknown>[]>;
  triggers?: readonly Owned<TriggerDeclaration>[];
  prompt?: readonly PromptPart[];
}

export function look(
  tools: readonly ToolDeclaration[],
  { contributions, triggers, prompt }: Surroundings,
): { readonly input: PreambleInput; readonly seen: Seen } {
  const seen: Seen = { points: new Map() };
  const input: PreambleInput = {
    tools,
    read: (point) => {
      seen.points.set(point, contributions.given(point));
      return contributions.read(point);
    },
    get triggers() {
      seen.triggers = triggers;
      return triggers.map(({ value }) => value);
    },
    get prompt() {
      seen.prompt ??= frozen(copied(prompt));
      return seen.prompt;
    },
  };
  return { input, seen };
}

/** Whether a preamble that read this would read the same here. */
export const wouldSee = (seen: Seen, { contributions, triggers, prompt }: Surroundings): boolean =>
  (seen.prompt === undefined || isSamePrompt(seen.prompt, prompt)) &&
  (seen.triggers === undefined || isSame(seen.triggers, triggers, isSameTrigger)) &&
  [...seen.points].every(([point, given]) => isSame(given, contributions.given(point), Object.is));

const isSame = <T>(
  before: readonly Owned<T>[],
  now: readonly Owned<T>[],
  isSameValue: (one: T, other: T) => boolean,
): boolean =>
  before.length === now.length &&
  before.every(({ plugin, value }, index) => {
    const other = now[index] as Owned<T>;
    return plugin === other.plugin && isSameValue(value, other.value);
  });

const isSameTrigger = (one: TriggerDeclaration, other: TriggerDeclaration): boolean =>
  one.name === other.name && one.description === other.description && one.payload === other.payload;
