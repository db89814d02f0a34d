// A session that is open in this process: its plugins, its conversation as last read, and its queue.
// Not its job: how an input comes in (`accept.ts`), how a turn runs (`live-turn/`), how a change between turns is stored (`change.ts`), what other processes
// do with the session (`elsewhere.ts`), what has the session next (`queue.ts`, Q1 to Q6).
// S1 An input is in the store before anybody learns its turn id.
// S2 Code that runs inside the session (in a turn or an operation of it) may queue no operation on it, nor wait for a
//    turn of it: both would wait for each other. That holds across sessions too.
// S3 The session is let go only when nothing runs, waits or comes in, also no attachment that is still being stored.
// S4 Its plugins are composed with the options of the turn that has the session, else with the stored ones (`use`,
//    `useStored`). They change only when a turn begins, in an operation, or while nothing has the session.
import type { Transcript } from "../../graph/transcript.ts";
import type { Composition } from "../../kernel/compose.ts";
import { tracedIssue } from "../../kernel/hook-runner.ts";
import type { LifecycleEvent } from "../../kernel/hooks.ts";
import type {
  Appended,
  AppendNode,
  AppendOptions,
  Authority,
  CatalogOverlay,
  NewSessionRequest,
} from "../../kernel/services.ts";
import type { ProtocolDriverSlot } from "../../kernel/slots.ts";
import type { SessionConfig } from "../../model/config.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionEvent } from "../../model/event.ts";
import type { NodeId, SessionId, TurnId } from "../../model/ids.ts";
import { defined, describeThrown, type JsonObject } from "../../model/json.ts";
import type { Addition } from "../../model/node.ts";
import type { Spent, Usage } from "../../model/usage.ts";
import type { CancelAnswer, InputRef, Opening, SessionOptions, StoredSession, Withdrawal } from "../../stores/store.ts";
import { isOnlyWaiting } from "../../turn/state.ts";
import { requireWords } from "../checks.ts";
import { type Core, effectiveConfig } from "../core.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { openedFor } from "../live-turn/input.ts";
import { Memo } from "../live-turn/memo.ts";
import { came } from "../live-turn/pending.ts";
import { type OpenedTurn, runTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { Followers } from "../readers/followers.ts";
import type { Previews } from "../readers/previews.ts";
import { authorityOf, overlayOf, restrictionsOf } from "../services/reading.ts";
import { SessionSite, type Working } from "../services/site.ts";
import { Toolset } from "../toolset/toolset.ts";
import { joinRunning } from "./accept.ts";
import { append, book, bookAs, changeSession, type Worked } from "./change.ts";
import { failHandles, look, nextTurn, settle } from "./elsewhere.ts";
import { type Inside, inside, type Operation, underWay } from "./inside.ts";
import { KeptSession } from "./kept.ts";
import { makeSession } from "./make.ts";
import { type Composed, type Compositions, slotOf } from "./options.ts";
import { tellAppended } from "./protocol.ts";
import { Queue, type QueueWork } from "./queue.ts";

export class LiveSession implements QueueWork<OpenedTurn, Operation> {
  readonly core: Core;
  readonly id: SessionId;
  /** S4: the options in use, and what was composed with them. */
  options: SessionOptions | undefined;
  composition: Composition;
  slot: ProtocolDriverSlot;
  /** The parent first, the root of the tree last. */
  readonly ancestors: readonly SessionId[];
  readonly kept: KeptSession;
  readonly queue: Queue<OpenedTurn, Operation>;
  readonly followers: Followers;
  /** The turn that has the session here, from its set-up until its handles have their result. */
  now: TurnId | undefined = undefined;
  /** The same turn from its opening in the host to its commit. */
  running: LiveTurn | undefined = undefined;
  /** What the code of its last turn held is being let go. */
  releasing: Promise<void> | undefined = undefined;
  /** The open turn, as far as is known here that it is parked. */
  parked: TurnId | undefined = undefined;
  /** Its turn is parked as soon as it only waits. */
  isResting = false;
  /** What the latest model call here used, and in which frame. */
  latest: { readonly usage: Usage; readonly frame: NodeId | undefined } | undefined = undefined;
  /** Settles when the turn that another process left, and this one resumed, is done. */
  takenUp: Promise<void> | undefined = undefined;
  /** S3: inputs that are being heard, or whose attachments are still being stored. Nothing in the queue waits for them. */
  entering: Set<PromiseLike<unknown>> | undefined = undefined;
  hearing: Promise<unknown> | undefined = undefined;
  /** Tools that gates name and that the session does not have: each is reported once. */
  unknownTools: Set<string> | undefined = undefined;
  /** Sources of tools were added since the running turn was last prepared. */
  hasNewTools = false;
  #toolset: Toolset | undefined;
  #memo: Memo | undefined;
  /** S2: the code that sent inputs that wait. */
  askers: Map<TurnId, Inside> | undefined = undefined;
  readonly #compositions: Compositions | undefined;

  constructor(
    core: Core,
    stored: StoredSession,
    transcript: Transcript,
    { options, composition, compositions }: Composed,
    ancestors: readonly SessionId[],
  ) {
    this.core = core;
    this.id = stored.id;
    this.ancestors = ancestors;
    this.options = options;
    this.composition = composition;
    this.slot = composition.hooks.slot("protocolDriver") as ProtocolDriverSlot; // `compose` requires it.
    this.#compositions = compositions;
    this.queue = new Queue(this);
    this.followers = core.watch.followed.get(stored.id) ?? new Followers(); // Handles may wait while it is not open.
    this.kept = new KeptSession(core, stored, transcript, this.queue);
  }

  get toolset(): Toolset {
    this.#toolset ??= new Toolset(this);
    return this.#toolset;
  }
  get memo(): Memo {
    this.#memo ??= new Memo();
    return this.#memo;
  }

  /** A plain session has no plugins, providers, tool choices or authority: its turns share `core.plain`. */
  get isPlain(): boolean {
    const { core, composition, kept } = this;
    if (composition !== core.bare || core.providers.length > 0 || this.#toolset?.hasOwn === true) return false;
    for (const _ in kept.stored.plugins) return false; // Tool choices, authority and overlays are stored there.
    return true;
  }

  get authority(): Authority {
    return authorityOf(this.kept.stored);
  }
  get restrictions(): { readonly authority?: Authority } {
    return restrictionsOf(this.kept.stored);
  }
  get catalogEdits(): readonly CatalogOverlay[] {
    return overlayOf(this.kept.stored);
  }
  get config(): SessionConfig {
    return effectiveConfig(this.core, this.kept.stored.config);
  }
  get asPlace(): { readonly sessionId: SessionId } {
    return { sessionId: this.id };
  }

  site(scope?: { readonly signal: AbortSignal }, working?: Working): SessionSite {
    return new SessionSite(this, undefined, scope, working);
  }
  /** Between turns, where it is about one turn: before it opens, or after its commit. */
  siteAbout(extensions: JsonObject | undefined): SessionSite {
    return new SessionSite(this, undefined, undefined, undefined, extensions);
  }

  // ── Options of plugins (S4) ─────────────────────────────────────────────────────────────────────────────────────

  /** Composes the plugins with these options, if they are others. Throws `plugin.options`. */
  use(options: SessionOptions | undefined): void {
    if (options === this.options) return;
    const composition = this.#compositions?.of(options) ?? this.composition;
    this.options = options;
    if (composition === this.composition) return;
    this.#toolset?.recompose();
    this.composition = composition;
    this.slot = slotOf(composition);
  }

  /** Uses the options as they were last read, unless a turn or an operation has the session. */
  useStored(): void {
    if (!this.queue.isTaken) this.use(this.kept.stored.options);
  }

  /** The protocol of a turn that begins with these options. */
  slotWith(options: SessionOptions | undefined): ProtocolDriverSlot {
    return slotOf(this.composedWith(options));
  }

  /** The plugins with these options. Throws `plugin.options`. */
  composedWith(options: SessionOptions | undefined): Composition {
    return this.#compositions?.of(options) ?? this.composition;
  }

  // ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes the first event of a turn; the store calls it when it opens one. */
  readonly opening: Opening = (input, config, standing) => openedFor(this, input, config, standing);

  /** An input or an append was accepted here: the running turn looks for it at its next boundary. */
  inputCame(): void {
    if (this.running !== undefined) came(this.running.pending, this.core.world.now());
  }

  /** Withdraws inputs that no turn has taken; their handles fail with `input.withdrawn`. */
  async withdraw(which: InputRef): Promise<readonly Withdrawal[]> {
    await this.kept.requireThere();
    const found = await this.core.store.inputs.withdraw(this.id, which);
    for (const { turnId, answer } of found)
      if (answer === "withdrawn" && turnId !== undefined)
        this.fail(turnId, new RuntimeError("input.withdrawn", { turnId }));
    return found;
  }

  async cancel(turnId: TurnId, reason = "It was cancelled.", requestId?: string): Promise<CancelAnswer> {
    const { core } = this;
    requireWords("reason", reason);
    if (requestId !== undefined) requireWords("requestId", requestId, 256);
    if (typeof turnId !== "string") return { kind: "unknown" };
    const request = { requestId: requestId ?? core.world.id("can"), reason, at: core.world.now() };
    const answer = await core.store.cancel(turnId, request, this.id);
    // The running turn may have taken the input of that turn; a parked one goes on, to be ended.
    if (answer.kind === "requested") core.watch.wake(this.id);
    return answer;
  }

  /** Makes the running turn look for answers to its waits and for a cancel. */
  poke(): void {
    void this.running?.run?.poke();
  }

  // ── Handles that wait for turns ─────────────────────────────────────────────────────────────────────────────────

  /** What its turn has shown here, one that is parked included. */
  get shown(): readonly Previews[] {
    if (this.running !== undefined) return [this.running.show.said];
    return [...this.core.watch.shows()].flatMap((show) => (show.sessionId === this.id ? [show.said] : []));
  }

  /** The turn that is under way here, or is about to be. */
  get current(): TurnId | undefined {
    return this.now ?? this.queue.next?.lease.turnId;
  }

  /** Gives the handle what the turn shows here, and its result, in whatever process it ends. */
  follow(turnId: TurnId, handle: TurnHandle): void {
    if (typeof turnId !== "string") return handle.failed(new RuntimeError("turn.unknown", { turnId: typeof turnId }));
    if (this.running?.turnId === turnId) joinRunning(this, this.running, handle);
    else {
      this.followers.join(turnId, handle);
      this.core.watch.showOf(turnId)?.tellAll(handle); // A parked one has shown something here.
    }
    const find = async (): Promise<void> => {
      this.core.watch.follow(this.id, this.followers, turnId);
      if ((await settle(this, turnId)) === "over" || turnId === this.now) return;
      // With `recover: "manual"` a turn whose process died is not taken over here.
      if (this.core.recovers) this.queue.lookAgain();
    };
    find().catch((error: unknown) => this.fail(turnId, error));
  }

  fail(turnId: TurnId, error: unknown): void {
    failHandles(this.core, this.id, this.followers, turnId, error);
  }

  /** The parent's turn shows what this session does, if that turn runs here, or is parked here and looked on. */
  tellParent(event: SessionEvent): void {
    const [parent] = this.ancestors;
    if (parent === undefined) return;
    const running = this.core.sessions.find(parent)?.running?.show;
    if (running !== undefined) return running.childShows(event);
    for (const show of this.core.watch.shows()) if (show.sessionId === parent) show.childShows(event);
  }

  // ── A turn has the session ──────────────────────────────────────────────────────────────────────────────────────

  runTurn(turn: OpenedTurn): Promise<void> {
    const asker = turn.asker ?? this.askers?.get(turn.lease.turnId);
    const outer = asker && underWay(asker);
    return inside.run({ session: this, work: turn, outer }, runTurn, this, turn);
  }

  async giveBack({ lease }: OpenedTurn): Promise<void> {
    await this.core.store.release(lease);
  }

  ended(live: LiveTurn | undefined): void {
    const jobs = this.core.background.loaded?.jobs;
    if (jobs !== undefined && jobs.unbegun.size + jobs.held.size > 0 && this.now !== undefined)
      jobs.turnEnded(this.now);
    this.now = undefined;
    if (live !== undefined) this.core.spenders.delete(live);
    this.#toolset?.end();
    // A parent that stayed because this turn ran here may be given up, too (K3 in `park.ts`).
    for (const parent of this.ancestors.slice(0, 1)) this.core.sessions.find(parent)?.running?.run?.hurry();
  }

  // ── An operation has the session ────────────────────────────────────────────────────────────────────────────────

  /** S2: whether the current code runs in what has the session now. */
  get isInside(): boolean {
    for (let at = inside.getStore(); at !== undefined; at = at.outer)
      if (at.session === this && this.queue.has === at.work) return true;
    return false;
  }

  /** A turn that only waits lets the operation run at once. */
  putOperation(operation: Operation): void {
    this.queue.putOperation(operation);
    this.running?.run?.hurry();
  }

  runOperation(operation: Operation, live?: LiveTurn): Promise<void> {
    return inside.run(
      { session: this, work: operation, outer: operation.asker && underWay(operation.asker) },
      operation.run,
      live,
    );
  }

  /** Runs the next operation in a turn that only waits; false when there is none. */
  async operateIn(live: LiveTurn): Promise<boolean> {
    const operation = this.queue.takeOperation();
    if (operation === undefined) return false;
    const turn = this.queue.has;
    this.queue.has = operation; // S2
    try {
      await this.runOperation(operation, live);
    } finally {
      this.queue.has = turn;
    }
    return true;
  }

  refuse(operation: Operation): void {
    operation.refuse();
  }

  /** `busy` is called when a turn elsewhere has to be waited for. */
  change<T>(name: string, work: () => Promise<Worked<T>>, busy?: () => void): Promise<T> {
    return changeSession(this, name, work, undefined, undefined, busy);
  }

  /** Tells `lifecycle` hooks. What fails in them is traced: nobody waits for it. */
  async tell(event: LifecycleEvent): Promise<void> {
    const { hooks } = this.composition;
    if (!hooks.has.lifecycle) return;
    for (const issue of await hooks.observe("lifecycle", { event }, this.site()))
      this.core.trace("hook.issue", tracedIssue(issue), this.asPlace);
  }

  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended> {
    return append(this, nodes, options);
  }

  toldAppended(nodes: readonly Addition[]): Promise<void> {
    return tellAppended(this, nodes);
  }

  /** Reads what a hook of the session, that has it or runs beside nothing, has stored past it. */
  async caughtUp(): Promise<void> {
    if (this.isInside) await this.kept.refresh();
    else await this.kept.catchUp();
  }

  book(spent: Spent): Promise<void> {
    return book(this, spent);
  }
  /** Once under this name, and durably. */
  bookAs(spent: Spent, name: string): Promise<void> {
    return bookAs(this, spent, name);
  }

  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }> {
    // With the options in use: a turn that is resumed makes the same session as before, whatever is stored by then.
    const by = defined({ ...this.kept.stored, options: this.options });
    return makeSession(this.core, request, by).then((id) => ({ id }));
  }

  // ── The queue's other work ──────────────────────────────────────────────────────────────────────────────────────

  async look(): Promise<void> {
    await look(this);
    if (!this.queue.mayHaveMore) this.askers = undefined; // Nothing that was sent here waits any more.
  }

  /** Tells the handles of turns that are over elsewhere, or whose inputs another turn took. */
  async settleElsewhere(): Promise<void> {
    for (const turnId of this.followers.turns) await settle(this, turnId);
  }

  failed(error: unknown): void {
    this.core.trace("session.store", { problem: describeThrown(error) }, this.asPlace);
  }

  gaveUp(error: unknown): void {
    this.queue.mayHaveMore = false;
    this.failAll(error);
  }

  failAll(error: unknown): void {
    for (const turnId of this.followers.turns) this.fail(turnId, error);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.core.world.sleep(ms, signal);
  }

  /** Resumes the open turn, or opens the next one, if no other process has the session; false when there is none. */
  async takeUp(isRecovery: boolean): Promise<boolean> {
    const { queue } = this;
    if (queue.door !== "open") return false;
    if (queue.isTaken || queue.hasReady) {
      queue.mayHaveMore = true; // The turn that has the session may be left to others: what came is looked for then.
      return true;
    }
    queue.accepting(); // Q3
    try {
      const answer = await nextTurn(this);
      if (answer === undefined) return false;
      if (!("lease" in answer)) {
        if (answer.kind === "parked") this.parked = answer.turnId;
        return false;
      }
      queue.mayHaveMore = true; // More may wait behind it.
      queue.putTurn({ ...answer, isFound: true, ...(isRecovery ? { isRecovery } : {}) });
      this.takenUp = queue.settled();
      return true;
    } finally {
      queue.accepted();
    }
  }

  // ── Closing ─────────────────────────────────────────────────────────────────────────────────────────────────────

  get isIdle(): boolean {
    return this.running === undefined && !this.entering?.size && this.queue.isResting;
  }

  /** Whether there is work here that somebody waits for. A turn that was just answered gets a moment to end. */
  async isBusy(): Promise<boolean> {
    if (!this.isIdle) await new Promise((resolve) => setImmediate(resolve));
    if (this.running !== undefined && isOnlyWaiting(this.running.state)) await this.rest();
    const { isTaken, hasReady } = this.queue;
    return isTaken || hasReady || this.followers.turns.some((turnId) => turnId !== this.parked);
  }

  /** Has a turn that only waits parked now, and settles when it is. */
  async rest(): Promise<void> {
    if (!this.core.host.parks) return;
    this.isResting = true;
    this.running?.run.hurry();
    await this.queue.settled();
    this.isResting = false;
  }

  /** S3 */
  async whenIdle(run: () => void): Promise<void> {
    while (this.entering?.size || this.queue.isAccepting) {
      await Promise.allSettled(this.entering ?? []);
      await this.queue.arrived();
    }
    if (!this.isIdle) await this.queue.settled();
    if (this.entering?.size || this.queue.isAccepting) return this.whenIdle(run);
    run();
  }

  /** Waits `graceMs` for what runs. Then, on a durable store, the turn is left to be resumed, else it is cancelled. */
  async close(graceMs: number): Promise<void> {
    this.running?.run?.hurry(); // A turn that only waits is parked at once, or let go where that cannot be.
    const isKept = this.running !== undefined && isOnlyWaiting(this.running.state) && !this.core.host.parks;
    await this.queue.close(isKept ? 0 : graceMs, async () => {
      const { running } = this;
      if (running?.run === undefined) return false;
      if (this.core.store.isDurable) await running.run.leave();
      else await this.cancel(running.turnId, "The runtime was closed.");
      return true;
    });
  }

  /** Gives back what the session shares with others: nobody has it open any more. */
  async letGo(): Promise<void> {
    await this.tell({ kind: "sessionClosed" });
    this.#toolset?.close();
  }
}
