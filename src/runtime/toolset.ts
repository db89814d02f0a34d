import type { Composition } from "../kernel/compose.ts";
import type { CatalogEdit, Owned } from "../kernel/hooks.ts";
import type { Surroundings } from "../kernel/run.ts";
import type { Authority } from "../kernel/services.ts";
import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import type { PluginStates } from "../kernel/states.ts";
import { isToolProvider, type Tool, type ToolProvider } from "../kernel/tool.ts";
import { after } from "../model/awaitable.ts";
import { type Awaitable, isThenable } from "../model/json.ts";
import type { ToolDeclaration } from "../model/request.ts";
import { TOOLS_STATE, type ToolManifest } from "../model/tool.ts";
import {
  APP,
  baseOf,
  CatalogCache,
  type CatalogKey,
  type Chosen,
  edited,
  type Granted,
  isCallable,
  type Loaded,
  type Overlay,
} from "../tools/catalog.ts";
import { NO_CHOICES, Registry, type ToolChoices } from "../tools/registry.ts";
import { Listing, type Listings, type Source, staticSource } from "../tools/source.ts";
import type { Artifact, Artifacts } from "./artifacts.ts";

/** What a session's tools are made of. */
export interface ToolsetSession {
  readonly core: {
    readonly tools: readonly Owned<Tool>[];
    readonly providers: readonly Owned<ToolProvider>[];
    readonly artifacts: Artifacts;
    readonly listings: Listings;
    readonly trace: (
      name: string,
      about: { readonly [key: string]: string },
      where?: { readonly sessionId?: string },
    ) => void;
  };
  readonly id: string;
  readonly composition: Composition;
  readonly slot: ProtocolDriverSlot;
  readonly states: PluginStates;
  readonly authority: Authority;
  /** Edits of its own, after those of plugins. */
  readonly catalogEdits: readonly CatalogEdit[];
}

const NO_OVERLAY: Overlay = { offers: [], includeBase: true };

/**
 * The tools of one session, from its sources to the catalog a turn runs on. Built once for the same sources, choices,
 * turn's tools and plugin states; a session that uses nothing of all that shares what the runtime built.
 */
export class Toolset {
  readonly #session: ToolsetSession;
  #registry: Registry | undefined;
  #overlay = NO_OVERLAY;
  /** As they were given: the same objects in the same order are no change. */
  #context: readonly Owned<Tool | ToolProvider>[] = [];
  #contextRevisions: readonly number[] = [];
  #overlayRevision = 0;
  #overlays = 0;
  #contextProviders: readonly ToolProvider[] = [];
  /** A turn runs: it keeps the sources it began with, and has its own tools besides. */
  #isInTurn = false;
  #known: readonly Listing[] | undefined;
  #cache: CatalogCache<Artifact> | undefined;
  /** Providers of this session alone. */
  #live: readonly Listing[] = [];

  constructor(session: ToolsetSession) {
    this.#session = session;
  }

  /** The session's sources and choices, in step with both. */
  get registry(): Registry {
    const { states } = this.#session;
    const choices = (states.peek(TOOLS_STATE) as ToolChoices | undefined) ?? NO_CHOICES;
    if (this.#registry === undefined) this.#registry = this.#made(choices);
    else this.#registry.sync(choices, !this.#isInTurn);
    return this.#registry;
  }

  #made(choices = NO_CHOICES): Registry {
    const { core, id } = this.#session;
    return new Registry(this.#sources(), choices, {
      clash: ({ name, sources }) =>
        core.trace("tool.duplicate", { tool: name, sources: sources.join(", ") }, { sessionId: id }),
      isHidden: (name) => isHidden(this.#session.authority, name),
    });
  }

  #sources(): readonly Source[] {
    const { core, composition } = this.#session;
    const byPlugin = Map.groupBy(composition.tools, ({ plugin }) => plugin);
    return [
      staticSource(APP, core.tools.map(ofOwned)),
      ...[...byPlugin].map(([plugin, owned]) => staticSource(plugin, owned.map(ofOwned))),
      ...this.#listings(),
    ];
  }

  /** Taken once, given back when the session is let go. */
  #listings(): readonly Listing[] {
    const { core, composition } = this.#session;
    this.#known ??= [...core.providers, ...composition.providers].map((owned) => core.listings.take(owned));
    return this.#known;
  }

  /** Nothing but tools that are known from the start. */
  get #isPlain(): boolean {
    const { core, composition, states } = this.#session;
    return (
      core.providers.length === 0 &&
      composition.providers.length === 0 &&
      this.#live.length === 0 &&
      states.peek(TOOLS_STATE) === undefined
    );
  }

  #key(): CatalogKey {
    const { composition, states } = this.#session;
    return {
      includeBase: !this.#isInTurn || this.#overlay.includeBase,
      overlay: this.#isInTurn ? this.#overlayRevision : 0,
      generation: this.#isPlain ? 0 : this.registry.generation,
      // Only where a plugin edits the catalog can its state matter to it.
      fingerprint: composition.hooks.has("toolCatalog") ? states.fingerprint() : "",
    };
  }

  /** Reads again what providers say has changed; undefined when there is nothing to wait for. */
  refresh(): Promise<unknown> | undefined {
    const { core, composition } = this.#session;
    if (core.providers.length === 0 && composition.providers.length === 0 && this.#live.length === 0) return undefined;
    const reading = [...this.#listings(), ...this.#live].flatMap((listing) => listing.refresh() ?? []);
    return reading.length === 0 ? undefined : Promise.all(reading);
  }

  /** What was built before for what is there now, if anything. */
  known(): Artifact | undefined {
    const { core, slot } = this.#session;
    if (this.#isUnsettled) return undefined;
    const known = this.#cache?.find(this.#key()) ?? (this.#hasOnlyApps ? core.artifacts.ofApp.get(slot) : undefined);
    return known !== undefined && core.artifacts.isFresh(known) ? known : undefined;
  }

  /** The app's tools and no others, as they are: most sessions. */
  get #hasOnlyApps(): boolean {
    const { composition, authority, catalogEdits } = this.#session;
    return (
      this.#isPlain &&
      !(this.#isInTurn && this.#overlayRevision > 0) &&
      composition.tools.length === 0 &&
      !composition.hooks.has("toolCatalog") &&
      authority.hiddenTools === undefined &&
      authority.toolAccess === undefined &&
      catalogEdits.length === 0
    );
  }

  /** A plugin's edits may follow from a state that does not count yet, and perhaps never will. */
  get #isUnsettled(): boolean {
    const { composition, states } = this.#session;
    return states.hasPending && composition.hooks.has("toolCatalog");
  }

  /** Throws what a `toolCatalog` hook throws, and `tool.duplicate`. */
  artifact(here: Surroundings): Awaitable<Artifact> {
    if (this.#isUnsettled) return this.#built(undefined, here);
    const key = this.#key();
    const known = this.#cache?.find(key);
    return known !== undefined && this.#session.core.artifacts.isFresh(known) ? known : this.#built(key, here);
  }

  async #built(key: CatalogKey | undefined, here: Surroundings): Promise<Artifact> {
    const { core, slot } = this.#session;
    const all = await this.#chosen(here);
    const callable = all.filter(({ availability }) => isCallable(availability));
    const loading = callable.map((chosen): Awaitable<Loaded | undefined> => {
      const { tool } = chosen.offered;
      return tool === undefined ? this.#loaded(chosen) : { ...chosen, tool };
    });
    const found = loading.some(isThenable) ? await Promise.all(loading) : (loading as readonly (Loaded | undefined)[]);
    const loaded = found.filter((each) => each !== undefined);
    const others = all.filter(({ availability }) => !isCallable(availability));
    const artifact = await core.artifacts.of({ slot, loaded, others, granted: await this.#granted() });
    if (this.#hasOnlyApps) core.artifacts.ofApp.set(slot, artifact);
    // One that could not be loaded is tried again in the next turn.
    else if (key !== undefined && loaded.length === callable.length)
      (this.#cache ??= new CatalogCache()).keep(key, artifact);
    return artifact;
  }

  #chosen(here: Surroundings): Awaitable<readonly Chosen[]> {
    const { composition, authority, catalogEdits } = this.#session;
    const { entries } = this.#isPlain ? this.#made() : this.registry;
    const base = baseOf(entries.values(), this.#isInTurn ? this.#overlay : NO_OVERLAY, authority);
    const finish = (edits: readonly Owned<CatalogEdit>[]): readonly Chosen[] =>
      edited(base, [...edits.map(ofOwned), ...catalogEdits], authority);
    if (!composition.hooks.has("toolCatalog")) return finish([]);
    return after(composition.hooks.collect("toolCatalog", { tools: base.map(manifestOf) }, here), finish);
  }

  async #loaded(chosen: Chosen): Promise<Loaded | undefined> {
    const { offered } = chosen;
    const tool = await offered.load();
    if (tool !== undefined) return { ...chosen, tool };
    this.#left(offered.manifest.name, offered.source, "it could not be loaded");
    return undefined;
  }

  async #granted(): Promise<readonly Granted[]> {
    if (this.#isPlain) return [];
    const { registry } = this;
    const found: Granted[] = [];
    for (const [name, grant] of Object.entries(registry.choices.grants)) {
      const offered = isHidden(this.#session.authority, name) ? undefined : registry.granted(grant);
      const tool = await offered?.load();
      if (offered === undefined || tool === undefined) this.#left(name, grant.source, "what was granted is not there");
      else found.push({ name, tool, owner: offered.owner, bindings: grant.bindings ?? {} });
    }
    return found;
  }

  #left(tool: string, source: string, problem: string): void {
    const { core, id } = this.#session;
    core.trace("tool.unavailable", { tool, source, problem }, { sessionId: id });
  }

  /** A turn begins: it has the sources as they are now, until it ends. */
  begin(): void {
    this.#isInTurn = false;
    if (!this.#isPlain) void this.registry;
    this.#isInTurn = true;
  }

  end(): void {
    this.#isInTurn = false;
  }

  /** The turn's tools, from `context` hooks. Those of the turn before in the same order are no change. */
  async overlay(tools: readonly Owned<Tool | ToolProvider>[], includeBase: boolean): Promise<() => void> {
    const before = [this.#overlay, this.#context, this.#contextRevisions, this.#overlayRevision] as const;
    const undo = (): void => {
      [this.#overlay, this.#context, this.#contextRevisions, this.#overlayRevision] = before;
    };
    const { listings } = this.#session.core;
    const offers: Overlay["offers"][number][] = [];
    const revisions: number[] = [];
    const taken: ToolProvider[] = [];
    for (const { plugin, value } of tools) {
      if (!isToolProvider(value)) offers.push(...staticSource(plugin, [value]).offers);
      else {
        const listing = listings.take({ plugin, value });
        taken.push(value);
        await listing.refresh();
        offers.push(...listing.offers);
        revisions.push(listing.revision);
      }
    }
    for (const provider of this.#contextProviders) listings.give(provider);
    this.#contextProviders = taken;
    const isSame =
      includeBase === this.#overlay.includeBase &&
      tools.length === this.#context.length &&
      tools.every(({ value }, index) => value === this.#context[index]?.value) &&
      revisions.every((revision, index) => revision === this.#contextRevisions[index]);
    if (isSame) return undo;
    this.#overlay = { offers, includeBase };
    this.#context = tools;
    this.#contextRevisions = revisions;
    this.#overlayRevision = tools.length === 0 && includeBase ? 0 : ++this.#overlays;
    return undo;
  }

  /** All that the session has, as plugins and hosts may see them. */
  manifests(here: Surroundings): Awaitable<readonly ToolManifest[]> {
    return after(this.#chosen(here), (chosen) =>
      chosen.filter(({ availability }) => availability !== "off").map(manifestOf),
    );
  }

  async describe(name: string, here: Surroundings): Promise<ToolDeclaration | undefined> {
    const chosen = (await this.#chosen(here)).find(({ offered }) => offered.manifest.name === name);
    if (chosen === undefined || chosen.availability === "off") return undefined;
    const tool = chosen.offered.tool ?? (await chosen.offered.load());
    return tool === undefined ? undefined : { name, description: chosen.description, inputSchema: tool.inputSchema };
  }

  // ── Sources of this session alone ───────────────────────────────────────────────────────────────────────────────

  async add(provider: ToolProvider): Promise<Listing> {
    const { core, id } = this.#session;
    this.registry.requireFree(provider.id);
    const listing = new Listing(APP, provider, (problem, about) =>
      core.trace("tool.source", { problem, ...about }, { sessionId: id }),
    );
    this.registry.add(listing);
    this.#live = [...this.#live, listing];
    await listing.refresh();
    return listing;
  }

  /** What then stands of the session's choices. */
  remove(listing: Listing): ToolChoices {
    const choices = this.registry.remove(listing.id);
    this.#live = this.#live.filter((each) => each !== listing);
    listing.close();
    return choices;
  }

  /** The session is let go. */
  close(): void {
    const { core, composition } = this.#session;
    for (const listing of this.#live) listing.close();
    this.#live = [];
    if (this.#known !== undefined)
      for (const { value } of [...core.providers, ...composition.providers]) core.listings.give(value);
    this.#known = undefined;
    this.#registry = undefined;
    for (const provider of this.#contextProviders) core.listings.give(provider);
    this.#contextProviders = [];
  }
}

const ofOwned = <T>({ value }: Owned<T>): T => value;
const manifestOf = ({ offered: { manifest }, description, availability }: Chosen): ToolManifest => ({
  name: manifest.name,
  description,
  ...(availability === "callable" ? {} : { availability }),
});
const isHidden = ({ hiddenTools, toolAccess }: Authority, name: string): boolean =>
  hiddenTools?.includes(name) === true || toolAccess?.includes(name) === false;
