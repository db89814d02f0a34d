import { extensionIn } from "../../kernel/extension.ts";
import type { Site } from "../../kernel/hook-runner.ts";
import type { Point } from "../../kernel/point.ts";
import {
  APPEND,
  type Appended,
  type AppendNode,
  type AppendOptions,
  type Complete,
  type ServiceName,
  type Services,
} from "../../kernel/services.ts";
import type { PluginStates } from "../../kernel/states.ts";
import { type Awaitable, isThenable, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { EffectName, SessionId, TurnId } from "../../model/ids.ts";
import { frozen, type Json, type JsonObject, toJson } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { Reply } from "../../model/request.ts";
import type { Any } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import type { ToolManifest } from "../../model/tool.ts";
import type { Spent } from "../../model/usage.ts";
import { name } from "../../turn/effect.ts";
import { requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";
import { membershipOf } from "../toolset/membership.ts";
import { requireBudget } from "./budget.ts";
import { type CompletionSite, completer } from "./complete.ts";
import { isForAll, serviceOf } from "./services.ts";

/** The effect name under which `once` values are recorded: they belong to the whole turn. */
const ONCE = name("once");

export interface InTurn {
  readonly live: LiveTurn;
  readonly effect: EffectName;
  /** For errors: where a plugin tried to write. */
  readonly where: string;
  readonly mayWrite: boolean;
}

/** Where a hook, a tool or an operation runs, in a turn or between turns, and what makes its services. */
export class SessionSite implements Site {
  readonly session: LiveSession;
  readonly core: Core;
  readonly #turn: InTurn | undefined;
  readonly #scope: { readonly signal: AbortSignal };
  readonly #spend: ((spent: Spent) => Awaitable<void>) | undefined;
  /** Between turns: of the turn that is about to open, or is over. */
  readonly #extensions: JsonObject | undefined;
  /** By plugin, or `""` for all: a gate may ask for the same services call after call. */
  #services: Map<string, { -readonly [N in ServiceName]?: Services[N] }> | undefined;
  #completions = 0;

  constructor(
    session: LiveSession,
    turn: InTurn | undefined,
    scope: { readonly signal: AbortSignal } = new LazyScope(),
    spend?: (spent: Spent) => Awaitable<void>,
    extensions?: JsonObject,
  ) {
    this.session = session;
    this.core = session.core;
    this.#turn = turn;
    this.#scope = scope;
    this.#spend = spend;
    this.#extensions = extensions;
  }

  get sessionId(): SessionId {
    return this.session.id;
  }
  get turnId(): TurnId | undefined {
    return this.#turn?.live.turnId;
  }
  get signal(): AbortSignal {
    return this.#scope.signal;
  }
  get standing(): Site | undefined {
    return this.#turn?.live.standing;
  }
  get states(): PluginStates {
    return this.#turn?.live.states ?? this.session.kept.states;
  }

  service<N extends ServiceName>(service: N, plugin: string): Services[N] {
    const whose = isForAll(service) ? "" : plugin;
    this.#services ??= new Map();
    let made = this.#services.get(whose);
    if (made === undefined) {
      made = {};
      this.#services.set(whose, made);
    }
    made[service] ??= serviceOf(this, service, plugin);
    return made[service] as Services[N];
  }

  read<Out>(point: Point<Any, Out>): Out {
    return this.session.composition.contributions.read(point);
  }

  extension(id: string): Json | undefined {
    return extensionIn(this.#turn?.live.opened.extensions ?? this.#extensions, id);
  }

  messages(): readonly Message[] {
    return this.#turn?.live.messages() ?? this.session.kept.transcript.messages;
  }

  tools(): readonly ToolManifest[] {
    const live = this.#turn?.live;
    if (live !== undefined) return live.artifact?.catalog.manifests ?? [];
    const found = this.session.toolset.manifests(this);
    return isThenable(found) ? [] : found; // `toolCatalog` hooks are synchronous (`isSync` in the hook table).
  }

  membership(plugin: string): Services["membership"] {
    const { where, mayWrite } = this.#turn ?? { where: "an operation", mayWrite: true };
    return membershipOf(this.session, this.states, plugin, where, mayWrite);
  }

  /** Refused inside a turn, where a node could come between a call and its result. */
  async append(plugin: string, nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended> {
    if (this.#turn !== undefined) throw new RuntimeError("operation.reentrant", { name: "graph.append" });
    if (options !== undefined) requireOptions("graph.append", options, APPEND);
    return this.session.append(plugin, nodes, options);
  }

  trace(event: string, about: { readonly [key: string]: Json }): void {
    const { turnId } = this;
    this.core.trace(event, about, turnId === undefined ? this.session.asPlace : { ...this.session.asPlace, turnId });
  }

  // ── Values and completions that are recorded for a rerun ────────────────────────────────────────────────────────

  once<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    const turn = this.#turn;
    return unwaited(async () =>
      turn === undefined ? run() : this.#noted(turn.live, ONCE, `${plugin}/${key}`, plugin, run),
    );
  }
  onceHere<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    const turn = this.#turn;
    return unwaited(async () =>
      turn === undefined ? run() : this.#noted(turn.live, turn.effect, `${plugin}/once/${key}`, plugin, run),
    );
  }

  /** Returns the value that is being made right now, else the recorded one, else makes and records it. */
  #noted<T extends Json>(
    live: LiveTurn,
    effect: EffectName,
    key: string,
    plugin: string,
    run: () => Awaitable<T>,
  ): Promise<T> {
    live.noting ??= new Map();
    const { noting } = live;
    const place = `${effect}/${key}`;
    const before = noting.get(place);
    if (before !== undefined) return before as Promise<T>;
    const noted = this.#note(live.turnId, effect, key, plugin, run);
    noting.set(place, noted);
    const done = (): boolean => noting.delete(place);
    noted.then(done, done);
    return noted as Promise<T>;
  }

  async #note(
    turnId: TurnId,
    effect: EffectName,
    key: string,
    plugin: string,
    run: () => Awaitable<Json>,
  ): Promise<Json> {
    const { store } = this.core;
    const known = await store.note(turnId, effect, key);
    if (known !== undefined) return frozen(known);
    const found = toJson(await run());
    if ("problem" in found)
      throw new RuntimeError("hook.answer", { plugin, hook: "once", problem: `${found.path}: ${found.problem}` });
    return frozen((await store.note(turnId, effect, key, found.json)) ?? found.json);
  }

  /** In a turn each completion is recorded under its number, so that a rerun of the effect does not pay again. */
  complete(plugin: string): Complete {
    const { core, session } = this;
    const turn = this.#turn;
    const trace: CompletionSite["trace"] = (event, about) => this.trace(event, about);
    if (turn === undefined) {
      return completer({
        core,
        model: session.config.model,
        limits: core.limits,
        allow: (model) => requireBudget(core, session, session.config.budget, model),
        spend: this.#spend ?? ((spent) => session.book(spent)),
        once: async (run) => ({ reply: await run() }),
        trace,
        unreported: (model) => trace("usage.estimated", { model }),
        signal: this.signal,
      });
    }
    const { live, effect } = turn;
    const { config } = live.opened;
    return completer({
      core,
      model: config.model,
      limits: live.limits,
      allow: (model) => requireBudget(core, session, config.budget, model, live),
      spend: (spent, key) => live.spend(spent, key),
      once: async (run) => {
        const key = `${plugin}/complete/${this.#completions++}`;
        const noted = await this.#noted(live, effect, key, plugin, async () => (await run()) as unknown as Json);
        const place = `${effect}/${key}`;
        const found = { reply: noted as unknown as Reply, key: place };
        return live.isBooked(place) ? { ...found, isBooked: true } : found;
      },
      trace,
      unreported: (model) => live.unreported(model),
      signal: this.signal,
    });
  }
}
