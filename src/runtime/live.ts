import type { Transcript } from "../graph/transcript.ts";
import type { HookRunner, Issue, Surroundings } from "../kernel/run.ts";
import type { Conflict, Emit } from "../kernel/seams.ts";
import type { NewSessionRequest, SessionReading } from "../kernel/services.ts";
import type { PluginStates } from "../kernel/states.ts";
import { RuntimeError } from "../model/errors.ts";
import type { Preview, PreviewKey, SessionEvent } from "../model/event.ts";
import type { CallId, EffectName, SessionId, TurnId, WaitKey } from "../model/ids.ts";
import { describeThrown, type Json } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { type Attachment, callsOf, type Message } from "../model/message.ts";
import type { Scope } from "../model/scope.ts";
import { type Attachable, type Availability, statusOf, type ToolCall, type ToolOutput } from "../model/tool.ts";
import { type Spent, tokensIn } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { Lease, StoredSession } from "../stores/store.ts";
import { type Catalog, hashOf } from "../tools/catalog.ts";
import type { Dispatch } from "../tools/dispatch.ts";
import type { Validate } from "../tools/validator.ts";
import type { ProtocolDriver } from "../turn/driver.ts";
import { type EffectOf, name, type PlacedCall } from "../turn/effect.ts";
import type { Opened, TurnEvent } from "../turn/event.ts";
import { itemsOf } from "../turn/log.ts";
import type { TurnState } from "../turn/state.ts";
import { callWaiting } from "../turn/work.ts";
import { type Artifact, NO_PARTS, type Prompt, type PromptParts, type TurnFlags } from "./artifacts.ts";
import type { Core } from "./core.ts";
import { Shown } from "./observe.ts";
import { TurnSurroundings } from "./surroundings.ts";
import type { Toolset, ToolsetSession } from "./toolset.ts";
import type { Spender } from "./tree.ts";
import type { TurnHandle } from "./turn.ts";

/** What a turn needs of the session it runs on. */
export interface TurnSession extends ToolsetSession {
  readonly toolset: Toolset;
  readonly states: PluginStates;
  readonly stored: StoredSession;
  readonly transcript: Transcript;
  /** Kept by the performer of `prepare`, per artifact. */
  readonly flags: WeakMap<Artifact, TurnFlags>;
  reading(messages: readonly Message[]): SessionReading;
  create(request: NewSessionRequest): Promise<{ readonly id: SessionId }>;
  readonly id: SessionId;
  readonly ancestors: readonly SessionId[];
  /** To those who observe the session. */
  shows(event: Preview): void;
}

/** A turn that runs in this process: its state, and what its performers need. Nothing in it outlives the turn. */
export class LiveTurn implements Dispatch, Spender {
  readonly core: Core;
  readonly session: TurnSession;
  readonly lease: Lease;
  readonly opened: Opened;
  readonly driver: ProtocolDriver;
  readonly hooks: HookRunner;
  readonly states: PluginStates;
  /** Those who join the running turn are added. */
  readonly listeners: TurnHandle[];
  readonly output: Validate | undefined;
  readonly passed: Dispatch["passed"] = new Map();
  /** For those who come late. */
  readonly said = new Shown();
  issues: readonly Issue[] = [];
  /** Notes under way: whoever asks for the same one waits for it. */
  noting: Map<string, Promise<Json>> | undefined;
  state!: TurnState;
  artifact: Artifact | undefined;
  /** What the session's tools of today came to when the turn was prepared, or gone on with. */
  basis: Artifact | undefined;
  prompt: Prompt | undefined;
  /** What the prompt was made of; rendered again when the tools change. */
  parts: PromptParts = NO_PARTS;
  /** Said after the conversation in this round. */
  tail = "";
  /** What another run recorded of this turn. */
  journal: readonly TurnEvent[] = [];
  /** Today's machine, protocol or plugins cannot follow the journal. */
  isUnfoldable = false;
  /** What `context` hooks show the model instead of the plain conversation; this turn's additions follow it. */
  shown: { readonly messages: readonly Message[]; readonly upTo: number } | undefined;
  /** Bytes on their way to the store; a result that names them waits for them. */
  keeping: PromiseLike<void>[] | undefined;
  #transcript: Transcript;
  #grown = 0;
  #spent: readonly Spent[] | undefined;
  #booked: Set<string> | undefined;
  #bookedNow: readonly string[] | undefined;
  #startedAt: Map<string, number> | undefined;
  #returnedAt: Map<string, number> | undefined;
  #asked: Map<WaitKey, { readonly placed: PlacedCall; readonly reason: string }> | undefined;

  constructor(
    core: Core,
    session: TurnSession,
    lease: Lease,
    opened: Opened,
    listeners: TurnHandle[],
    output: Validate | undefined,
  ) {
    this.core = core;
    this.session = session;
    this.lease = lease;
    this.opened = opened;
    this.driver = session.slot.driver;
    this.hooks = session.composition.hooks;
    this.states = session.states;
    this.listeners = listeners;
    this.output = output;
    this.#transcript = session.transcript;
  }

  get sessionId(): SessionId {
    return this.opened.sessionId;
  }
  get turnId(): TurnId {
    return this.opened.turnId;
  }
  get limits(): Limits {
    return this.opened.limits;
  }
  get world(): World {
    return this.core.world;
  }
  /** `prepare` comes before any call. */
  get catalog(): Catalog {
    return (this.artifact as Artifact).catalog;
  }

  /** Goes on with a turn that another run left: plugin states as they were recorded, the rest when it is needed. */
  recall(): void {
    const { journal } = this;
    const versions = new Map(this.opened.plugins.map(({ id, version }) => [id, version]));
    let problem: unknown;
    for (const event of journal) {
      try {
        if ("changes" in event && event.changes !== undefined) this.states.replay(event.changes, versions);
      } catch (error) {
        problem ??= error; // One plugin that cannot follow takes nothing from the others.
      }
      if ("booked" in event) for (const key of event.booked ?? []) (this.#booked ??= new Set()).add(key);
    }
    if (problem !== undefined) throw problem;
  }

  /** What another run recorded, as its readers were shown it: whoever comes now sees the turn from its beginning. */
  retell(journal: readonly TurnEvent[]): void {
    const calls = new Map<string, ToolCall>();
    for (const event of journal) {
      if (event.kind === "replied") {
        const { sessionId, turnId } = this;
        const key = this.key(event.effect, 1);
        const round = event.effect.slice(0, event.effect.indexOf("."));
        for (const part of event.reply.parts)
          if (part.kind === "text" || part.kind === "reasoning")
            this.tell({ fact: false, sessionId, turnId, key, kind: part.kind, delta: part.text });
        for (const [index, { callId, name: tool, input }] of callsOf(event.reply.parts).entries())
          calls.set(`${round}.call.${index}`, { id: callId, name: tool, input });
      }
      if (event.kind !== "returned") continue;
      const position = name(event.effect.replace(/\.a\d+$/, ""));
      const call = calls.get(position); // Not of a batch.
      if (call === undefined) continue;
      this.#start(position, call);
      this.#end(position, call, event.output, event.at);
    }
  }

  tell(event: Preview): void {
    this.said.add(event);
    for (const { feed } of this.listeners) feed.push(event);
    this.session.shows(event);
  }

  /** A session that descends from this one shows something, or has kept something. */
  childShows(event: SessionEvent): void {
    const { sessionId, turnId } = this;
    this.tell({ fact: false, sessionId, turnId, key: this.key(CHILD, 1), kind: "child", event });
  }

  /** History and this turn, as the model is shown it. */
  messages(): readonly Message[] {
    const { shown } = this;
    const transcript = this.transcript();
    if (shown === undefined) return transcript.messages;
    const added = itemsOf(this.state.log).slice(shown.upTo);
    if (added.some((entry) => entry.kind === "frame")) return transcript.messages; // A new window shows nothing older.
    return [...shown.messages, ...added.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []))];
  }

  transcript(): Transcript {
    const { log } = this.state;
    if (this.#grown < log.length) {
      this.#transcript = this.#transcript.grow(this.turnId, itemsOf(log), this.#grown);
      this.#grown = log.length;
    }
    return this.#transcript;
  }

  here(scope: Scope, effect: EffectName): Surroundings {
    return new TurnSurroundings(this, scope, effect, effect, true);
  }

  hereInCall(scope: Scope, { position, writes, call }: EffectOf<"call">): Surroundings {
    const where = `the tool ${call.name}${writes === true ? "" : ", which does not say `writes: true`"}`;
    return new TurnSurroundings(this, scope, position, where, writes === true);
  }

  wasDeclared(tool: string): boolean {
    return this.artifact?.declarations.some((declared) => declared.name === tool) ?? false;
  }

  /** Why a tool of this name cannot be called, where there is one. */
  availability(tool: string): Availability | undefined {
    return this.catalog.availability(tool);
  }

  /** What nested model calls cost, until an effect answers. One that was noted is booked once, whoever asks for it again. */
  spend(spent: Spent, key?: string): void {
    this.#spent = [...(this.#spent ?? []), spent];
    if (key === undefined) return;
    (this.#booked ??= new Set()).add(key);
    this.#bookedNow = [...(this.#bookedNow ?? []), key];
  }
  /** All of it, whether an effect has answered with it or not. */
  spentSoFar(): readonly Spent[] {
    const { usage, asks, spent } = this.state;
    const own = { source: "turn", model: this.opened.config.model, usage, calls: asks };
    return [...(tokensIn(usage) === 0 ? [] : [own]), ...spent, ...(this.#spent ?? [])];
  }
  isBooked(key: string): boolean {
    return this.#booked?.has(key) ?? false;
  }
  takeBooked(): readonly string[] | undefined {
    const booked = this.#bookedNow;
    this.#bookedNow = undefined;
    return booked;
  }
  takeSpent(): readonly Spent[] | undefined {
    const spent = this.#spent;
    this.#spent = undefined;
    return spent;
  }

  key(effect: EffectName, attempt: number): PreviewKey {
    return { effect, generation: this.lease.generation, attempt };
  }

  emit(effect: EffectName, plugin: string, eventName: string, payload: Json): void {
    this.tell({
      fact: false,
      sessionId: this.sessionId,
      turnId: this.turnId,
      key: this.key(effect, 1),
      kind: "plugin",
      plugin,
      name: eventName,
      payload,
    });
  }

  trace(event: string, about: { readonly [key: string]: Json }): void {
    this.core.trace(event, about, { sessionId: this.sessionId, turnId: this.turnId });
  }

  /** An observer's failure is told and changes nothing. */
  observed(issues: readonly Issue[]): void {
    if (issues.length === 0) return;
    this.issues = [...this.issues, ...issues];
    for (const { plugin = "", code, message } of issues) this.trace("hook.issue", { plugin, code, message });
  }

  /** Bytes are kept before the event that names them. */
  keep({ data, mediaType, name: title }: Attachable): Attachment {
    const hash = hashOf(data);
    const kept = this.core.store.blobs.put(hash, data);
    if (kept !== undefined) (this.keeping ??= []).push(kept);
    return {
      kind: "attachment",
      hash,
      mediaType,
      bytes: data.byteLength,
      ...(title === undefined ? {} : { name: title }),
    };
  }

  // ── What is shown of calls: one start and one end each, on every path ───────────────────────────────────────────

  #position(at: string): EffectName {
    return name(`r${this.state.round}.call.${at}`);
  }

  started(placed: PlacedCall): void {
    this.#start(this.#position(placed.at), placed.call);
  }

  #start(effect: EffectName, call: ToolCall): number {
    this.#startedAt ??= new Map();
    const starts = this.#startedAt;
    const before = starts.get(effect);
    if (before !== undefined) return before;
    const now = this.core.world.now();
    starts.set(effect, now);
    this.tell({
      fact: false,
      sessionId: this.sessionId,
      turnId: this.turnId,
      key: this.key(effect, 1),
      kind: "toolStarted",
      call,
    });
    return now;
  }

  /** Its own time ends here; its result is told when hooks have seen it. */
  returned({ at }: PlacedCall): void {
    (this.#returnedAt ??= new Map()).set(this.#position(at), this.core.world.now());
  }

  /** A call that never came to its gate still has a start. */
  ended({ at, call }: PlacedCall, output: ToolOutput): void {
    const effect = this.#position(at);
    this.#end(effect, call, output, this.#returnedAt?.get(effect) ?? this.core.world.now());
  }

  #end(effect: EffectName, call: ToolCall, output: ToolOutput, at: number): void {
    const startedAt = this.#start(effect, call);
    if (startedAt === ENDED) return;
    this.#startedAt?.set(effect, ENDED);
    const ms = Math.max(0, at - startedAt);
    const { sessionId, turnId } = this.opened;
    const callId: CallId = call.id;
    this.tell({
      fact: false,
      sessionId,
      turnId,
      key: this.key(effect, 1),
      kind: "toolEnded",
      callId,
      name: call.name,
      status: statusOf(output),
      ms,
      output,
    });
  }

  /** Told when the host says that the wait can be answered. */
  waiting(placed: PlacedCall, wait: WaitKey, reason: string): void {
    this.#asked ??= new Map();
    this.#asked.set(wait, { placed, reason });
  }

  canBeAnswered(wait: WaitKey): void {
    const asked = this.#asked?.get(wait);
    const waits = callWaiting(this.state, wait); // Perhaps not asked here: interrupted, or before a restart.
    const placed = asked?.placed ?? waits;
    if (placed === undefined) return;
    const { at, call } = placed;
    const interrupted = waits?.output?.kind === "unknown" ? waits.output.reason : undefined;
    this.tell({
      fact: false,
      sessionId: this.sessionId,
      turnId: this.turnId,
      key: this.key(this.#position(at), 1),
      kind: "waiting",
      callId: call.id,
      wait,
      reason: asked?.reason ?? waits?.reason ?? interrupted ?? "It waits for somebody to answer.",
    });
  }

  emitted({ plugin, value }: Emit, { at }: PlacedCall): void {
    if (value.kind === "emitEvent") this.emit(this.#position(at), plugin, value.name, value.payload);
    else if (value.kind === "emitTrace") this.trace(`${plugin}.${value.name}`, { payload: value.payload });
    else this.makeSession(plugin, value.request);
  }

  /** Asked for by a directive: it is made before the effect answers. */
  makeSession(plugin: string, request: NewSessionRequest): void {
    const failed = (error: unknown): never => {
      throw new RuntimeError(
        "hook.failed",
        { plugin, hook: "createSession", problem: describeThrown(error) },
        { cause: error },
      );
    };
    this.keeping ??= [];
    this.keeping.push(this.session.create(request).then(() => {}, failed));
  }

  conflict({ hook, winner, loser }: Conflict): void {
    this.trace("hook.conflict", { hook, winner, loser });
  }
}

const CHILD = name("child");

/** In the place of a start: the end was told too. */
const ENDED = -1;
