// The tools of one session, from its sources to the artifact of a turn.
// Not its job: storing choices (`membership.ts`), the protocol's part of an artifact (`artifacts.ts`), running tools
// (`tools/dispatch.ts`), turns of plain sessions, which share the runtime's memo (`live-turn/memo.ts`).
// toolset-1: A turn keeps the sources with which it began: from `begin` to `end` the registry reads only new choices,
//    and sources that are added to the session.
// toolset-2: A cached artifact is reused only for an equal `#key`: base tools, the turn's tools, generation, plugin
//    states, the turn's extensions, and prompt parts if the protocol read them.
// toolset-3: Nothing is cached while a `toolCatalog` hook may see a pending state: that state may never be committed.
// toolset-4: Each listing that was acquired is released once.
import type { HookCallContext } from "../../kernel/hook-runner.ts";
import type { CatalogEdit } from "../../kernel/hook-values.ts";
import type { Owned } from "../../kernel/hooks.ts";
import type { Permissions } from "../../kernel/session-requests.ts";
import { isToolProvider, type Tool, type ToolProvider } from "../../kernel/tool.ts";
import { type Awaitable, andThen, isThenable } from "../../model/awaitable.ts";
import { frozen } from "../../model/json.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import { TOOLS_STATE, type ToolListing, type ToolManifest } from "../../model/tool.ts";
import type { Lease } from "../../stores/store.ts";
import {
  APP,
  baseOf,
  type Catalog,
  CatalogCache,
  type CatalogKey,
  type Chosen,
  composeCatalog,
  edited,
  type Granted,
  isCallable,
  type Loaded,
  type Overlay,
} from "../../tools/catalog.ts";
import { NO_CHOICES, Registry, type ToolChoices } from "../../tools/registry.ts";
import { Listing, type Offered, type Source, staticSource } from "../../tools/source.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";
import { type Artifact, isFresh } from "./artifacts.ts";

const NO_OVERLAY: Overlay = { offers: [], includeBase: true };
const NO_TOOLS: Overlay = { offers: [], includeBase: false };

const extended = (running: LiveTurn | undefined): string =>
  running?.opened.extensions === undefined ? "" : JSON.stringify(running.opened.extensions);

export class Toolset {
  readonly #session: LiveSession;
  #registry: Registry | undefined;
  /**
   * The overlay at the beginning of every turn. It excludes all tools if the session was created without base tools.
   */
  readonly #standing: Overlay;
  #overlay: Overlay;
  /** The turn's tools from `context` hooks. The same objects in the same order count as unchanged. */
  #context: readonly Owned<Tool | ToolProvider>[] = [];
  #contextRevisions: readonly number[] = [];
  #overlayRevision = 0;
  #overlays = 0;
  #contextListings: readonly Listing[] = [];
  /** toolset-1 */
  #isInTurn: boolean;
  #known: readonly Listing[] | undefined;
  #cache: CatalogCache<Artifact> | undefined;
  /** Providers that were added to this session alone. */
  #live: readonly Listing[] = [];

  constructor(session: LiveSession) {
    this.#session = session;
    this.#standing = session.hasBaseTools ? NO_OVERLAY : NO_TOOLS;
    this.#overlay = this.#standing;
    this.#isInTurn = session.running !== undefined;
  }

  get hasOwn(): boolean {
    return this.#live.length > 0;
  }

  /** Updated at every read: choices always, sources only between turns (toolset-1). */
  get registry(): Registry {
    const { states } = this.#session.snapshot;
    const choices = (states.peek(TOOLS_STATE) as ToolChoices | undefined) ?? NO_CHOICES;
    if (this.#registry === undefined) {
      const made = this.#made(choices);
      for (const listing of this.#live) made.add(listing);
      for (const listing of this.#live) made.admit(listing);
      this.#registry = made;
    } else this.#registry.sync(choices, !this.#isInTurn);
    return this.#registry;
  }

  #made(choices = NO_CHOICES): Registry {
    const { core, id } = this.#session;
    return new Registry(this.#sources(), choices, {
      clash: ({ name, sources }) =>
        core.trace("tool.duplicate", { tool: name, sources: sources.join(", ") }, { sessionId: id }),
      isHidden: (name) => isHidden(this.#session.permissions, name),
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

  /** toolset-4: acquired once, released by `close`. */
  #listings(): readonly Listing[] {
    const { core, composition } = this.#session;
    this.#known ??= [...core.providers, ...composition.providers].map((owned) => core.listings.take(owned));
    return this.#known;
  }

  /** No providers and no choices: the tools cannot change, so no registry is needed. */
  get #isStatic(): boolean {
    const { core, composition, snapshot } = this.#session;
    return (
      core.providers.length === 0 &&
      composition.providers.length === 0 &&
      this.#live.length === 0 &&
      snapshot.states.peek(TOOLS_STATE) === undefined
    );
  }

  #key(): CatalogKey {
    const { composition, snapshot, running } = this.#session;
    return {
      includeBase: (this.#isInTurn ? this.#overlay : this.#standing).includeBase,
      overlay: this.#isInTurn ? this.#overlayRevision : 0,
      generation: this.#isStatic ? 0 : this.registry.generation,
      // Plugin states and extensions matter only if a hook can use them to edit the catalog.
      fingerprint: composition.hooks.has.toolCatalog ? snapshot.states.fingerprint() + extended(running) : "",
    };
  }

  /** Lists changed providers again. Undefined if there is nothing to wait for. */
  refresh(): Promise<unknown> | undefined {
    const { core, composition } = this.#session;
    if (core.providers.length === 0 && composition.providers.length === 0 && this.#live.length === 0) return undefined;
    const reading = [...this.#listings(), ...this.#live].flatMap((listing) => listing.refresh() ?? []);
    return reading.length === 0 ? undefined : Promise.all(reading);
  }

  /** Lists all providers again, loads their tools again, and drops the catalogs made from them. */
  async renew(): Promise<void> {
    await Promise.all([...this.#listings(), ...this.#live, ...this.#contextListings].map((each) => each.renew()));
    this.#cache = undefined;
  }

  /** toolset-3 */
  get #isUnsettled(): boolean {
    const { composition, snapshot } = this.#session;
    return snapshot.states.hasPending && composition.hooks.has.toolCatalog;
  }

  /** `prompt`: the parts for the protocol. Throws errors of a `toolCatalog` hook, and `tool.duplicate`. */
  async artifact(prompt: readonly PromptPart[], callContext: () => HookCallContext, lease: Lease): Promise<Artifact> {
    const key = this.#isUnsettled ? undefined : this.#key();
    const known = key === undefined ? undefined : this.#cache?.find(key, prompt);
    return known !== undefined && isFresh(known, lease) ? known : this.#build(key, prompt, callContext, lease);
  }

  /** The tools that a turn would have if it began now. */
  async catalog(callContext: () => HookCallContext): Promise<Catalog> {
    const all = await this.#chosen(callContext);
    const callable = all.filter(({ availability }) => isCallable(availability));
    const loaded = (await this.#load(callable)).filter((each) => each !== undefined);
    const others = all.filter(({ availability }) => !isCallable(availability));
    return composeCatalog(loaded, others, await this.#granted());
  }

  async #build(
    key: CatalogKey | undefined,
    prompt: readonly PromptPart[],
    callContext: () => HookCallContext,
    lease: Lease,
  ): Promise<Artifact> {
    const { core, slot, composition } = this.#session;
    const { contributions, triggers } = composition;
    this.#cache ??= new CatalogCache();
    // Keeps the present cache, because `renew` drops it with everything that is built meanwhile.
    const cache = this.#cache;
    const all = await this.#chosen(callContext);
    const callable = all.filter(({ availability }) => isCallable(availability));
    const loaded = (await this.#load(callable)).filter((each) => each !== undefined);
    const others = all.filter(({ availability }) => !isCallable(availability));
    const granted = await this.#granted();
    const from = { slot, loaded, others, granted, contributions, triggers, prompt };
    const artifact = await core.artifacts.of(from, lease);
    // Not cached when a tool could not be loaded: the next turn tries again.
    if (key !== undefined && loaded.length === callable.length) cache.keep(key, artifact.seen.prompt, artifact);
    return artifact;
  }

  /** Returns a promise only if a `toolCatalog` hook does. */
  #chosen(callContext: () => HookCallContext): Awaitable<readonly Chosen[]> {
    const { composition, permissions, restrictions, catalogEdits } = this.#session;
    const { entries, choices } = this.#isStatic ? this.#made() : this.registry;
    const base = baseOf(entries.values(), this.#isInTurn ? this.#overlay : this.#standing, permissions, choices);
    const finish = (edits: readonly Owned<CatalogEdit>[]): readonly Chosen[] =>
      edited(base, [...edits.map(ofOwned), ...catalogEdits], permissions);
    if (!composition.hooks.has.toolCatalog) return finish([]);
    const contract = (name: string): ToolDeclaration | undefined => {
      const chosen = base.find(({ offered }) => offered.manifest.name === name);
      return frozen(declarationOf(chosen, chosen?.offered.loaded()));
    };
    const sees = { tools: base.map(manifestOf), contract, ...restrictions };
    return andThen(composition.hooks.collect("toolCatalog", sees, callContext()), finish);
  }

  /** Loads tools of providers in parallel. Returns a promise only if there are tools to load. */
  #load(chosen: readonly Chosen[]): Awaitable<readonly (Loaded | undefined)[]> {
    const load = async (one: Chosen): Promise<Loaded | undefined> => {
      const { offered } = one;
      const tool = await offered.load();
      if (tool !== undefined) return { ...one, tool };
      this.#left(offered.manifest.name, offered.source, "it could not be loaded");
      return undefined;
    };
    const found = chosen.map((one) => {
      const tool = one.offered.loaded();
      return tool === undefined ? load(one) : { ...one, tool };
    });
    return found.some(isThenable) ? Promise.all(found) : (found as readonly Loaded[]);
  }

  async #granted(): Promise<readonly Granted[]> {
    if (this.#isStatic) return [];
    const { registry } = this;
    const found: Granted[] = [];
    for (const [name, grant] of Object.entries(registry.choices.grants)) {
      const offered = isHidden(this.#session.permissions, name) ? undefined : registry.granted(grant);
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

  /** toolset-1: fixes the present sources for the whole turn. */
  begin(): void {
    this.#isInTurn = false;
    if (!this.#isStatic) void this.registry;
    this.#isInTurn = true;
    this.#session.noteNewTools(false);
  }

  end(): void {
    this.#isInTurn = false;
  }

  /** A tool that a gate names and that the session does not have is reported once. */
  isFirstReport(name: string): boolean {
    if (this.#reported.has(name)) return false;
    this.#reported.add(name);
    return true;
  }
  readonly #reported = new Set<string>();

  /** Sets the turn's tools, from `context` hooks. Equal tools keep the cache. Returns a function that undoes it. */
  async overlay(tools: readonly Owned<Tool | ToolProvider>[], wantsBase: boolean): Promise<() => void> {
    const includeBase = wantsBase && this.#standing.includeBase;
    const before = [this.#overlay, this.#context, this.#contextRevisions, this.#overlayRevision] as const;
    const undo = (): void => {
      [this.#overlay, this.#context, this.#contextRevisions, this.#overlayRevision] = before;
    };
    const { listings } = this.#session.core;
    const offers: Overlay["offers"][number][] = [];
    const givers = new Map(
      tools.flatMap(({ plugin, value }) => (isToolProvider(value) ? [] : [[value.name, plugin] as const])),
    );
    const revisions: number[] = [];
    const taken: Listing[] = [];
    for (const { plugin, value } of tools) {
      if (!isToolProvider(value)) offers.push(...staticSource(plugin, [value]).offers);
      else {
        const listing = listings.take({ plugin, value });
        taken.push(listing);
        await listing.refresh();
        offers.push(...listing.offers.filter(({ manifest: { name } }) => this.#isFirst(givers, name, value.id)));
        revisions.push(listing.revision);
      }
    }
    for (const { provider } of this.#contextListings) listings.give(provider);
    this.#contextListings = taken;
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

  /**
   * The names of the tools of all sources, also of those that the session does not use; undefined until all lists are
   * read.
   */
  get offered(): readonly string[] | undefined {
    const { core, composition } = this.#session;
    const listings = [...this.#listings(), ...this.#live, ...this.#contextListings];
    if (!listings.every(({ isRead }) => isRead)) return undefined;
    const tools = [...core.tools, ...composition.tools].map(({ value }) => value.name);
    const offers = [...this.#overlay.offers, ...listings.flatMap((listing) => listing.offers)];
    return [...tools, ...offers.map(({ manifest }) => manifest.name)];
  }

  /** The tools that `context` hooks lent to the turn. */
  get lent(): readonly Offered[] {
    return this.#isInTurn ? this.#overlay.offers : [];
  }

  /** If the turn already has a tool of this name, the provider's tool is left out and traced, as in the registry. */
  #isFirst(givers: Map<string, string>, tool: string, source: string): boolean {
    const { core, id } = this.#session;
    const before = givers.get(tool);
    if (before === undefined) givers.set(tool, source);
    else core.trace("tool.duplicate", { tool, sources: `${before}, ${source}` }, { sessionId: id });
    return before === undefined;
  }

  /** The tools that plugins can see: all that are not switched off. */
  manifests(callContext: HookCallContext): Awaitable<readonly ToolManifest[]> {
    return andThen(
      this.#chosen(() => callContext),
      (chosen) => chosen.filter(({ availability }) => availability !== "off").map(manifestOf),
    );
  }

  /** The tools that the model gets. Throws errors of a `toolCatalog` hook. */
  async list(callContext: HookCallContext): Promise<readonly ToolListing[]> {
    const found = (await this.#chosen(() => callContext)).map(async (chosen): Promise<readonly ToolListing[]> => {
      const { availability, offered } = chosen;
      if (availability === "off") return [];
      const tool = offered.loaded() ?? (isCallable(availability) ? await offered.load() : undefined);
      if (tool === undefined && isCallable(availability)) return []; // A turn omits such a tool too.
      return [{ ...manifestOf(chosen), ...declarationOf(chosen, tool), source: offered.source, availability }];
    });
    return frozen((await Promise.all(found)).flat());
  }

  async describe(name: string, callContext: HookCallContext): Promise<ToolDeclaration | undefined> {
    const chosen = (await this.#chosen(() => callContext)).find(({ offered }) => offered.manifest.name === name);
    if (chosen === undefined || chosen.availability === "off") return undefined;
    return declarationOf(chosen, chosen.offered.loaded() ?? (await chosen.offered.load()));
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
    this.registry.admit(listing);
    this.#session.noteNewTools(this.#isInTurn);
    return listing;
  }

  /** Returns the choices that remain. */
  remove(listing: Listing): ToolChoices {
    const choices = this.registry.remove(listing.id);
    this.#live = this.#live.filter((each) => each !== listing);
    listing.close();
    return choices;
  }

  /** toolset-4 */
  close(): void {
    for (const listing of this.#live) listing.close();
    this.#live = [];
    this.recompose();
  }

  /**
   * Drops the tools of the session's plugins, because the plugins will change. Providers that were added to the session
   * stay.
   */
  recompose(): void {
    const { listings } = this.#session.core;
    for (const { provider } of [...(this.#known ?? []), ...this.#contextListings]) listings.give(provider);
    this.#known = undefined;
    this.#registry = undefined;
    this.#cache = undefined;
    this.#contextListings = [];
  }
}

const ofOwned = <T>({ value }: Owned<T>): T => value;
const manifestOf = ({ offered: { manifest }, description, availability }: Chosen): ToolManifest => ({
  name: manifest.name,
  description,
  ...(manifest.path === undefined ? {} : { path: manifest.path }),
  ...(availability === "callable" ? {} : { availability }),
});
const declarationOf = (chosen: Chosen | undefined, tool: Tool | undefined): ToolDeclaration | undefined =>
  chosen === undefined || tool === undefined
    ? undefined
    : {
        name: tool.name,
        description: chosen.description,
        inputSchema: tool.inputSchema,
        ...(tool.path === undefined ? {} : { path: tool.path }),
        ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
      };
const isHidden = ({ hiddenTools, toolAccess }: Permissions, name: string): boolean =>
  hiddenTools?.includes(name) === true || toolAccess?.includes(name) === false;
