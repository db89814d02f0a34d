import { type Awaitable, isThenable, unheard } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { BlobHash } from "../model/ids.ts";
import { describeThrown, frozen, type Json, toJson } from "../model/json.ts";
import { check, type Schema } from "../model/schema.ts";
import type { BlobsView, StateCell } from "../model/tool.ts";
import type { Changes, PluginState } from "../turn/event.ts";
import type { Installed } from "./plugin.ts";

/** What a plugin keeps, as a session keeps it. */
export interface Snapshot extends PluginState {
  readonly version: string;
  /** Counts its changes by itself. */
  readonly revision: number;
}
export type Snapshots = { readonly [plugin: string]: Snapshot };

/** Where the bytes of named blobs are. */
export interface Blobs {
  put(data: Uint8Array): Awaitable<BlobHash>;
  get(hash: BlobHash): Awaitable<Uint8Array | undefined>;
}

interface Slot {
  readonly plugin: Installed;
  value: PluginState;
  revision: number;
}

/** What a hook call needs of the states. */
export interface StateAccess {
  cell(plugin: string, where: string): StateCell<Json>;
  readOnly(plugin: string, where: string): StateCell<Json>;
  unheard(): StateAccess;
}

const isBlobName = (name: unknown): boolean =>
  typeof name === "string" && name !== "__proto__" && /^[\w.@/-]{1,128}$/.test(name);

/** More of them belong into one blob, or elsewhere: their list is written with every change. */
const BLOBS_MAX = 256;

/** The tools of a session are many: what is chosen for them may take more room than a plugin's state. */
const LATE_BYTES_MAX = 1_048_576;

/**
 * The states of a session's plugins while turns run. A change belongs to the serial effect that makes it: it is held
 * apart until that effect answers, then journaled with the answer, or forgotten when the effect fails.
 */
export class PluginStates implements StateAccess {
  /** Absent when no plugin keeps anything. */
  #slots: Map<string, Slot> | undefined;
  readonly #plugins: readonly Installed[];
  /** Keeps something in few sessions only: its slot is made when it is first asked for. */
  readonly #late: Installed | undefined;
  readonly #bytesMax: number;
  readonly #blobs: Blobs;
  /** What was stored, plugins that are no longer installed included: their state is kept. */
  #base: Snapshots;
  #pending: Map<string, PluginState> | undefined;
  /** What plugins that are gone changed in a turn that is gone on with. */
  #unowned: Map<string, Snapshot> | undefined;
  /** Cells are good for the effect they were made in; a handler that comes back later finds its cell closed. */
  #epoch = 0;

  constructor(plugins: readonly Installed[], base: Snapshots, bytesMax: number, blobs: Blobs, late?: Installed) {
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

  /** Throws from when the effect that is under way now has ended: what it may change belongs to it. */
  untilEnd(plugin: string, where: string): () => void {
    const epoch = this.#epoch;
    return () => {
      if (epoch !== this.#epoch)
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
              throw new RuntimeError("state.invalid", { plugin, problem: `it keeps ${BLOBS_MAX} blobs already` });
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

  /** A view whose `update` says why it may not. */
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

  /** What counts, whatever is under way. */
  settled(plugin: string, where: string): StateCell<Json> {
    const { update, blobs } = this.readOnly(plugin, where);
    const value = (): PluginState => this.#slot(plugin)?.value ?? { state: null };
    return { get: () => value().state, update, blobs: { ...blobs, ...this.#blobsView(value) } };
  }

  /** For a second look at a call: changes made there are checked and not kept, so that nothing is counted twice. */
  unheard(): StateAccess {
    const readOnly = (plugin: string, where: string): StateCell<Json> => this.readOnly(plugin, where);
    return {
      cell: (plugin) => ({
        get: () => this.#get(plugin).state,
        update: (change) => void this.#checked(plugin, change(this.#get(plugin).state)),
        blobs: { ...this.#blobsView(() => this.#get(plugin)), put: async () => {}, remove: () => {} },
      }),
      readOnly,
      unheard() {
        return this;
      },
    };
  }

  /** What it keeps now, if it keeps anything. */
  peek(plugin: string): Json | undefined {
    const hasAny = this.#pending?.has(plugin) || this.#slots?.has(plugin) || Object.hasOwn(this.#base, plugin);
    return hasAny ? this.#get(plugin).state : undefined;
  }

  /** Whether something was changed that does not count yet. */
  get hasPending(): boolean {
    return this.#pending !== undefined;
  }

  has(plugin: string): boolean {
    return this.#slots?.has(plugin) ?? false;
  }

  /** Of the installed plugins, in their order: changes with an id, a version or a revision, and with nothing else. */
  fingerprint(): string {
    return this.#plugins.map(({ id, version }) => `${id}@${version}#${this.#slots?.get(id)?.revision ?? 0}`).join("\n");
  }

  /** The effect answered: its changes, which now count. */
  take(): Changes | undefined {
    this.#epoch++;
    if (this.#pending === undefined) return undefined;
    const changes = Object.fromEntries(this.#pending);
    this.#pending = undefined;
    this.apply(changes);
    return changes;
  }

  forget(): void {
    this.#epoch++;
    this.#pending = undefined;
  }

  /** Changes that a journal recorded, perhaps under another version of their plugin. */
  replay(changes: Changes, versions: ReadonlyMap<string, string>): void {
    let problem: unknown;
    for (const [id, value] of Object.entries(changes)) {
      const slot = this.#slot(id);
      const version = versions.get(id);
      if (slot === undefined) {
        // Its plugin is gone: what it keeps is kept for it.
        const before = this.#unowned?.get(id) ?? this.#base[id];
        const kept = { version: version ?? before?.version ?? "1", revision: (before?.revision ?? 0) + 1, ...value };
        (this.#unowned ??= new Map()).set(id, kept);
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

  snapshots(changed: Changes): Snapshots {
    const ids = Object.keys(changed);
    if (ids.length === 0) return this.#base;
    const next: { [plugin: string]: Snapshot } = { ...this.#base };
    for (const id of ids) {
      const slot = this.#slot(id);
      const kept = this.#unowned?.get(id);
      if (slot !== undefined) next[id] = { version: slot.plugin.version, revision: slot.revision, ...slot.value };
      else if (kept !== undefined) next[id] = kept;
    }
    return next;
  }

  committed(base: Snapshots): void {
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
      unheard(value);
      throw new RuntimeError("state.invalid", { plugin: id, problem: "an update must not be asynchronous" });
    }
    const slot = this.#slot(id);
    if (slot === undefined)
      throw new RuntimeError("state.invalid", { plugin: id, problem: "the plugin declares no state" });
    const json = parse(slot.plugin, value);
    const bytes = Buffer.byteLength(JSON.stringify(json));
    const max = id === this.#late?.id ? Math.max(this.#bytesMax, LATE_BYTES_MAX) : this.#bytesMax;
    if (bytes > max) throw new RuntimeError("state.too-large", { plugin: id, bytes, max });
    return json;
  }
}

/** Whoever does not wait for it is not ended by its failure; whoever does is told. */
function unwaited<T>(run: () => Promise<T>): Promise<T> {
  const running = run();
  running.catch(() => {});
  return running;
}

function parse(plugin: Installed, value: unknown): Json {
  const result = check(plugin.spec.state as Schema, value, `the state of plugin ${plugin.id}`);
  if (!result.ok) throw new RuntimeError("state.invalid", { plugin: plugin.id, problem: result.problem });
  const json = toJson(result.value);
  if ("problem" in json)
    throw new RuntimeError("state.invalid", { plugin: plugin.id, problem: `${json.path}: ${json.problem}` });
  return frozen(json.json); // Handed out as it is kept, so it must not be changed in place.
}

function migrated(plugin: Installed, stored: Snapshot): Json {
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
