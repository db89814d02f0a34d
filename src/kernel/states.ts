import { RuntimeError } from "../model/errors.ts";
import { type Awaitable, describeThrown, frozen, isThenable, type Json, toJson, unheard } from "../model/json.ts";
import { check, type Schema } from "../model/schema.ts";
import type { StateCell } from "../model/tool.ts";
import type { Changes } from "../turn/event.ts";
import type { Installed } from "./plugin.ts";

/** A plugin's state as a session keeps it. */
export interface Snapshot {
  readonly version: string;
  /** Counts its changes by itself. */
  readonly revision: number;
  readonly state: Json;
}
export type Snapshots = { readonly [plugin: string]: Snapshot };

interface Slot {
  readonly plugin: Installed;
  value: Json;
  revision: number;
}

/** What a hook call needs of the states. */
export interface StateAccess {
  cell(plugin: string, where: string): StateCell<Json>;
  readOnly(plugin: string, where: string): StateCell<Json>;
  unheard(): StateAccess;
}

/**
 * The states of a session's plugins while turns run. A change belongs to the serial effect that makes it: it is held
 * apart until that effect answers, then journaled with the answer, or forgotten when the effect fails.
 */
export class PluginStates implements StateAccess {
  /** Absent when no plugin keeps anything. */
  #slots: Map<string, Slot> | undefined;
  readonly #bytesMax: number;
  /** What was stored, plugins that are no longer installed included: their state is kept. */
  #base: Snapshots;
  #pending: Map<string, Json> | undefined;
  /** Cells are good for the effect they were made in; a handler that comes back later finds its cell closed. */
  #epoch = 0;

  constructor(plugins: readonly Installed[], base: Snapshots, bytesMax: number) {
    this.#base = base;
    this.#bytesMax = bytesMax;
    for (const plugin of plugins) {
      if (plugin.spec.state === undefined) continue;
      const stored = Object.hasOwn(base, plugin.id) ? base[plugin.id] : undefined;
      const value = stored === undefined ? parse(plugin, {}) : migrated(plugin, stored);
      (this.#slots ??= new Map()).set(plugin.id, { plugin, value, revision: stored?.revision ?? 0 });
    }
  }

  cell(plugin: string, where: string): StateCell<Json> {
    const epoch = this.#epoch;
    return {
      get: () => this.#get(plugin),
      update: (change) => {
        if (epoch !== this.#epoch)
          throw new RuntimeError("state.parallel", { plugin, where: `${where}, after it had ended` });
        (this.#pending ??= new Map()).set(plugin, this.#checked(plugin, change(this.#get(plugin))));
      },
    };
  }

  /** A view whose `update` says why it may not. */
  readOnly(plugin: string, where: string): StateCell<Json> {
    return {
      get: () => this.#get(plugin),
      update: () => {
        throw new RuntimeError("state.parallel", { plugin, where });
      },
    };
  }

  /** What counts, whatever is under way. */
  settled(plugin: string, where: string): StateCell<Json> {
    const { update } = this.readOnly(plugin, where);
    return { get: () => this.#slots?.get(plugin)?.value ?? null, update };
  }

  /** For a second look at a call: changes made there are checked and not kept, so that nothing is counted twice. */
  unheard(): StateAccess {
    const readOnly = (plugin: string, where: string): StateCell<Json> => this.readOnly(plugin, where);
    return {
      cell: (plugin) => ({
        get: () => this.#get(plugin),
        update: (change) => void this.#checked(plugin, change(this.#get(plugin))),
      }),
      readOnly,
      unheard() {
        return this;
      },
    };
  }

  has(plugin: string): boolean {
    return this.#slots?.has(plugin) ?? false;
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

  /** Changes that a journal recorded. */
  apply(changes: Changes): void {
    for (const [plugin, value] of Object.entries(changes)) {
      const slot = this.#slots?.get(plugin);
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
      const slot = this.#slots?.get(id);
      if (slot !== undefined) next[id] = { version: slot.plugin.version, revision: slot.revision, state: slot.value };
    }
    return next;
  }

  committed(base: Snapshots): void {
    this.#base = base;
  }

  #get(plugin: string): Json {
    const pending = this.#pending?.get(plugin);
    if (pending !== undefined) return pending;
    const slot = this.#slots?.get(plugin);
    if (slot === undefined)
      throw new RuntimeError("state.invalid", { plugin, problem: "the plugin declares no state" });
    return slot.value;
  }

  #checked(id: string, value: unknown): Json {
    if (isThenable(value as Awaitable<unknown>)) {
      unheard(value);
      throw new RuntimeError("state.invalid", { plugin: id, problem: "an update must not be asynchronous" });
    }
    const slot = this.#slots?.get(id);
    if (slot === undefined)
      throw new RuntimeError("state.invalid", { plugin: id, problem: "the plugin declares no state" });
    const json = parse(slot.plugin, value);
    const bytes = Buffer.byteLength(JSON.stringify(json));
    if (bytes > this.#bytesMax) throw new RuntimeError("state.too-large", { plugin: id, bytes, max: this.#bytesMax });
    return json;
  }
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
