import { Transcript } from "../graph/transcript.ts";
import { PluginStates } from "../kernel/states.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionId } from "../model/ids.ts";
import { addSpent, addUsage, totalOf } from "../model/usage.ts";
import type { Committed, EndedTurn, SessionChange, StoredSession } from "../stores/store.ts";
import type { Core } from "./core.ts";
import { TOOLS_PLUGIN } from "./membership.ts";

/** A session as this process knows it. What is kept from here it takes in; what others keep it reads when it must. */
export abstract class SessionCopy {
  readonly core: Core;
  readonly id: SessionId;
  stored: StoredSession;
  transcript: Transcript;
  states: PluginStates;
  /** Something was changed here that was not kept. */
  protected isStale = false;

  constructor(core: Core, stored: StoredSession, transcript: Transcript) {
    this.core = core;
    this.id = stored.id;
    this.stored = stored;
    this.transcript = transcript;
    this.states = statesOf(core, stored);
  }

  /** A turn or an operation runs here, on the session as it was when that began. */
  abstract get isAtWork(): boolean;

  /** Another runtime may have gone on with the session. For whoever has it to itself here: a turn runs on the head of the moment it begins. */
  refresh(isForced = false): Promise<void> {
    return this.#reload(isForced, () => false);
  }

  /** For those who only look: what runs here knows best, and would lose its footing. */
  async catchUp(): Promise<void> {
    if (!this.isAtWork) await this.#reload(false, () => this.isAtWork);
  }

  async requireThere(): Promise<StoredSession> {
    const stored = await this.core.store.load(this.id);
    if (stored === undefined) throw new RuntimeError("session.unknown", { id: this.id });
    return stored;
  }

  /** As the store has it: what runs here may not have heard yet of its own commit, or of somebody else's. */
  async asKept(): Promise<{ readonly stored: StoredSession; readonly transcript: Transcript }> {
    await this.catchUp();
    const stored = await this.requireThere();
    if (stored.revision === this.stored.revision) return { stored, transcript: this.transcript };
    return { stored, transcript: await this.#transcriptAt(stored) };
  }

  async #transcriptAt({ head }: StoredSession): Promise<Transcript> {
    if (head === undefined) return Transcript.empty;
    return Transcript.from(await this.core.store.view(this.id, { from: head, toFrame: true }));
  }

  async #reload(isForced: boolean, isTooLate: () => boolean): Promise<void> {
    const { core } = this;
    const stored = await this.requireThere();
    const isSame = stored.revision === this.stored.revision && stored.head === this.stored.head;
    if (!isForced && !this.isStale && isSame) return;
    const transcript = await this.#transcriptAt(stored);
    if (isTooLate() || stored.revision < this.stored.revision) return; // Another look was quicker, and saw more.
    this.stored = stored;
    this.transcript = transcript;
    this.states = statesOf(core, stored);
    this.isStale = false;
  }

  /** Grows by what was just kept, so that nothing need be read again; false when that is not all that is new. */
  protected take(
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

  /** The same, of a turn. One that was salvaged is not as the machine had it. */
  protected takeTurn(
    { turnId, entries, plugins, usage, spent }: EndedTurn,
    { revision, head }: Committed,
    states: PluginStates,
    transcript: Transcript = this.transcript.grow(turnId, entries, 0),
  ): void {
    const { openTurn: _, ...stored } = this.stored;
    states.committed(plugins);
    this.transcript = transcript;
    this.stored = {
      ...stored,
      revision,
      ...(head === undefined ? {} : { head }),
      plugins,
      usage: addUsage(stored.usage, usage),
      ledger: addSpent(stored.ledger, spent),
      turns: stored.turns + 1,
    };
  }
}

const statesOf = (core: Core, { plugins }: StoredSession): PluginStates =>
  new PluginStates(core.plugins, plugins, core.limits.stateBytesMax, core.blobs, TOOLS_PLUGIN);
