// long: one session in one process; its turns and what comes between them share one queue and one state.
import { AsyncLocalStorage } from "node:async_hooks";
import { Transcript } from "../graph/transcript.ts";
import type { TurnRun } from "../hosts/host.ts";
import { type Composition, compose } from "../kernel/compose.ts";
import type { Surroundings } from "../kernel/run.ts";
import type {
  Appended,
  AppendNode,
  AppendOptions,
  Authority,
  CatalogOverlay,
  NewSessionRequest,
  SessionReading,
} from "../kernel/services.ts";
import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import { after } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { hasCode, passingFault, RuntimeError } from "../model/errors.ts";
import type { Preview, SessionEvent } from "../model/event.ts";
import { type InputId, type NodeId, nodeId, type SessionId, type TurnId, type WaitKey } from "../model/ids.ts";
import { type Awaitable, describeThrown, isThenable, type JsonObject } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import { LazyScope } from "../model/scope.ts";
import type { Spent } from "../model/usage.ts";
import type { OpenInput } from "../model/view.ts";
import type {
  CancelAnswer,
  Committed,
  EndedTurn,
  InputRef,
  Lease,
  NewInput,
  OpenAnswer,
  Opening,
  SessionChange,
  StoredSession,
  Terminal,
  Withdrawal,
} from "../stores/store.ts";
import { makeTool } from "../tools/define.ts";
import type { Validate } from "../tools/validator.ts";
import type { Opened, TurnEvent } from "../turn/event.ts";
import { itemsOf } from "../turn/log.ts";
import { effectiveConfig, openedFor } from "./accept.ts";
import type { Artifact, TurnFlags } from "./artifacts.ts";
import { append, type BetweenTurns, type Change } from "./between.ts";
import { SessionCopy } from "./copy.ts";
import { type Core, overran } from "./core.ts";
import { type Kept, toCommit } from "./drive.ts";
import { parentOf } from "./history.ts";
import { Home } from "./home.ts";
import { LiveTurn, type TurnSession } from "./live.ts";
import type { Shown } from "./observe.ts";
import { performer, reportOf } from "./perform.ts";
import { readingOf } from "./services.ts";
import { authorityOf, type ForkOptions, forkRequest, makeSession, overlayOf } from "./sessions.ts";
import { Toolset } from "./toolset.ts";
import type { TurnHandle, TurnResult } from "./turn.ts";
import { checkOf } from "./typed.ts";
import { committedFact, Waiting } from "./waiting.ts";

/** Something to do between turns. */
interface Between {
  run(): Promise<void>;
}
/** A turn that was opened for us. */
interface Ready {
  readonly lease: Lease;
  readonly journal: readonly TurnEvent[];
  /** Another run had it before. */
  readonly isResumed?: true;
  /** It was accepted some time ago. */
  readonly hasWaited?: true;
  /** Nobody asked for it here. */
  readonly isRecovery?: true;
  /** A cancel that came with the input: it is there before the turn begins. */
  readonly before?: Promise<unknown>;
}
/** A conversation that was read before, up to this node. */
export interface KnownTranscript {
  readonly head: NodeId;
  readonly transcript: Transcript;
}

interface Running {
  readonly live: LiveTurn;
  readonly run: TurnRun;
}

/** A session in this process: its plugins, its conversation, and the one turn at a time that runs on it. */
export class Resident extends SessionCopy implements TurnSession, BetweenTurns {
  readonly composition: Composition;
  readonly slot: ProtocolDriverSlot;
  readonly toolset: Toolset;
  readonly #waiting = new Waiting();
  readonly flags: WeakMap<Artifact, TurnFlags>;
  /** Its parent first, the root of its tree last. */
  readonly ancestors: readonly SessionId[];
  /** The turn at hand, also while it is being set up. */
  #now: TurnId | undefined;
  #running: Running | undefined;
  #work: Promise<void> | undefined;
  #between: Promise<void> | undefined;
  #accepting: Set<Promise<void>> | undefined;
  readonly #ready: (Ready | Between)[] = [];
  /** Inputs were queued here that may not have had their turn. */
  #mayHaveMore = false;
  /** A turn or an operation has it. */
  #isTaken = false;
  /** The runtime closes, and has waited long enough: nothing more is begun. */
  #isLetGo = false;
  #entering = 0;
  readonly #left: (() => void)[] = [];

  private constructor(
    core: Core,
    stored: StoredSession,
    transcript: Transcript,
    composition: Composition,
    ancestors: readonly SessionId[],
  ) {
    super(core, stored, transcript);
    this.ancestors = ancestors;
    this.composition = composition;
    this.flags = composition === core.bare ? core.bareFlags : new WeakMap();
    this.slot = composition.hooks.slot("protocolDriver") as ProtocolDriverSlot; // `compose` requires it.
    this.toolset = new Toolset(this);
  }

  static open(
    core: Core,
    id: SessionId,
    config: Partial<SessionConfig>,
    options: ReadonlyMap<string, unknown> = NO_OPTIONS,
    known?: KnownTranscript,
    isRecovery = false,
  ): Awaitable<Resident> {
    const made = Resident.#opened(core, id, config, options, known);
    return core.store.isDurable ? after(made, (resident) => after(resident.takeUp(isRecovery), () => resident)) : made;
  }

  static #opened(
    core: Core,
    id: SessionId,
    config: Partial<SessionConfig>,
    options: ReadonlyMap<string, unknown>,
    known: KnownTranscript | undefined,
  ): Awaitable<Resident> {
    return after(core.store.create({ id, config, at: core.world.now() }), (stored) =>
      stored.head === undefined || stored.head === known?.head
        ? Resident.#made(
            core,
            stored,
            stored.head === undefined ? Transcript.empty : (known?.transcript ?? Transcript.empty),
            options,
          )
        : after(core.store.view(id, { toFrame: true }), (segments) =>
            Resident.#made(core, stored, Transcript.from(segments), options),
          ),
    );
  }

  static #made(
    core: Core,
    stored: StoredSession,
    transcript: Transcript,
    options: ReadonlyMap<string, unknown>,
  ): Awaitable<Resident> {
    const { parentId } = stored;
    return parentId === undefined
      ? Resident.#composed(core, stored, transcript, options, [])
      : after(ancestorsOf(core, parentId), (above) => Resident.#composed(core, stored, transcript, options, above));
  }

  static #composed(
    core: Core,
    stored: StoredSession,
    transcript: Transcript,
    options: ReadonlyMap<string, unknown>,
    ancestors: readonly SessionId[],
  ): Awaitable<Resident> {
    const { id, parentId } = stored;
    const isRoot = parentId === undefined;
    const composition =
      (options.size === 0 ? core.bare : undefined) ??
      compose(
        core.plugins,
        core.protocol,
        options,
        isRoot ? { id, isRoot } : { id, parentId, isRoot },
        makeTool,
        core.probe,
        overran(core.trace),
      );
    const resident = new Resident(core, stored, transcript, composition, ancestors);
    const { hooks } = composition;
    const protocol = hooks.slot("protocolSession");
    const isNew = stored.turns === 0 && stored.head === undefined;
    const tell = isNew ? protocol?.initialize : protocol?.restore;
    return tell === undefined && !hooks.has("lifecycle")
      ? resident
      : after(tell?.call(protocol, { sessionId: id, isRoot }), () => resident.#restored(isNew));
  }

  /** Goes on with what was accepted and never ended, if nobody else is at it. */
  takeUp(isRecovery: boolean): Awaitable<boolean> {
    const { store, owner, world } = this.core;
    if (this.#isTaken || this.#ready.length > 0) return true;
    return after(store.open(this.id, owner, world.now(), this.#opening), (answer) => {
      if (answer.kind === "busy" || answer.kind === "idle") return false;
      this.#mayHaveMore = true; // More may wait behind it.
      const ready = readyFrom(answer);
      this.#start(isRecovery ? { ...ready, isRecovery } : ready);
      this.takenUp = this.settled();
      return true;
    });
  }

  /** Under way: what others had left. */
  takenUp: Promise<void> | undefined;

  /** Settles when nothing runs here any more. */
  async settled(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  #restored(isNew: boolean): Awaitable<Resident> {
    const { core, id } = this;
    return after(
      this.composition.hooks.observe("lifecycle", { event: { kind: "sessionRestored", isNew } }, this.here()),
      (issues) => {
        for (const { plugin = "", code, message } of issues)
          core.trace("hook.issue", { plugin, code, message }, { sessionId: id });
        return this;
      },
    );
  }

  get isIdle(): boolean {
    return (
      this.#running === undefined &&
      this.#between === undefined &&
      this.#ready.length === 0 &&
      this.#waiting.isEmpty &&
      !this.#mayHaveMore &&
      this.#entering === 0
    );
  }

  /** Whether there is work here that somebody waits for; what was answered a moment ago is no work any more. */
  async isBusy(): Promise<boolean> {
    if (!this.isIdle) await new Promise((resolve) => setImmediate(resolve));
    return this.#isTaken || this.#ready.length > 0 || !this.#waiting.isEmpty;
  }

  /** Calls back when nothing runs, waits or comes in here, at once if that is now. */
  whenIdle(run: () => void): void {
    if (this.#entering > 0) this.#left.push(() => this.whenIdle(run));
    else if (this.isIdle || this.#work === undefined) run();
    else void this.#work.then(run);
  }

  /** Something is on its way in: until it is there the session is not let go. */
  enter<T>(entering: Awaitable<T>): Awaitable<T> {
    if (!isThenable(entering)) return entering;
    this.#entering++;
    return Promise.resolve(entering).finally(() => {
      if (--this.#entering === 0) for (const left of this.#left.splice(0)) left();
    });
  }

  get authority(): Authority {
    return authorityOf(this.stored);
  }

  get catalogEdits(): readonly CatalogOverlay[] {
    return overlayOf(this.stored);
  }

  get config(): SessionConfig {
    return effectiveConfig(this.core, this.stored.config);
  }

  /** Outside of a turn. */
  here(): Surroundings {
    return this.home(undefined, undefined);
  }

  /** What operations and observers are given between turns. */
  home(signal: AbortSignal | undefined, spend: ((spent: Spent) => Awaitable<void>) | undefined): Home {
    return new Home(this, signal ?? new LazyScope().signal, spend ?? ((spent) => this.#book(spent)));
  }

  /** Paid between turns, or beside one: booked when nothing else holds the session, and waited for only if that is now. */
  #book(spent: Spent): Awaitable<void> {
    const isIdle = this.isIdle;
    const lost = (error: unknown): void =>
      this.core.trace("usage.lost", { problem: describeThrown(error), source: spent.source }, { sessionId: this.id });
    return new Promise((resolve) => {
      const book = async (): Promise<void> => {
        for (let tries = 0; tries < BOOK_TRIES; tries++)
          if ((await this.keep({ spent: [spent], by: "completion" }, undefined, resolve)) !== undefined) return;
      };
      this.#start({ run: () => book().catch(lost).then(resolve) });
      if (!isIdle) resolve();
    });
  }

  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }> {
    return makeSession(this.core, request, this.stored).then((id) => ({ id }));
  }

  async fork(options: ForkOptions): Promise<{ readonly id: SessionId; readonly known: KnownTranscript | undefined }> {
    const { stored, transcript } = await this.asKept();
    const request = forkRequest(options, await parentOf(this.core.store, this.id, options?.before));
    const id = await makeSession(this.core, request, stored);
    const head = (request.at ?? stored.head) as NodeId | undefined;
    const shared = request.at === undefined || head === undefined ? transcript : transcript.until(head);
    return { id, known: head === undefined || shared === undefined ? undefined : { head, transcript: shared } };
  }

  reading(messages: readonly Message[]): SessionReading {
    return readingOf(this.core, this.stored, messages);
  }

  // ── Those who look ──────────────────────────────────────────────────────────────────────────────────────────────

  get shown(): Shown | undefined {
    return this.#running?.live.said;
  }

  /** What the turn that runs here has been told. */
  get taken(): readonly OpenInput[] | undefined {
    const live = this.#running?.live;
    if (live?.state === undefined) return undefined;
    return itemsOf(live.state.log).flatMap((entry) => {
      if (entry.kind !== "message" || entry.message.origin?.kind !== "input") return [];
      const { role, parts, origin } = entry.message;
      const id = origin.inputId as InputId;
      return [{ id, turnId: live.turnId, state: "running" as const, message: { role, parts } }];
    });
  }

  shows(event: Preview): void {
    const { watch, neighbours } = this.core;
    if (!watch.isIdle) watch.preview(this, event);
    const [parent] = this.ancestors;
    if (parent !== undefined) neighbours.find(parent)?.childShows(event);
  }

  childShows(event: SessionEvent): void {
    this.#running?.live.childShows(event);
  }

  /** The turn that is under way here. */
  get current(): TurnId | undefined {
    const next = this.#ready.find((each) => !("run" in each)) as Ready | undefined;
    return this.#now ?? next?.lease.turnId;
  }

  /** Whoever asks for a turn by its id is given what it shows from now on, and its result, whenever and wherever it ends. */
  follow(turnId: TurnId, handle: TurnHandle): void {
    if (typeof turnId !== "string") return handle.failed(new RuntimeError("turn.unknown", { turnId: typeof turnId }));
    this.#join(turnId, handle);
    const lost = (error: unknown): void => this.#fail(turnId, error);
    try {
      const found = after(this.#settle(turnId), (isOver) => {
        if (!isOver && turnId !== this.#now) this.#await();
      });
      if (isThenable(found)) found.then(undefined, lost);
    } catch (error) {
      lost(error);
    }
  }

  /** Takes inputs back that have not had their turn; those who wait for them are told. */
  async withdraw(which: InputRef): Promise<readonly Withdrawal[]> {
    await this.requireThere();
    const found = await this.core.store.inputs.withdraw(this.id, which);
    for (const { turnId, answer } of found)
      if (answer === "withdrawn") this.#fail(turnId, new RuntimeError("input.withdrawn", { turnId }));
    return found;
  }

  // ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────

  readonly #opening: Opening = (input, config) => openedFor(this, input, config);

  /** Accepts an input and runs the turn it opens, or queues behind the one that runs. */
  begin(
    input: NewInput,
    handle: TurnHandle | undefined,
    output: Validate | undefined,
    cancelled?: string,
  ): Awaitable<TurnId> {
    const { core } = this;
    if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    // An operation has the session to itself: what comes meanwhile waits until it is done.
    const opening = this.#between === undefined ? this.#opening : undefined;
    if (output !== undefined) this.#waiting.expect(input.turnId, output);
    const accepted = core.store.accept(input, core.owner, opening, core.limits.pendingInputsMax);
    if (isThenable(accepted)) this.#watchAccepting(accepted);
    return after(accepted, (receipt) => {
      const { turnId } = receipt;
      if (turnId !== input.turnId) this.#waiting.expectNot(input.turnId);
      else core.watch.moved(this);
      if (handle !== undefined) this.#join(turnId, handle);
      if (receipt.kind === "known") return after(this.#rejoin(turnId), () => turnId);
      const ready =
        receipt.kind === "opened" ? ({ lease: receipt.lease, journal: [receipt.opened] } as const) : undefined;
      const before = cancelled === undefined ? undefined : this.cancel(turnId, cancelled);
      this.#start(ready === undefined || before === undefined ? ready : { ...ready, before });
      return turnId;
    });
  }

  /** An operation that begins meanwhile would find the session taken by a turn that waits for it. */
  #watchAccepting(accepted: PromiseLike<unknown>): void {
    const watched = Promise.resolve(accepted).then(
      () => {},
      () => {},
    );
    const accepting = (this.#accepting ??= new Set());
    accepting.add(watched);
    void watched.then(() => accepting.delete(watched));
  }

  /** What comes next. A turn that holds the lease goes before an operation, which could not keep anything beside it. */
  async #takeReady(): Promise<Ready | Between | undefined> {
    const [first] = this.#ready;
    if (first === undefined || !("run" in first)) return this.#ready.shift();
    while (this.#accepting !== undefined && this.#accepting.size > 0) await Promise.all(this.#accepting);
    const turn = this.#ready.findIndex((each) => !("run" in each));
    if (turn >= 0) return this.#ready.splice(turn, 1)[0];
    this.#between = Promise.resolve(); // From now on, not only from when it begins.
    return this.#ready.shift();
  }

  #join(turnId: TurnId, handle: TurnHandle): void {
    const live = this.#running?.live;
    const running = live?.turnId === turnId ? live : undefined;
    this.#waiting.join(turnId, handle, running?.listeners);
    for (const event of running?.said.list() ?? []) handle.feed.push(event);
  }

  /** The same key came before: its turn has ended, or runs, or waits. */
  #rejoin(turnId: TurnId): Awaitable<void> {
    return after(this.#settle(turnId), (isOver) => {
      if (!isOver && turnId !== this.#now) this.#start(undefined);
    });
  }

  /** Whoever waits for a turn that is over is told. False when it is not. */
  #settle(turnId: TurnId): Awaitable<boolean> {
    if (turnId === this.#now) return false; // Told with the others, when its observers are done.
    const { store } = this.core;
    return after(store.find(turnId), (found) => {
      if (found?.state === "ended" && found.sessionId === this.id)
        return after(store.terminal(turnId), (terminal) => terminal !== undefined && this.#told(turnId, terminal));
      const isGone = found === undefined || found.sessionId !== this.id;
      if (!isGone && found.state !== "withdrawn") return false;
      this.#fail(turnId, new RuntimeError(isGone ? "turn.unknown" : "input.withdrawn", { turnId }));
      return true;
    });
  }

  /** As those were told who were there. Of an input that another turn took: how that ended. */
  #told(turnId: TurnId, { turnId: by, outcome, usage, committed }: Terminal): Awaitable<boolean> {
    const at = committed.branch ?? committed.head;
    const last = at === undefined ? [] : this.core.store.view(this.id, { from: at, max: 1 });
    return after(last, ([segment]) => {
      const isIts = segment?.commit === by;
      const nodes = isIts ? segment.entries.map((_, index) => nodeId(by, index)) : [];
      this.#finish(committed, { turnId, outcome, usage, issues: [] }, nodes);
      return true;
    });
  }

  /** Turns run one at a time, whoever asked for them, as long as the store has work that came through here. */
  #start(first: Ready | Between | undefined): void {
    if (first === undefined) this.#mayHaveMore = true;
    else this.#ready.push(first);
    this.#work ??= this.#drain();
  }

  /** Somebody waits for a turn that is not of here. Whether it is taken over if its worker dies is the runtime's choice. */
  #await(): void {
    if (this.core.recovers) this.#mayHaveMore = true;
    this.#work ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (let failures = 0; ; ) {
      try {
        const ready = this.#ready.length === 0 ? undefined : await this.#takeReady();
        if (ready !== undefined) await this.#alone(ready);
        else if (!this.#mayHaveMore && this.#waiting.isEmpty) break;
        else await this.#look();
        failures = 0;
      } catch (error) {
        // The store failed. Those who wait are told after a few tries; what was accepted is kept by the store.
        this.core.trace("session.store", { problem: describeThrown(error) }, { sessionId: this.id });
        if (++failures < STORE_TRIES && !this.core.door.isClosed) {
          this.#mayHaveMore = true; // What ran here is still to be done.
          await this.core.world.sleep(WATCH_MS * failures);
        } else this.#giveUp(error);
      }
    }
    this.#work = undefined;
  }

  /** Nothing here can go on; what was accepted is kept by the store. */
  #giveUp(error: unknown): void {
    this.#mayHaveMore = false;
    for (const turnId of this.#waiting.turns) this.#fail(turnId, error);
  }

  /** One thing at a time; whoever is inside it and asks for the next would wait for itself. */
  #alone(ready: Ready | Between): Promise<void> {
    this.#isTaken = true;
    const inside: Inside = { session: this, outer: within.getStore(), isOver: false };
    const done = within
      .run(inside, () => ("run" in ready ? ready.run() : this.#run(ready)))
      .finally(() => {
        inside.isOver = true;
        this.#isTaken = false;
        this.#between = undefined;
      });
    if ("run" in ready) this.#between = done;
    return done;
  }

  /** Asks the store for the next turn. Another runtime may hold the session; its turns end there. */
  async #look(): Promise<void> {
    const { store, owner, world } = this.core;
    if (!this.#mayHaveMore) {
      if (!(await this.#settleElsewhere())) await world.sleep(WATCH_MS);
      return;
    }
    const answer = await store.open(this.id, owner, world.now(), this.#opening);
    if (answer.kind === "opened" || answer.kind === "resumed") this.#ready.push(readyFrom(answer));
    else if ((await this.#settleElsewhere()) || this.#ready.length > 0) return;
    else if (this.#accepting !== undefined && this.#accepting.size > 0)
      await Promise.all(this.#accepting); // Perhaps the lease that holds it is on its way to us.
    else if (answer.kind === "busy") await world.sleep(WATCH_MS);
    else {
      this.#mayHaveMore = false;
      for (const turnId of this.#waiting.turns)
        if (this.#ready.length === 0) this.#fail(turnId, new RuntimeError("turn.unknown", { turnId }));
    }
  }

  /** Turns that ended without us. False when there was none. */
  async #settleElsewhere(): Promise<boolean> {
    let found = false;
    for (const turnId of this.#waiting.turns) if (await this.#settle(turnId)) found = true;
    return found;
  }

  async #run({ lease, journal, isResumed, hasWaited, isRecovery, before }: Ready): Promise<void> {
    const opened = journal[0] as Opened;
    const { turnId } = opened;
    const { core } = this;
    const { store } = core;
    let live: LiveTurn | undefined;
    if (this.#isLetGo) return await store.release(lease);
    this.#now = turnId;
    try {
      if (before !== undefined) await before;
      if (isRecovery === true && !(await this.#canRun(opened))) return await store.release(lease);
      if (isResumed === true || this.isStale || lease.revision !== this.stored.revision) await this.refresh(isResumed);
      // Under our lease nobody else moves the session.
      if (lease.revision !== this.stored.revision)
        throw new RuntimeError("lease.lost", { sessionId: this.id, generation: lease.generation });
      const begun = new LiveTurn(
        core,
        this,
        lease,
        opened,
        this.#waiting.handles(turnId),
        this.#waiting.output(turnId) ?? checkOf(opened),
      );
      live = begun;
      if (opened.config.budget !== undefined || this.ancestors.length > 0) core.spenders.add(begun);
      const context = {
        store: core.store,
        world: core.world,
        waiting: (key: WaitKey) => begun.canBeAnswered(key),
        trace: (name: string, about: JsonObject) => begun.trace(name, about),
      };
      if (isResumed === true) {
        begun.journal = journal;
        begun.retell(journal);
      }
      const turn = isResumed === true ? { lease, journal, isResumed } : { lease, journal };
      const run = core.host.open(turn, performer(begun), context);
      this.#running = { live: begun, run: isThenable(run) ? await run : run };
      if (hasWaited === true || before !== undefined) await this.#running.run.poke(); // It may have been cancelled while it waited.
      const running = this.#running;
      const kept = await toCommit(running.live, running.run);
      this.#running = undefined;
      const waits = this.#committed(begun, kept);
      if (waits !== undefined) await waits;
      if (kept.turn.inputs.length > 1) await this.#settleElsewhere(); // Whoever waits for an input that it took.
    } catch (error) {
      this.isStale = true; // Of what the turn had changed here nothing was kept.
      await this.#leave();
      // Another worker has it: whoever waits here is given its result.
      if (hasCode(error, "lease.lost")) this.#mayHaveMore = true;
      else if (passingFault(error) !== undefined)
        throw error; // As it was recorded: it is tried again, then given up here.
      else this.#fail(turnId, error);
      if (hasCode(error, "turn.host")) this.#giveUp(error);
    } finally {
      this.#now = undefined;
      if (live !== undefined) core.spenders.delete(live);
      this.toolset.end();
    }
  }

  /**
   * A turn that nobody asked for here may need a model that this process has not: it is left to those that have. To
   * fail it would be to end another's work. Whoever opens the session goes on with it all the same.
   */
  async #canRun({ turnId, config }: Opened): Promise<boolean> {
    const { core } = this;
    if (core.models.known(config.model) !== undefined) return true;
    try {
      await core.models.require(config.model);
      return true;
    } catch (error) {
      core.trace("turn.elsewhere", { problem: describeThrown(error) }, { sessionId: this.id, turnId });
      this.#mayHaveMore = false;
      this.#fail(turnId, error);
      return false;
    }
  }

  /** Nothing is held back for a turn that ended here without a commit: another worker may resume it at once. */
  async #leave(): Promise<void> {
    const run = this.#running?.run;
    this.#running = undefined;
    try {
      await run?.leave();
    } catch (error) {
      this.core.trace("turn.leave", { problem: describeThrown(error) }, { sessionId: this.id });
    }
  }

  /** A turn or an operation runs here, on the session as it was when that began. */
  override get isAtWork(): boolean {
    return this.#isTaken || this.#between !== undefined;
  }

  #committed(live: LiveTurn, { turn, committed, isSalvaged }: Kept): Promise<void> | undefined {
    this.core.watch.moved(this);
    this.core.spenders.delete(live); // From now on it is in the ledger.
    const { outcome } = turn;
    if (committed.branch === undefined)
      this.takeTurn(turn, committed, live.states, isSalvaged === true ? undefined : live.transcript());
    if (!live.hooks.has("lifecycle")) return void this.#announce(live, turn, committed);
    const event = { kind: "turnPersisted", report: reportOf(live, outcome), revision: committed.revision } as const;
    return Promise.resolve(live.hooks.observe("lifecycle", { event }, this.here())).then((issues) => {
      live.observed(issues);
      this.#announce(live, turn, committed);
    });
  }

  #announce(live: LiveTurn, { outcome, usage, entries }: EndedTurn, committed: Committed): void {
    const { turnId, issues } = live;
    const nodes = entries.map((entry, index) => (entry.kind === "message" ? entry.message.id : nodeId(turnId, index)));
    const result = { turnId, outcome, usage, issues };
    const [parent] = this.ancestors;
    if (parent !== undefined)
      this.core.neighbours.find(parent)?.childShows(committedFact(this.id, result, committed, nodes));
    this.#finish(committed, result, nodes);
  }

  #finish(committed: Committed, result: TurnResult, nodes: readonly NodeId[]): void {
    const { branch } = committed;
    const whole = branch === undefined ? result : { ...result, branch };
    this.#waiting.done(committedFact(this.id, whole, committed, nodes), whole);
  }

  #fail(turnId: TurnId, error: unknown): void {
    this.core.trace("turn.lost", { problem: describeThrown(error) }, { sessionId: this.id, turnId });
    this.#waiting.failed(turnId, error);
  }

  // ── Between turns ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs when no turn does, in order with them. From inside a turn of the same session it would wait for itself. */
  exclusive<T>(name: string, run: () => Promise<T>): Promise<T> {
    for (let inside = within.getStore(); inside !== undefined; inside = inside.outer)
      if (inside.session === this && !inside.isOver)
        return Promise.reject(new RuntimeError("operation.reentrant", { name }));
    return new Promise((resolve, reject) => {
      this.#start({ run: () => run().then(resolve, reject) });
    });
  }

  /** Keeps a change of the session; undefined when it has moved elsewhere and the change must be worked out again. */
  async keep(change: Change, operation?: string, onBusy?: () => void): Promise<Committed | undefined> {
    const { store, world } = this.core;
    const whole: SessionChange = {
      ...change,
      sessionId: this.id,
      operation: operation ?? world.id("opr"),
      at: world.now(),
      base: this.stored.revision,
    };
    for (;;) {
      const answer = await store.apply(whole);
      if (answer.kind === "busy") {
        onBusy?.();
        if (await this.#finishOthers()) return undefined;
      } else {
        if (answer.kind === "committed") this.core.watch.moved(this);
        if (answer.kind !== "committed" || !this.take(whole, answer)) await this.refresh();
        return answer.kind === "committed" ? answer : undefined;
      }
    }
  }

  /** A turn is open. Another runtime's ends there; one that a dead worker left is finished here first. */
  async #finishOthers(): Promise<boolean> {
    const { store, owner, world } = this.core;
    if (this.#isLetGo) throw new RuntimeError("runtime.closed", {});
    const found = await store.open(this.id, owner, world.now(), this.#opening);
    if (found.kind === "busy" || found.kind === "idle") {
      if (found.kind === "busy") await world.sleep(WATCH_MS);
      return false;
    }
    await this.refresh(true); // What was being worked out does not count.
    await this.#run(readyFrom(found));
    return true;
  }

  /** Adds messages and nodes on behalf of a plugin, or of the app. */
  append(plugin: string, nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended> {
    return append(this, plugin, nodes, options);
  }

  async cancel(turnId: TurnId, reason = "It was cancelled.", requestId?: string): Promise<CancelAnswer> {
    const { core } = this;
    requireWords("reason", reason);
    if (requestId !== undefined) requireWords("requestId", requestId, 256);
    if (typeof turnId !== "string") return { kind: "unknown" };
    const request = { requestId: requestId ?? core.world.id("can"), reason, at: core.world.now() };
    const answer = await core.store.cancel(turnId, request, this.id);
    if (answer.kind === "requested") void this.#running?.run.poke(); // Also when it has taken the input of that turn.
    return answer;
  }

  /** A wait was answered: the running turn looks for its mail. */
  poke(): void {
    void this.#running?.run.poke();
  }

  /** Waits for what runs; after `graceMs` a turn that nobody could resume is cancelled, and any other is let go. */
  async close(graceMs: number): Promise<void> {
    const work = this.#work;
    if (work === undefined) return;
    const { world, store } = this.core;
    if (this.#isTaken || this.#ready.length > 0) {
      const timer = new AbortController();
      const isLate = await Promise.race([work.then(() => false), world.sleep(graceMs, timer.signal).then(() => true)]);
      timer.abort();
      if (!isLate) return;
    }
    this.#isLetGo = true;
    this.#mayHaveMore = false;
    for (const turnId of this.#waiting.turns)
      if (turnId !== this.#running?.live.turnId) this.#fail(turnId, new RuntimeError("runtime.closed", {}));
    if (this.#running === undefined) return;
    if (store.isDurable) await this.#running.run.leave();
    else await this.cancel(this.#running.live.turnId, "The runtime was closed.");
    await work;
  }
}

const readyFrom = (answer: Extract<OpenAnswer, { readonly lease: Lease }>): Ready =>
  answer.kind === "opened"
    ? { lease: answer.lease, journal: [answer.opened], hasWaited: true }
    : { lease: answer.lease, journal: answer.journal, isResumed: true, hasWaited: true };

function ancestorsOf(core: Core, parent: SessionId): Awaitable<readonly SessionId[]> {
  return after(core.store.load(parent), (stored) =>
    stored?.parentId === undefined
      ? [parent]
      : after(ancestorsOf(core, stored.parentId), (above) => [parent, ...above]),
  );
}

/** They are kept with the turn, and told to whoever asks. */
export function requireWords(option: string, words: unknown, max = REASON_MAX): void {
  if (typeof words !== "string" || words === "" || words.length > max)
    throw new RuntimeError("options.invalid", { option, problem: `it must be text of 1 to ${max} characters` });
}
const REASON_MAX = 4_096;

const WATCH_MS = 250;
const STORE_TRIES = 5;
const BOOK_TRIES = 100;
const NO_OPTIONS: ReadonlyMap<string, unknown> = new Map();

/** The turn or the operation, of which session, that this code was started by. */
interface Inside {
  readonly session: Resident;
  /** What that was started by in turn: two sessions may not wait for each other either. */
  readonly outer: Inside | undefined;
  isOver: boolean;
}
const within = new AsyncLocalStorage<Inside>();
