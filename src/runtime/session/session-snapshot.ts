import { Transcript } from "../../graph/transcript.ts";
import { PluginStates } from "../../kernel/states.ts";
import type { SessionConfig } from "../../model/config.ts";
import { faultOf, RuntimeError } from "../../model/errors.ts";
import type { NodeId, TurnId } from "../../model/ids.ts";
import { addSpent, addUsage, totalOf } from "../../model/usage.ts";
import type { Committed, EndedTurn, Lease, SessionChange, SessionOptions, StoredSession } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { TOOLS_PLUGIN } from "../toolset/membership.ts";
import { isSameOptions } from "./options.ts";

/** A conversation up to this node that is already in memory. */
export interface KnownTranscript {
  readonly head: NodeId;
  readonly transcript: Transcript;
}

/**
 * A session as this process last read it: the stored session, its conversation and its plugin states. The snapshot grows
 * by what this process stores. `refresh` and `catchUp` read what other processes stored.
 *
 * Not its job: deciding who may change it. The queue gives the session to one turn or operation (`queue.ts`).
 */
export class SessionSnapshot {
  readonly #core: Core;
  /** While a turn or an operation has the session, readers must not change the snapshot. */
  readonly #queue: { readonly isTaken: boolean };
  stored: StoredSession;
  transcript: Transcript;
  states: PluginStates;
  /** How much of the open turn `catchUp` has applied. */
  #seen:
    | { readonly turnId: TurnId; readonly events: number; readonly versions: ReadonlyMap<string, string> }
    | undefined;
  /** A change here was not stored: the session must be read again before its next use. */
  isStale = false;

  constructor(core: Core, stored: StoredSession, transcript: Transcript, queue: { readonly isTaken: boolean }) {
    this.#core = core;
    this.#queue = queue;
    this.stored = stored;
    this.transcript = transcript;
    this.states = new PluginStates(core.plugins, stored.plugins, core.limits.stateBytesMax, core.blobs, TOOLS_PLUGIN);
  }

  /** Whether the turn was opened on this snapshot. */
  isAt({ revision }: Lease, options: SessionOptions | undefined): boolean {
    if (this.isStale || revision !== this.stored.revision) return false;
    return options === this.stored.options || isSameOptions(options, this.stored.options);
  }

  /** Reads the session at the revision of the lease. While the lease holds, no other process changes the session. */
  async goTo(lease: Lease, isForced: boolean): Promise<void> {
    await this.refresh(isForced);
    if (lease.revision !== this.stored.revision)
      throw faultOf(
        this.#core.store,
        new RuntimeError("lease.lost", { sessionId: this.stored.id, generation: lease.generation }),
      );
  }

  /** Reads what other processes stored. Only the turn or operation that has the session may call it. */
  refresh(isForced = false): Promise<void> {
    return this.#reload(isForced, false);
  }

  /**
   * Like `refresh`, for readers: skipped while a turn or an operation has the session. It also applies the changes that
   * the journal of an open turn has so far, whether another process runs the turn or the turn is parked.
   */
  async catchUp(): Promise<void> {
    if (this.#queue.isTaken) return;
    await this.#reload(false, true);
    if (this.stored.openTurn !== undefined) await this.#takeChanges(this.stored.openTurn);
  }

  async #takeChanges(turnId: TurnId): Promise<void> {
    const seen = this.#seen?.turnId === turnId ? this.#seen : undefined;
    const events = await this.#core.store.journal(turnId, seen?.events ?? 0);
    const [first] = events;
    if (events.length === 0 || this.#queue.isTaken || this.#seen !== (seen ?? this.#seen)) return;
    const versions =
      seen?.versions ?? new Map(first?.kind === "opened" ? first.plugins.map(({ id, version }) => [id, version]) : []);
    this.#seen = { turnId, events: (seen?.events ?? 0) + events.length, versions };
    for (const event of events) {
      if ("changes" in event && event.changes !== undefined) this.states.replay(event.changes, versions);
      if (event.kind === "applied" && event.config !== undefined) this.configured(event.config);
    }
  }

  async requireThere(): Promise<StoredSession> {
    const { id } = this.stored;
    const stored = await this.#core.store.load(id);
    if (stored === undefined) throw new RuntimeError("session.unknown", { id });
    return stored;
  }

  /** The stored session, with a commit that this snapshot does not have yet. */
  async asStored(): Promise<{ readonly stored: StoredSession; readonly transcript: Transcript }> {
    await this.catchUp();
    const stored = await this.requireThere();
    if (stored.revision === this.stored.revision) {
      // Settings that changed while a turn waits are stored with the commit of the turn.
      const { config } = stored.openTurn === undefined ? stored : this.stored;
      return { stored: { ...stored, config }, transcript: this.transcript };
    }
    return { stored, transcript: await this.#transcriptAt(stored) };
  }

  async #transcriptAt({ id, head }: StoredSession): Promise<Transcript> {
    if (head === undefined) return Transcript.empty;
    return Transcript.from(await this.#core.store.view(id, { from: head, toFrame: true }));
  }

  async #reload(isForced: boolean, isOnlyLooking: boolean): Promise<void> {
    const stored = await this.requireThere();
    const isSame = stored.revision === this.stored.revision && stored.head === this.stored.head;
    this.takeOptions(stored.options); // New options do not change the revision.
    this.#takeOpenTurn(stored);
    if (!isForced && !this.isStale && isSame) return;
    const transcript = await this.#transcriptAt(stored);
    if (isOnlyLooking && this.#queue.isTaken) return;
    if (stored.revision < this.stored.revision) return; // A later read has already returned a newer session.
    this.stored = stored;
    this.transcript = transcript;
    const { plugins, limits, blobs } = this.#core;
    this.states = new PluginStates(plugins, stored.plugins, limits.stateBytesMax, blobs, TOOLS_PLUGIN);
    this.#seen = undefined;
    this.isStale = false;
  }

  #takeOpenTurn({ openTurn }: StoredSession): void {
    if (openTurn === this.stored.openTurn) return;
    if (this.#seen !== undefined) this.isStale = true; // The turn may have ended as a branch, without its changes.
    this.stored = openTurn === undefined ? withoutOpenTurn(this.stored) : { ...this.stored, openTurn };
  }

  /** Sets the session's settings from the next turn on. The commit of the open turn stores them. */
  configured(config: Partial<SessionConfig>): void {
    this.stored = { ...this.stored, config };
  }

  /** Frees the memory of what can be read again, because the session is not used for a while. */
  shed(): void {
    this.transcript = Transcript.empty;
    this.isStale = true;
  }

  takeOptions(options: SessionOptions | undefined): void {
    if (options !== undefined && options !== this.stored.options) this.stored = { ...this.stored, options };
  }

  /** Applies a change that was just stored. Returns false when another change came first: the session must be read again. */
  take(
    { operation, entries = [], plugins, config, spent = [] }: SessionChange,
    { revision, head }: Committed,
  ): boolean {
    const { stored } = this;
    if (this.isStale || revision !== stored.revision + 1) return false;
    const states = { ...stored.plugins, ...plugins };
    this.transcript = this.transcript.grow(operation, entries, 0);
    this.states.committed(states);
    this.stored = {
      ...stored,
      revision,
      ...(head === undefined ? {} : { head }),
      plugins: states,
      config: config ?? stored.config,
      usage: addUsage(stored.usage, totalOf(spent)),
      ledger: addSpent(stored.ledger, spent),
    };
    return true;
  }

  /** Applies a committed turn. A salvaged turn passes no `transcript`, because its entries are not the live ones. */
  takeTurn(
    { turnId, entries, plugins, usage, spent }: EndedTurn,
    { revision, head }: Committed,
    states: PluginStates,
    transcript: Transcript = this.transcript.grow(turnId, entries, 0),
  ): void {
    const { stored } = this;
    states.committed(plugins);
    this.transcript = transcript;
    this.stored = {
      ...(stored.openTurn === undefined ? stored : withoutOpenTurn(stored)),
      revision,
      ...(head === undefined ? NOTHING : { head }),
      plugins,
      usage: addUsage(stored.usage, usage),
      ledger: addSpent(stored.ledger, spent),
      turns: stored.turns + 1,
    };
  }
}

const NOTHING = {};
const withoutOpenTurn = ({ openTurn: _, ...stored }: StoredSession): StoredSession => stored;
