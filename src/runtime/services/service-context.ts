import { AsyncLocalStorage } from "node:async_hooks";
import { type Segment, segmentOn } from "../../graph/segment.ts";
import type { Complete } from "../../kernel/complete.ts";
import { extensionIn } from "../../kernel/extension.ts";
import type { HookCallContext } from "../../kernel/hook-runner.ts";
import type { Point } from "../../kernel/point.ts";
import type { ServiceName, Services } from "../../kernel/services.ts";
import type { PluginStates } from "../../kernel/states.ts";
import { type Awaitable, isThenable, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import type { EffectName, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { defined, frozen, type Json, type JsonObject, toJson } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { Reply } from "../../model/request.ts";
import type { Any } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import type { ToolManifest } from "../../model/tool.ts";
import type { Spent } from "../../model/usage.ts";
import type { PartOperation } from "../../stores/store.ts";
import type { Span } from "../../telemetry/telemetry.ts";
import { name } from "../../turn/effect.ts";
import type { Appending } from "../../turn/event.ts";
import { KEY_MAX } from "../checks.ts";
import type { Core } from "../core.ts";
import type { Spawning } from "../jobs/job-starts.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";
import { type ChangeTools, membershipOf, toolChanges } from "../toolset/membership.ts";
import { overBudget } from "./budget.ts";
import { type CompletionContext, completer } from "./complete.ts";
import { grown } from "./graph.ts";
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

/** The values that the current code computes. A value that needs itself would wait without end. */
interface Making {
  readonly noting: ReadonlyMap<string, unknown>;
  readonly place: string;
  readonly outer: Making | undefined;
}
const making = new AsyncLocalStorage<Making>();

/** A change that an operation prepares. Code that runs in the operation adds to it. */
export interface Working {
  /** The same in every attempt, so that its nodes have the same ids. */
  readonly operation: string;
  /** The caller named the operation: its `once` values and paid completions are recorded under the name. */
  readonly isNamed: boolean;
  readonly at: number;
  readonly nodes: Entry[];
  readonly parts: PartOperation[];
  /** Paid completions: booked with the change, or alone if it fails. */
  readonly spent: Spent[];
  /** The recorded completions in `spent`, to book them if the operation fails. */
  readonly booked: PartOperation[];
  /** Jobs that begin with its change. */
  readonly spawns: Spawning[];
  /** Its code has returned. Later requests are refused, because no change would contain them. */
  isOver?: true;
  /** The waiting turn in which the operation runs, and the nodes that it appends to that turn. */
  readonly waiting?: { readonly live: LiveTurn; readonly appends: Appending[] };
}

/**
 * A running job. It runs in parallel with turns, so it changes no plugin state. A job with steps records `once` values.
 */
export interface InJob {
  readonly id: JobId;
  readonly steps?: JobSteps;
  readonly span?: Span | undefined;
}
export interface JobSteps {
  step(name: string, make: () => Awaitable<Json>): Promise<Json>;
  /** The name of the next step of a kind, and a name, in the step that runs now. */
  next(kind: string): string;
  here(name: string): string;
}

/** The context of a hook, tool or operation, in a turn, a job or between turns. It makes the services that they call. */
export class ServiceContext implements HookCallContext {
  readonly session: LiveSession;
  readonly core: Core;
  readonly turn: InTurn | undefined;
  readonly working: Working | undefined;
  readonly job: InJob | undefined;
  readonly #scope: { readonly signal: AbortSignal };
  /** Between turns: the extensions of the turn that is about to open or has ended. */
  readonly #extensions: JsonObject | undefined;
  /** The services by plugin, or under `""` for all plugins, because a gate may use the same ones in every call. */
  #services: Map<string, { -readonly [N in ServiceName]?: Services[N] }> | undefined;
  #completions = 0;
  /** How many keys each plugin got, by counter. */
  #keys: Map<string, number> | undefined;
  /** Values of a named operation that are being computed. A second caller waits for the same value. */
  #noting: Map<string, Promise<Json>> | undefined;

  constructor(
    session: LiveSession,
    turn: InTurn | undefined,
    scope: { readonly signal: AbortSignal } = new LazyScope(),
    working?: Working,
    extensions?: JsonObject,
    job?: InJob,
  ) {
    this.session = session;
    this.core = session.core;
    this.turn = turn;
    this.#scope = scope;
    this.working = working;
    this.#extensions = extensions;
    this.job = job;
  }

  get sessionId(): SessionId {
    return this.session.id;
  }
  get turnId(): TurnId | undefined {
    return this.turn?.live.turnId;
  }
  get signal(): AbortSignal {
    return this.#scope.signal;
  }
  get span(): Span | undefined {
    const { turn, job } = this;
    return turn === undefined ? job?.span : turn.live.telemetry?.at(turn.effect);
  }
  get standing(): HookCallContext | undefined {
    return this.turn?.live.standing;
  }
  get states(): PluginStates {
    return this.turn?.live.states ?? this.session.snapshot.states;
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
    return extensionIn(this.turn?.live.opened.extensions ?? this.#extensions, id);
  }

  messages(): readonly Message[] {
    const { turn } = this;
    return turn?.live.conversation.messagesAt(turn.effect) ?? this.session.snapshot.transcript.messages;
  }

  /** The nodes that the turn or operation has added after the stored head, as far as their places are final. */
  get added(): Segment | undefined {
    const { turn, working } = this;
    if (turn !== undefined) return grown(turn.live, turn.effect);
    if (working === undefined) return undefined;
    if (working.waiting !== undefined) return grown(working.waiting.live);
    return segmentOn(this.session.snapshot.stored.head, working.operation, working.nodes);
  }

  /**
   * A key for calls that reach other sessions. A rerun of the effect or the named operation gets the same key. Jobs, monitors
   * and triggers have a separate counter, because their first call waits until their code is loaded. With one counter the
   * order would differ between processes.
   */
  nextKey(plugin: string, counter?: "background"): string | undefined {
    const { turn, job } = this;
    if (turn === undefined && job?.steps !== undefined)
      return shortened(`job/${job.id}/${job.steps.next(`key/${plugin}`)}`);
    const of = turn === undefined ? this.#operation : `${turn.live.turnId}/${turn.effect}`;
    if (of === undefined) return undefined;
    this.#keys ??= new Map();
    const whose = counter === undefined ? plugin : `${plugin}/${counter}`;
    const nth = this.#keys.get(whose) ?? 0;
    this.#keys.set(whose, nth + 1);
    return shortened(`${of}/${whose}/${nth}`);
  }

  get #operation(): string | undefined {
    return this.working?.isNamed === true ? this.working.operation : undefined;
  }

  tools(): readonly ToolManifest[] {
    const live = this.turn?.live;
    if (live !== undefined) return live.artifact?.catalog.manifests ?? [];
    const found = this.session.toolset.manifests(this);
    return isThenable(found) ? [] : found; // `toolCatalog` hooks are synchronous (`isSync` in the hook table).
  }

  membership(plugin: string): Services["membership"] {
    return membershipOf(this.session, this.changeTools(plugin));
  }
  changeTools(plugin: string): ChangeTools {
    const { where, mayWrite } = this.turn ?? {
      where: this.job === undefined ? "an operation" : "a job",
      mayWrite: this.job === undefined,
    };
    return toolChanges(this.session, this.states, plugin, where, mayWrite);
  }

  trace(event: string, about: { readonly [key: string]: Json }, context?: JsonObject): void {
    const { turnId } = this;
    this.core.trace(event, about, { ...this.session.asPlace, ...defined({ turnId, context }) });
  }

  // ── Values and completions that are recorded for a rerun ────────────────────────────────────────────────────────

  once<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    return unwaited(async () => this.#noted(ONCE, `${plugin}/${key}`, plugin, run));
  }
  onceHere<T extends Json>(plugin: string, key: string, run: () => Awaitable<T>): Promise<T> {
    return unwaited(async () => {
      const steps = this.job?.steps;
      if (steps !== undefined) return (await steps.step(steps.here(`once/${plugin}/${key}`), run)) as T;
      return this.#noted(this.turn?.effect ?? ONCE, `${plugin}/once/${key}`, plugin, run);
    });
  }

  /**
   * Returns the value that is being computed now, or the recorded one, or computes and records it. Outside a turn, a task and
   * a named operation it always computes, because nothing could find a record.
   */
  #noted<T extends Json>(effect: EffectName, key: string, plugin: string, run: () => Awaitable<T>): Awaitable<T> {
    const { store } = this.core;
    const live = this.turn?.live;
    const operation = this.#operation;
    if (this.job?.steps !== undefined) return this.job.steps.step(`once/${key}`, run) as Promise<T>;
    if (live !== undefined)
      return this.#shared(live.noting, `${effect}/${key}`, plugin, run, (value) =>
        store.note(live.turnId, effect, key, value),
      );
    if (operation === undefined) return run();
    return this.#shared((this.#noting ??= new Map()), key, plugin, run, (value) =>
      store.operations.note(this.session.id, operation, key, value),
    );
  }

  #shared<T extends Json>(
    noting: Map<string, Promise<Json>>,
    place: string,
    plugin: string,
    run: () => Awaitable<T>,
    note: (value?: Json) => Awaitable<Json | undefined>,
  ): Promise<T> {
    const before = noting.get(place);
    const outer = making.getStore();
    for (let at = outer; before !== undefined && at !== undefined; at = at.outer)
      if (at.noting === noting && at.place === place)
        throw new RuntimeError("hook.answer", { plugin, hook: "once", problem: `${place} waits for itself` });
    if (before !== undefined) return before as Promise<T>;
    const noted = making.run({ noting, place, outer }, recorded, plugin, run, note);
    noting.set(place, noted);
    const done = (): boolean => noting.delete(place);
    noted.then(done, done);
    return noted as Promise<T>;
  }

  /**
   * In a turn and in a named operation each completion is recorded under its number, so that a rerun does not pay again.
   */
  complete(plugin: string): Complete {
    const { core, session, turn, working, job } = this;
    const live = turn?.live;
    const trace: CompletionContext["trace"] = (event, about) => this.trace(event, about);
    const { model, budget } = live?.opened.config ?? session.config;
    return completer({
      core,
      model,
      limits: live?.limits ?? core.limits,
      allow: (asked, spent) => overBudget(core, session, budget, asked, live, spent),
      spend: (spent, key) => {
        if (live !== undefined) return live.spending.add(spent, key);
        if (job?.steps !== undefined && key !== undefined) return bookOnce(session, job.steps, spent, key);
        if (working === undefined) return session.book(spent);
        working.spent.push(spent);
        if (key !== undefined) working.booked.push({ operation: bookingOf(working, key), receipt: null });
      },
      once: (run) => this.#recordedReply(plugin, run),
      trace,
      unreported: (asked) => (live === undefined ? trace("usage.estimated", { model: asked }) : live.unreported(asked)),
      signal: this.signal,
      place: defined({ parent: this.span, sessionId: session.id, turnId: this.turnId }),
    });
  }

  async #recordedReply(plugin: string, run: () => Promise<Reply>): ReturnType<CompletionContext["once"]> {
    const { turn, working, job } = this;
    if (job?.steps !== undefined) return this.#replyOfJob(job.id, job.steps, plugin, run);
    if (turn === undefined && this.#operation === undefined) return { reply: await run() };
    const effect = turn?.effect ?? ONCE;
    const key = `${plugin}/complete/${this.#completions++}`;
    const noted = await this.#noted(effect, key, plugin, async () => (await run()) as unknown as Json);
    const place = turn === undefined ? key : `${effect}/${key}`;
    const isBooked =
      turn === undefined
        ? await this.#isBookedAs(bookingOf(working as Working, key))
        : turn.live.spending.isBooked(place);
    const found = { reply: noted as unknown as Reply, key: place };
    return isBooked ? { ...found, isBooked: true } : found;
  }

  async #replyOfJob(
    id: JobId,
    steps: JobSteps,
    plugin: string,
    run: () => Promise<Reply>,
  ): ReturnType<CompletionContext["once"]> {
    const key = steps.next(`complete/${plugin}`);
    const noted = await steps.step(key, async () => (await run()) as unknown as Json);
    return { reply: noted as unknown as Reply, key: bookingOf({ operation: `/job/${id}` }, key) };
  }

  async #isBookedAs(operation: string): Promise<boolean> {
    if (this.working?.waiting?.live.state.applied?.some((part) => part.operation === operation)) return true;
    return (await this.core.store.operations.find(this.session.id, operation)) !== undefined;
  }
}

/** A separate step, so that a rerun does not book again, even if the job then belongs to another session. */
async function bookOnce(session: LiveSession, steps: JobSteps, spent: Spent, name: string): Promise<void> {
  await steps.step(`booked/${name}`, async () => {
    await session.bookAs(spent, name);
    return null;
  });
}

const shortened = (key: string): string => (key.length > KEY_MAX ? hashOf(key) : key);

/** The name under which the store records that a completion is in the ledger. */
const bookingOf = ({ operation }: Pick<Working, "operation">, key: string): string => `${operation}/booked/${key}`;

async function recorded(
  plugin: string,
  run: () => Awaitable<Json>,
  note: (value?: Json) => Awaitable<Json | undefined>,
): Promise<Json> {
  const known = await note();
  if (known !== undefined) return frozen(known);
  const found = toJson(await run());
  if ("problem" in found)
    throw new RuntimeError("hook.answer", { plugin, hook: "once", problem: `${found.path}: ${found.problem}` });
  return frozen((await note(found.json)) ?? found.json);
}
