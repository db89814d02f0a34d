import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import { type NodeId, nodeId, type SessionId, type TurnId } from "../model/ids.ts";
import { isThenable, type JsonObject } from "../model/json.ts";
import type { Message } from "../model/message.ts";
import { LazyScope } from "../model/scope.ts";
import { addUsage } from "../model/usage.ts";
import { Transcript } from "../graph/transcript.ts";
import type { TurnRun } from "../hosts/host.ts";
import { type Composition, compose } from "../kernel/compose.ts";
import type { Surroundings } from "../kernel/run.ts";
import type { SessionReading } from "../kernel/services.ts";
import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import { PluginStates } from "../kernel/states.ts";
import type { CancelAnswer, Committed, Lease, NewInput, Opening, StoredSession } from "../stores/store.ts";
import { makeTool } from "../tools/define.ts";
import type { Validate } from "../tools/validator.ts";
import type { Opened, TurnEvent } from "../turn/event.ts";
import { STEP_VERSION } from "../turn/state.ts";
import type { Core } from "./core.ts";
import { drive } from "./drive.ts";
import { LiveTurn, type TurnSession } from "./live.ts";
import { observed, performer, reportOf } from "./perform.ts";
import type { TurnHandle, TurnResult } from "./turn.ts";

/** The typed result a caller asked for: its schema as a document for the turn, and live for the gate. */
export interface TypedOutput {
  readonly document: JsonObject;
  readonly check: Validate;
}

interface Running {
  readonly live: LiveTurn;
  readonly run: TurnRun;
}

/** A session in this process: its plugins, its conversation, and the one turn at a time that runs on it. */
export class Resident implements TurnSession {
  readonly core: Core;
  readonly id: SessionId;
  readonly composition: Composition;
  readonly slot: ProtocolDriverSlot;
  readonly states: PluginStates;
  readonly #handles = new Map<TurnId, Set<TurnHandle>>();
  readonly #outputs = new Map<TurnId, TypedOutput>();
  stored: StoredSession;
  transcript: Transcript;
  #running: Running | undefined;
  #work: Promise<void> | undefined;

  private constructor(core: Core, stored: StoredSession, transcript: Transcript, composition: Composition, slot: ProtocolDriverSlot) {
    this.core = core;
    this.id = stored.id;
    this.stored = stored;
    this.transcript = transcript;
    this.composition = composition;
    this.slot = slot;
    this.states = new PluginStates(core.plugins, stored.plugins, core.limits.stateBytesMax);
  }

  static async open(core: Core, id: SessionId, config: SessionConfig): Promise<Resident> {
    const stored = await core.store.create({ id, config, at: core.world.now() });
    const isNew = stored.revision === 0 && stored.head === undefined;
    const transcript = isNew ? Transcript.empty : Transcript.from(await core.store.view(id));
    const session = { id, ...(stored.parentId === undefined ? {} : { parentId: stored.parentId }), isRoot: stored.parentId === undefined };
    const composition = compose(core.plugins, core.protocol, session, makeTool, core.probe);
    const { hooks } = composition;
    const slot = hooks.slot("protocolDriver") as ProtocolDriverSlot; // `compose` requires it.
    const resident = new Resident(core, stored, transcript, composition, slot);
    const protocol = hooks.slot("protocolSession");
    const context = { sessionId: id, isRoot: session.isRoot };
    const ready = isNew ? protocol?.initialize?.(context) : protocol?.restore?.(context);
    if (isThenable(ready)) await ready;
    if (hooks.has("lifecycle")) {
      for (const issue of await hooks.observe("lifecycle", { event: { kind: "sessionRestored", isNew } }, resident.here())) {
        core.trace("hook.issue", { plugin: issue.plugin ?? "", code: issue.code, message: issue.message }, { sessionId: id });
      }
    }
    return resident;
  }

  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  /** Outside of a turn. */
  here(): Surroundings {
    const scope = new LazyScope();
    return {
      sessionId: this.id,
      services: { session: { read: () => this.reading(this.transcript.messages) }, catalog: { list: () => this.composition.tools.map(({ value: { name, description } }) => ({ name, description })) } },
      states: this.states,
      get signal() {
        return scope.signal;
      },
    };
  }

  reading(messages: readonly Message[]): SessionReading {
    const { id, parentId, config, usage, turns } = this.stored;
    return { id, ...(parentId === undefined ? {} : { parentId }), messages, config, usage, turns };
  }

  // ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────

  readonly #opening: Opening = (input) => {
    const { core, slot, stored } = this;
    const output = this.#outputs.get(input.turnId)?.document;
    return {
      kind: "opened",
      at: input.at,
      sessionId: this.id,
      turnId: input.turnId,
      inputId: input.id,
      input: input.message,
      step: STEP_VERSION,
      protocol: { id: slot.driver.id, version: slot.driver.version },
      host: core.host.kind,
      plugins: core.plugins.map(({ id, version }) => ({ id, version })),
      limits: core.limits,
      config: stored.config,
      ...(output === undefined ? {} : { output }),
    };
  };

  /** Accepts an input and runs the turn it opens, or queues behind the one that runs. */
  async begin(input: NewInput, handle: TurnHandle | undefined, output: TypedOutput | undefined): Promise<TurnId> {
    const { core } = this;
    if (output !== undefined) this.#outputs.set(input.turnId, output);
    const receipt = await core.store.accept(input, core.owner, this.#opening, core.limits.pendingInputsMax);
    const { turnId } = receipt;
    if (receipt.kind === "known" && turnId !== input.turnId) this.#outputs.delete(input.turnId);
    if (handle !== undefined) this.#join(turnId, handle);
    if (receipt.kind === "opened") this.#start(this.#run(receipt.lease, [receipt.opened]));
    else if (receipt.kind === "queued") this.#start(undefined);
    else await this.#rejoin(turnId);
    return turnId;
  }

  #join(turnId: TurnId, handle: TurnHandle): void {
    const set = this.#handles.get(turnId);
    if (set === undefined) this.#handles.set(turnId, new Set([handle]));
    else set.add(handle);
    handle.accepted(turnId);
  }

  /** The same key came before: its turn has ended, or runs, or waits. */
  async #rejoin(turnId: TurnId): Promise<void> {
    const terminal = await this.core.store.terminal(turnId);
    if (terminal === undefined) return this.#start(undefined);
    const { outcome, usage, committed } = terminal;
    this.#finish(turnId, { turnId, outcome, usage, issues: [], ...(committed.branch === undefined ? {} : { branch: committed.branch }) });
  }

  /** Work goes on as long as the store has some for this session; one at a time, whoever asked for it. */
  #start(first: Promise<void> | undefined): void {
    if (this.#work !== undefined) return;
    this.#work = this.#drain(first).finally(() => {
      this.#work = undefined;
    });
  }

  async #drain(first: Promise<void> | undefined): Promise<void> {
    await first;
    while (this.#handles.size > 0) {
      const answer = await this.core.store.open(this.id, this.core.owner, this.core.world.now(), this.#opening);
      if (answer.kind === "opened") await this.#run(answer.lease, [answer.opened]);
      else if (answer.kind === "resumed") await this.#run(answer.lease, answer.journal);
      else if (answer.kind === "busy") await this.#watch();
      else if (!(await this.#settleElsewhere())) return;
    }
  }

  /** Another runtime holds the session; its turns end there. */
  async #watch(): Promise<void> {
    if (!(await this.#settleElsewhere())) await this.core.world.sleep(WATCH_MS);
  }

  /** Turns that ended without us. False when there was none. */
  async #settleElsewhere(): Promise<boolean> {
    let found = false;
    for (const turnId of [...this.#handles.keys()]) {
      const terminal = await this.core.store.terminal(turnId);
      if (terminal === undefined) continue;
      found = true;
      await this.#rejoin(turnId);
    }
    return found;
  }

  async #run(lease: Lease, journal: readonly TurnEvent[]): Promise<void> {
    const opened = journal[0] as Opened;
    const { turnId } = opened;
    const { core } = this;
    try {
      const output = this.#outputs.get(turnId);
      const live = new LiveTurn(core, this, lease, opened, this.slot.driver, (event) => this.#tell(turnId, event), output?.check);
      const run = core.host.open({ lease, journal }, performer(live), { store: core.store, world: core.world, trace: (name, about) => live.trace(name, about) });
      this.#running = { live, run: isThenable(run) ? await run : run };
      const committed = await drive(live, this.#running.run);
      this.#running = undefined;
      await this.#committed(live, committed);
    } catch (error) {
      this.#running = undefined;
      this.#fail(turnId, error);
    }
  }

  #tell(turnId: TurnId, event: SessionEvent): void {
    const handles = this.#handles.get(turnId);
    if (handles !== undefined) for (const handle of handles) handle.feed.push(event);
  }

  async #committed(live: LiveTurn, committed: Committed): Promise<void> {
    const { turnId, state } = live;
    if (state.phase.kind !== "ended") return;
    const { outcome } = state.phase;
    const isBranch = committed.branch !== undefined;
    if (!isBranch) {
      this.transcript = live.transcript();
      const plugins = live.states.snapshots(state.changes);
      live.states.committed(plugins);
      const { stored } = this;
      this.stored = {
        ...stored,
        revision: committed.revision,
        ...(committed.head === undefined ? {} : { head: committed.head }),
        plugins,
        usage: addUsage(stored.usage, state.usage),
        turns: stored.turns + 1,
      };
    }
    if (live.hooks.has("lifecycle")) {
      const event = { kind: "turnPersisted", report: reportOf(live, outcome), revision: committed.revision } as const;
      observed(live, await live.hooks.observe("lifecycle", { event }, this.here()));
    }
    this.#tell(turnId, {
      fact: true,
      sessionId: this.id,
      cursor: committed.cursor,
      kind: "committed",
      by: "turn",
      turnId,
      nodes: nodeIds(live),
      outcome,
      usage: state.usage,
    });
    this.#finish(turnId, { turnId, outcome, usage: state.usage, issues: live.issues, ...(committed.branch === undefined ? {} : { branch: committed.branch }) });
  }

  #finish(turnId: TurnId, result: TurnResult): void {
    this.#outputs.delete(turnId);
    const handles = this.#handles.get(turnId);
    this.#handles.delete(turnId);
    if (handles !== undefined) for (const handle of handles) handle.done(result);
  }

  #fail(turnId: TurnId, error: unknown): void {
    this.#outputs.delete(turnId);
    const handles = this.#handles.get(turnId);
    this.#handles.delete(turnId);
    this.core.trace("turn.lost", { turnId, problem: error instanceof Error ? error.message : String(error) }, { sessionId: this.id, turnId });
    if (handles !== undefined) for (const handle of handles) handle.failed(error);
  }

  async cancel(turnId: TurnId, reason: string, requestId?: string): Promise<CancelAnswer> {
    const { core } = this;
    const answer = await core.store.cancel(turnId, { requestId: requestId ?? core.world.id("can"), reason, at: core.world.now() });
    if (answer.kind === "requested" && this.#running?.live.turnId === turnId) this.#running.run.poke();
    return answer;
  }

  /** A wait was answered: the running turn looks for its mail. */
  poke(): void {
    this.#running?.run.poke();
  }

  /** Waits for what runs; after `graceMs` a turn that nobody could resume is cancelled, and any other is let go. */
  async close(graceMs: number): Promise<void> {
    const work = this.#work;
    if (work === undefined) return;
    const { world, store } = this.core;
    const timer = new AbortController();
    const isLate = await Promise.race([work.then(() => false), world.sleep(graceMs, timer.signal).then(() => true)]);
    timer.abort();
    if (!isLate) return;
    for (const turnId of [...this.#handles.keys()]) if (turnId !== this.#running?.live.turnId) this.#fail(turnId, new RuntimeError("runtime.closed", {}));
    if (this.#running === undefined) return;
    if (store.isDurable) await this.#running.run.leave();
    else await this.cancel(this.#running.live.turnId, "The runtime was closed.");
    await work;
  }
}

const WATCH_MS = 250;

function nodeIds(live: LiveTurn): readonly NodeId[] {
  return live.state.log.items.map((_, index) => nodeId(live.turnId, index));
}
