import type { EffectHost } from "../hosts/host.ts";
import { compose } from "../kernel/compose.ts";
import type { Owned } from "../kernel/hooks.ts";
import { closePlugins, installPlugins, optionsFor, type Plugin, type PluginOptions } from "../kernel/plugin.ts";
import type { SessionReading } from "../kernel/services.ts";
import { isToolProvider, type Tool, type ToolProvider } from "../kernel/tool.ts";
import { after } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import { asSessionId, asWaitKey, type NodeId, type SessionId, type TurnId } from "../model/ids.ts";
import { type Awaitable, describeThrown, isThenable, type Json, toJson } from "../model/json.ts";
import type { CancelAnswer } from "../model/outcome.ts";
import { costOf, type Spent, totalOf, type Usage } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Model, Provider } from "../providers/provider.ts";
import type { Store, StoredSession } from "../stores/store.ts";
import { APP, hashOf } from "../tools/catalog.ts";
import { makeTool } from "../tools/define.ts";
import { Listings } from "../tools/source.ts";
import { checkedId } from "./accept.ts";
import { Artifacts } from "./artifacts.ts";
import { requireConfig, requireTemplate } from "./config.ts";
import { type Core, Models, overran, tracer } from "./core.ts";
import { type Comparison, compare, parentOf } from "./history.ts";
import { checkedLimits, checkedOptions, type RuntimeOptions, requireDistinct, requirePrices } from "./options.ts";
import { processName } from "./process.ts";
import { RECOVER_MS, type Recovered, recover, type TakenUp } from "./recover.ts";
import { type KnownTranscript, Resident, requireWords } from "./resident.ts";
import { cancel, snapshot } from "./services.ts";
import { requireOptions, type Session, SessionHandle } from "./session.ts";
import { type ForkOptions, forkRequest, makeSession } from "./sessions.ts";
import { Watch } from "./watch.ts";
import { realWorld } from "./world.ts";

export type { RuntimeOptions } from "./options.ts";

export interface Runtime extends AsyncDisposable {
  /** Opens a session, or creates it; without an id, a new one. */
  session(id?: string, options?: SessionOptions): Promise<Session>;
  readonly sessions: {
    /** All of them, the children of one, or its forks; by id. */
    list(page?: SessionsPage): Promise<readonly SessionSummary[]>;
    /** Any session as it is committed; throws `session.unknown`. */
    get(id: string): Promise<SessionReading>;
    /** A second session over the same history, with its own future; at the head unless told where. */
    fork(id: string, options?: ForkOptions): Promise<Session>;
    /** Asks a turn to end, or without one whatever is open, without opening the session; inputs that wait are taken back then. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /** Where two sessions part, and what each has after that. */
    compare(id: string, other: string): Promise<Comparison>;
    /** What a session and all that descend from it have spent. */
    usage(id: string): Promise<TreeUsage>;
    /** Final: the id is never used again. Refused while a turn runs here. */
    delete(id: string): Promise<void>;
  };
  readonly waits: {
    /** Answers a wait; the first answer counts. Throws `wait.unknown`. */
    resolve(key: string, answer: Json): Promise<"accepted" | "already-resolved">;
  };
  /**
   * Goes on with turns that another process left, and with inputs that wait, in any session; answers when they are
   * done. A runtime on a durable store does so by itself, at its start and then every ten seconds.
   */
  recover(): Promise<Recovered>;
  /** Accepts nothing more, gives running turns 5 seconds, closes plugins in reverse order, then the store. */
  close(): Promise<void>;
}

export interface SessionOptions {
  /** What the session has of its own; given when it is made, changed with `configure`. */
  readonly config?: Partial<SessionConfig>;
  /** Options of plugins for this opening, in the place of those they were installed with. */
  readonly plugins?: readonly PluginOptions[];
}

export interface SessionsPage {
  readonly after?: string;
  readonly max?: number;
  readonly parent?: string;
  readonly origin?: string;
}

export interface TreeUsage {
  readonly usage: Usage;
  /** Where the price of every model is known. */
  readonly cost?: number;
  /** By session, source and model. */
  readonly ledger: readonly (Spent & { readonly sessionId: SessionId; readonly cost?: number })[];
}

export interface SessionSummary {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: { readonly sessionId: SessionId; readonly at?: NodeId };
  readonly label?: string;
  readonly createdAt: number;
  readonly turns: number;
  /** The turn that is open, here or elsewhere. */
  readonly openTurn?: TurnId;
}

/** What the door binds, because the runtime knows no member of a family. */
export interface Defaults {
  host(store: Store): EffectHost;
  protocol(): Plugin;
  adapt(model: Model): Provider;
  readonly world?: World;
}

const CLOSE_MS = 5_000;

export async function openRuntime(options: RuntimeOptions, defaults: Defaults): Promise<Runtime> {
  const { store, model, models: resolve } = checkedOptions(options);
  const world = defaults.world ?? realWorld();
  const models = new Models(defaults.adapt, resolve);
  const modelName = typeof model === "string" ? model : models.add(model);
  const ofApp = (options.tools ?? []).map((value): Owned<Tool | ToolProvider> => ({ plugin: APP, value }));
  const tools = ofApp.filter((owned): owned is Owned<Tool> => !isToolProvider(owned.value));
  const providers = ofApp.filter((owned): owned is Owned<ToolProvider> => isToolProvider(owned.value));
  requireDistinct(tools, providers); // Before anything is opened.
  const { instructions, prompt, settings, template } = options;
  const { budget, prices = {} } = options;
  requireConfig({ instructions, prompt, settings, budget }, "options");
  requirePrices(prices);
  requireTemplate(template);
  const limits = checkedLimits(options.limits ?? {});
  const trace = tracer(options.trace, world);
  const closing = new AbortController();
  const [protocol] = await installPlugins([defaults.protocol()], closing.signal);
  const plugins = await installPlugins(options.plugins ?? [], closing.signal);
  const config: SessionConfig = {
    model: modelName,
    ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    ...(options.settings === undefined ? {} : { settings: options.settings }),
    ...(budget === undefined ? {} : { budget }),
  };
  const residents: Residents = new Map();
  const openOf = (id: SessionId): Resident | undefined => {
    const resident = residents.get(id)?.resident;
    return resident === undefined || isThenable(resident) ? undefined : resident;
  };
  const openHere = function* (): Iterable<Resident> {
    for (const { resident } of residents.values()) if (!isThenable(resident)) yield resident;
  };
  const watch = new Watch(store, limits.unreadEventsMax, openHere, (problem) => trace("session.observe", { problem }));
  const core: Core = {
    config,
    door: { isClosed: false },
    store,
    host: options.host ?? defaults.host(store),
    world,
    owner: { id: world.id("own"), process: processName() },
    limits,
    plugins,
    protocol,
    bare:
      plugins.length > 0
        ? undefined
        : compose(
            [],
            protocol,
            new Map(),
            { id: asSessionId("every"), isRoot: true },
            makeTool,
            options.probe,
            overran(trace),
          ),
    bareFlags: new WeakMap(),
    tools,
    providers,
    listings: new Listings((problem, about) => trace("tool.source", { problem, ...about })),
    prompt: options.prompt ?? [],
    models,
    artifacts: new Artifacts(store, world, options.template),
    blobs: {
      put: (data) => {
        const hash = hashOf(data);
        return after(store.blobs.put(hash, data), () => hash);
      },
      get: (hash) => store.blobs.get(hash),
    },
    probe: options.probe,
    pluginList: plugins.map(({ id, version }) => ({ id, version })),
    trace,
    recovers: options.recover !== "manual",
    prices,
    spenders: new Set(),
    watch,
    neighbours: { find: openOf, open: (id) => runtime.session(id) },
  };
  for (const provider of providers) core.listings.take(provider); // Until the runtime is closed.
  const runtime = new RuntimeHandle(core, closing, residents);
  if (store.isDurable && core.recovers) runtime.keepRecovering();
  return runtime;
}

type Residents = Map<SessionId, { resident: Awaitable<Resident>; handles: number }>;

class RuntimeHandle implements Runtime {
  readonly #core: Core;
  readonly #closing: AbortController;
  readonly #residents: Residents;
  #closed: Promise<void> | undefined;
  #looking: Promise<Recovered> | undefined;
  /** Sessions that were taken up because nobody was at them. */
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(core: Core, closing: AbortController, residents: Residents) {
    this.#core = core;
    this.#residents = residents;
    this.#closing = closing;
  }

  session(id?: string, options: SessionOptions = {}): Promise<Session> {
    return this.#session(id, options, undefined);
  }

  async #session(
    id: string | undefined,
    options: SessionOptions,
    known: KnownTranscript | undefined,
    isRecovery = false,
  ): Promise<Session> {
    this.#requireOpen();
    requireOptions(options);
    if (options.plugins !== undefined && !Array.isArray(options.plugins))
      throw new RuntimeError("options.invalid", { option: "plugins", problem: "it is no list" });
    const sessionId = asSessionId(id === undefined ? this.#core.world.id("ses") : checkedId(id));
    if (options.config !== undefined) requireConfig(options.config);
    const given = this.#pluginOptions(options.plugins ?? []);
    let entry = this.#residents.get(sessionId);
    const isOpen = entry !== undefined;
    const [late] = given.keys();
    if (entry !== undefined && late !== undefined)
      throw new RuntimeError("plugin.options", {
        plugin: late,
        problem: "the session is open already, with the options it was opened with",
      });
    if (entry === undefined) {
      const resident = Resident.open(
        this.#core,
        sessionId,
        options.config ?? {},
        this.#pluginOptions(options.plugins ?? []),
        known,
        isRecovery,
      );
      entry = { resident, handles: 0 };
      this.#residents.set(sessionId, entry);
      if (isThenable(resident)) resident.then(undefined, () => this.#residents.delete(sessionId));
    }
    const open = entry;
    open.handles++;
    const resident = isThenable(open.resident) ? await open.resident : open.resident;
    open.resident = resident;
    if (known === undefined && isOpen && (await this.#core.store.load(sessionId)) === undefined) {
      if (this.#residents.get(sessionId) === open) this.#residents.delete(sessionId);
      throw new RuntimeError("session.deleted", { id: sessionId }); // By another runtime.
    }
    const letGo = (): void => {
      if (open.handles > 0 || this.#residents.get(sessionId) !== open) return;
      this.#residents.delete(sessionId);
      resident.toolset.close();
    };
    const close = (): void => {
      if (--open.handles === 0) resident.whenIdle(letGo);
    };
    return new SessionHandle(resident, close, (forked, shared) => this.#session(forked, {}, shared));
  }

  async recover(): Promise<Recovered> {
    this.#requireOpen();
    const seen = new Set<string>();
    let sessions = 0;
    for (;;) {
      await this.#looking; // One look at a time.
      const found = (await this.#look(seen)).sessions;
      sessions += found;
      await Promise.all(this.#underWay);
      for (const { resident } of [...this.#residents.values()]) await (await resident).takenUp; // By being opened.
      if (found === 0 || this.#core.door.isClosed) return { sessions };
    }
  }

  /** Begins what others left, one look at a time. */
  #look(seen?: Set<string>): Promise<Recovered> {
    this.#looking ??= recover(this.#core, this.#underWay, (id) => this.#takeUp(asSessionId(id)), seen).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Sessions that are open here are asked; to open another is to take it up. */
  async #takeUp(id: SessionId): Promise<TakenUp | undefined> {
    const open = await this.#residents.get(id)?.resident;
    if (open !== undefined) return (await open.takeUp(true)) ? { done: open.settled() } : undefined;
    const session = await this.#session(id, {}, undefined, true);
    const resident = await this.#residents.get(id)?.resident;
    return { done: (resident?.settled() ?? Promise.resolve()).finally(() => session.close()) };
  }

  keepRecovering(): void {
    const look = (): void => {
      if (!this.#core.door.isClosed)
        this.#look().catch((error) => this.#core.trace("session.recover", { problem: describeThrown(error) }));
    };
    this.#timer = setInterval(look, RECOVER_MS);
    this.#timer.unref();
    setImmediate(look);
  }

  readonly sessions = {
    list: async (page: SessionsPage = {}): Promise<readonly SessionSummary[]> => {
      this.#requireOpen();
      requireOptions(page);
      const { after, max, parent, origin } = page;
      for (const [option, value] of Object.entries({ after, parent, origin }))
        if (value !== undefined && typeof value !== "string")
          throw new RuntimeError("options.invalid", { option, problem: "it is no id" });
      if (max !== undefined && !(typeof max === "number" && max >= 1))
        throw new RuntimeError("options.invalid", { option: "max", problem: "it must be a number above 0" });
      const found = await this.#core.store.list({
        ...(after === undefined ? {} : { after: asSessionId(after) }),
        ...(max === undefined ? {} : { max }),
        ...(parent === undefined ? {} : { parent: asSessionId(parent) }),
        ...(origin === undefined ? {} : { origin: asSessionId(origin) }),
      });
      return found.map(({ id, parentId, origin: from, createdAt, turns, openTurn, config: { label } }) => ({
        id,
        ...(parentId === undefined ? {} : { parentId }),
        ...(from === undefined ? {} : { origin: from }),
        ...(label === undefined ? {} : { label }),
        createdAt,
        turns,
        ...(openTurn === undefined ? {} : { openTurn }),
      }));
    },
    get: async (id: string): Promise<SessionReading> => {
      this.#requireOpen();
      return snapshot(this.#core, id);
    },
    fork: async (id: string, options: ForkOptions = {}): Promise<Session> => {
      const source = await this.#require(id);
      const parent = await parentOf(this.#core.store, source.id, options?.before);
      return this.session(await makeSession(this.#core, forkRequest(options, parent), source));
    },
    cancel: async (id: string, turnId?: string, reason = "It was cancelled."): Promise<CancelAnswer> => {
      const { id: known } = await this.#require(id);
      requireWords("reason", reason);
      return cancel(this.#core, known, turnId, reason);
    },
    compare: async (id: string, other: string): Promise<Comparison> => {
      const [ours, theirs] = [await this.#require(id), await this.#require(other)];
      return compare(this.#core.store, ours.id, theirs.id);
    },
    usage: async (id: string): Promise<TreeUsage> => {
      const { store, prices } = this.#core;
      const rows = await store.booked((await this.#require(id)).id);
      const priced = (spent: readonly Spent[]): { readonly cost?: number } => {
        const cost = costOf(spent, prices);
        return cost === undefined ? {} : { cost };
      };
      return { usage: totalOf(rows), ...priced(rows), ledger: rows.map((row) => ({ ...row, ...priced([row]) })) };
    },
    delete: async (id: string): Promise<void> => {
      this.#requireOpen();
      if (typeof id !== "string") throw new RuntimeError("session.unknown", { id: typeof id });
      const sessionId = asSessionId(id);
      const resident = await this.#residents.get(sessionId)?.resident;
      if (resident !== undefined && (await resident.isBusy()))
        throw new RuntimeError("session.busy", { id, holder: "a running turn" });
      await this.#core.store.delete(sessionId);
      this.#residents.delete(sessionId);
      resident?.toolset.close();
      this.#core.watch.gone(sessionId);
    },
  };

  async #require(id: string): Promise<StoredSession> {
    this.#requireOpen();
    const stored = typeof id === "string" ? await this.#core.store.load(asSessionId(id)) : undefined;
    if (stored === undefined)
      throw new RuntimeError("session.unknown", { id: typeof id === "string" ? id : typeof id });
    return stored;
  }

  #pluginOptions(given: readonly PluginOptions[]): ReadonlyMap<string, unknown> {
    const found = given.map((options): [string, unknown] => {
      const installed = this.#core.plugins.find(({ id }) => id === options.plugin);
      if (installed === undefined)
        throw new RuntimeError("plugin.options", {
          plugin: String(options.plugin),
          problem: "the plugin is not installed",
        });
      return [installed.id, optionsFor(installed, options)];
    });
    return new Map(found);
  }

  readonly waits = {
    resolve: async (key: string, answer: Json): Promise<"accepted" | "already-resolved"> => {
      this.#requireOpen();
      if (typeof key !== "string") throw new RuntimeError("wait.unknown", {});
      const found = toJson(answer);
      if ("problem" in found)
        throw new RuntimeError("input.invalid", { problem: `the answer is not JSON: ${found.path}: ${found.problem}` });
      const said = await this.#core.store.waits.resolve(asWaitKey(key), { kind: "value", value: found.json });
      if (said === "unknown") throw new RuntimeError("wait.unknown", {});
      for (const { resident } of this.#residents.values()) if (!isThenable(resident)) resident.poke();
      return said;
    },
  };

  #requireOpen(): void {
    if (this.#core.door.isClosed) throw new RuntimeError("runtime.closed", {});
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const core = this.#core;
    core.door.isClosed = true;
    clearInterval(this.#timer);
    core.watch.close();
    const closing = [...this.#residents.values()].map(async ({ resident }) => (await resident).close(CLOSE_MS));
    for (const { resident } of this.#residents.values()) if (!isThenable(resident)) resident.toolset.close();
    for (const closed of await Promise.allSettled(closing)) {
      if (closed.status === "rejected") core.trace("session.close", { problem: describeThrown(closed.reason) });
    }
    this.#closing.abort();
    core.listings.close();
    await closePlugins(core.plugins, (plugin, error) => core.trace("plugin.close", { plugin, problem: String(error) }));
    await core.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
