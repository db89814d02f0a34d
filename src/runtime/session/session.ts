// A session that is open in this process: its plugins, its conversation as last read, and its queue.
// Not its job: accepting inputs (`accept.ts`), running turns (`live-turn/`), storing changes between turns (`change.ts`),
// turns of other processes (`remote-turns.ts`), the order of turns and operations (`queue.ts`), cancelling (`cancel.ts`),
// handles that follow a turn (`follow.ts`), closing (`closing.ts`).
// session-1 An input is in the store before its caller gets the turn id.
// session-2 Code that runs inside the session (in its turn or operation) must not queue an operation on it or wait for its
//           turn, because both would wait for each other. This also holds for a cycle over several sessions.
// session-3 The session is released only when nothing runs, waits or comes in. An attachment that is being stored counts.
// session-4 The plugins are composed with the options of the turn that has the session, otherwise with the stored options
//           (`use`, `useStored`). They change only when a turn begins, in an operation, or while nothing has the session.
import type { Transcript } from "../../graph/transcript.ts";
import type { Appended, AppendNode, AppendOptions } from "../../kernel/append.ts";
import type { Composition } from "../../kernel/compose.ts";
import type { CreatedSession } from "../../kernel/created.ts";
import { tracedIssue } from "../../kernel/hook-runner.ts";
import type { LifecycleEvent } from "../../kernel/hook-values.ts";
import type { CatalogOverlay, NewSessionRequest, Permissions } from "../../kernel/session-requests.ts";
import type { ProtocolDriverSlot } from "../../kernel/slots.ts";
import type { SessionConfig } from "../../model/config.ts";
import type { SessionEvent } from "../../model/event.ts";
import type { SessionId, TurnId } from "../../model/ids.ts";
import { defined, describeThrown, type JsonObject } from "../../model/json.ts";
import type { Addition } from "../../model/node.ts";
import type { Spent } from "../../model/usage.ts";
import type { Opening, SessionOptions, StoredSession } from "../../stores/store.ts";
import { type Core, effectiveConfig } from "../core.ts";
import { Memo } from "../live-turn/memo.ts";
import { markAccepted } from "../live-turn/pending.ts";
import type { Release } from "../live-turn/release.ts";
import { type OpenedTurn, runTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { Followers } from "../readers/followers.ts";
import type { Previews } from "../readers/previews.ts";
import { BASE_TOOLS, overlayOf, permissionsOf, restrictionsOf } from "../services/reading.ts";
import { ServiceContext, type Working } from "../services/service-context.ts";
import { Toolset } from "../toolset/toolset.ts";
import { append, book, bookAs, changeSession, type Worked } from "./change.ts";
import { openedFor } from "./input.ts";
import { makeSession } from "./make.ts";
import { type Composed, type Compositions, slotOf } from "./options.ts";
import { notifyAppended } from "./protocol.ts";
import { Queue, type QueueWork } from "./queue.ts";
import { type EnclosingWork, enclosing, type Operation, withoutFinished } from "./reentrancy.ts";
import { failHandles, look, nextTurn, settle } from "./remote-turns.ts";
import { SessionSnapshot } from "./session-snapshot.ts";
import { type MissingModel, missingModel, released } from "./turns.ts";

export class LiveSession implements QueueWork<OpenedTurn, Operation> {
  readonly core: Core;
  readonly id: SessionId;
  /** session-4: the options in use, and what was composed with them. */
  options: SessionOptions | undefined;
  composition: Composition;
  slot: ProtocolDriverSlot;
  /** The parent first, the root of the tree last. */
  readonly ancestors: readonly SessionId[];
  readonly snapshot: SessionSnapshot;
  readonly queue: Queue<OpenedTurn, Operation>;
  readonly followers: Followers;
  /** The turn that has the session here, from its set-up until its handles have their result. */
  now: TurnId | undefined = undefined;
  /** The same turn from its opening in the host to its commit. */
  running: LiveTurn | undefined = undefined;
  /** Settles when the executor has released what the code of the last turn used. */
  releasing: Promise<void> | undefined = undefined;
  /** The open turn, if this process has seen that it is parked. */
  parked: TurnId | undefined = undefined;
  /** The turn parks as soon as it only waits, without `limits.parkAfterMs`. */
  parksAtOnce = false;
  /** Settles when the orphaned turn that this process resumed is done. */
  takenUp: Promise<void> | undefined = undefined;
  /** session-3: inputs whose hooks run or whose attachments are being stored. They are not in the queue yet. */
  entering: Set<PromiseLike<unknown>> | undefined = undefined;
  /** Settles when the latest input has left its `input` hooks: the next one waits for it (`inInputOrder`). */
  inputHooks: Promise<unknown> | undefined = undefined;
  /** Sources of tools were added since the running turn was last prepared. */
  hasNewTools = false;
  #toolset: Toolset | undefined;
  #memo: Memo | undefined;
  /** session-2: which code sent each waiting input. */
  askers: Map<TurnId, EnclosingWork> | undefined = undefined;
  readonly #compositions: Compositions | undefined;
  /** The running turn calls this when it is committed, parked or lost. */
  readonly released: (how: Release) => Promise<void> | undefined = released.bind(undefined, this);

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
    this.followers = core.watcher.followed.get(stored.id) ?? new Followers(); // Handles may wait while it is not open.
    this.snapshot = new SessionSnapshot(core, stored, transcript, this.queue);
  }

  get toolset(): Toolset {
    this.#toolset ??= new Toolset(this);
    return this.#toolset;
  }
  get memo(): Memo {
    this.#memo ??= new Memo();
    return this.#memo;
  }

  /** A plain session has no plugins, providers, tool choices or permissions: its turns share `core.plain`. */
  get isPlain(): boolean {
    const { core, composition, snapshot } = this;
    if (composition !== core.bare || core.providers.length > 0 || this.#toolset?.hasOwn === true) return false;
    // Tool choices, permissions and overlays are stored as plugin states.
    for (const _ in snapshot.stored.plugins) return false;
    return true;
  }

  get permissions(): Permissions {
    return permissionsOf(this.snapshot.stored);
  }
  get restrictions(): { readonly permissions?: Permissions } {
    return restrictionsOf(this.snapshot.stored);
  }
  get catalogEdits(): readonly CatalogOverlay[] {
    return overlayOf(this.snapshot.stored);
  }
  get hasBaseTools(): boolean {
    return this.snapshot.stored.plugins[BASE_TOOLS]?.state !== false;
  }
  get config(): SessionConfig {
    return effectiveConfig(this.core, this.snapshot.stored.config);
  }
  get asPlace(): { readonly sessionId: SessionId } {
    return { sessionId: this.id };
  }

  context(scope?: { readonly signal: AbortSignal }, working?: Working): ServiceContext {
    return new ServiceContext(this, undefined, scope, working);
  }
  /** For hooks about one turn that run between turns: before it opens, or after its commit. */
  contextAbout(extensions: JsonObject | undefined): ServiceContext {
    return new ServiceContext(this, undefined, undefined, undefined, extensions);
  }

  // ── Options of plugins (session-4) ─────────────────────────────────────────────────────────────────────────────────────

  /** Composes the plugins with these options, if the options differ. Throws `plugin.options`. */
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
    if (!this.queue.isTaken) this.use(this.snapshot.stored.options);
  }

  /** The protocol of a turn that begins with these options. */
  slotWith(options: SessionOptions | undefined): ProtocolDriverSlot {
    return slotOf(this.composedWith(options));
  }

  /** The plugins with these options. Throws `plugin.options`. */
  composedWith(options: SessionOptions | undefined): Composition {
    return this.#compositions?.of(options) ?? this.composition;
  }

  /** Whether the running turn must be prepared again because tools were added to the session. */
  noteNewTools(are: boolean): void {
    this.hasNewTools = are;
  }

  // ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes the first event of a turn. The store calls it when it opens a turn. */
  readonly opening: Opening = openedFor.bind(undefined, this);

  /** This process accepted an input or an append: the running turn asks the store for it at its next boundary. */
  inputAccepted(): void {
    if (this.running !== undefined) markAccepted(this.running.pending, this.core.world.now());
  }

  /** Makes the running turn ask the store for answers to its waits and for a cancel. */
  poke(): void {
    void this.running?.run?.poke();
  }

  // ── Handles that wait for turns ─────────────────────────────────────────────────────────────────────────────────

  /** The previews of its running turn, or of its parked turns, that this process made. */
  get shown(): readonly Previews[] {
    if (this.running !== undefined) return [this.running.show.previews];
    return [...this.core.watcher.shows()].flatMap((show) => (show.sessionId === this.id ? [show.previews] : []));
  }

  /** The turn that runs here, or the first one in the queue. */
  get current(): TurnId | undefined {
    return this.now ?? this.queue.next?.lease.turnId;
  }

  fail(turnId: TurnId, error: unknown): void {
    failHandles(this.core, this.id, this.followers, turnId, error);
  }

  /** Shows the event in the parent's turn, if that turn runs here, or was parked here and still has readers. */
  notifyParent(event: SessionEvent): void {
    const [parent] = this.ancestors;
    if (parent === undefined) return;
    const running = this.core.sessions.find(parent)?.running?.show;
    const capability = this.permissions.subagent?.capability;
    if (running !== undefined) return running.childShows(event, capability);
    for (const show of this.core.watcher.shows()) if (show.sessionId === parent) show.childShows(event, capability);
  }

  // ── A turn has the session ──────────────────────────────────────────────────────────────────────────────────────

  runTurn(turn: OpenedTurn): Promise<void> {
    this.now = turn.lease.turnId;
    const asker = turn.asker ?? this.askers?.get(turn.lease.turnId);
    const outer = asker && withoutFinished(asker);
    return enclosing.run({ session: this, work: turn, outer }, runTurn, this, turn);
  }

  async giveBack({ lease }: OpenedTurn): Promise<void> {
    await this.core.store.release(lease);
  }

  /** Why a turn that this process found in the store cannot run here. */
  missingModel(turn: OpenedTurn): Promise<MissingModel | undefined> {
    return missingModel(this, turn);
  }

  /** The host opens the turn. Until its release it is the session's running turn. */
  runs(live: LiveTurn): void {
    this.running = live;
    this.parked = undefined;
  }

  ended(): void {
    const jobs = this.core.background.loaded?.jobs;
    if (jobs !== undefined && jobs.starts.unbegun.size + jobs.running.size > 0 && this.now !== undefined)
      jobs.starts.turnEnded(this.now);
    this.now = undefined;
    this.#toolset?.end();
    // The parent's turn may park now: it stayed because this turn ran here (park-3).
    for (const parent of this.ancestors.slice(0, 1)) this.core.sessions.find(parent)?.running?.run?.hurry();
  }

  // ── An operation has the session ────────────────────────────────────────────────────────────────────────────────

  /** session-2: whether the current code runs inside the turn or operation that has the session. */
  get isInside(): boolean {
    for (let at = enclosing.getStore(); at !== undefined; at = at.outer)
      if (at.session === this && this.queue.has === at.work) return true;
    return false;
  }

  /** If the turn only waits, the operation runs inside it at once. */
  putOperation(operation: Operation): void {
    this.queue.putOperation(operation);
    this.running?.run?.hurry();
  }

  runOperation(operation: Operation, live?: LiveTurn): Promise<void> {
    return enclosing.run(
      { session: this, work: operation, outer: operation.asker && withoutFinished(operation.asker) },
      operation.run,
      live,
    );
  }

  /** Runs the next operation inside a turn that only waits. Returns false when there is none. */
  async operateIn(live: LiveTurn): Promise<boolean> {
    const operation = this.queue.takeOperation();
    if (operation === undefined) return false;
    const turn = this.queue.has;
    this.queue.has = operation; // session-2
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

  /** Calls `busy` when the change must wait for a turn of another process. */
  change<T>(name: string, work: () => Promise<Worked<T>>, busy?: () => void): Promise<T> {
    return changeSession(this, name, work, undefined, undefined, busy);
  }

  /** Runs `lifecycle` hooks. Their failures are traced, because they do not change the caller's result. */
  async notifyLifecycle(event: LifecycleEvent): Promise<void> {
    const { hooks } = this.composition;
    if (!hooks.has.lifecycle) return;
    for (const issue of await hooks.observe("lifecycle", { event }, this.context()))
      this.core.trace("hook.issue", tracedIssue(issue), this.asPlace);
  }

  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended> {
    return append(this, nodes, options);
  }

  appended(nodes: readonly Addition[]): Promise<void> {
    return notifyAppended(this, nodes);
  }

  /** Reads what was stored past this process's copy of the session, for example by a hook through the `graph` service. */
  async caughtUp(): Promise<void> {
    if (this.isInside) await this.snapshot.refresh();
    else await this.snapshot.catchUp();
  }

  book(spent: Spent): Promise<void> {
    return book(this, spent);
  }
  /** Books once under this name, and settles when the booking is durable. */
  bookAs(spent: Spent, name: string): Promise<void> {
    return bookAs(this, spent, name);
  }

  create(request: NewSessionRequest, plugin: string): Promise<CreatedSession> {
    // With the options in use, so that a resumed turn makes the same session, even if the stored options have changed.
    const by = defined({ ...this.snapshot.stored, options: this.options });
    return makeSession(this.core, request, by, plugin);
  }

  // ── The queue's other work ──────────────────────────────────────────────────────────────────────────────────────

  async look(): Promise<void> {
    await look(this);
    if (!this.queue.mayHaveMore) this.askers = undefined; // No input of this process waits any more.
  }

  /** Settles the handles of turns that ended in another process, or whose inputs another turn took. */
  async settleRemote(): Promise<void> {
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

  /** Resumes the open turn or opens the next one. Returns false if there is none or another process has the session. */
  async takeUp(isRecovery: boolean): Promise<boolean> {
    const { queue } = this;
    if (queue.door !== "open") return false;
    if (queue.isTaken || queue.hasReady) {
      queue.mayHaveMore = true; // The turn that has the session may be left to other processes: look again after it.
      return true;
    }
    queue.accepting(); // queue-3
    try {
      const answer = await nextTurn(this);
      if (answer === undefined) return false;
      if (!("lease" in answer)) {
        if (answer.kind === "parked") this.parked = answer.turnId;
        return false;
      }
      queue.mayHaveMore = true; // More inputs may wait behind this turn.
      queue.putTurn({ ...answer, isFound: true, ...(isRecovery ? { isRecovery } : {}) });
      this.takenUp = queue.settled();
      return true;
    } finally {
      queue.accepted();
    }
  }

  // ── Closing ─────────────────────────────────────────────────────────────────────────────────────────────────────

  get isIdle(): boolean {
    return this.running === undefined && !this.entering?.size && this.queue.isIdle;
  }

  /** Runs `sessionClosed` hooks and releases what the session shares with others. No handle is open any more. */
  async letGo(): Promise<void> {
    await this.notifyLifecycle({ kind: "sessionClosed" });
    this.#toolset?.close();
  }
}
