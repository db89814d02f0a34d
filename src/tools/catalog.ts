import type { CatalogEdit } from "../kernel/hook-values.ts";
import type { Owned } from "../kernel/hooks.ts";
import { isSamePrompt } from "../kernel/prompt.ts";
import type { Permissions } from "../kernel/session-requests.ts";
import type { Tool } from "../kernel/tool.ts";
import { frozen, type JsonObject } from "../model/json.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Availability, ToolManifest } from "../model/tool.ts";
import { chosenFor, type Registered, type ToolChoices } from "./registry.ts";
import type { Offered } from "./source.ts";

/** A callable tool with its owner and its bindings in this session. */
export interface Member extends Owned<Tool> {
  readonly bindings: JsonObject;
}

/** The tools of one turn, and their declarations for the model. */
export interface Catalog {
  readonly declarations: readonly ToolDeclaration[];
  /** The names of declared tools; without granted ones. */
  readonly names: readonly string[];
  /** All tools that are not switched off, including those that only a search finds. */
  readonly manifests: readonly ToolManifest[];
  /** Every tool that can be called, including granted ones. */
  readonly callable: readonly (readonly [name: string, member: Member])[];
  find(name: string): Member | undefined;
  /** Why a tool that exists cannot be called; undefined when there is no such tool or it is callable. */
  availability(name: string): Availability | undefined;
}

/** The owner of the app's own tools. */
export const APP = "app";

/** Tools for one turn, from `context` hooks. */
export interface Overlay {
  readonly offers: readonly Offered[];
  readonly includeBase: boolean;
}

/** A tool while its catalog is built, with the edits so far. */
export interface Chosen {
  readonly offered: Offered;
  readonly description: string;
  readonly availability: Availability;
}

/**
 * The session's tools, unless the overlay excludes them, followed by the turn's. A tool of the turn replaces a
 * session's tool with the same name.
 */
export function baseOf(
  registered: Iterable<Registered>,
  { offers, includeBase }: Overlay,
  { toolAccess }: Permissions,
  choices: ToolChoices,
): readonly Chosen[] {
  const found = new Map<string, Chosen>();
  const add = (offered: Offered, availability: Availability): void => {
    const { name, description, audience } = offered.manifest;
    if (toolAccess?.includes(name) === false) return;
    if (audience !== "runtime") found.set(name, { offered, description, availability });
  };
  if (includeBase) for (const each of registered) add(each, each.availability);
  for (const offered of offers) {
    const { name, availability = "callable" } = offered.manifest;
    add(offered, chosenFor(choices, name, offered.source) ?? availability);
  }
  return [...found.values()];
}

/**
 * Applies the plugins' edits in their order, then the session's own. Tools that the permissions hide are removed last,
 * so no edit can bring them back.
 */
export function edited(
  base: readonly Chosen[],
  edits: readonly CatalogEdit[],
  { hiddenTools }: Permissions,
): readonly Chosen[] {
  if (edits.length === 0 && hiddenTools === undefined) return base;
  const found = new Map(base.map((chosen) => [chosen.offered.manifest.name, chosen]));
  for (const { tool, hide, availability, description, note } of edits) {
    const before = found.get(tool);
    if (before === undefined) continue;
    if (hide === true) found.delete(tool);
    else {
      const words = description ?? before.description;
      found.set(tool, {
        offered: before.offered,
        description: note === undefined ? words : `${words}\n\n${note}`,
        availability: availability ?? before.availability,
      });
    }
  }
  for (const name of hiddenTools ?? []) found.delete(name);
  return [...found.values()];
}

export const isCallable = (availability: Availability): boolean =>
  availability === "callable" || availability === "documented";

export interface Loaded extends Chosen {
  readonly tool: Tool;
}
/** A tool with its granted name. */
export interface Granted {
  readonly name: string;
  readonly tool: Tool;
  readonly owner: string;
  readonly bindings: JsonObject;
}

export function composeCatalog(
  loaded: readonly Loaded[],
  others: readonly Chosen[],
  granted: readonly Granted[],
): Catalog {
  const members = new Map<string, Member>();
  for (const { name, tool, owner, bindings } of granted)
    members.set(name, { plugin: owner, value: tool, bindings: frozen({ ...tool.bindings, ...bindings }) });
  for (const { tool, offered } of loaded)
    members.set(tool.name, { plugin: offered.owner, value: tool, bindings: frozen(tool.bindings ?? NOTHING) });
  return {
    declarations: loaded.map(({ tool, description, availability }) => ({
      name: tool.name,
      description,
      inputSchema: tool.inputSchema,
      ...(tool.path === undefined ? NOTHING : { path: tool.path }),
      ...(tool.outputSchema === undefined ? NOTHING : { outputSchema: tool.outputSchema }),
      ...(availability === "documented" ? documented(tool) : NOTHING),
    })),
    names: loaded.map(({ tool }) => tool.name),
    manifests: [...loaded, ...others.filter(({ availability }) => availability !== "off")].map(
      ({ offered: { manifest }, description, availability }) => ({
        name: manifest.name,
        description,
        ...(manifest.path === undefined ? NOTHING : { path: manifest.path }),
        ...(availability === "callable" ? NOTHING : { availability }),
      }),
    ),
    callable: [...members],
    find: (name) => members.get(name),
    availability: (name) => others.find(({ offered }) => offered.manifest.name === name)?.availability,
  };
}
const NOTHING = {};

const documented = ({ examples }: Tool): Partial<ToolDeclaration> =>
  examples === undefined ? { isDocumented: true } : { isDocumented: true, examples };

/** Everything that a session's catalog depends on: equal keys mean the same catalog. */
export interface CatalogKey {
  readonly includeBase: boolean;
  /** Identifies the set of tools that belong to the turn. */
  readonly overlay: number;
  readonly generation: number;
  readonly fingerprint: string;
}

const ENTRIES_MAX = 4;

/** The latest catalogs of a session, newest first, with the protocol's preamble of each. */
export class CatalogCache<T> {
  readonly #entries: {
    readonly key: CatalogKey;
    readonly prompt: readonly PromptPart[] | undefined;
    readonly artifact: T;
  }[] = [];

  find(key: CatalogKey, prompt: readonly PromptPart[]): T | undefined {
    return this.#entries.find(
      ({ key: { includeBase, overlay, generation, fingerprint }, prompt: seen }) =>
        includeBase === key.includeBase &&
        overlay === key.overlay &&
        generation === key.generation &&
        fingerprint === key.fingerprint &&
        (seen === undefined || isSamePrompt(seen, prompt)),
    )?.artifact;
  }

  /** `prompt`: the parts that the protocol read; undefined if it read none. */
  keep(key: CatalogKey, prompt: readonly PromptPart[] | undefined, artifact: T): void {
    this.#entries.unshift({ key, prompt, artifact });
    this.#entries.length = Math.min(this.#entries.length, ENTRIES_MAX);
  }
}
