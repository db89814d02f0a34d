import { copied, isSamePrompt } from "../../kernel/prompt.ts";
import type { SessionConfig } from "../../model/config.ts";
import type { Lease } from "../../stores/store.ts";
import type { Answer } from "../../turn/event.ts";
import { type Artifact, isFresh, type Prompt, type PromptParts, type Put } from "../toolset/artifacts.ts";

/** The preparation of a turn, and the inputs from which it was made. */
export interface Prepared {
  readonly config: SessionConfig;
  readonly artifact: Artifact;
  readonly parts: PromptParts;
  readonly prompt: Prompt;
  /** The blob of the parts, if plugins added any. */
  readonly stored: Put | undefined;
  /** The blob with the fields of `opened` that the journals of such turns have in common, if journals are kept. */
  readonly setting: Put | undefined;
  /** The data about plugins and tools that `prepared` records. */
  readonly stages: Stages;
}
export type Stages = Pick<
  Extract<Answer, { readonly kind: "prepared" }>,
  "skips" | "responds" | "compacts" | "policies"
>;

/**
 * The preparation of the last turn. If nothing has changed, the next turn reuses it and need not merge, render, hash or
 * store again. Plain sessions share the runtime's memo. Every other session has a separate memo.
 *
 * Not its job: catalogs (`toolset/`), and prompts that change from round to round.
 */
export class Memo {
  #last: Prepared | undefined;

  /** Parts are copied, because a plugin may change its part in place before the next turn. */
  keep(prepared: Prepared): void {
    const { given, plugins } = prepared.parts;
    this.#last = { ...prepared, parts: { given: copied(given), plugins: copied(plugins) } };
  }

  /** For plain sessions: their tools are the app's, so only the config can differ. */
  ofConfig(config: SessionConfig, lease: Lease): Prepared | undefined {
    const last = this.#last;
    if (last === undefined || last.config !== config) return undefined;
    const { artifact, prompt, setting = prompt } = last;
    return isFresh(artifact, lease) && isFresh(prompt, lease) && isFresh(setting, lease) ? last : undefined;
  }

  /** For all other sessions: the same tools and the same parts give the same prompt. */
  of(artifact: Artifact, parts: PromptParts, lease: Lease): Prepared | undefined {
    const last = this.#last;
    if (last === undefined || last.artifact !== artifact) return undefined;
    if (!isSamePrompt(last.parts.given, parts.given)) return undefined;
    if (!isSamePrompt(last.parts.plugins, parts.plugins)) return undefined;
    return isFresh(last.prompt, lease) && (last.stored === undefined || isFresh(last.stored, lease)) ? last : undefined;
  }
}
