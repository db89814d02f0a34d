import type { EffectHost } from "../hosts/host.ts";
import type { Composition } from "../kernel/compose.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Installed } from "../kernel/plugin.ts";
import type { Services } from "../kernel/services.ts";
import type { Tool, ToolProvider } from "../kernel/tool.ts";
import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, type Json } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { PriceTable } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Model, ModelResolver, Provider } from "../providers/provider.ts";
import type { Owner, Store } from "../stores/store.ts";
import type { TelemetryEvent } from "../telemetry/telemetry.ts";
import type { Listings } from "../tools/source.ts";
import type { Background } from "./background/background.ts";
import type { Memo } from "./live-turn/memo.ts";
import type { LiveTurn } from "./live-turn/turn.ts";
import type { RemotePreviews } from "./readers/live.ts";
import type { Readers } from "./readers/readers.ts";
import type { JournalBounds } from "./records/keep-journals.ts";
import type { SessionAccess } from "./services/session-service.ts";
import type { OpenSessions } from "./session/open.ts";
import type { SessionWatcher } from "./session/session-watcher.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { Artifacts } from "./toolset/artifacts.ts";

/** Everything that the sessions of one runtime share. */
export interface Core {
  /** Closes before running turns are stopped, so that nothing new begins meanwhile. */
  readonly door: { isClosed: boolean };
  readonly store: Store;
  readonly host: EffectHost;
  readonly world: World;
  readonly owner: Owner;
  readonly limits: Limits;
  /** How long journals of ended turns are kept; undefined if they are not. */
  readonly keepsJournals: JournalBounds | undefined;
  readonly prices: PriceTable;
  /** The default settings of sessions. */
  readonly config: SessionConfig;
  /** Whether this process resumes orphaned turns without a call. */
  readonly recovers: boolean;
  /**
   * False with `recover: "never"`: this process runs no turn, job or schedule. Accepted inputs wait for other
   * processes.
   */
  readonly runs: boolean;

  readonly sessions: OpenSessions;
  readonly readers: Readers;
  /** Previews of turns in other processes, if the store passes them on. */
  readonly live: RemotePreviews | undefined;
  readonly watcher: SessionWatcher;
  /** Jobs, monitors and triggers. */
  readonly background: Background;
  /** Running turns that count against a budget, because their spending is in no ledger before their commit. */
  readonly spenders: Set<LiveTurn>;

  readonly sessionAccess: SessionAccess;
  readonly plugins: readonly Installed[];
  /** The plugins as a turn records them. */
  readonly pluginList: readonly { readonly id: string; readonly version: string }[];
  /** Fills the protocol slots when no plugin does. */
  readonly protocol: Installed | undefined;
  /** The one composition that all sessions share when there are no plugins. */
  readonly bare: Composition | undefined;
  /** The memo that all plain sessions share (`LiveSession.isPlain`). */
  readonly plain: Memo;
  /** Undefined without a listener: then telemetry costs only a comparison. */
  readonly telemetry: Telemetry | undefined;

  readonly tools: readonly Owned<Tool>[];
  readonly providers: readonly Owned<ToolProvider>[];
  readonly listings: Listings;
  readonly artifacts: Artifacts;
  readonly models: Models;
  readonly prompt: readonly PromptPart[];
  /** Bytes by hash, for plugin states and the `blobs` service. */
  readonly blobs: Services["blobs"];
  readonly trace: Trace;
}

export type Trace = (
  name: string,
  about: { readonly [key: string]: Json },
  where?: Pick<TelemetryEvent, "sessionId" | "turnId" | "context">,
) => void;

export const tracer = (telemetry: Telemetry | undefined, world: World): Trace =>
  telemetry === undefined
    ? () => {}
    : (name, about, where) => telemetry.hub.event({ at: world.now(), name, ...where, about });

/** Traces a handler that blocked past its deadline, because it cannot be stopped. */
export const overran =
  (trace: Trace) =>
  (error: RuntimeError): void =>
    trace(error.code, { plugin: (error.details as { plugin?: string }).plugin ?? "", problem: error.message });

/** The runtime's config, overridden by the session's. Returns `core.config` itself if the session has none, so that memos hit. */
export function effectiveConfig(core: Core, own: Partial<SessionConfig>): SessionConfig {
  for (const _ in own) return { ...core.config, ...own };
  return core.config;
}

/** Finds the provider for a model's name. The model of the runtime is known from the start. */
export class Models {
  readonly #found = new Map<string, Provider>();
  readonly #resolve: ModelResolver | undefined;
  readonly #adapt: (model: Model) => Awaitable<Provider>;

  constructor(adapt: (model: Model) => Awaitable<Provider>, resolve: ModelResolver | undefined) {
    this.#adapt = adapt;
    this.#resolve = resolve;
  }

  /** Returns the name under which sessions store the model. */
  async add(model: Model): Promise<string> {
    const provider = await this.#adapt(model);
    const name = `${provider.id}/${provider.modelId}`;
    this.#found.set(name, provider);
    return name;
  }

  known(name: string): Provider | undefined {
    return this.#found.get(name);
  }

  /** `isChosen`: a plugin asked for this model, so its absence is not a mismatch with the session. */
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
      const provider = await this.#adapt(model);
      this.#found.set(name, provider);
      return provider;
    } catch (error) {
      throw error instanceof RuntimeError
        ? error
        : new RuntimeError("provider.unavailable", { name, problem: describeThrown(error) }, { cause: error });
    }
  }
}
