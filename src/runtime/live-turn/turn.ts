// A turn that runs in this process: its state, and what its performers need. Nothing in it outlives the turn.
// Not its job: the loop (`run.ts`), effects (`perform.ts`), previews (`show.ts`), what the commit stores (`ended.ts`).
// L1 The turn writes to the plugin states that the session had at its beginning: a tool of a lost turn cannot write to
//    those of the next turn.
// L2 What is spent is recorded with the next answer; a recorded completion is booked once over all runs of the turn.
// L3 An answer waits for `keeping`: the bytes and sessions that it names exist before it is recorded.
import type { Transcript } from "../../graph/transcript.ts";
import type { TurnRun } from "../../hosts/host.ts";
import { type HookRunner, type Issue, type Site, tracedIssue } from "../../kernel/hook-runner.ts";
import type { Conflict } from "../../kernel/seams.ts";
import type { NewSessionRequest } from "../../kernel/services.ts";
import type { PluginStates } from "../../kernel/states.ts";
import { describe, passingFault, RuntimeError } from "../../model/errors.ts";
import type { PreviewKey } from "../../model/event.ts";
import { hashOf } from "../../model/hash.ts";
import { asWaitKey, type EffectName, nodeId, type SessionId, type TurnId, type WaitKey } from "../../model/ids.ts";
import { defined, describeThrown, type Json, type JsonObject } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type { Attachment, Message } from "../../model/message.ts";
import type { Scope } from "../../model/scope.ts";
import { type Attachable, type Availability, type Deferral, TOOLS_STATE } from "../../model/tool.ts";
import { type Spent, tokensIn, totalOf } from "../../model/usage.ts";
import type { World } from "../../model/world.ts";
import type { Lease } from "../../stores/store.ts";
import type { Catalog } from "../../tools/catalog.ts";
import { type Dispatch, WEEK_MS } from "../../tools/dispatch.ts";
import { checkOf } from "../../tools/output.ts";
import type { Validate } from "../../tools/validator.ts";
import { awaited } from "../../turn/asked.ts";
import type { ProtocolDriver } from "../../turn/driver.ts";
import { type Effect, type EffectOf, name } from "../../turn/effect.ts";
import type { Answer, Appending, Opened, TurnEvent } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import type { TurnState } from "../../turn/state.ts";
import { step } from "../../turn/step.ts";
import type { Core } from "../core.ts";
import { SessionSite } from "../services/site.ts";
import type { LiveSession } from "../session/session.ts";
import { type Artifact, NO_PARTS, type Prompt, type PromptParts } from "../toolset/artifacts.ts";
import type { Carried } from "./answer.ts";
import type { TurnCode } from "./code.ts";
import type { TurnHandle } from "./handle.ts";
import type { Pending } from "./pending.ts";
import type { OpenedTurn } from "./run.ts";
import { TurnShow } from "./show.ts";

export class LiveTurn implements Dispatch {
  readonly core: Core;
  readonly session: LiveSession;
  readonly lease: Lease;
  readonly opened: Opened;
  readonly driver: ProtocolDriver;
  readonly hooks: HookRunner;
  /** L1 */
  readonly states: PluginStates;
  readonly turnId: TurnId;
  readonly sessionId: SessionId;
  /** The handles in this process that wait for the turn; a handle that joins while it runs is added. */
  readonly handles: TurnHandle[];
  /** Checks the typed result that the caller asked for. */
  readonly output: Validate | undefined;
  /** Whether its spending counts against a budget: its own, or one of a session above. */
  readonly isBudgeted: boolean;
  readonly show: TurnShow;
  readonly pending: Pending = { isNone: false, cameAt: -Infinity };
  /** Another run held the turn before this one. What that did is known from the events that are folded. */
  readonly isResumed: boolean;
  /** How many events were folded, `opened` included, and when the last of them happened. */
  folded = 1;
  lastAt: number;
  /** What earlier runs were prepared with, as far as it is folded. */
  past: PastPreparation | undefined = undefined;
  run!: TurnRun;
  state!: TurnState;
  issues: readonly Issue[] = NO_ISSUES;
  /** Arguments that passed the gate, so that the attempt need not check them again. */
  passed: Dispatch["passed"] = undefined;
  /** `once` values and completions that are being made: a second caller waits for the same one. */
  noting: Map<string, Promise<Json>> | undefined = undefined;
  artifact: Artifact | undefined = undefined;
  /** Today's artifact, where the turn runs on a recorded one: later rounds compare with it to see a change. */
  basis: Artifact | undefined = undefined;
  prompt: Prompt | undefined = undefined;
  /** The parts of the prompt; rendered again when the tools change. */
  parts: PromptParts = NO_PARTS;
  /** Volatile prompt text, sent after the conversation in this round. */
  tail = "";
  /** Today's machine, protocol or plugins cannot follow the journal. */
  isUnfoldable = false;
  /** What `context` hooks show the model instead of the plain conversation; this turn's additions follow it. */
  shown: { readonly messages: readonly Message[]; readonly upTo: number } | undefined;
  /** L3: attachments that are being stored and sessions that are being created. */
  keeping: PromiseLike<void>[] | undefined = undefined;
  /** What calls are about to wait for, and have made answerable: one thing in each attempt. */
  deferring: Map<EffectName, { readonly deferral: Deferral; wait?: NewKey }> | undefined = undefined;
  /** What hooks and tools append, by their effect, until it answers. */
  appending: Map<EffectName, Appended[]> | undefined = undefined;
  /** Jobs that hooks and tools begin, and inputs that they take in, by their effect, until it answers. */
  carrying: Map<EffectName, Carried> | undefined = undefined;
  /** Made when a cell runs, here or in an earlier run. */
  ranCode: TurnCode | undefined = undefined;
  #standing: SessionSite | undefined;
  #transcript: Transcript;
  #grown = 0;
  /** Completions were paid for since the last answer (L2). */
  hasSpent = false;
  #spent: readonly Spent[] | undefined;
  #booked: Set<string> | undefined;
  #bookedNow: readonly string[] | undefined;

  constructor(session: LiveSession, { lease, isResumed }: OpenedTurn, opened: Opened) {
    const { kept, followers, composition } = session;
    this.core = session.core;
    this.session = session;
    this.lease = lease;
    this.opened = opened;
    this.turnId = opened.turnId;
    this.sessionId = opened.sessionId;
    this.driver = session.slot.driver;
    this.hooks = composition.hooks;
    this.states = kept.states;
    this.handles = followers.of(opened.turnId);
    this.output = opened.output === undefined ? undefined : (followers.output(opened.turnId) ?? checkOf(opened));
    this.isBudgeted = opened.config.budget !== undefined || session.ancestors.length > 0;
    for (const handle of this.handles) handle.isResting = false;
    const { watch } = this.core;
    const shown = watch.hasShows ? watch.takeShow(opened.turnId) : undefined;
    // The turn of a child shows itself to its parent too, which was told nothing of what is recorded.
    const mayRecall = shown === undefined && isResumed === true && session.ancestors.length === 0;
    const recalled = mayRecall ? this.core.live?.recalled(this.sessionId, this.turnId) : undefined;
    this.show = shown ?? new TurnShow(this, recalled);
    if ((shown ?? recalled) !== undefined) this.show.goOn(this);
    this.isResumed = isResumed === true;
    this.lastAt = opened.at;
    this.#transcript = kept.transcript;
  }

  get limits(): Limits {
    return this.opened.limits;
  }
  get world(): World {
    return this.core.world;
  }
  /** The code that this turn runs. Most turns run none, and do not load what runs it. */
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

  /** Takes an event that is recorded already into the state: an operation's, or what kept a commit from being made. */
  fold(event: TurnEvent): void {
    this.folded++;
    if (event.kind === "applied") {
      if (event.changes !== undefined) this.states.replay(event.changes, NO_VERSIONS);
      if (event.config !== undefined) this.session.kept.configured(event.config);
    }
    const { state, effects, dropped } = step(this.driver, this.state, event);
    this.state = state;
    this.run.start(effects, dropped);
  }

  /** Takes in an event of an earlier run: what it changed, what it booked, what it was prepared with. */
  learn(event: TurnEvent): void {
    this.folded++;
    this.lastAt = event.at;
    if ("booked" in event) for (const key of event.booked ?? []) (this.#booked ??= new Set()).add(key);
    const changes = "changes" in event ? event.changes : undefined;
    if (this.past !== undefined && changes !== undefined && Object.hasOwn(changes, TOOLS_STATE))
      this.past.hasOtherTools = true;
    if (this.past !== undefined && event.kind === "bounded" && event.hasNewTools === true)
      this.past.hasOtherTools = true;
    if (event.kind === "prepared") this.past = preparedBy(this.past, event, this.state.log.length);
    if (changes !== undefined) this.states.replay(changes, this.#versions());
    if (event.kind === "applied" && event.config !== undefined) this.session.kept.configured(event.config);
  }

  /** The versions of the plugins that recorded states. */
  #versions(): ReadonlyMap<string, string> {
    return new Map(this.opened.plugins.map(({ id, version }) => [id, version]));
  }

  // ── The conversation ────────────────────────────────────────────────────────────────────────────────────────────

  /** The conversation as the model sees it: history and this turn. */
  messages(): readonly Message[] {
    const { shown } = this;
    const transcript = this.transcript();
    if (shown === undefined) return transcript.messages;
    const added = itemsOf(this.state.log).slice(shown.upTo);
    if (added.some((entry) => entry.kind === "frame")) return transcript.messages; // A frame replaces what was shown.
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

  /** The same for a hook or a tool of this effect, with what it has appended itself and what waits for results. */
  messagesAt(effect: EffectName): readonly Message[] {
    const messages = this.messages();
    const { held = NO_APPENDS, log } = this.state;
    const own = effect === STANDING ? this.#appendingNow() : (this.appending?.get(effect) ?? NO_APPENDS);
    if (held.length + own.length === 0) return messages;
    const commit = this.#isInRound ? `${this.turnId}/held` : this.turnId;
    let next = this.#isInRound ? 0 : log.length;
    const names = new Set<string>();
    const waiting = [...held, ...own].flatMap(({ nodes, operation }) => {
      if (operation !== undefined && names.has(operation.name)) return [];
      if (operation !== undefined) names.add(operation.name);
      return nodes.flatMap((node) => {
        const id = nodeId(commit, next++);
        return node.kind === "message" ? [{ id, ...node.message }] : [];
      });
    });
    return [...messages, ...waiting];
  }

  /** What belongs to no effect is asked for by hooks, of which one runs at a time. An effect that was given up answers nothing. */
  #appendingNow(): readonly Appended[] {
    if (this.appending === undefined) return NO_APPENDS;
    const places = this.state.open.map(placeOf);
    return [...this.appending].flatMap(([place, own]) => (places.includes(place) ? own : NO_APPENDS));
  }

  // ── What hooks and tools append ─────────────────────────────────────────────────────────────────────────────────

  /** In a round nodes wait for its results: where they will stand is not known. */
  get #isInRound(): boolean {
    return this.state.phase.kind === "working";
  }

  /** Where nodes are kept until the effect answers; then, and in another attempt, it is another list. */
  appendsOf(effect: EffectName): Appended[] {
    this.appending ??= new Map();
    const own = this.appending.get(effect) ?? [];
    this.appending.set(effect, own);
    return own;
  }

  /** Keeps nodes. The index of the first one in the turn's log, where it is known. */
  append(own: Appended[], added: Appending): number | undefined {
    const before = own.reduce((sum, { nodes }) => sum + nodes.length, 0);
    const from = this.#isInRound ? undefined : this.state.log.length + before;
    own.push(from === undefined ? added : { ...added, from });
    return from;
  }

  /** An append of this turn that has this name. Another tool that runs may still fail and drop what it appended. */
  appendedAs(
    name: string,
    own: readonly Appended[],
  ): { readonly hash: string; readonly from?: number; readonly mayBeDropped?: true } | undefined {
    const { placed = [], held = NO_APPENDS } = this.state;
    const found = placed.find((each) => each.name === name);
    if (found !== undefined) return found;
    const isIt = ({ operation }: Appended): boolean => operation?.name === name;
    const sure: Appended | undefined = held.find(isIt) ?? own.find(isIt);
    const { hash } = (sure ?? this.#appendingNow().find(isIt))?.operation ?? {};
    if (hash === undefined) return undefined;
    if (sure === undefined) return { hash, mayBeDropped: true };
    return sure.from === undefined ? { hash } : { hash, from: sure.from };
  }

  /** The effect answers, or has failed: what it appended goes with the answer, or nowhere. */
  takeAppends(effect: Effect): readonly Appending[] | undefined {
    const place = placeOf(effect);
    const own = this.appending?.get(place) ?? NO_APPENDS;
    this.appending?.delete(place);
    return own.length === 0 ? undefined : own.map(({ from: _, ...added }) => added);
  }

  /** Jobs that a hook or a tool begins, and inputs that it takes in. */
  carriedBy(effect: EffectName): Carried {
    this.carrying ??= new Map();
    const own = this.carrying.get(effect) ?? { spawns: [], taken: [], spent: [], claims: 0 };
    this.carrying.set(effect, own);
    return own;
  }

  /** The effect answers, and they go with the answer; or it has failed, and they are dropped. */
  takeCarried(effect: Effect): Carried | undefined {
    const place = placeOf(effect);
    const own = this.carrying?.get(place);
    this.carrying?.delete(place);
    return own;
  }

  /** The turn's own part of the path. */
  grown(): { readonly commit: string; readonly length: number } {
    return { commit: this.turnId, length: this.state.log.length };
  }

  // ── Where hooks and tools run ───────────────────────────────────────────────────────────────────────────────────

  site(scope: Scope, effect: EffectName): SessionSite {
    return new SessionSite(this.session, { live: this, effect, where: effect, mayWrite: true }, scope);
  }

  /** Makes the services that belong to no effect, once in a turn. */
  get standing(): SessionSite {
    const where = "a turn";
    this.#standing ??= new SessionSite(this.session, { live: this, effect: STANDING, where, mayWrite: false });
    return this.#standing;
  }

  siteOfCall(scope: Scope, { position, writes, call }: EffectOf<"call">): Site {
    const mayWrite = writes === true;
    const where = `the tool ${call.name}${mayWrite ? "" : ", which does not say `writes: true`"}`;
    return new SessionSite(this.session, { live: this, effect: position, where, mayWrite }, scope);
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

  /** Writes the row of a wait before the call answers, so that an answer which comes first is kept. */
  async answerable(
    { name: effect, position, attempt, call }: EffectOf<"call">,
    deferral: Deferral,
    ofTool: JsonObject | undefined,
  ): Promise<WaitKey> {
    const { store, world } = this.core;
    this.deferring ??= new Map();
    const known = this.deferring.get(effect) ?? { deferral };
    this.deferring.set(effect, known);
    if (known.deferral !== deferral)
      throw new RuntimeError("tool.result", {
        name: call.name,
        problem: "it asks for the keys of two results at once",
      });
    if (known.wait !== undefined) return known.wait.key;
    const noted = await store.note(this.turnId, position, `wait/${attempt}`, world.secret());
    const wait = { ...newWait(this, deferral), key: asWaitKey(noted as string) };
    const { question, schema = ofTool } = deferral;
    const about = awaited(call, question, schema);
    const row = { ...wait, effect: name(`${position}.w${attempt}`), at: world.now(), about, isEarly: true } as const;
    await store.append(this.lease, 0, [], world.now(), [row]);
    known.wait = wait;
    return wait.key;
  }

  // ── Money ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** L2: `key` names a recorded completion. */
  spend(spent: Spent, key?: string): void {
    this.hasSpent = true;
    this.#spent = [...(this.#spent ?? []), spent];
    if (key === undefined) return;
    (this.#booked ??= new Set()).add(key);
    this.#bookedNow = [...(this.#bookedNow ?? []), key];
  }
  /** All that the turn has spent, recorded or not: budgets count both. */
  spentSoFar(): readonly Spent[] {
    if (this.state === undefined) return []; // The turn is still being opened.
    const { usage, asks, spent } = this.state;
    const own = { source: "turn", model: this.opened.config.model, usage, calls: asks };
    return [...(tokensIn(usage) === 0 ? [] : [own]), ...spent, ...(this.#spent ?? [])];
  }
  /** How many of its calls may have been billed without a word of usage. */
  unknownCalls(): number {
    return this.state.usage.unknownCalls + totalOf([...this.state.spent, ...(this.#spent ?? [])]).unknownCalls;
  }
  isBooked(key: string): boolean {
    return this.#booked?.has(key) ?? false;
  }
  /** L2: what was spent since the last answer, and the keys of the completions in it. */
  takeSpent(): { readonly spent: readonly Spent[]; readonly booked?: readonly string[] } | undefined {
    const spent = this.#spent;
    if (spent === undefined) return undefined;
    const booked = this.#bookedNow;
    this.hasSpent = false;
    this.#spent = undefined;
    this.#bookedNow = undefined;
    return booked === undefined ? { spent } : { spent, booked };
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

  /** Tells once in a turn that a model does not report its usage. */
  unreported(model: string): void {
    if (this.issues.some(({ code }) => code === "usage.estimated")) return;
    const { message, hint } = describe("usage.estimated", { model });
    this.observed([{ code: "usage.estimated", message, hint }]);
  }

  conflict({ hook, winner, loser }: Conflict): void {
    this.trace("hook.conflict", { hook, winner, loser });
  }

  /** L3 */
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

  /** L3: a directive's session is created before the effect answers. */
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
}

interface NewKey {
  readonly key: WaitKey;
  readonly until: number;
}

export const newWait = ({ world }: LiveTurn, { until, waitMs = WEEK_MS }: Deferral): NewKey => ({
  key: asWaitKey(world.secret()),
  until: until ?? world.now() + waitMs,
});

/** Nodes of an effect that runs; `from` is where they will stand in the log, if that is known. */
type Appended = Appending & { readonly from?: number };
const NO_APPENDS: readonly Appended[] = [];

/** All attempts of a call append in one place. */
const placeOf = (effect: Effect): EffectName => (effect.kind === "call" ? effect.position : effect.name);

/** What this process recorded itself is of its own plugins. */
const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const STANDING = name("standing");
const NO_ISSUES: readonly Issue[] = [];

/** What `prepared` events of earlier runs said: of each thing the latest. */
export interface PastPreparation
  extends Pick<Extract<Answer, { readonly kind: "prepared" }>, "prompt" | "catalog" | "shown" | "parts" | "tail"> {
  readonly hasTools: boolean;
  /** How many entries of the turn `shown` stands for. */
  readonly shownUpTo?: number;
  /** The session's tools were changed since. */
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
