import { AsyncLocalStorage } from "node:async_hooks";
import { extensionIn } from "../../kernel/extension.ts";
import type { Site } from "../../kernel/hook-runner.ts";
import type { Point } from "../../kernel/point.ts";
import type { Complete, ServiceName, Services } from "../../kernel/services.ts";
import type { PluginStates } from "../../kernel/states.ts";
import { type Awaitable, isThenable, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import type { EffectName, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { frozen, type Json, type JsonObject, toJson } from "../../model/json.ts";
import type { Message } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import type { Reply } from "../../model/request.ts";
import type { Any } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import type { ToolManifest } from "../../model/tool.ts";
import type { Spent } from "../../model/usage.ts";
import type { PartOperation } from "../../stores/store.ts";
import { name } from "../../turn/effect.ts";
import type { Appending } from "../../turn/event.ts";
import { KEY_MAX } from "../checks.ts";
import type { Core } from "../core.ts";
import type { Spawning } from "../jobs/desk.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";
import { type ChangeTools, membershipOf, toolChanges } from "../toolset/membership.ts";
import { overBudget } from "./budget.ts";
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

/** The values that the current code makes: one that asked for itself would wait for ever. */
interface Making {
  readonly noting: ReadonlyMap<string, unknown>;
  readonly place: string;
  readonly outer: Making | undefined;
}
const making = new AsyncLocalStorage<Making>();

/** An operation that is being worked out: what runs in it adds to its change. */
export interface Working {
  /** The same in every attempt, so that its nodes have the same ids. */
  readonly operation: string;
  /** Its caller named it: what it does once, and what it pays for, is recorded under the name. */
  readonly isNamed: boolean;
  readonly at: number;
  readonly nodes: Entry[];
  readonly parts: PartOperation[];
  /** Paid completions: booked with the change, or alone if it fails. */
  readonly spent: Spent[];
  /** Which recorded completions `spent` includes, for the case that it fails. */
  readonly booked: PartOperation[];
  /** Jobs that begin with its change. */
  readonly spawns: Spawning[];
  /** It runs in a turn that only waits, and this is what it appends to that turn. */
  readonly waiting?: { readonly live: LiveTurn; readonly appends: Appending[] };
}

/** A job that runs: beside turns, so it changes no state. One with steps records what is done once. */
export interface InJob {
  readonly id: JobId;
  readonly steps?: JobSteps;
}
export interface JobSteps {
  step(name: string, make: () => Awaitable<Json>): Promise<Json>;
  /** The name of the next step of a kind, and a name, in the step that runs now. */
  next(kind: string): string;
  here(name: string): string;
}

/** Where a hook, a tool or an operation runs, in a turn or between turns, and what makes its services. */
export class SessionSite implements Site {
  readonly session: LiveSession;
  readonly core: Core;
  readonly turn: InTurn | undefined;
  readonly working: Working | undefined;
  readonly job: InJob | undefined;
  readonly #scope: { readonly signal: AbortSignal };
  /** Between turns: of the turn that is about to open, or is over. */
  readonly #extensions: JsonObject | undefined;
  /** By plugin, or `""` for all: a gate may ask for the same services call after call. */
  #services: Map<string, { -readonly [N in ServiceName]?: Services[N] }> | undefined;
  #completions = 0;
  /** How many keys each plugin was given, by counter. */
  #keys: Map<string, number> | undefined;
  /** Values of a named operation that are being made: a second caller waits for the same one. */
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
  get standing(): Site | undefined {
    return this.turn?.live.standing;
  }
  get states(): PluginStates {
    return this.turn?.live.states ?? this.session.kept.states;
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
    return turn?.live.messagesAt(turn.effect) ?? this.session.kept.transcript.messages;
  }

  /**
   * A key for what reaches other sessions: the same when the effect or the named operation is run again. Jobs, monitors and
   * triggers have their own counter: their first call waits until their code is loaded, so beside calls of other services
   * its turn to count depends on the process.
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

  trace(event: string, about: { readonly [key: string]: Json }): void {
    const { turnId } = this;
    this.core.trace(event, about, turnId === undefined ? this.session.asPlace : { ...this.session.asPlace, turnId });
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
   * Returns the value that is being made right now, else the recorded one, else makes and records it. Outside a turn and
   * a named operation nothing could find the record: there it is made.
   */
  #noted<T extends Json>(effect: EffectName, key: string, plugin: string, run: () => Awaitable<T>): Awaitable<T> {
    const { store } = this.core;
    const live = this.turn?.live;
    const operation = this.#operation;
    if (this.job?.steps !== undefined) return this.job.steps.step(`once/${key}`, run) as Promise<T>;
    if (live !== undefined)
      return this.#shared((live.noting ??= new Map()), `${effect}/${key}`, plugin, run, (value) =>
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
    const trace: CompletionSite["trace"] = (event, about) => this.trace(event, about);
    const { model, budget } = live?.opened.config ?? session.config;
    return completer({
      core,
      model,
      limits: live?.limits ?? core.limits,
      allow: (asked, spent) => overBudget(core, session, budget, asked, live, spent),
      spend: (spent, key) => {
        if (live !== undefined) return live.spend(spent, key);
        if (job?.steps !== undefined && key !== undefined) return bookOnce(session, job.steps, spent, key);
        if (working === undefined) return session.book(spent);
        working.spent.push(spent);
        if (key !== undefined) working.booked.push({ operation: bookingOf(working, key), receipt: null });
      },
      once: (run) => this.#recordedReply(plugin, run),
      trace,
      unreported: (asked) => (live === undefined ? trace("usage.estimated", { model: asked }) : live.unreported(asked)),
      signal: this.signal,
    });
  }

  async #recordedReply(plugin: string, run: () => Promise<Reply>): ReturnType<CompletionSite["once"]> {
    const { turn, working, job } = this;
    if (job?.steps !== undefined) return this.#replyOfJob(job.id, job.steps, plugin, run);
    if (turn === undefined && this.#operation === undefined) return { reply: await run() };
    const effect = turn?.effect ?? ONCE;
    const key = `${plugin}/complete/${this.#completions++}`;
    const noted = await this.#noted(effect, key, plugin, async () => (await run()) as unknown as Json);
    const place = turn === undefined ? key : `${effect}/${key}`;
    const isBooked =
      turn === undefined ? await this.#isBookedAs(bookingOf(working as Working, key)) : turn.live.isBooked(place);
    const found = { reply: noted as unknown as Reply, key: place };
    return isBooked ? { ...found, isBooked: true } : found;
  }

  async #replyOfJob(
    id: JobId,
    steps: JobSteps,
    plugin: string,
    run: () => Promise<Reply>,
  ): ReturnType<CompletionSite["once"]> {
    const key = steps.next(`complete/${plugin}`);
    const noted = await steps.step(key, async () => (await run()) as unknown as Json);
    return { reply: noted as unknown as Reply, key: bookingOf({ operation: `/job/${id}` }, key) };
  }

  async #isBookedAs(operation: string): Promise<boolean> {
    if (this.working?.waiting?.live.state.applied?.some((part) => part.operation === operation)) return true;
    return (await this.core.store.operations.find(this.session.id, operation)) !== undefined;
  }
}

/** A step of its own: a rerun books nothing again, also where the job belongs to another session by then. */
async function bookOnce(session: LiveSession, steps: JobSteps, spent: Spent, name: string): Promise<void> {
  await steps.step(`booked/${name}`, async () => {
    await session.bookAs(spent, name);
    return null;
  });
}

const shortened = (key: string): string => (key.length > KEY_MAX ? hashOf(key) : key);

/** Under this name the store knows that a recorded completion is in the ledger. */
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
