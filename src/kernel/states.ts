// Job: the states of a session's plugins while turns run. Holds them, checks changes, and migrates states of older
// versions.
// Not its job: writing them to the store, which the journal and the commit do.
// states-1: A change belongs to its serial effect. It is pending until the effect answers (`take`), is journaled with
//     the answer, and takes effect when the answer is folded (`apply`). If the effect fails, the change is dropped.
// states-2: A cell works only during its effect (`epoch`). A handler that uses it later gets `state.parallel`.
// states-3: States are frozen JSON that fit their schema and size limit, so that callers can get them without a copy.
// states-4: The state of a plugin that is not installed stays unchanged.

import { type Awaitable, ignoreRejection, isThenable, unwaited } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { BlobHash } from "../model/ids.ts";
import { describeThrown, frozen, type Json, toJson } from "../model/json.ts";
import { check, type Schema } from "../model/schema.ts";
import type { BlobsView, StateCell, StateView } from "../model/tool.ts";
import type { Changes, PluginState } from "../turn/event.ts";
import type { SavedState, SavedStates } from "./created.ts";
import type { Installed } from "./plugin.ts";

/** The storage of a plugin's named blobs. */
export interface Blobs {
  put(data: Uint8Array): Awaitable<BlobHash>;
  get(hash: BlobHash): Awaitable<Uint8Array | undefined>;
}

interface Slot {
  readonly plugin: Installed;
  value: PluginState;
  revision: number;
}

/** The part of `PluginStates` that a hook call needs. */
export interface StateAccess {
  /** Changes when the current effect ends. */
  readonly epoch?: number;
  cell(plugin: string, where: string): StateCell<Json>;
  readOnly(plugin: string, where: string): StateCell<Json>;
  discarding(): StateAccess;
}

export const isBlobName = (name: unknown): boolean =>
  typeof name === "string" && name !== "__proto__" && /^[\w.@/-]{1,128}$/.test(name);

/** The list of blobs is written with every change, so it must stay short. */
export const BLOBS_MAX = 256;

/**
 * The limit for the state of `bowline/tools`, because choices for hundreds of tools need more room than a plugin's
 * state.
 */
const LATE_BYTES_MAX = 1_048_576;

const NOTHING_KEPT: PluginState = { state: null };

export class PluginStates implements StateAccess {
  /** Undefined while no plugin has state. */
  #slots: Map<string, Slot> | undefined;
  readonly #plugins: readonly Installed[];
  /** A plugin with state in few sessions only: its slot is filled on first use. */
  readonly #late: Installed | undefined;
  readonly #bytesMax: number;
  readonly #blobs: Blobs;
  /** The states as stored, including those of plugins that are no longer installed (states-4). */
  #base: SavedStates;
  #pending: Map<string, PluginState> | undefined;
  /** Changes by uninstalled plugins in a turn that is being resumed (states-4). */
  #unowned: Map<string, SavedState> | undefined;
  /** Counts effects (states-2). */
  epoch = 0;

  constructor(plugins: readonly Installed[], base: SavedStates, bytesMax: number, blobs: Blobs, late?: Installed) {
    this.#plugins = plugins;
    this.#late = late;
    this.#base = base;
    this.#bytesMax = bytesMax;
    this.#blobs = blobs;
    for (const plugin of plugins) if (plugin.spec.state !== undefined) this.#fill(plugin);
  }

  #fill(plugin: Installed): Slot {
    const stored = Object.hasOwn(this.#base, plugin.id) ? this.#base[plugin.id] : undefined;
    const state = stored === undefined ? parse(plugin, {}) : migrated(plugin, stored);
    const value = stored?.blobs === undefined ? { state } : { state, blobs: stored.blobs };
    const slot = { plugin, value, revision: stored?.revision ?? 0 };
    (this.#slots ??= new Map()).set(plugin.id, slot);
    return slot;
  }

  #slot(id: string): Slot | undefined {
    return this.#slots?.get(id) ?? (this.#late?.id === id ? this.#fill(this.#late) : undefined);
  }

  /** Returns a check that throws after the current effect has ended (states-2). */
  untilEnd(plugin: string, where: string): () => void {
    const epoch = this.epoch;
    return () => {
      if (epoch !== this.epoch)
        throw new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
    };
  }

  cell(plugin: string, where: string): StateCell<Json> {
    const requireOpen = this.untilEnd(plugin, where);
    const keep = (value: PluginState): void => void (this.#pending ??= new Map()).set(plugin, value);
    const withBlobs = (change: (blobs: { [name: string]: BlobHash }) => void): void => {
      requireOpen();
      const { state, blobs: before } = this.#get(plugin);
      const blobs = { ...before };
      change(blobs);
      keep(Object.keys(blobs).length === 0 ? { state } : { state, blobs });
    };
    return {
      get: () => this.#get(plugin).state,
      update: (change) => {
        requireOpen();
        const before = this.#get(plugin);
        keep({ ...before, state: this.#checked(plugin, change(before.state)) });
      },
      blobs: {
        ...this.#blobsView(() => this.#get(plugin)),
        put: (name, data) =>
          unwaited(async () => {
            requireOpen();
            if (!isBlobName(name) || !(data instanceof Uint8Array))
              throw new RuntimeError("state.invalid", {
                plugin,
                problem: "a blob needs a name of 1 to 128 letters, digits and . _ - / @, and a Uint8Array",
              });
            if (Object.keys(this.#get(plugin).blobs ?? {}).length >= BLOBS_MAX)
              throw new RuntimeError("state.invalid", { plugin, problem: `it already has ${BLOBS_MAX} blobs` });
            const hash = await this.#blobs.put(data);
            withBlobs((blobs) => {
              blobs[name] = hash;
            });
          }),
        remove: (name) => withBlobs((blobs) => delete blobs[name]),
      },
    };
  }

  #blobsView(value: () => PluginState): BlobsView {
    const now = (): { readonly [name: string]: BlobHash } => value().blobs ?? {};
    const store = this.#blobs;
    return {
      names: () => Object.keys(now()),
      async get(name) {
        const hash = Object.hasOwn(now(), name) ? now()[name] : undefined;
        return hash === undefined ? undefined : store.get(hash);
      },
    };
  }

  /** A view whose `update` throws `state.parallel`. */
  readOnly(plugin: string, where: string): StateCell<Json> {
    const refuse = (): never => {
      throw new RuntimeError("state.parallel", { plugin, where });
    };
    return {
      get: () => this.#get(plugin).state,
      update: refuse,
      blobs: { ...this.#blobsView(() => this.#get(plugin)), put: () => unwaited(async () => refuse()), remove: refuse },
    };
  }

  /** A view of the state without the pending changes of the current effect. */
  settled(plugin: string, where: string): StateCell<Json> {
    const { update, blobs } = this.readOnly(plugin, where);
    const value = (): PluginState => this.#slot(plugin)?.value ?? { state: null };
    return { get: () => value().state, update, blobs: { ...blobs, ...this.#blobsView(value) } };
  }

  /** The plugin's state at the beginning of the turn. */
  asBegun(plugin: string): StateView<Json> {
    const installed = this.#plugins.find(({ id }) => id === plugin);
    const stored = Object.hasOwn(this.#base, plugin) ? this.#base[plugin] : undefined;
    const value = (): PluginState => stored ?? NOTHING_KEPT;
    return {
      get: () =>
        installed?.spec.state === undefined
          ? null
          : stored === undefined
            ? parse(installed, {})
            : migrated(installed, stored),
      blobs: this.#blobsView(value),
    };
  }

  /** For a second check of a call: changes are validated and then dropped, so that no change is made twice. */
  discarding(): StateAccess {
    const readOnly = (plugin: string, where: string): StateCell<Json> => this.readOnly(plugin, where);
    return {
      cell: (plugin) => ({
        get: () => this.#get(plugin).state,
        update: (change) => void this.#checked(plugin, change(this.#get(plugin).state)),
        blobs: { ...this.#blobsView(() => this.#get(plugin)), put: async () => {}, remove: () => {} },
      }),
      readOnly,
      discarding() {
        return this;
      },
    };
  }

  /** The plugin's state, pending changes included; undefined if the plugin never stored any. Fills no slot. */
  peek(plugin: string): Json | undefined {
    const hasAny = this.#pending?.has(plugin) || this.#slots?.has(plugin) || Object.hasOwn(this.#base, plugin);
    return hasAny ? this.#get(plugin).state : undefined;
  }

  /** Whether there are changes of an effect that has not answered yet. */
  get hasPending(): boolean {
    return this.#pending !== undefined;
  }

  has(plugin: string): boolean {
    return this.#slots?.has(plugin) ?? false;
  }

  /** Changes only if the id, version or state revision of an installed plugin changes. */
  fingerprint(): string {
    return this.#plugins.map(({ id, version }) => `${id}@${version}#${this.#slots?.get(id)?.revision ?? 0}`).join("\n");
  }

  /** Ends an effect that answered: returns its changes, which take effect when its answer is folded (states-1). */
  take(): Changes | undefined {
    this.epoch++;
    if (this.#pending === undefined) return undefined;
    const changes = Object.fromEntries(this.#pending);
    this.#pending = undefined;
    return changes;
  }

  forget(): void {
    this.epoch++;
    this.#pending = undefined;
  }

  /** Applies changes from a journal, which another version of the plugin may have written. */
  replay(changes: Changes, versions: ReadonlyMap<string, string>): void {
    let problem: unknown;
    for (const [id, value] of Object.entries(changes)) {
      const slot = this.#slot(id);
      const version = versions.get(id);
      if (slot === undefined) {
        // The plugin is not installed. Its state stays for a later installation (states-4).
        const before = this.#unowned?.get(id) ?? this.#base[id];
        const saved = { version: version ?? before?.version ?? "1", revision: (before?.revision ?? 0) + 1, ...value };
        (this.#unowned ??= new Map()).set(id, saved);
        continue;
      }
      if (version === undefined || version === slot.plugin.version) this.apply({ [id]: value });
      else
        try {
          this.apply({ [id]: { ...value, state: migrated(slot.plugin, { ...value, version, revision: 0 }) } });
        } catch (error) {
          problem ??= error;
        }
    }
    if (problem !== undefined) throw problem;
  }

  apply(changes: Changes): void {
    for (const [plugin, value] of Object.entries(changes)) {
      const slot = this.#slot(plugin);
      if (slot === undefined) continue;
      slot.value = value;
      slot.revision++;
    }
  }

  snapshots(changed: Changes): SavedStates {
    const ids = Object.keys(changed);
    if (ids.length === 0) return this.#base;
    const next: { [plugin: string]: SavedState } = { ...this.#base };
    for (const id of ids) {
      const slot = this.#slot(id);
      const saved = this.#unowned?.get(id);
      if (slot !== undefined) next[id] = { version: slot.plugin.version, revision: slot.revision, ...slot.value };
      else if (saved !== undefined) next[id] = saved;
    }
    return next;
  }

  committed(base: SavedStates): void {
    this.#base = base;
  }

  #get(plugin: string): PluginState {
    const pending = this.#pending?.get(plugin);
    if (pending !== undefined) return pending;
    const slot = this.#slot(plugin);
    if (slot === undefined)
      throw new RuntimeError("state.invalid", { plugin, problem: "the plugin declares no state" });
    return slot.value;
  }

  #checked(id: string, value: unknown): Json {
    if (isThenable(value as Awaitable<unknown>)) {
      ignoreRejection(value);
      throw new RuntimeError("state.invalid", { plugin: id, problem: "an update must not be asynchronous" });
    }
    const slot = this.#slot(id);
    if (slot === undefined)
      throw new RuntimeError("state.invalid", { plugin: id, problem: "the plugin declares no state" });
    const json = parse(slot.plugin, value);
    requireSize(id, json, id === this.#late?.id ? Math.max(this.#bytesMax, LATE_BYTES_MAX) : this.#bytesMax);
    return json;
  }
}

export function requireSize(plugin: string, state: Json, max: number): void {
  const bytes = Buffer.byteLength(JSON.stringify(state));
  if (bytes > max) throw new RuntimeError("state.too-large", { plugin, bytes, max });
}

export function parse(plugin: Installed, value: unknown): Json {
  const result = check(plugin.spec.state as Schema, value, `the state of plugin ${plugin.id}`);
  if (!result.ok) throw new RuntimeError("state.invalid", { plugin: plugin.id, problem: result.problem });
  const json = toJson(result.value);
  if ("problem" in json)
    throw new RuntimeError("state.invalid", { plugin: plugin.id, problem: `${json.path}: ${json.problem}` });
  return frozen(json.json); // Frozen, because callers get it without a copy (states-3).
}

export function migrated(plugin: Installed, stored: SavedState): Json {
  const fail = (problem: string, cause?: unknown): never => {
    throw new RuntimeError(
      "plugin.migrate",
      { plugin: plugin.id, from: stored.version, to: plugin.version, problem },
      { cause },
    );
  };
  if (stored.version === plugin.version) return frozen(stored.state);
  let next = stored.state;
  try {
    next = plugin.spec.migrate?.(stored.state, stored.version) ?? stored.state;
  } catch (error) {
    fail(describeThrown(error), error);
  }
  try {
    return parse(plugin, next);
  } catch (error) {
    return fail(describeThrown(error), error);
  }
}
