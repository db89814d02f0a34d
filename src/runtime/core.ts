import type { EffectHost } from "../hosts/host.ts";
import type { Composition } from "../kernel/compose.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Installed } from "../kernel/plugin.ts";
import type { Probe } from "../kernel/run.ts";
import type { TurnEnd } from "../kernel/services.ts";
import type { Blobs } from "../kernel/states.ts";
import type { Tool, ToolProvider } from "../kernel/tool.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import { describeThrown, type Json, unheard } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { JsonSchema } from "../model/schema.ts";
import type { PriceTable } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Model, ModelResolver, Provider } from "../providers/provider.ts";
import type { Owner, Store } from "../stores/store.ts";
import type { Listings } from "../tools/source.ts";
import type { TraceSink } from "../trace/trace.ts";
import type { Artifact, Artifacts, TurnFlags } from "./artifacts.ts";
import type { Spender } from "./tree.ts";
import type { Watch } from "./watch.ts";

/** What all sessions of a runtime share. */
export interface Core {
  /** Whether turns that others left are gone on with by themselves. */
  readonly recovers: boolean;
  /** Closed first, before what runs is let go. */
  readonly door: { isClosed: boolean };
  readonly store: Store;
  readonly host: EffectHost;
  readonly world: World;
  readonly owner: Owner;
  readonly limits: Limits;
  readonly prices: PriceTable;
  readonly watch: Watch;
  readonly neighbours: Neighbours;
  /** Turns under way here. */
  readonly spenders: Set<Spender>;
  /** What a session runs on where it has nothing of its own. */
  readonly config: SessionConfig;
  /** The lowest layer of every prompt. */
  readonly prompt: readonly PromptPart[];
  readonly plugins: readonly Installed[];
  /** Fills the protocol slots when no plugin does. */
  readonly protocol: Installed | undefined;
  /** Without plugins every session is composed alike: the protocol alone, set up once. */
  readonly bare: Composition | undefined;
  readonly bareFlags: WeakMap<Artifact, TurnFlags>;
  readonly tools: readonly Owned<Tool>[];
  readonly providers: readonly Owned<ToolProvider>[];
  readonly listings: Listings;
  readonly models: Models;
  readonly artifacts: Artifacts;
  /** For named blobs of plugins. */
  readonly blobs: Blobs;
  readonly probe: Probe | undefined;
  /** As a turn records them. */
  readonly pluginList: readonly { readonly id: string; readonly version: string }[];
  readonly trace: (
    name: string,
    about: { readonly [key: string]: Json },
    where?: { readonly sessionId?: string; readonly turnId?: string },
  ) => void;
}

/** The sessions of a runtime, for each other. */
export interface Neighbours {
  /** If it is open here. */
  find(id: SessionId): { childShows(event: SessionEvent): void; poke(): void } | undefined;
  /** To be closed by whoever asks; a turn that it runs goes on. */
  open(id: SessionId): Promise<Neighbour>;
}
export interface Neighbour {
  turn(input: string, options: NeighbourOptions): { readonly id: Promise<TurnId> };
  follow(turnId: string): { result(): Promise<TurnEnd> };
  close(): Promise<void>;
}
export interface NeighbourOptions {
  readonly key?: string;
  readonly output?: JsonSchema;
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

  /** One that a plugin chose has no session to be at odds with. */
  async require(name: string, isChosen = false): Promise<Provider> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    if (this.#resolve === undefined) {
      const [actual] = this.#found.keys();
      throw actual === undefined || isChosen
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
