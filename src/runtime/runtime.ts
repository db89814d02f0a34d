import type { EffectHost } from "../hosts/host.ts";
import { compose } from "../kernel/compose.ts";
import type { Owned } from "../kernel/hooks.ts";
import type { Monitors } from "../kernel/monitor.ts";
import { closePlugins, installPlugins, type Plugin } from "../kernel/plugin.ts";
import type { Section } from "../kernel/prompt.ts";
import type { Services } from "../kernel/services.ts";
import type { PluginOptions } from "../kernel/session-requests.ts";
import { isToolProvider, type Tool, type ToolProvider } from "../kernel/tool.ts";
import type { Awaitable } from "../model/awaitable.ts";
import type { Budget, SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { RuntimeFact } from "../model/event.ts";
import { asSessionId } from "../model/ids.ts";
import { defined, ownJson } from "../model/json.ts";
import type { Known, Optional } from "../model/known.ts";
import type { Limits } from "../model/limits.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelSettings } from "../model/request.ts";
import type { PriceTable } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Model, ModelResolver, Provider } from "../providers/provider.ts";
import type { CheckOptions, Finding } from "../stores/rules/check/check.ts";
import type { Store } from "../stores/store.ts";
import type { TelemetryListener } from "../telemetry/telemetry.ts";
import { APP } from "../tools/catalog.ts";
import { makeTool } from "../tools/define.ts";
import { Listings } from "../tools/source.ts";
import { appJobs, appMonitors, appTriggers, Background } from "./background/background.ts";
import {
  checkedLimits,
  checkedListeners,
  checkedName,
  checkedOptions,
  ID_BYTES_MAX,
  requireConfig,
  requireDistinct,
  requireOptions,
  requirePrices,
  requireSessionAccess,
  requireSignal,
  requireTemplate,
  wrongId,
} from "./checks.ts";
import { type Core, Models, overran, tracer } from "./core.ts";
import type { AppJobs } from "./jobs/app.ts";
import { Memo } from "./live-turn/memo.ts";
import { ownStore } from "./own-store.ts";
import { Readers } from "./readers/readers.ts";
import type { RuntimeObserveOptions } from "./readers/runtime-feed.ts";
import { checkedKeepJournals, JournalSweeper, type KeepJournals } from "./records/keep-journals.ts";
import type { Turns } from "./records/turns.ts";
import type { UsagePage, UsageReport } from "./records/usage.ts";
import type { SessionAccess } from "./services/session-service.ts";
import { type AppSessions, appSessions } from "./session/app.ts";
import { HintListener } from "./session/hint-listener.ts";
import { checkedMarks, type SessionMarks } from "./session/make.ts";
import { OpenSessions } from "./session/open.ts";
import { givenOptions } from "./session/options.ts";
import type { Session } from "./session/public-api.ts";
import { type Recovered, SessionWatcher } from "./session/session-watcher.ts";
import type { RuntimeStatus } from "./status.ts";
import { Artifacts, blobsOf } from "./toolset/artifacts.ts";
import type { AppTriggers } from "./triggers/app.ts";
import { type Waits, waitsOf } from "./waits.ts";
import { attendSignals } from "./worker.ts";
import { processName, realWorld } from "./world.ts";

/** Options of `createRuntime`. Only `store` and `model` are required. */
export type RuntimeOptions = {
  /** Where sessions are stored, for example `sqlite("agent.db")`. */
  readonly store: Store;
  /** Where effects run. Default: the journal host on a durable store, else the inline host. */
  readonly host?: EffectHost | undefined;
  /** Tools for every session. */
  readonly tools?: readonly (Tool | ToolProvider)[] | undefined;
  /** Plugins for every session. Those of the same `order` run in the order of this list. */
  readonly plugins?: readonly Plugin[] | undefined;
  /** The system prompt's own text, unless a session has its own. */
  readonly instructions?: string | undefined;
  /** Prompt parts for every session: the lowest layer, below those of sessions, turns and plugins. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Headings and order of the prompt's sections. */
  readonly template?: readonly Section[] | undefined;
  /** Temperature, output limit and the like for every model call, unless a session has its own. */
  readonly settings?: ModelSettings | undefined;
  /** Which plugins reach jobs and monitors beyond their session and its descendants. Default: none. */
  readonly sessionAccess?: SessionAccess | undefined;
  /** Bounds on time, size and number; `Limits` names the default of each. */
  readonly limits?: Optional<Limits> | undefined;
  /** How much may be spent, unless a session has its own budget. Default: no bound. */
  readonly budget?: Budget | undefined;
  /**
   * How long the journals of ended turns are kept, so that `turns.timeline` can show them. Default: 7 days, 200 turns of a
   * session, 1 GiB in all. `false`: not at all.
   */
  readonly keepJournals?: KeepJournals | false | undefined;
  /** Prices per million tokens, by model name (`provider/model`). A cost budget needs them. */
  readonly prices?: PriceTable | undefined;
  /**
   * What this process runs on a durable store. `auto` (default): also turns that other processes left, and parked ones
   * that were answered; it looks for them at once and every second. `manual`: only turns of sessions that are open here,
   * and the rest when `recover()` is called. `never`: no turn, tool, job, monitor or schedule, for a process that only
   * sends, reads and answers. Its inputs wait for another process, and its handles follow the turns that run there.
   */
  readonly recover?: "auto" | "manual" | "never" | undefined;
  /**
   * Receives what this process does: spans of turns, rounds, model calls, tools, hooks, waits, commits, jobs and store
   * calls, and diagnostics. `bowline/otel` and `bowline/telemetry` have listeners.
   */
  readonly telemetry?: TelemetryListener | readonly TelemetryListener[] | undefined;
  /** Time and chance. For tests: `simulatedWorld()` of `bowline/testing`, in which time passes when you say so. */
  readonly world?: World | undefined;
} & (
  | { readonly model: Model; readonly models?: ModelResolver | undefined }
  | { readonly model: string; readonly models: ModelResolver }
);

export interface Runtime extends AsyncDisposable {
  /** Opens the session with this id, or creates it. Without an id, creates one with a generated id. */
  session(id?: string, options?: SessionOptions): Promise<Session>;
  /** All sessions, without opening one. */
  readonly sessions: AppSessions;
  /** What turns did: lists, one turn, and what happened in it. Of all sessions, without opening one. */
  readonly turns: Turns;
  /**
   * Streams the facts of all sessions in one order, also those that other processes store. To continue after a restart,
   * pass the `cursor` of the last fact as `after`: no fact is missed or repeated.
   */
  observe(options?: RuntimeObserveOptions): AsyncIterableIterator<RuntimeFact>;
  /** What turns wait for: approvals, results that come later, questions. Lists and answers them, from any process. */
  readonly waits: Waits;
  /** Background work of all sessions; `jobs.of(id)` is that of one. */
  readonly jobs: AppJobs;
  readonly monitors: {
    /** The commands that are watched for a session, without opening it. */
    of(session: string): Monitors;
  };
  /** What starts work by itself, of all sessions; `triggers.of(id)` is that of one. */
  readonly triggers: AppTriggers;
  /** Adds up what turns have spent, by time, model, session and tool. Default: of the last 24 hours. */
  usage(page?: UsagePage): Promise<UsageReport>;
  /** Reads how much work there is in all processes, and which of them do it. */
  status(): Promise<RuntimeStatus>;
  /**
   * Looks for damage in the store, as `bowline doctor` does, and changes nothing. Reads the whole store: a process with
   * SQLite does nothing else meanwhile. A store in memory has no findings.
   */
  check(options?: CheckOptions): Promise<readonly Finding[]>;
  /** Bytes by the hash of their content: `get` returns those of an attachment. */
  readonly blobs: Services["blobs"];
  /**
   * Resumes turns and jobs that other processes left, and inputs that wait, in all sessions; settles when they are done,
   * or wait for something. Throws `runtime.passive` with `recover: "never"`.
   */
  recover(): Promise<Recovered>;
  /**
   * Keeps the process alive as a worker until SIGTERM, SIGINT, `signal` or a call of `close()`, then closes the runtime.
   * Resolves when it is closed. `recover` decides what runs; throws `runtime.passive` with `recover: "never"`.
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Refuses new calls, parks turns that only wait, gives other running turns and jobs a grace (default: 5 seconds), closes
   * plugins in reverse order, then the store. The grace of the first call holds.
   */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /** How long running turns and jobs may still finish, in milliseconds. Default: 5,000. */
  readonly graceMs?: number | undefined;
}

export interface RunOptions extends CloseOptions {
  /** Closes the runtime when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

export interface SessionOptions extends SessionMarks {
  /** The session's own settings, if this call creates it. Later they are changed with `configure`. */
  readonly config?: Optional<SessionConfig> | undefined;
  /**
   * Options of plugins for this session, in place of the installed ones. They are stored with it, so give JSON and no
   * secrets; those of an existing session are replaced, plugin by plugin, from the next turn on.
   */
  readonly plugins?: readonly PluginOptions[] | undefined;
}

/** The default members that `index.ts` binds: the runtime itself names no host, protocol or provider. */
export interface Defaults {
  host(store: Store): Awaitable<EffectHost>;
  protocol(): Plugin;
  adapt(model: Model): Awaitable<Provider>;
  readonly world?: World;
}

const SESSION: Known<SessionOptions> = { config: true, plugins: true, owner: true, tags: true };

const CLOSE: Known<CloseOptions> = { graceMs: true };
const RUN: Known<RunOptions> = { ...CLOSE, signal: true };

const CLOSE_MS = 5_000;

export async function openRuntime(options: RuntimeOptions, defaults: Defaults): Promise<Runtime> {
  const { model, models: resolve, instructions, prompt, settings, template } = checkedOptions(options);
  const ownWorld = options.world ?? defaults.world;
  const world = ownWorld ?? realWorld();
  const telemetry = await telemetryOf(checkedListeners(options.telemetry), world, ownWorld !== undefined);
  const store = ownStore(options.store, telemetry);
  await store.ready?.();
  const { budget, prices = {}, sessionAccess = {} } = options;
  const models = new Models(defaults.adapt, resolve);
  const modelName = typeof model === "string" ? model : await models.add(model);
  if (typeof model === "string") await models.require(model); // Throws here, not in the first turn, if a package is missing.
  const ofApp = (options.tools ?? []).map((value): Owned<Tool | ToolProvider> => ({ plugin: APP, value }));
  const tools = ofApp.filter((owned): owned is Owned<Tool> => !isToolProvider(owned.value));
  const providers = ofApp.filter((owned): owned is Owned<ToolProvider> => isToolProvider(owned.value));
  requireDistinct(tools, providers);
  requireConfig({ instructions, prompt, settings, budget }, "options");
  requirePrices(prices);
  requireSessionAccess(sessionAccess);
  requireTemplate(template);
  const limits = checkedLimits(options.limits ?? {});
  const trace = tracer(telemetry, world);
  const closing = new AbortController();
  const [protocol] = await installPlugins([defaults.protocol()], closing.signal);
  const plugins = await installPlugins(options.plugins ?? [], closing.signal);
  const host = options.host ?? (await defaults.host(store));
  const sessions = new OpenSessions(() => core);
  const live = await remotePreviews(() => core, store);
  const every = { id: asSessionId("every"), isRoot: true };
  const core: Core = {
    door: { isClosed: false },
    store,
    host,
    world,
    owner: { id: world.id("own"), process: processName() },
    limits,
    keepsJournals: checkedKeepJournals(options.keepJournals),
    prices,
    config: ownJson({ model: modelName, instructions, settings, budget }) as unknown as SessionConfig,
    recovers: options.recover === undefined || options.recover === "auto",
    runs: options.recover !== "never",
    sessions,
    readers: new Readers(store, limits.unreadEventsMax, () => sessions, trace, live),
    live,
    watcher: new SessionWatcher(
      () => core,
      (id) => sessions.takeUp(id),
    ),
    background: new Background(
      () => core,
      () => compose(plugins, protocol, new Map(), every, makeTool, undefined, overran(trace)),
    ),
    spenders: new Set(),
    sessionAccess,
    plugins,
    pluginList: plugins.map(({ id, version }) => ({ id, version })),
    protocol,
    bare:
      plugins.length > 0
        ? undefined
        : compose([], protocol, new Map(), every, makeTool, telemetry?.handler, overran(trace)),
    plain: new Memo(),
    telemetry,
    tools,
    providers,
    listings: new Listings((problem, about) => trace("tool.source", { problem, ...about })),
    artifacts: new Artifacts(store, template),
    models,
    prompt: prompt ?? [],
    blobs: blobsOf(store),
    trace,
  };
  for (const provider of providers) core.listings.take(provider); // Held until the runtime closes.
  const hints = new HintListener(() => core);
  const runtime = new RuntimeHandle(core, closing, hints);
  hints.start();
  if (store.isDurable && core.recovers) core.watcher.start();
  return runtime;
}

/** Loads what reports to listeners, if there is one. */
async function telemetryOf(
  listeners: readonly TelemetryListener[],
  world: World,
  isSimulated: boolean,
): Promise<Core["telemetry"]> {
  if (listeners.length === 0) return undefined;
  const { Telemetry } = await import("./telemetry/telemetry.ts");
  return new Telemetry(listeners, world, isSimulated);
}

/** Loads the reader of previews from other processes, only for a store that passes them on. */
async function remotePreviews(core: () => Core, { live, hints }: Store): Promise<Core["live"]> {
  if (live === undefined) return undefined;
  const { RemotePreviews } = await import("./readers/live.ts");
  return new RemotePreviews(core, live, hints !== undefined);
}

class RuntimeHandle implements Runtime {
  readonly #core: Core;
  readonly #closing: AbortController;
  readonly #hints: HintListener;
  readonly #closed = Promise.withResolvers<void>();
  readonly #journals: JournalSweeper;

  constructor(core: Core, closing: AbortController, hints: HintListener) {
    this.#hints = hints;
    this.#core = core;
    this.#closing = closing;
    this.#journals = new JournalSweeper(core);
    this.#journals.start();
  }

  async session(id?: string, options?: SessionOptions): Promise<Session> {
    const core = this.#open();
    const { world, sessions } = core;
    const sessionId = asSessionId(id === undefined ? world.id("ses") : checkedName(id, ID_BYTES_MAX, wrongId));
    if (options === undefined) return sessions.handle(sessionId);
    requireOptions("runtime.session", options, SESSION);
    const { config = {}, plugins = [] } = options;
    requireConfig(config);
    const marks = checkedMarks(options);
    return sessions.handle(sessionId, { config: defined(config), options: givenOptions(core, plugins), marks });
  }

  readonly sessions: AppSessions = appSessions(() => this.#open());
  readonly turns: Turns = {
    list: async (page) => (await this.#turns()).list(page),
    find: async (id) => (await this.#turns()).find(id),
    get: async (id) => (await this.#turns()).get(id),
    timeline: async (id) => (await this.#turns()).timeline(id),
    journal: async (id) => (await this.#turns()).journal(id),
  };

  async #turns(): Promise<Turns> {
    this.#open();
    const { turnsOf } = await import("./records/reports.ts");
    return turnsOf(() => this.#open());
  }

  observe(options: RuntimeObserveOptions = {}): AsyncIterableIterator<RuntimeFact> {
    return this.#open().readers.feed(options);
  }

  async usage(page: UsagePage = {}): Promise<UsageReport> {
    const core = this.#open();
    const { usageOf } = await import("./records/reports.ts");
    return usageOf(core, page);
  }

  async status(): Promise<RuntimeStatus> {
    const core = this.#open();
    const { statusOf } = await import("./records/reports.ts");
    return statusOf(core);
  }

  async check(options: CheckOptions = {}): Promise<readonly Finding[]> {
    const core = this.#open();
    const { checkOf } = await import("./records/reports.ts");
    return checkOf(core, options);
  }

  readonly waits: Waits = waitsOf(() => this.#open());
  readonly jobs: AppJobs = appJobs(() => this.#open());
  readonly monitors = appMonitors(() => this.#open());
  readonly triggers: AppTriggers = appTriggers(() => this.#open());
  readonly blobs: Services["blobs"] = {
    get: (hash) => this.#open().blobs.get(hash),
    put: (data) => this.#open().blobs.put(data),
  };

  async recover(): Promise<Recovered> {
    const { watcher, runs } = this.#open();
    if (!runs) throw new RuntimeError("runtime.passive", { call: "recover()" });
    return watcher.recover();
  }

  async run(options: RunOptions = {}): Promise<void> {
    const { runs } = this.#open();
    requireOptions("runtime.run", options, RUN);
    const { signal, graceMs } = options;
    requireSignal(signal);
    requireGrace(graceMs);
    if (!runs) throw new RuntimeError("runtime.passive", { call: "run()" });
    const stop = (): void => void this.close({ graceMs }).catch(() => {}); // The error is thrown below.
    const leave = attendSignals(stop);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      if (signal?.aborted === true) stop();
      await this.#closed.promise;
    } finally {
      leave();
      signal?.removeEventListener("abort", stop);
    }
  }

  // ── Closing ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #open(): Core {
    if (this.#core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    return this.#core;
  }

  async close(options: CloseOptions = {}): Promise<void> {
    requireOptions("runtime.close", options, CLOSE);
    const { graceMs = CLOSE_MS } = options;
    requireGrace(graceMs);
    if (!this.#core.door.isClosed) this.#close(graceMs).then(this.#closed.resolve, this.#closed.reject);
    return this.#closed.promise;
  }

  async #close(graceMs: number): Promise<void> {
    const { door, background, readers, live, sessions, listings, plugins, store, trace, watcher, telemetry } =
      this.#core;
    door.isClosed = true;
    this.#hints.close();
    this.#journals.close();
    readers.close();
    live?.close();
    await Promise.all([background.close(graceMs), sessions.close(graceMs)]);
    for (const [, followers] of watcher.close()) followers.left();
    this.#closing.abort();
    listings.close();
    await closePlugins(plugins, (plugin, error) => trace("plugin.close", { plugin, problem: String(error) }));
    await store.close();
    await telemetry?.hub.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function requireGrace(graceMs: number | undefined): void {
  if (graceMs !== undefined && !(typeof graceMs === "number" && graceMs >= 0))
    throw new RuntimeError("options.invalid", { option: "graceMs", problem: "it must be a number of 0 or more" });
}
