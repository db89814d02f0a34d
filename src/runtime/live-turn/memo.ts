import type { SessionConfig } from "../../model/config.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { Lease } from "../../stores/store.ts";
import type { Answer } from "../../turn/event.ts";
import { type Artifact, isFresh, type Prompt, type PromptParts, type Put } from "../toolset/artifacts.ts";

/** What a turn was prepared with, and what that was made from. */
export interface Prepared {
  readonly config: SessionConfig;
  readonly artifact: Artifact;
  readonly parts: PromptParts;
  readonly prompt: Prompt;
  /** The blob of the parts, where plugins gave any. */
  readonly stored: Put | undefined;
  /** What `prepared` records of plugins and tools. */
  readonly stages: Stages;
}
export type Stages = Pick<
  Extract<Answer, { readonly kind: "prepared" }>,
  "skips" | "responds" | "compacts" | "policies"
>;

/**
 * What the last turn was prepared with. A turn that finds everything unchanged takes it over: nothing is merged,
 * rendered, hashed or stored again. Plain sessions share the runtime's memo; every other session has its own.
 *
 * Not its job: catalogs (`toolset/`), and prompts that change from round to round, which are never kept here.
 */
export class Memo {
  #last: Prepared | undefined;

  /** Parts are copied: the plugin that gave one may change it in place before the next turn. */
  keep(prepared: Prepared): void {
    const { given, plugins } = prepared.parts;
    this.#last = { ...prepared, parts: { given: given.map(copied), plugins: plugins.map(copied) } };
  }

  /** For plain sessions: their tools are the app's, so the config alone decides. */
  ofConfig(config: SessionConfig, lease: Lease): Prepared | undefined {
    const last = this.#last;
    if (last === undefined || last.config !== config) return undefined;
    return isFresh(last.artifact, lease) && isFresh(last.prompt, lease) ? last : undefined;
  }

  /** For every session: the same tools and the same parts give the same prompt. */
  of(artifact: Artifact, parts: PromptParts, lease: Lease): Prepared | undefined {
    const last = this.#last;
    if (last === undefined || last.artifact !== artifact) return undefined;
    if (!isSame(last.parts.given, parts.given) || !isSame(last.parts.plugins, parts.plugins)) return undefined;
    return isFresh(last.prompt, lease) && (last.stored === undefined || isFresh(last.stored, lease)) ? last : undefined;
  }
}

const copied = (part: PromptPart): PromptPart =>
  part.tools === undefined ? { ...part } : { ...part, tools: [...part.tools] };

const isSame = (before: readonly PromptPart[], now: readonly PromptPart[]): boolean => {
  if (before.length !== now.length) return false;
  for (let index = 0; index < now.length; index++)
    if (!isSamePart(before[index] as PromptPart, now[index] as PromptPart)) return false;
  return true;
};

const isSamePart = (before: PromptPart, now: PromptPart): boolean =>
  before.slot === now.slot &&
  before.text === now.text &&
  before.priority === now.priority &&
  before.title === now.title &&
  before.replaces === now.replaces &&
  before.isVolatile === now.isVolatile &&
  before.tools?.join("\n") === now.tools?.join("\n");
