import type { EffectHost } from "../hosts/host.ts";
import type { Composition } from "../kernel/compose.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Installed } from "../kernel/plugin.ts";
import { mergePrompt, renderPrompt, type Section } from "../kernel/prompt.ts";
import type { Probe, Surroundings } from "../kernel/run.ts";
import type { Authority } from "../kernel/services.ts";
import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { BlobHash } from "../model/ids.ts";
import { describeThrown, type Json, unheard } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Tool } from "../model/tool.ts";
import type { World } from "../model/world.ts";
import type { Model, ModelResolver, Provider } from "../providers/provider.ts";
import type { Owner, Store } from "../stores/store.ts";
import { type Catalog, composeCatalog, hashOf } from "../tools/catalog.ts";
import type { TraceSink } from "../trace/trace.ts";
import type { Answer } from "../turn/event.ts";

/** What all sessions of a runtime share. */
export interface Core {
  /** Closed first, before what runs is let go. */
  readonly door: { isClosed: boolean };
  readonly store: Store;
  readonly host: EffectHost;
  readonly world: World;
  readonly owner: Owner;
  readonly limits: Limits;
  /** What a session runs on where it has nothing of its own. */
  readonly config: SessionConfig;
  readonly plugins: readonly Installed[];
  /** Fills the protocol slots when no plugin does. */
  readonly protocol: Installed | undefined;
  /** Without plugins every session is composed alike: the protocol alone, set up once. */
  readonly bare: Composition | undefined;
  readonly bareFlags: WeakMap<Artifact, TurnFlags>;
  readonly tools: readonly Owned<Tool>[];
  readonly models: Models;
  readonly artifacts: Artifacts;
  readonly probe: Probe | undefined;
  /** As a turn records them. */
  readonly pluginList: readonly { readonly id: string; readonly version: string }[];
  readonly trace: (
    name: string,
    about: { readonly [key: string]: Json },
    where?: { readonly sessionId?: string; readonly turnId?: string },
  ) => void;
}

export const tracer = (sink: TraceSink | undefined, world: World): Core["trace"] =>
  sink === undefined
    ? () => {}
    : (name, about, where) => {
        try {
          unheard(sink({ at: world.now(), name, ...where, about }));
        } catch {
          // A sink that throws is nobody's problem but its own.
        }
      };

/** A handler blocked past its deadline: told, because it could not be stopped. */
export const overran =
  (trace: Core["trace"]) =>
  (error: RuntimeError): void =>
    trace(error.code, { plugin: (error.details as { plugin?: string }).plugin ?? "", problem: error.message });

/** Finds the provider for a model's name; the one given to the runtime is known from the start. */
export class Models {
  readonly #found = new Map<string, Provider>();
  readonly #resolve: ModelResolver | undefined;
  readonly #adapt: (model: Model) => Provider;

  constructor(adapt: (model: Model) => Provider, resolve: ModelResolver | undefined) {
    this.#adapt = adapt;
    this.#resolve = resolve;
  }

  /** Gives the name under which sessions keep it. */
  add(model: Model): string {
    const provider = this.#adapt(model);
    const name = `${provider.id}/${provider.modelId}`;
    this.#found.set(name, provider);
    return name;
  }

  known(name: string): Provider | undefined {
    return this.#found.get(name);
  }

  async require(name: string): Promise<Provider> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    if (this.#resolve === undefined) {
      const [actual] = this.#found.keys();
      throw actual === undefined
        ? new RuntimeError("provider.unconfigured", { name })
        : new RuntimeError("provider.mismatch", { expected: name, actual });
    }
    try {
      const model = (await this.#resolve(name)) ?? undefined;
      if (model === undefined) throw new RuntimeError("provider.unconfigured", { name });
      const provider = this.#adapt(model);
      this.#found.set(name, provider);
      return provider;
    } catch (error) {
      throw error instanceof RuntimeError
        ? error
        : new RuntimeError("provider.unavailable", { name, problem: describeThrown(error) }, { cause: error });
    }
  }
}

/** Which stages of a turn have something to do. */
export type TurnFlags = Pick<Extract<Answer, { kind: "prepared" }>, "responds" | "compacts" | "skips" | "policies">;

/** A catalog and what the protocol makes of it: built once, used by every turn and session with the same tools. */
export interface Artifact {
  readonly catalog: Catalog;
  readonly declarations: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
  /** Of the declarations, as JSON in a blob. */
  readonly hash: BlobHash;
  /** Prompts that no plugin had a part in, by the instructions. */
  readonly prompts: Map<string, Prompt>;
}
export interface Prompt {
  readonly system: string;
  readonly hash: BlobHash;
}

interface Cached {
  readonly tools: readonly Tool[];
  readonly slot: ProtocolDriverSlot;
  readonly artifact: Artifact;
}

const KEPT = 32;
const utf8 = new TextEncoder();

export class Artifacts {
  readonly #store: Store;
  readonly #template: readonly Section[] | undefined;
  readonly #cached: Cached[] = [];
  readonly #prompts = new Map<string, Prompt>();

  constructor(store: Store, template: readonly Section[] | undefined) {
    this.#store = store;
    this.#template = template;
  }

  /** What was built before for the same tools, if anything. */
  known(tools: SessionTools): Artifact | undefined {
    const { composition, slot } = tools;
    if (composition.hooks.has("toolCatalog")) return undefined;
    const owned = ownedBy(tools);
    return this.#cached.find((each) => each.slot === slot && isSame(each.tools, owned))?.artifact;
  }

  /** Throws what a `toolCatalog` hook throws, and `tool.duplicate`. */
  async of(tools: SessionTools, here: Surroundings): Promise<Artifact> {
    const known = this.known(tools);
    if (known !== undefined) return known;
    const { composition, slot } = tools;
    const owned = ownedBy(tools);
    const isEdited = composition.hooks.has("toolCatalog");
    const manifests = owned.map(({ value: { name, description } }) => ({ name, description }));
    const edits = isEdited ? await composition.hooks.collect("toolCatalog", { tools: manifests }, here) : [];
    const catalog = composeCatalog(owned, edits);
    const { tools: declarations, prompt } = slot.preamble(catalog.declarations);
    const json = JSON.stringify(declarations);
    const artifact: Artifact = { catalog, declarations, prompt, hash: hashOf(json), prompts: new Map() };
    await this.#store.blobs.put(artifact.hash, utf8.encode(json));
    if (!isEdited) {
      this.#cached.unshift({ tools: owned.map(({ value }) => value), slot, artifact });
      this.#cached.length = Math.min(this.#cached.length, KEPT);
    }
    return artifact;
  }

  /** Equal parts give the identical prompt, hashed and stored once. */
  async prompt(parts: readonly PromptPart[], tools: readonly string[]): Promise<Prompt> {
    const system = renderPrompt(mergePrompt(parts, tools), this.#template);
    const known = this.#prompts.get(system);
    if (known !== undefined) return known;
    const prompt: Prompt = { system, hash: hashOf(system) };
    await this.#store.blobs.put(prompt.hash, utf8.encode(system));
    if (this.#prompts.size >= KEPT) this.#prompts.delete(this.#prompts.keys().next().value as string);
    this.#prompts.set(system, prompt);
    return prompt;
  }
}

/** What a session's catalog is made of. */
export interface SessionTools {
  readonly composition: Composition;
  readonly slot: ProtocolDriverSlot;
  readonly authority: Authority;
  readonly core: { readonly tools: readonly Owned<Tool>[] };
}

/** The app's tools and the plugins', less what the session's authority hides: such tools are neither shown nor run. */
export function ownedBy({
  composition,
  core,
  authority: { hiddenTools, toolAccess },
}: SessionTools): readonly Owned<Tool>[] {
  const all = composition.tools.length === 0 ? core.tools : [...core.tools, ...composition.tools];
  if (hiddenTools === undefined && toolAccess === undefined) return all;
  return all.filter(
    ({ value: { name } }) => hiddenTools?.includes(name) !== true && toolAccess?.includes(name) !== false,
  );
}

const isSame = (tools: readonly Tool[], owned: readonly Owned<Tool>[]): boolean => {
  if (tools.length !== owned.length) return false;
  for (let index = 0; index < tools.length; index++) if (tools[index] !== owned[index]?.value) return false;
  return true;
};
