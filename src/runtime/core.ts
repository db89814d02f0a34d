import type { EffectHost } from "../hosts/host.ts";
import type { Composition } from "../kernel/compose.ts";
import type { Probe } from "../kernel/hook-runner.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Installed } from "../kernel/plugin.ts";
import type { Services } from "../kernel/services.ts";
import type { Tool, ToolProvider } from "../kernel/tool.ts";
import { unheard } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, type Json } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { PriceTable } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Model, ModelResolver, Provider } from "../providers/provider.ts";
import type { Owner, Store } from "../stores/store.ts";
import type { Listings } from "../tools/source.ts";
import type { TraceSink } from "../trace/trace.ts";
import type { Memo } from "./live-turn/memo.ts";
import type { LiveTurn } from "./live-turn/turn.ts";
import type { Readers } from "./readers/readers.ts";
import type { OpenSessions } from "./session/open.ts";
import type { Artifacts } from "./toolset/artifacts.ts";

/** What all sessions of a runtime share. */
export interface Core {
  /** Closed first, before what runs is let go. */
  readonly door: { isClosed: boolean };
  readonly store: Store;
  readonly host: EffectHost;
  readonly world: World;
  readonly owner: Owner;
  readonly limits: Limits;
  readonly prices: PriceTable;
  /** The config of a session that has none of its own. */
  readonly config: SessionConfig;
  /** Whether turns that other processes left are gone on with without being asked for. */
  readonly recovers: boolean;

  /** The sessions that are open here: each session's neighbours. */
  readonly sessions: OpenSessions;
  /** Those who observe sessions. */
  readonly readers: Readers;
  /** Turns that run here and count against a budget: until they are committed, only they know what they have spent. */
  readonly spenders: Set<LiveTurn>;

  readonly plugins: readonly Installed[];
  /** The plugins as a turn records them. */
  readonly pluginList: readonly { readonly id: string; readonly version: string }[];
  /** Fills the protocol slots when no plugin does. */
  readonly protocol: Installed | undefined;
  /** Without plugins every session is composed alike: the protocol alone, set up once. */
  readonly bare: Composition | undefined;
  /** What preparing a turn comes to in every session that has nothing of its own. */
  readonly plain: Memo;
  readonly probe: Probe | undefined;

  readonly tools: readonly Owned<Tool>[];
  readonly providers: readonly Owned<ToolProvider>[];
  readonly listings: Listings;
  readonly artifacts: Artifacts;
  readonly models: Models;
  /** The lowest layer of every prompt. */
  readonly prompt: readonly PromptPart[];
  /** Bytes by their hash: named blobs of plugin states, and the service of that name. */
  readonly blobs: Services["blobs"];
  readonly trace: Trace;
}

export type Trace = (
  name: string,
  about: { readonly [key: string]: Json },
  where?: { readonly sessionId?: string; readonly turnId?: string },
) => void;

export const tracer = (sink: TraceSink | undefined, world: World): Trace =>
  sink === undefined
    ? () => {}
    : (name, about, where) => {
        try {
          unheard(sink({ at: world.now(), name, ...where, about }));
        } catch {
          // A sink that throws must not fail the turn that it is told of.
        }
      };

/** A handler blocked past its deadline. It could not be stopped, so it is only told of. */
export const overran =
  (trace: Trace) =>
  (error: RuntimeError): void =>
    trace(error.code, { plugin: (error.details as { plugin?: string }).plugin ?? "", problem: error.message });

/** The runtime's config with what the session has of its own. */
export function effectiveConfig(core: Core, own: Partial<SessionConfig>): SessionConfig {
  for (const _ in own) return { ...core.config, ...own };
  return core.config;
}

/** Finds the provider for a model's name; the model given to the runtime is known from the start. */
export class Models {
  readonly #found = new Map<string, Provider>();
  readonly #resolve: ModelResolver | undefined;
  readonly #adapt: (model: Model) => Provider;

  constructor(adapt: (model: Model) => Provider, resolve: ModelResolver | undefined) {
    this.#adapt = adapt;
    this.#resolve = resolve;
  }

  /** Gives the name under which sessions keep the model. */
  add(model: Model): string {
    const provider = this.#adapt(model);
    const name = `${provider.id}/${provider.modelId}`;
    this.#found.set(name, provider);
    return name;
  }

  known(name: string): Provider | undefined {
    return this.#found.get(name);
  }

  /** `isChosen`: a plugin asked for this model, so no session is at odds with it. */
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
