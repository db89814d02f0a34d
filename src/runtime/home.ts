import type { Point } from "../kernel/point.ts";
import type { Surroundings } from "../kernel/run.ts";
import type {
  Appended,
  AppendNode,
  AppendOptions,
  Complete,
  NewSessionRequest,
  ServiceName,
  Services,
  SessionReading,
} from "../kernel/services.ts";
import type { PluginStates } from "../kernel/states.ts";
import type { SessionConfig } from "../model/config.ts";
import type { SessionId } from "../model/ids.ts";
import { type Awaitable, isThenable, type Json } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { ToolManifest } from "../model/tool.ts";
import type { Spent } from "../model/usage.ts";
import { requireBudget } from "./budget.ts";
import { completer } from "./complete.ts";
import type { Core } from "./core.ts";
import { membershipOf } from "./membership.ts";
import { type ServiceHome, serviceOf } from "./services.ts";
import { takeFirstInput } from "./sessions.ts";
import type { Toolset, ToolsetSession } from "./toolset.ts";
import type { TreeSession } from "./tree.ts";

/** The session that is at home. */
export interface HomeSession extends ToolsetSession, TreeSession {
  readonly toolset: Toolset;
  readonly core: Core;
  readonly id: SessionId;
  readonly states: PluginStates;
  readonly config: SessionConfig;
  readonly transcript: { readonly messages: readonly Message[] };
  reading(messages: readonly Message[]): SessionReading;
  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }>;
  append(plugin: string, nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
}

/** What is at hand between turns. */
export class Home implements Surroundings, ServiceHome {
  readonly core: Core;
  readonly signal: AbortSignal;
  readonly #session: HomeSession;
  readonly #spend: (spent: Spent) => Awaitable<void>;

  constructor(session: HomeSession, signal: AbortSignal, spend: (spent: Spent) => Awaitable<void>) {
    this.core = session.core;
    this.signal = signal;
    this.#session = session;
    this.#spend = spend;
  }

  get sessionId(): SessionId {
    return this.#session.id;
  }
  get states(): PluginStates {
    return this.#session.states;
  }
  service<N extends ServiceName>(name: N, plugin: string): Services[N] {
    if (name === "graph")
      return {
        append: (nodes, options) => this.#session.append(plugin, nodes, options),
      } as Services["graph"] as Services[N];
    return serviceOf(this, name, plugin);
  }
  read<Out>(point: Point<Any, Out>): Out {
    return this.#session.composition.contributions.read(point);
  }
  async once<T extends Json>(_plugin: string, _name: string, run: () => Awaitable<T>): Promise<T> {
    return run();
  }
  onceHere<T extends Json>(plugin: string, name: string, run: () => Awaitable<T>): Promise<T> {
    return this.once(plugin, name, run);
  }
  complete(): Complete {
    const { core, signal } = this;
    return completer({
      core,
      model: this.#session.config.model,
      limits: core.limits,
      allow: (model) => requireBudget(core, this.#session, this.#session.config.budget, model),
      spend: this.#spend,
      once: async (run) => ({ reply: await run() }),
      signal,
    });
  }
  messages(): readonly Message[] {
    return this.#session.transcript.messages;
  }
  reading(messages: readonly Message[]): SessionReading {
    return this.#session.reading(messages);
  }
  tools(): readonly ToolManifest[] {
    const found = this.#session.toolset.manifests(this);
    return isThenable(found) ? [] : found; // The row of `toolCatalog` says that it cannot wait.
  }
  describe(tool: string): Promise<ToolDeclaration | undefined> {
    return this.#session.toolset.describe(tool, this);
  }
  membership(plugin: string): Services["membership"] {
    return membershipOf(this.#session.toolset, this.states, plugin, "an operation", true);
  }
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended> {
    return this.#session.append("app", nodes, options);
  }
  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }> {
    return this.#session.create(request);
  }
  takeFirstInput(id: string): Promise<string | undefined> {
    return takeFirstInput(this.core, id);
  }
  trace(name: string, about: { readonly [key: string]: Json }): void {
    this.core.trace(name, about, { sessionId: this.sessionId });
  }
}
