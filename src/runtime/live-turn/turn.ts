import type { TurnRun } from "../../hosts/host.ts";
import { type HookCallContext, type HookRunner, type Issue, tracedIssue } from "../../kernel/hook-runner.ts";
import type { NewSessionRequest } from "../../kernel/session-requests.ts";
import type { PluginStates } from "../../kernel/states.ts";
import type { Conflict } from "../../kernel/tool-gates.ts";
import { describe, passingFault, RuntimeError } from "../../model/errors.ts";
import type { PreviewKey } from "../../model/event.ts";
import { hashOf } from "../../model/hash.ts";
import {
  asWaitKey,
  type BlobHash,
  type EffectName,
  type SessionId,
  type TurnId,
  type WaitKey,
} from "../../model/ids.ts";
import { defined, describeThrown, type Json, type JsonObject } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type { Attachment } from "../../model/message.ts";
import type { Scope } from "../../model/scope.ts";
import { type Attachable, type Availability, type Deferral, TOOLS_STATE } from "../../model/tool.ts";
import type { World } from "../../model/world.ts";
import type { Lease } from "../../stores/store.ts";
import type { Catalog } from "../../tools/catalog.ts";
import { type Dispatch, WEEK_MS } from "../../tools/dispatch.ts";
import { checkOf } from "../../tools/output.ts";
import type { Validate } from "../../tools/validator.ts";
import { awaited } from "../../turn/asked.ts";
import type { ProtocolDriver } from "../../turn/driver.ts";
import { type Effect, type EffectOf, name } from "../../turn/effect.ts";
import type { Answer, Opened, TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { step } from "../../turn/step.ts";
import type { Core } from "../core.ts";
import type { LatestUsage } from "../services/reading.ts";
import { ServiceContext } from "../services/service-context.ts";
import type { LiveSession } from "../session/session.ts";
import type { TurnTelemetry } from "../telemetry/turn-telemetry.ts";
import { type Artifact, NO_PARTS, type Prompt, type PromptParts } from "../toolset/artifacts.ts";
import type { TurnCode } from "./code.ts";
import { Conversation, STANDING } from "./conversation.ts";
import { EffectDraft, type NewWait, placeOf } from "./draft.ts";
import type { TurnHandle } from "./handle.ts";
import type { Pending } from "./pending.ts";
import type { OpenedTurn } from "./run.ts";
import { TurnShow } from "./show.ts";
import { Spending } from "./spending.ts";

export class LiveTurn implements Dispatch {
  readonly core: Core;
  readonly session: LiveSession;
  readonly lease: Lease;
  readonly opened: Opened;
  readonly driver: ProtocolDriver;
  readonly hooks: HookRunner;
  /** turn-1 */
  readonly states: PluginStates;
  readonly turnId: TurnId;
  readonly sessionId: SessionId;
  /** The handles in this process that wait for the turn. A handle that joins later is added. */
  readonly handles: TurnHandle[];
  /** Checks the typed result that the caller asked for. */
  readonly output: Validate | undefined;
  /** Whether its spending counts against a budget of its session or of an ancestor. */
  readonly isBudgeted: boolean;
  readonly show: TurnShow;
  readonly pending: Pending = { isNone: false, acceptedAt: -Infinity };
  /** An earlier run had the turn. Its effects are known only from the folded events. */
  readonly isResumed: boolean;
  /** How many events were folded, `opened` included, and when the last of them happened. */
  folded = 1;
  lastAt: number;
  /** All events so far, if the journal is kept after the end. */
  events: TurnEvent[] | undefined;
  /** The blob with the fields of `opened` that many turns have in common. */
  setting: BlobHash | undefined;
  /** The recorded preparation of earlier runs. */
  past: PastPreparation | undefined = undefined;
  run!: TurnRun;
  /** Undefined without a listener. */
  readonly telemetry: TurnTelemetry | undefined;
  state!: TurnState;
  issues: readonly Issue[] = NO_ISSUES;
  /** The usage and the frame of its latest model call. */
  latest: LatestUsage | undefined = undefined;
  /** Arguments that passed the gate, so that the attempt need not check them again. */
  passed: Dispatch["passed"] = undefined;
  artifact: Artifact | undefined = undefined;
  /** The present artifact, if the turn uses a recorded one. Later rounds compare with it to detect a change. */
  basis: Artifact | undefined = undefined;
  prompt: Prompt | undefined = undefined;
  /** The parts of the prompt; rendered again when the tools change. */
  parts: PromptParts = NO_PARTS;
  /** Volatile prompt text, sent after the conversation in this round. */
  tail = "";
  /** The present machine, protocol or plugins cannot follow the journal. */
  isUnfoldable = false;
  readonly conversation: Conversation;
  #noting: Map<string, Promise<Json>> | undefined;
  /** The drafts of open effects, by place. Most effects have none. */
  drafts: Map<EffectName, EffectDraft> | undefined = undefined;
  /** Undefined until the turn has other spending than its own model calls. */
  ownSpending: Spending | undefined = undefined;
  /** Made when a cell runs, here or in an earlier run. */
  ranCode: TurnCode | undefined = undefined;
  #standing: ServiceContext | undefined;
  constructor(session: LiveSession, { lease, isResumed }: OpenedTurn, opened: Opened) {
    const { snapshot, followers, composition } = session;
    this.core = session.core;
    this.session = session;
    this.lease = lease;
    this.opened = opened;
    this.turnId = opened.turnId;
    this.sessionId = opened.sessionId;
    this.driver = session.slot.driver;
    this.hooks = composition.hooks;
    this.states = snapshot.states;
    this.handles = followers.of(opened.turnId);
    this.output = opened.output === undefined ? undefined : (followers.output(opened.turnId) ?? checkOf(opened));
    this.isBudgeted = opened.config.budget !== undefined || session.ancestors.length > 0;
    for (const handle of this.handles) handle.isParkedUnread = false;
    const { watcher } = this.core;
    const shown = watcher.hasShows ? watcher.takeShow(opened.turnId) : undefined;
    // Not for a child: its parent's turn also shows its previews, and has none of the recorded ones.
    const mayRecall = shown === undefined && isResumed === true && session.ancestors.length === 0;
    const recalled = mayRecall ? this.core.live?.recalled(this.sessionId, this.turnId) : undefined;
    this.show = shown ?? new TurnShow(this, recalled);
    if ((shown ?? recalled) !== undefined) this.show.resume(this);
    this.isResumed = isResumed === true;
    this.lastAt = opened.at;
    this.events = this.core.keepsJournals === undefined ? undefined : [opened];
    this.conversation = new Conversation(this, snapshot.transcript);
    this.telemetry = this.core.telemetry?.turn(this);
  }

  get limits(): Limits {
    return this.opened.limits;
  }
  get world(): World {
    return this.core.world;
  }
  /** The code that this turn runs. Most turns run no code and do not load the code runner. */
  async code(): Promise<TurnCode> {
    if (this.ranCode === undefined) {
      const { TurnCode } = await import("./code.ts");
      this.ranCode ??= new TurnCode(this);
    }
    return this.ranCode;
  }
  /** `prepare` comes before any call. */
  get catalog(): Catalog {
    return (this.artifact as Artifact).catalog;
  }

  /** Folds an event that is already recorded, of an operation or of mail that prevented a commit. */
  fold(event: TurnEvent): void {
    this.folded++;
    this.events?.push(event);
    if (event.kind === "applied") {
      if (event.changes !== undefined) this.states.replay(event.changes, NO_VERSIONS);
      if (event.config !== undefined) this.session.snapshot.configured(event.config);
    }
    const { state, effects, dropped } = step(this.driver, this.state, event);
    this.state = state;
    this.run.start(effects, dropped);
  }

  /** Applies an event of an earlier run: its state changes, its bookings and its preparation. */
  learn(event: TurnEvent): void {
    this.folded++;
    this.lastAt = event.at;
    if ("booked" in event) this.spending.learn(event);
    const changes = "changes" in event ? event.changes : undefined;
    if (this.past !== undefined && changes !== undefined && Object.hasOwn(changes, TOOLS_STATE))
      this.past.hasOtherTools = true;
    if (this.past !== undefined && event.kind === "bounded" && event.hasNewTools === true)
      this.past.hasOtherTools = true;
    if (event.kind === "prepared") this.past = preparedBy(this.past, event, this.state.log.length);
    if (changes !== undefined) this.states.replay(changes, this.#versions());
    if (event.kind === "applied" && event.config !== undefined) this.session.snapshot.configured(event.config);
  }

  /** The versions of the plugins that recorded states. */
  #versions(): ReadonlyMap<string, string> {
    return new Map(this.opened.plugins.map(({ id, version }) => [id, version]));
  }

  get spending(): Spending {
    this.ownSpending ??= new Spending(this);
    return this.ownSpending;
  }

  /** `once` values and completions that are being computed. A second caller waits for the same one. */
  get noting(): Map<string, Promise<Json>> {
    this.#noting ??= new Map();
    return this.#noting;
  }

  // ── What open effects ask for ───────────────────────────────────────────────────────────────────────────────────

  draftOf(place: EffectName): EffectDraft {
    this.drafts ??= new Map();
    let draft = this.drafts.get(place);
    if (draft === undefined) {
      draft = new EffectDraft();
      this.drafts.set(place, draft);
    }
    return draft;
  }

  /** Removes the draft of an effect that answers or fails. Later requests of its code get a typed error. */
  takeDraft(effect: Effect): EffectDraft | undefined {
    const place = placeOf(effect);
    const draft = this.drafts?.get(place);
    this.drafts?.delete(place);
    return draft;
  }

  // ── Where hooks and tools run ───────────────────────────────────────────────────────────────────────────────────

  context(scope: Scope, effect: EffectName): ServiceContext {
    return new ServiceContext(this.session, { live: this, effect, where: effect, mayWrite: true }, scope);
  }

  /** Makes the services that belong to no effect, once in a turn. */
  get standing(): ServiceContext {
    const where = "a turn";
    this.#standing ??= new ServiceContext(this.session, { live: this, effect: STANDING, where, mayWrite: false });
    return this.#standing;
  }

  contextOfCall(scope: Scope, { position, writes, call }: EffectOf<"call">): HookCallContext {
    const mayWrite = writes === true;
    const where = `the tool ${call.name}${mayWrite ? "" : ", which does not say `writes: true`"}`;
    return new ServiceContext(this.session, { live: this, effect: position, where, mayWrite }, scope);
  }

  wasDeclared(tool: string): boolean {
    return this.artifact?.declarations.some((declared) => declared.name === tool) ?? false;
  }

  isRepeated({ onInterrupt }: EffectOf<"call">, error: unknown): boolean {
    return onInterrupt === undefined && passingFault(error, this.core.store) !== undefined;
  }

  availability(tool: string): Availability | undefined {
    return this.catalog.availability(tool);
  }

  // ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes the row of a wait before the call answers, so that an early answer to the wait is stored. */
  async answerable(
    { position, attempt, call }: EffectOf<"call">,
    deferral: Deferral,
    ofTool: JsonObject | undefined,
  ): Promise<WaitKey> {
    const { store, world } = this.core;
    const draft = this.draftOf(position);
    draft.deferral ??= { deferral };
    if (draft.deferral.deferral !== deferral)
      throw new RuntimeError("tool.result", {
        name: call.name,
        problem: "it asks for the keys of two results at the same time",
      });
    if (draft.deferral.wait !== undefined) return draft.deferral.wait.key;
    const noted = await store.note(this.turnId, position, `wait/${attempt}`, world.secret());
    const at = world.now();
    const wait = { ...newWait(this, deferral, at), key: asWaitKey(noted as string) };
    const about = awaited(call, deferral.question, deferral.schema ?? ofTool);
    const row = { ...wait, effect: name(`${position}.w${attempt}`), at, about, isEarly: true } as const;
    await store.append(this.lease, 0, [], at, [row]);
    draft.deferral = { deferral, wait };
    return wait.key;
  }

  // ── Traces, attachments, new sessions ───────────────────────────────────────────────────────────────────────────

  key(effect: EffectName, attempt: number): PreviewKey {
    return { effect, generation: this.show.generation, attempt };
  }

  trace(event: string, about: { readonly [key: string]: Json }): void {
    this.core.trace(event, about, { sessionId: this.sessionId, turnId: this.turnId });
  }

  /** Adds hook failures that do not end the turn to its result and to the trace. */
  observed(issues: readonly Issue[]): void {
    if (issues.length === 0) return;
    this.issues = [...this.issues, ...issues];
    for (const issue of issues) this.trace("hook.issue", tracedIssue(issue));
  }

  /** Traces, once in a turn, that a model does not report its usage. */
  unreported(model: string): void {
    if (this.issues.some(({ code }) => code === "usage.estimated")) return;
    const { message, hint } = describe("usage.estimated", { model });
    this.observed([{ code: "usage.estimated", message, hint }]);
  }

  conflict({ hook, winner, loser }: Conflict): void {
    this.trace("hook.conflict", { hook, winner, loser });
  }

  keep({ data, mediaType, name: title }: Attachable, place: EffectName): Attachment {
    const hash = hashOf(data);
    const stored = this.core.store.blobs.put(hash, data);
    if (stored !== undefined) this.draftOf(place).store(stored);
    return {
      kind: "attachment",
      hash,
      mediaType,
      bytes: data.byteLength,
      ...(title === undefined ? {} : { name: title }),
    };
  }

  /**
   * A directive's session is created before the effect answers (draft-1). A resumed turn takes the session that exists:
   * an earlier run can have created it before its answer was recorded.
   */
  makeSession(plugin: string, request: NewSessionRequest, place: EffectName): void {
    const failed = (error: unknown): never => {
      throw new RuntimeError(
        "hook.failed",
        { plugin, hook: "createSession", problem: describeThrown(error) },
        { cause: error },
      );
    };
    const own = this.isResumed && request.id !== undefined ? { ...request, ifExists: "take" as const } : request;
    this.draftOf(place).store(this.session.create(own, plugin).then(() => {}, failed));
  }
}

export const newWait = ({ world }: LiveTurn, { until, waitMs = WEEK_MS }: Deferral, at: number): NewWait => ({
  key: asWaitKey(world.secret()),
  until: until ?? at + waitMs,
});

/** This process records states of its installed plugin versions. */
const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const NO_ISSUES: readonly Issue[] = [];

/** The latest value of each field of the `prepared` events of earlier runs. */
export interface PastPreparation
  extends Pick<Extract<Answer, { readonly kind: "prepared" }>, "prompt" | "catalog" | "shown" | "parts" | "tail"> {
  readonly hasTools: boolean;
  /** How many entries of the turn `shown` replaces. */
  readonly shownUpTo?: number;
  /** The session's tools have changed since. */
  hasOtherTools: boolean;
}

function preparedBy(
  before: PastPreparation | undefined,
  { prompt, catalog, shown, parts, tail, hasTools }: Extract<Answer, { readonly kind: "prepared" }>,
  entries: number,
): PastPreparation {
  return {
    ...before,
    ...defined({ prompt, catalog, shown, parts }),
    ...(shown === undefined ? {} : { shownUpTo: entries }),
    tail: tail ?? "",
    hasTools: hasTools === true || before?.hasTools === true,
    hasOtherTools: false,
  };
}
