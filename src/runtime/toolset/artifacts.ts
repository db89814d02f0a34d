import { mergePrompt, renderPrompt, type Section } from "../../kernel/prompt.ts";
import type { Services } from "../../kernel/services.ts";
import type { ProtocolDriverSlot } from "../../kernel/slots.ts";
import { hashOf } from "../../model/hash.ts";
import type { BlobHash } from "../../model/ids.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import type { Lease, Store } from "../../stores/store.ts";
import { type Catalog, type Chosen, composeCatalog, type Granted, type Loaded } from "../../tools/catalog.ts";
import type { Opened, Policies } from "../../turn/event.ts";
import { look, type Seen, type Surroundings, wouldSee } from "./preamble.ts";

/** A stored blob. A turn can refer to it without storing it again if its `Lease.sweeps` is not higher. */
export interface Put {
  readonly hash: BlobHash;
  sweeps: number;
}
const NEVER = -1;

export const isFresh = (put: Put, { sweeps = 0 }: Lease): boolean => put.sweeps >= sweeps;

/**
 * A catalog with the protocol's declarations and prompt for it. It is built once and used by all turns and sessions
 * with the same catalog.
 */
export interface Artifact extends Put {
  readonly catalog: Catalog;
  /** What the protocol read besides the tools. */
  readonly seen: Seen;
  readonly declarations: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
  /** The policies of tools. Without a gate `step` uses them to schedule calls. */
  readonly policies: Policies | undefined;
  /** The declarations as stored; `hash` is the hash of this text. */
  readonly json: string;
}
export interface Prompt extends Put {
  readonly system: string;
}

export interface PromptParts {
  /** Parts from the layers and `context` hooks: fixed for the turn. */
  readonly given: readonly PromptPart[];
  /** Parts from `prompt` hooks. Volatile parts are renewed in every round. */
  readonly plugins: readonly PromptPart[];
  readonly isVolatile?: true;
}
export const NO_PARTS: PromptParts = { given: [], plugins: [] };

export interface Ingredients extends Surroundings {
  readonly slot: ProtocolDriverSlot;
  readonly loaded: readonly Loaded[];
  /** Tools of the catalog that cannot be called. */
  readonly others: readonly Chosen[];
  readonly granted: readonly Granted[];
}

const KEPT = 32;
const utf8 = new TextEncoder();

/** The `blobs` service: bytes by the hash of their content. */
export const blobsOf = ({ blobs }: Store): Services["blobs"] => ({
  put: async (data) => {
    const hash = hashOf(data);
    await blobs.put(hash, data);
    return hash;
  },
  get: async (hash) => blobs.get(hash),
});

/** Artifacts and prompts of all sessions: equal inputs give the identical object, which is built and stored once. */
export class Artifacts {
  readonly #store: Store;
  readonly #template: readonly Section[] | undefined;
  readonly #built: { readonly from: Ingredients; readonly artifact: Artifact }[] = [];
  readonly #prompts = new Map<string, Prompt>();
  readonly #settings = new Map<string, Put>();

  constructor(store: Store, template: readonly Section[] | undefined) {
    this.#store = store;
    this.#template = template;
  }

  async of(from: Ingredients, lease: Lease): Promise<Artifact> {
    const known = this.#built.find((each) => isSame(each.from, from) && wouldSee(each.artifact.seen, from))?.artifact;
    if (known !== undefined) return this.#put(known, known.json, lease);
    const catalog = composeCatalog(from.loaded, from.others, from.granted);
    const { input, seen } = look(catalog.declarations, from);
    const { tools: declarations, prompt } = from.slot.preamble(input);
    const json = JSON.stringify(declarations);
    const artifact: Artifact = {
      catalog,
      seen,
      declarations,
      prompt,
      policies: policiesOf(catalog),
      json,
      hash: hashOf(json),
      sweeps: NEVER,
    };
    await this.#put(artifact, json, lease);
    this.#built.unshift({ from, artifact });
    this.#built.length = Math.min(this.#built.length, KEPT);
    return artifact;
  }

  async #put<T extends Put>(blob: T, text: string, lease: Lease): Promise<T> {
    if (isFresh(blob, lease)) return blob;
    await this.#store.blobs.put(blob.hash, utf8.encode(text));
    blob.sweeps = lease.sweeps ?? 0;
    return blob;
  }

  /** Stores a text to which a turn will refer. */
  keep(text: string, lease: Lease): Promise<Put> {
    return this.#put({ hash: hashOf(text), sweeps: NEVER }, text, lease);
  }

  /**
   * Stores the part of a journal that most turns of this process have in common. It is stored once, and each journal
   * refers to it.
   */
  async keepSetting({ step, protocol, host, plugins, limits, config, options }: Opened, lease: Lease): Promise<Put> {
    const text = JSON.stringify({ step, protocol, host, plugins, limits, config, options });
    const known = this.#settings.get(text);
    const setting = known ?? { hash: hashOf(text), sweeps: NEVER };
    if (known === undefined && this.#settings.size >= KEPT) this.#settings.clear();
    this.#settings.set(text, setting);
    return this.#put(setting, text, lease);
  }

  async prompt(parts: readonly PromptPart[], tools: readonly string[], lease: Lease): Promise<Prompt> {
    const system = renderPrompt(mergePrompt(parts, tools), this.#template);
    const known = this.#prompts.get(system);
    if (known !== undefined) return this.#put(known, system, lease);
    const prompt = await this.#put({ system, hash: hashOf(system), sweeps: NEVER }, system, lease);
    if (this.#prompts.size >= KEPT) this.#prompts.delete(this.#prompts.keys().next().value as string);
    this.#prompts.set(system, prompt);
    return prompt;
  }
}

function policiesOf(catalog: Catalog): Policies | undefined {
  const own = catalog.callable.flatMap(([name, { value }]) =>
    Object.keys(value.policy).length === 0 ? [] : [[name, value.policy] as const],
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** Whether the tools are the same. `wouldSee` compares the other data that the protocol read. */
function isSame(a: Ingredients, b: Ingredients): boolean {
  if (a.slot !== b.slot || a.granted.length > 0 || b.granted.length > 0) return false;
  if (a.loaded.length !== b.loaded.length || a.others.length !== b.others.length) return false;
  const isSameChosen = (one: Chosen, other: Chosen | undefined): boolean =>
    one.offered.manifest.name === other?.offered.manifest.name &&
    one.offered.owner === other.offered.owner &&
    one.description === other.description &&
    one.availability === other.availability;
  return (
    a.loaded.every((one, index) => one.tool === b.loaded[index]?.tool && isSameChosen(one, b.loaded[index])) &&
    a.others.every((one, index) => isSameChosen(one, b.others[index]))
  );
}
