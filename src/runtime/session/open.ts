import { Transcript } from "../../graph/transcript.ts";
import type { SessionConfig } from "../../model/config.ts";
import { describe, RuntimeError } from "../../model/errors.ts";
import type { InputId, SessionId } from "../../model/ids.ts";
import type { InjectedMessage } from "../../model/input.ts";
import { describeThrown, ownJson } from "../../model/json.ts";
import type { NewSession, SessionOptions, StoredSession } from "../../stores/store.ts";
import type { ProtocolDriver } from "../../turn/driver.ts";
import type { Core } from "../core.ts";
import type { Followers } from "../readers/followers.ts";
import { whileSwept } from "../services/parts.ts";
import { lineOf, modelMismatch, requireStored } from "../services/reading.ts";
import { closeSession, isBusy, whenIdle } from "./closing.ts";
import { SessionHandle } from "./handle.ts";
import { injectedInput } from "./input.ts";
import { requireOwner } from "./make.ts";
import { type Composed, composed, slotOf, withOptions } from "./options.ts";
import { configure, materialize } from "./protocol.ts";
import type { Session } from "./public-api.ts";
import { settle } from "./remote-turns.ts";
import { LiveSession } from "./session.ts";
import type { KnownTranscript } from "./session-snapshot.ts";
import type { TakenUp } from "./session-watcher.ts";

export interface OpenOptions {
  /** The session's own settings, if this opening creates it. */
  readonly config?: Partial<SessionConfig>;
  /** Checked options of plugins. They replace the stored options. */
  readonly options?: SessionOptions | undefined;
  /** The owner and the tags, if this opening creates the session. */
  readonly marks?: Pick<NewSession, "owner" | "tags"> | undefined;
  /** The conversation, if the caller has it already. */
  readonly known?: KnownTranscript | undefined;
  /**
   * Recovery opens the session, not a caller. A turn whose model is missing here is left to other processes. Options that no
   * longer parse end the turn that uses them, not the opening.
   */
  readonly isRecovery?: true;
}

interface Entry {
  readonly opening: Promise<LiveSession>;
  /** Set once the session is open. */
  session?: LiveSession;
  handles: number;
}

/** The sessions that are open in this process, each once, however many handles it has. */
export class OpenSessions implements Iterable<LiveSession> {
  readonly #core: () => Core;
  readonly #entries = new Map<SessionId, Entry>();
  /** The handles that plugins hold. */
  readonly #handles = new Map<SessionId, Set<Session>>();
  /** Sessions that are closing: their `sessionClosed` hooks run. */
  readonly #leaving = new Set<Promise<void>>();
  /** A handle that was garbage-collected counts as closed, because it would keep its session open without end. */
  readonly #forgotten = new FinalizationRegistry<LiveSession>((session) => this.#left(session));

  constructor(core: () => Core) {
    this.#core = core;
  }

  find(id: SessionId): LiveSession | undefined {
    return this.#entries.get(id)?.session;
  }

  /**
   * As `find`, and waits for a session that is being opened: its handles already belong to it. Undefined without an
   * await if there is none.
   */
  findOpening(id: SessionId): LiveSession | Promise<LiveSession | undefined> | undefined {
    const entry = this.#entries.get(id);
    return entry?.session ?? entry?.opening.catch(() => undefined);
  }

  *[Symbol.iterator](): Iterator<LiveSession> {
    for (const { session } of this.#entries.values()) if (session !== undefined) yield session;
  }

  /** Opens or creates a session. The caller closes the handle. That does not stop its turns. */
  async handle(id: SessionId, how: OpenOptions = {}): Promise<Session> {
    const core = this.#core();
    // A session that a plugin or a fork opens while the runtime closes would stay open.
    if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      entry = { opening: openSession(core, id, how), handles: 1 };
      this.#entries.set(id, entry);
      try {
        entry.session = await entry.opening;
      } catch (error) {
        this.#entries.delete(id);
        throw error;
      }
      return this.#handleOf(entry.session);
    }
    entry.handles++;
    const session = await entry.opening;
    try {
      if (how.marks !== undefined) requireOwner(session.snapshot.stored, how.marks.owner);
    } catch (error) {
      this.#left(session);
      throw error;
    }
    if (how.known === undefined && !(await core.store.has(id))) {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
      throw new RuntimeError("session.deleted", { id }); // Another process deleted it.
    }
    try {
      await replaceOptions(session, how.options);
    } catch (error) {
      this.#left(session);
      throw error;
    }
    // Opening resumes a parked turn that was answered. Without recovery nothing else looks for an answer from another process.
    if (session.parked !== undefined && core.store.isDurable) session.queue.lookAgain();
    return this.#handleOf(session);
  }

  /** Holds a session open while `use` runs. Its turns continue afterwards. */
  async using<T>(id: SessionId, use: (session: LiveSession) => Promise<T>): Promise<T> {
    const handle = await this.handle(id);
    try {
      return await use(this.find(id) as LiveSession);
    } finally {
      await handle.close();
    }
  }

  #handleOf(session: LiveSession): SessionHandle {
    const handle = new SessionHandle(session, this);
    this.#forgotten.register(handle, session, handle);
    return handle;
  }

  closed(handle: SessionHandle, session: LiveSession): void {
    this.#forgotten.unregister(handle);
    const handles = this.#handles.get(session.id);
    if (handles?.delete(handle) === true && handles.size === 0) this.#handles.delete(session.id);
    this.#left(session);
  }

  /** A handle was closed. A session without handles is released when it is idle (session-3). */
  #left({ id }: LiveSession): void {
    const entry = this.#entries.get(id);
    if (entry?.session === undefined || --entry.handles > 0) return;
    const { session } = entry;
    void whenIdle(session, () => {
      if (entry.handles > 0 || this.#entries.get(id) !== entry) return;
      this.#entries.delete(id);
      const leaving = session.letGo().finally(() => this.#leaving.delete(leaving));
      this.#leaving.add(leaving);
    });
  }

  /** Opens a session for a plugin, which may never close the handle: `unhold` closes it too. */
  async hold(id: SessionId): Promise<Session> {
    const handle = await this.handle(id);
    const handles = this.#handles.get(id);
    if (handles === undefined) this.#handles.set(id, new Set([handle]));
    else handles.add(handle);
    return handle;
  }
  async unhold(id: SessionId): Promise<void> {
    for (const handle of [...(this.#handles.get(id) ?? [])]) await handle.close();
  }

  /** Accepts a message for the next boundary of a session, without opening it. */
  async inject(
    id: string,
    message: string | InjectedMessage,
    key?: string,
    plugin?: string,
  ): Promise<{ readonly id: InputId }> {
    const core = this.#core();
    const { id: sessionId } = await requireStored(core, id);
    const make = () => injectedInput(core, sessionId, message, key, plugin);
    const input = await make();
    if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    const accept = () => core.store.accept(input, core.owner, undefined, core.limits.pendingInputsMax);
    const { inputId } = await whileSwept(accept, make);
    const open = this.find(sessionId);
    if (open !== undefined) {
      open.inputAccepted();
      core.readers.moved(open);
    }
    return { id: inputId };
  }

  /** The protocol of a turn with these options, also of a session that is not open here. */
  driverOf(stored: StoredSession, options: SessionOptions | undefined): ProtocolDriver {
    const core = this.#core();
    const open = this.find(stored.id);
    if (open !== undefined) return open.slotWith(options).driver;
    return slotOf(core.bare ?? composed(core, stored, options, true).composition).driver;
  }

  /** Resumes an orphaned session. Returns undefined if another process has it or this process runs no turns. */
  async takeUp(id: SessionId): Promise<TakenUp | undefined> {
    if (!this.#core().runs) return undefined;
    const open = await this.#entries.get(id)?.opening;
    if (open !== undefined)
      return (await open.takeUp(true)) ? { session: open, done: open.queue.settled() } : undefined;
    const handle = await this.handle(id, { isRecovery: true });
    const session = this.find(id);
    if (!this.#core().store.isDurable) await session?.takeUp(true); // Else its opening did.
    if (session !== undefined) return { session, done: session.queue.settled().finally(() => handle.close()) };
    await handle.close();
    return undefined;
  }

  /** Settles when all turns that open sessions resumed are done. */
  async takenUp(): Promise<void> {
    for (const { opening } of [...this.#entries.values()]) await (await opening).takenUp;
  }

  async delete(id: SessionId): Promise<void> {
    const core = this.#core();
    const session = await this.#entries.get(id)?.opening;
    if (session !== undefined && (await isBusy(session)))
      throw new RuntimeError("session.busy", { id, holder: "a running turn" });
    await core.background.endMonitorsOf(id);
    await core.store.delete(id);
    core.background.loaded?.jobs.sessionGone(id);
    this.#entries.delete(id);
    await session?.letGo();
    core.readers.gone(id);
    const followers = session?.followers ?? core.watcher.followed.get(id);
    for (const turnId of followers?.turns ?? []) await settle({ core, id, followers: followers as Followers }, turnId);
  }

  async close(graceMs: number): Promise<void> {
    const { world } = this.#core();
    const inGrace = async (leaving: Promise<void>): Promise<void> => {
      const timer = new AbortController(); // A sleep that is not aborted would keep the process alive.
      await Promise.race([leaving, world.sleep(graceMs, timer.signal)]).finally(() => timer.abort());
    };
    const closing = [...this.#entries.values()].map(async ({ opening }) => {
      const session = await opening;
      await closeSession(session, graceMs);
      await inGrace(session.letGo());
    });
    for (const closed of await Promise.allSettled([...closing, ...[...this.#leaving].map(inGrace)]))
      if (closed.status === "rejected") this.#core().trace("session.close", { problem: describeThrown(closed.reason) });
  }
}

/** Opens a session: creates or loads it, reads its conversation, composes its plugins, and resumes its turn. */
async function openSession(core: Core, id: SessionId, how: OpenOptions): Promise<LiveSession> {
  const { store, world } = core;
  const config = how.config === undefined ? {} : (ownJson(how.config) as Partial<SessionConfig>);
  const given = how.options === undefined ? {} : { options: how.options };
  const stored = await store.create({ id, config, at: world.now(), ...given, ...how.marks });
  if (how.marks !== undefined) requireOwner(stored, how.marks.owner);
  const transcript = stored.head === undefined ? Transcript.empty : await transcriptOf(core, stored, how.known);
  const ancestors = stored.parentId === undefined ? NO_ANCESTORS : await lineOf(core, stored.parentId);
  const options = how.options === undefined ? stored.options : withOptions(stored.options, how.options);
  const plugins: Composed =
    core.bare === undefined
      ? composed(core, stored, options, how.isRecovery === true)
      : { options, composition: core.bare };
  const session = new LiveSession(core, stored, transcript, plugins, ancestors);
  const mismatch = stored.turns === 0 ? undefined : modelMismatch(core, stored);
  if (mismatch !== undefined) {
    const { message: problem, hint } = describe("model.changed", mismatch);
    core.trace("model.changed", { ...mismatch, problem, hint }, session.asPlace);
  }
  if (how.options !== undefined && options !== stored.options) {
    session.snapshot.takeOptions(await store.setOptions(id, how.options));
    session.useStored();
  }
  const { hooks } = plugins.composition;
  const isNew = stored.turns === 0 && stored.head === undefined;
  const { initialize, restore, configure } = hooks.slot("protocolSession") ?? {};
  if ((initialize ?? restore ?? configure) !== undefined) await materialize(session);
  if (hooks.has.lifecycle) await session.notifyLifecycle({ kind: "sessionRestored", isNew });
  if (store.isDurable) await session.takeUp(how.isRecovery === true);
  return session;
}

/** Replaces options of a session that is open here, from its next turn on. Throws `plugin.options`, and stores nothing. */
async function replaceOptions(session: LiveSession, given: SessionOptions | undefined): Promise<void> {
  const { core, snapshot } = session;
  if (given !== undefined) snapshot.takeOptions((await snapshot.requireThere()).options);
  const options = withOptions(snapshot.stored.options, given);
  const { hooks } = session.composedWith(options); // They may be of no use: recovery opens a session all the same.
  if (given !== undefined && options !== snapshot.stored.options) {
    snapshot.takeOptions(await core.store.setOptions(session.id, given));
    if (hooks.slot("protocolSession")?.configure !== undefined) await configure(session);
  }
  session.useStored();
}

const NO_ANCESTORS: readonly SessionId[] = [];

async function transcriptOf(
  { store }: Core,
  { id, head }: StoredSession,
  known: KnownTranscript | undefined,
): Promise<Transcript> {
  return known !== undefined && head === known.head
    ? known.transcript
    : Transcript.from(await store.view(id, { toFrame: true }));
}
