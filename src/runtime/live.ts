import type { Preview, PreviewKey } from "../model/event.ts";
import type { EffectName, SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Attachment, Message } from "../model/message.ts";
import { type Attachable, statusOf } from "../model/tool.ts";
import type { Scope } from "../model/scope.ts";
import type { Transcript } from "../graph/transcript.ts";
import type { Composition } from "../kernel/compose.ts";
import type { HookRunner, Issue, Surroundings } from "../kernel/run.ts";
import type { Services, SessionReading } from "../kernel/services.ts";
import type { ProtocolDriverSlot } from "../kernel/slots.ts";
import type { PluginStates } from "../kernel/states.ts";
import type { Lease, StoredSession } from "../stores/store.ts";
import { hashOf } from "../tools/catalog.ts";
import type { Dispatch } from "../tools/dispatch.ts";
import type { Validate } from "../tools/validator.ts";
import type { ProtocolDriver } from "../turn/driver.ts";
import { name } from "../turn/effect.ts";
import type { Opened } from "../turn/event.ts";
import { itemsOf } from "../turn/log.ts";
import type { TurnState } from "../turn/state.ts";
import type { Artifact, Core, Prompt } from "./core.ts";

/** What previews and facts of a turn are told to. */
export type Tell = (event: Preview) => void;

/** What a turn needs of the session it runs on. */
export interface TurnSession {
  readonly composition: Composition;
  readonly slot: ProtocolDriverSlot;
  readonly states: PluginStates;
  readonly stored: StoredSession;
  readonly transcript: Transcript;
  reading(messages: readonly Message[]): SessionReading;
}

/** A turn that runs in this process: its state, and what its performers need. Nothing in it outlives the turn. */
export class LiveTurn {
  readonly core: Core;
  readonly session: TurnSession;
  readonly lease: Lease;
  readonly opened: Opened;
  readonly driver: ProtocolDriver;
  readonly hooks: HookRunner;
  readonly states: PluginStates;
  readonly issues: Issue[] = [];
  readonly output: Validate | undefined;
  readonly #tell: Tell;
  readonly #startedAt = new Map<string, number>();
  readonly #services: Services;
  state!: TurnState;
  artifact: Artifact | undefined;
  prompt: Prompt | undefined;
  /** What `context` hooks show the model instead of the plain conversation; this turn's additions follow it. */
  shown: { readonly messages: readonly Message[]; readonly upTo: number } | undefined;
  #transcript: Transcript;
  #grown = 0;

  constructor(core: Core, session: TurnSession, lease: Lease, opened: Opened, driver: ProtocolDriver, tell: Tell, output: Validate | undefined) {
    this.core = core;
    this.session = session;
    this.lease = lease;
    this.opened = opened;
    this.driver = driver;
    this.hooks = session.composition.hooks;
    this.states = session.states;
    this.output = output;
    this.#tell = tell;
    this.#transcript = session.transcript;
    this.#services = {
      session: { read: () => session.reading(this.messages()) },
      catalog: { list: () => this.artifact?.catalog.declarations.map(({ name, description }) => ({ name, description })) ?? [] },
    };
  }

  get sessionId(): SessionId {
    return this.opened.sessionId;
  }
  get turnId(): TurnId {
    return this.opened.turnId;
  }

  /** History and this turn, as the model is shown it. */
  messages(): readonly Message[] {
    const { shown } = this;
    const transcript = this.transcript();
    if (shown === undefined) return transcript.messages;
    const added = itemsOf(this.state.log).slice(shown.upTo);
    return [...shown.messages, ...added.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []))];
  }

  transcript(): Transcript {
    const { log } = this.state;
    if (this.#grown < log.length) {
      this.#transcript = this.#transcript.grow(itemsOf(log), this.#grown);
      this.#grown = log.length;
    }
    return this.#transcript;
  }

  here(scope: Scope): Surroundings {
    return {
      sessionId: this.sessionId,
      turnId: this.turnId,
      services: this.#services,
      states: this.states,
      get signal() {
        return scope.signal;
      },
    };
  }

  key(effect: EffectName, attempt: number): PreviewKey {
    return { effect, generation: this.lease.generation, attempt };
  }

  tell(event: Preview): void {
    this.#tell(event);
  }

  emit(effect: EffectName, plugin: string, name: string, payload: Json): void {
    this.#tell({ fact: false, sessionId: this.sessionId, turnId: this.turnId, key: this.key(effect, 1), kind: "plugin", plugin, name, payload });
  }

  trace(name: string, about: { readonly [key: string]: Json }): void {
    this.core.trace(name, about, { sessionId: this.sessionId, turnId: this.turnId });
  }

  dispatch(scope: Scope): Dispatch {
    const { core, opened, turnId, sessionId } = this;
    return {
      hooks: this.hooks,
      here: this.here(scope),
      states: this.states,
      catalog: (this.artifact as Artifact).catalog, // `prepare` comes before any call.
      limits: opened.limits,
      world: core.world,
      turnId,
      sessionId,
      keep: this.#keep,
      ...(this.output === undefined ? {} : { output: this.output }),
      passed: this.#passed,
      report: this.#report,
    };
  }

  readonly #passed: Dispatch["passed"] = new Map();

  #preview(at: string): Pick<Preview, "fact" | "sessionId" | "turnId" | "key"> {
    return { fact: false, sessionId: this.sessionId, turnId: this.turnId, key: this.key(this.#position(at), 1) };
  }

  #position(at: string): EffectName {
    return name(`r${this.state.round}.call.${at}`);
  }

  readonly #report: Dispatch["report"] = {
    started: ({ at, call }) => {
      const position = this.#position(at);
      if (this.#startedAt.has(position)) return;
      this.#startedAt.set(position, this.core.world.now());
      this.#tell({ ...this.#preview(at), kind: "toolStarted", call });
    },
    ended: (placed, output) => {
      this.#report.started(placed); // A call that never came to its gate still has both.
      const { at, call } = placed;
      const ms = this.core.world.now() - (this.#startedAt.get(this.#position(at)) ?? 0);
      this.#tell({ ...this.#preview(at), kind: "toolEnded", callId: call.id, name: call.name, status: statusOf(output), ms, output });
    },
    waiting: ({ at, call }, wait, reason) => this.#tell({ ...this.#preview(at), kind: "waiting", callId: call.id, wait, reason }),
    emitted: ({ plugin, value }, { at }) => {
      if (value.kind === "emitEvent") this.emit(this.#position(at), plugin, value.name, value.payload);
      else this.trace(`${plugin}.${value.name}`, { payload: value.payload });
    },
    conflict: ({ hook, winner, loser }) => this.trace("hook.conflict", { hook, winner, loser }),
  };

  /** Bytes are kept before the event that names them. A synchronous store keeps them now; another one before the commit. */
  readonly #keep = ({ data, mediaType, name: title }: Attachable): Attachment => {
    const hash = hashOf(data);
    this.keeping.push(this.core.store.blobs.put(hash, data));
    return { kind: "attachment", hash, mediaType, bytes: data.byteLength, ...(title === undefined ? {} : { name: title }) };
  };
  readonly keeping: (void | PromiseLike<void>)[] = [];
}
