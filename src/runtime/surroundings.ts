import type { Composition } from "../kernel/compose.ts";
import type { Point } from "../kernel/point.ts";
import type { Surroundings } from "../kernel/run.ts";
import type { Complete, NewSessionRequest, ServiceName, Services, SessionReading } from "../kernel/services.ts";
import type { PluginStates } from "../kernel/states.ts";
import { RuntimeError } from "../model/errors.ts";
import type { EffectName, SessionId, TurnId } from "../model/ids.ts";
import { type Awaitable, type Json, toJson } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Message } from "../model/message.ts";
import type { Reply, ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { Scope } from "../model/scope.ts";
import type { ToolManifest } from "../model/tool.ts";
import type { Spent } from "../model/usage.ts";
import { name } from "../turn/effect.ts";
import type { Opened } from "../turn/event.ts";
import { requireBudget } from "./budget.ts";
import { completer } from "./complete.ts";
import type { Core } from "./core.ts";
import { membershipOf } from "./membership.ts";
import { type ServiceHome, serviceOf } from "./services.ts";
import { takeFirstInput } from "./sessions.ts";
import type { Toolset } from "./toolset.ts";
import type { Spender, TreeSession } from "./tree.ts";

/** Where values that a whole turn shares are noted. */
const ONCE = name("once");

/** The turn that a hook or a tool runs in. */
export interface TurnAround extends Spender {
  readonly core: Core;
  readonly session: HomeOfTurn;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly opened: Opened;
  readonly limits: Limits;
  readonly states: PluginStates;
  readonly artifact: { readonly catalog: { readonly manifests: readonly ToolManifest[] } } | undefined;
  /** Notes under way: whoever asks for the same one waits for it. */
  noting: Map<string, Promise<Json>> | undefined;
  messages(): readonly Message[];
  spend(spent: Spent, key?: string): void;
  isBooked(key: string): boolean;
  trace(event: string, about: { readonly [key: string]: Json }): void;
}
interface HomeOfTurn extends TreeSession {
  readonly composition: Composition;
  readonly toolset: Toolset;
  reading(messages: readonly Message[]): SessionReading;
  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }>;
}

/** What a hook is told of the turn it runs in, and what it may ask for there. */
export class TurnSurroundings implements Surroundings, ServiceHome {
  readonly core: Core;
  readonly #live: TurnAround;
  readonly #scope: Scope;
  readonly #effect: EffectName;
  readonly #services = new Map<string, { -readonly [N in ServiceName]?: Services[N] }>();
  readonly #mayWrite: boolean;
  readonly #where: string;
  #completions = 0;

  constructor(live: TurnAround, scope: Scope, effect: EffectName, where: string, mayWrite: boolean) {
    this.#mayWrite = mayWrite;
    this.#where = where;
    this.core = live.core;
    this.#live = live;
    this.#scope = scope;
    this.#effect = effect;
  }

  get sessionId(): SessionId {
    return this.#live.sessionId;
  }
  get turnId(): TurnId {
    return this.#live.turnId;
  }
  get signal(): AbortSignal {
    return this.#scope.signal;
  }
  get states(): PluginStates {
    return this.#live.states;
  }

  /** Made once per plugin: a gate may ask for them call after call. */
  service<N extends ServiceName>(service: N, plugin: string): Services[N] {
    let made = this.#services.get(plugin);
    if (made === undefined) {
      made = {};
      this.#services.set(plugin, made);
    }
    made[service] ??= serviceOf(this, service, plugin);
    return made[service] as Services[N];
  }

  read<Out>(point: Point<Any, Out>): Out {
    return this.#live.session.composition.contributions.read(point);
  }

  once<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    return this.#noted(ONCE, `${plugin}/${key}`, plugin, run);
  }
  onceHere<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    return this.#noted(this.#effect, `${plugin}/once/${key}`, plugin, run);
  }

  /** The recorded value, that of whoever is at it right now, or a new one. */
  #noted<T extends Json>(effect: EffectName, key: string, plugin: string, run: () => Awaitable<T>): Promise<T> {
    this.#live.noting ??= new Map();
    const { noting } = this.#live;
    const place = `${effect}/${key}`;
    const before = noting.get(place);
    if (before !== undefined) return before as Promise<T>;
    const noted = this.#note(effect, key, plugin, run);
    noting.set(place, noted);
    const done = (): boolean => noting.delete(place);
    noted.then(done, done);
    return noted as Promise<T>;
  }

  async #note(effect: EffectName, key: string, plugin: string, run: () => Awaitable<Json>): Promise<Json> {
    const { store } = this.core;
    const known = await store.note(this.turnId, effect, key);
    if (known !== undefined) return known;
    const found = toJson(await run());
    if ("problem" in found)
      throw new RuntimeError("hook.answer", { plugin, hook: "once", problem: `${found.path}: ${found.problem}` });
    return (await store.note(this.turnId, effect, key, found.json)) ?? found.json;
  }

  complete(plugin: string): Complete {
    const live = this.#live;
    return completer({
      core: this.core,
      model: live.opened.config.model,
      limits: live.limits,
      allow: (model) => requireBudget(live.core, live.session, live.opened.config.budget, model, live),
      spend: (spent, key) => live.spend(spent, key),
      once: async (run) => {
        const key = `${plugin}/complete/${this.#completions++}`;
        const reply = await this.#noted(this.#effect, key, plugin, async () => (await run()) as unknown as Json);
        const place = `${this.#effect}/${key}`;
        const found = { reply: reply as unknown as Reply, key: place };
        return live.isBooked(place) ? { ...found, isBooked: true } : found;
      },
      signal: this.signal,
    });
  }

  messages(): readonly Message[] {
    return this.#live.messages();
  }
  reading(messages: readonly Message[]): SessionReading {
    return this.#live.session.reading(messages);
  }
  tools(): readonly ToolManifest[] {
    return this.#live.artifact?.catalog.manifests ?? [];
  }
  describe(tool: string): Promise<ToolDeclaration | undefined> {
    return this.#live.session.toolset.describe(tool, this);
  }
  membership(plugin: string): Services["membership"] {
    return membershipOf(this.#live.session.toolset, this.states, plugin, this.#where, this.#mayWrite);
  }
  async append(): Promise<never> {
    throw new RuntimeError("operation.reentrant", { name: "graph.append" });
  }
  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }> {
    return this.#live.session.create(request);
  }
  takeFirstInput(id: string): Promise<string | undefined> {
    return takeFirstInput(this.core, id);
  }
  trace(event: string, about: { readonly [key: string]: Json }): void {
    this.#live.trace(event, about);
  }
}
