// Job: the tools of one session: the offers of its sources, combined with its choices. Computes changes of the choices
// and returns them.
// Not its job: storing choices (the caller), loading tools (`source.ts`), the view of one turn (`catalog.ts`).
// registry-1: `generation` grows with every change of the surface: a source's list, a source added or removed, a
//    choice.
// registry-2: A name belongs to the first source that offers it. Two static sources with the same name are an error.
// registry-3: A choice holds for the tool of one source; a tool of the same name from another source is another tool.
// registry-4: A running turn keeps the sources with which it began: the registry reads their changes only between
//     turns. It reads an added source at once, because no turn has used it.

import { createHash } from "node:crypto";
import type { ToolGrant } from "../kernel/session-requests.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import {
  AVAILABILITIES,
  type Availability,
  type ToolListing,
  type ToolState,
  type ToolStateEntry,
} from "../model/tool.ts";
import type { Offered, Source } from "./source.ts";

/** The choices of a session about the tools of its sources. Stored as the state of `bowline/tools`. */
export interface ToolChoices {
  readonly generation: number;
  readonly tools: { readonly [name: string]: { readonly source: string; readonly availability: Availability } };
  readonly grants: { readonly [name: string]: ToolGrant };
}
export const NO_CHOICES: ToolChoices = { generation: 0, tools: {}, grants: {} };

export interface Registered extends Offered {
  readonly availability: Availability;
}

interface RegistryContext {
  clash(clash: { readonly name: string; readonly sources: readonly string[] }): void;
  /**
   * Whether the session's permissions hide a tool. Such a tool does not exist, even if a source, choice or grant has
   * it.
   */
  isHidden(name: string): boolean;
}

export class Registry {
  readonly #base: readonly Source[];
  readonly #context: RegistryContext;
  #added: readonly Source[] = [];
  #choices: ToolChoices;
  /** The sources at the last call of `#look`. */
  #seen: readonly { readonly source: Source; readonly revision: number; readonly offers: readonly Offered[] }[] = [];
  #entries: ReadonlyMap<string, Registered> = new Map();
  generation: number;

  constructor(sources: readonly Source[], choices: ToolChoices, context: RegistryContext) {
    this.#base = sources;
    this.#context = context;
    this.#choices = choices;
    this.generation = choices.generation;
    const ids = new Set<string>();
    for (const { id } of sources) {
      if (ids.has(id)) throw taken(id);
      ids.add(id);
    }
    this.#look();
    this.#reconcile();
  }

  get entries(): ReadonlyMap<string, Registered> {
    return this.#entries;
  }
  get choices(): ToolChoices {
    return this.#choices;
  }

  /**
   * Reads new choices and, between turns, changes of sources (registry-4). Any change makes a new generation
   * (registry-1).
   */
  sync(choices: ToolChoices, isBetweenTurns: boolean): void {
    const isNew = isBetweenTurns && this.#look();
    if (!isNew && choices === this.#choices) return;
    this.#choices = choices;
    this.generation = Math.max(this.generation + 1, choices.generation);
    this.#reconcile();
  }

  #look(): boolean {
    const sources = [...this.#base, ...this.#added];
    const isSame =
      sources.length === this.#seen.length &&
      sources.every((source, index) => {
        const seen = this.#seen[index];
        return seen?.source === source && seen.revision === source.revision;
      });
    if (!isSame) this.#seen = sources.map((source) => ({ source, revision: source.revision, offers: source.offers }));
    return !isSame;
  }

  /** Computes the entries from sources and choices (registry-2, registry-3). */
  #reconcile(): void {
    const found = new Map<string, Registered>();
    const isStatic = new Set<string>();
    for (const { source, offers } of this.#seen)
      for (const offered of offers) {
        const { name, availability = "callable" } = offered.manifest;
        const before = found.get(name);
        if (before !== undefined) {
          const sources = [before.source, source.id];
          if (source.isStatic && isStatic.has(name)) throw new RuntimeError("tool.duplicate", { name, sources });
          this.#context.clash({ name, sources });
          continue;
        }
        if (this.#context.isHidden(name)) continue;
        if (source.isStatic) isStatic.add(name);
        const chosen = chosenFor(this.#choices, name, source.id);
        found.set(name, { ...offered, availability: chosen ?? availability });
      }
    this.#entries = found;
  }

  requireFree(id: string): void {
    if ([...this.#base, ...this.#added].some((source) => source.id === id)) throw taken(id);
  }

  add(source: Source): void {
    this.requireFree(source.id);
    this.#added = [...this.#added, source];
  }

  /** Reads the tools of an added source, also during a turn (registry-4). */
  admit(source: Source): void {
    if (!this.#added.includes(source)) return;
    const others = this.#seen.filter((seen) => seen.source !== source);
    this.#seen = [...others, { source, revision: source.revision, offers: source.offers }];
    this.generation++;
    this.#reconcile();
  }

  /** Removes a source and the choices for its tools. A running turn keeps the tools it began with (registry-4). */
  remove(id: string): ToolChoices {
    this.#added = this.#added.filter((source) => source.id !== id);
    const isOthers = ([, { source }]: [string, { readonly source: string }]): boolean => source !== id;
    return {
      generation: this.generation + 1,
      tools: Object.fromEntries(Object.entries(this.#choices.tools).filter(isOthers)),
      grants: Object.fromEntries(Object.entries(this.#choices.grants).filter(isOthers)),
    };
  }

  list(): readonly ToolListing[] {
    const bound = [...this.#entries.values()].map(
      ({ manifest: { name, description }, source, availability }): ToolListing => ({
        name,
        description,
        source,
        availability,
      }),
    );
    const orphans = Object.entries(this.#choices.tools).flatMap(([name, choice]): readonly ToolListing[] =>
      this.#isOrphan(name, choice.source) ? [{ name, description: "", ...choice, isOrphan: true }] : [],
    );
    return [...bound, ...orphans];
  }

  #isOrphan(name: string, source: string): boolean {
    return this.#entries.get(name)?.source !== source;
  }

  // ── Choices: these return the new choices; the caller keeps them ────────────────────────────────────────────────

  /** `null` removes a choice. `lent`: the tools of the running turn only, which override the session's own. */
  set(names: readonly string[], availability: Availability | null, lent: readonly Offered[] = []): ToolChoices {
    if (availability !== null) requireAvailability(availability);
    const tools = { ...this.#choices.tools };
    for (const name of names) {
      const ofTurn = lent.find(({ manifest }) => manifest.name === name);
      const source = ofTurn?.source ?? this.#entries.get(name)?.source ?? tools[name]?.source;
      if (source === undefined) throw this.#unknown(name);
      if (availability === null) delete tools[name];
      else tools[name] = { source, availability };
    }
    return { ...this.#choices, generation: this.generation + 1, tools };
  }

  grant(name: string, grant: ToolGrant): ToolChoices {
    const there = this.#entries.get(name);
    if (there !== undefined) throw new RuntimeError("tool.duplicate", { name, sources: [there.source, grant.source] });
    if (this.granted(grant) === undefined) throw this.#unknown(`${grant.source}/${grant.tool}`);
    return {
      ...this.#choices,
      generation: this.generation + 1,
      grants: { ...this.#choices.grants, [name]: grant },
    };
  }

  revoke(name: string): ToolChoices {
    const { [name]: _, ...grants } = this.#choices.grants;
    return { ...this.#choices, generation: this.generation + 1, grants };
  }

  /** The tool that a grant leads to; undefined when its source is gone or the tool is hidden. */
  granted({ source: id, tool }: ToolGrant): Offered | undefined {
    if (this.#context.isHidden(tool)) return undefined;
    return this.#seen.find(({ source }) => source.id === id)?.offers.find(({ manifest }) => manifest.name === tool);
  }

  export(): ToolState {
    const tools: { [name: string]: ToolStateEntry } = {};
    // Tools with a source come first in the list, so they override an orphan of the same name.
    for (const { name, source, availability, isOrphan } of this.list())
      if (!Object.hasOwn(tools, name))
        tools[name] = { source, availability, ...(isOrphan === true ? { isOrphan } : {}) };
    return { generation: this.generation, surface: this.#surface(), tools };
  }

  #surface(): string {
    const names = [...this.#entries].map(([name, { source }]) => `${name} ${source}`).sort();
    return createHash("sha256").update(names.join("\n")).digest("base64url").slice(0, 16);
  }

  /** Turns an edited export into choices. A tool that is missing in it is switched off. An unknown tool is refused. */
  apply(edited: ToolState): ToolChoices {
    requireState(edited);
    if (edited.generation !== this.generation || (edited.surface ?? this.#surface()) !== this.#surface())
      throw new RuntimeError("tool.generation", { expected: edited.generation, actual: this.generation });
    const tools: { [name: string]: ToolChoices["tools"][string] } = {};
    for (const [name, { source, availability }] of Object.entries(edited.tools)) {
      const bound = this.#entries.get(name);
      const before = this.#choices.tools[name];
      if (bound?.source !== source && before?.source !== source) throw this.#unknown(name);
      if (bound?.source !== source || availability !== (bound.manifest.availability ?? "callable"))
        tools[name] = { source, availability };
    }
    for (const [name, { source }] of this.#entries)
      if (!Object.hasOwn(edited.tools, name)) tools[name] = { source, availability: "off" };
    return { ...this.#choices, generation: this.generation + 1, tools };
  }

  /** Turns a state of another session or an earlier time into choices. Entries for missing tools stay as orphans. */
  restore(saved: ToolState): ToolChoices {
    requireState(saved);
    const tools: { [name: string]: ToolChoices["tools"][string] } = {};
    for (const [name, { source, availability }] of Object.entries(saved.tools)) {
      const bound = this.#entries.get(name);
      const isPlain = bound?.source === source && availability === (bound.manifest.availability ?? "callable");
      if (!isPlain) tools[name] = { source, availability };
    }
    return { ...this.#choices, generation: Math.max(saved.generation, this.generation) + 1, tools };
  }

  #unknown(name: string): RuntimeError {
    return new RuntimeError("tool.unknown", { name, known: [...this.#entries.keys()] });
  }
}

/** The choice for this name, if it is for the tool of this source (registry-3). */
export function chosenFor({ tools }: ToolChoices, name: string, source: string): Availability | undefined {
  const choice = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return choice?.source === source ? choice.availability : undefined;
}

function requireAvailability(availability: unknown): void {
  if (!(AVAILABILITIES as readonly unknown[]).includes(availability))
    throw new RuntimeError("input.invalid", {
      problem: `the availability ${JSON.stringify(availability)} must be one of ${AVAILABILITIES.join(", ")}`,
    });
}

/** The highest generation that a restored state can have, because each change needs a higher safe integer. */
const GENERATION_MAX = 2 ** 48;

const taken = (source: string): RuntimeError =>
  new RuntimeError("tool.source", { source, problem: "its id is already in use" });

function requireState(state: ToolState): void {
  const isEntry = (entry: unknown): boolean =>
    isObject(entry) &&
    typeof entry.source === "string" &&
    (AVAILABILITIES as readonly unknown[]).includes(entry.availability);
  if (
    !isObject(state) ||
    !Number.isSafeInteger(state.generation) ||
    state.generation < 0 ||
    state.generation > GENERATION_MAX ||
    !isObject(state.tools) ||
    !Object.values(state.tools).every(isEntry)
  )
    throw new RuntimeError("input.invalid", { problem: "it must be a tool state, as `tools.export()` returns it" });
}
