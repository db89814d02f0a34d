// long: one list of laws
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { EffectHost, Perform, TurnRun } from "../hosts/host.ts";
import { type Code, hasCode, RuntimeError } from "../model/errors.ts";
import { asCallId, asInputId, asSessionId, asTurnId, asWaitKey, type EffectName, type WaitKey } from "../model/ids.ts";
import type { Awaitable } from "../model/json.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import { text } from "../model/message.ts";
import type { Scope } from "../model/scope.ts";
import { NO_USAGE } from "../model/usage.ts";
import type { World } from "../model/world.ts";
import type { CancelRequest, EndedTurn, Lease, NewInput, Opening, Owner, Store } from "../stores/store.ts";
import { type Effect, type EffectOf, GRACE, name } from "../turn/effect.ts";
import type { Answer, Opened, TurnEvent, WaitAnswer } from "../turn/event.ts";
import { simulatedWorld } from "./world.ts";

/** What the laws need to try a host. Each law asks for its own. */
export interface HostFixture {
  /** Asked more than once by laws in which another worker goes on with a turn. */
  host(): Awaitable<EffectHost>;
  /** An empty store. */
  store(): Awaitable<Store>;
  /** For a host that keeps its own time, such as an engine; without it time is simulated. No law moves it by more than 5 s. */
  world?(): LawWorld;
}
export type LawWorld = World & { advance(ms: number): Awaitable<void> };

/** What every host promises. `check` throws when the promise is broken. */
export interface HostLaw {
  readonly law: string;
  /** Only for hosts that keep a turn's events in the store's journal. */
  readonly needs?: "journal";
  check(fixture: HostFixture): Promise<void>;
}

type Check = (turn: Played, stage: Stage) => Awaitable<unknown>;

const law = (law: string, check: Check): HostLaw => ({
  law,
  async check(fixture) {
    const stage = new Stage(fixture, await fixture.store());
    try {
      await check(await stage.begin(), stage);
    } finally {
      await stage.strike();
    }
  },
});
const journalLaw = (title: string, check: Check): HostLaw => ({ ...law(title, check), needs: "journal" });

// The cast. A turn here is not driven by `step`: a law says itself what is started, dropped and answered.

const ann: Owner = { id: "ann", process: "elsewhere" };
const ben: Owner = { id: "ben", process: "elsewhere" };

const PREPARE: Effect = { name: name("r1.prepare"), kind: "prepare", round: 1 };
const ASK: Effect = { name: name("r1.ask"), kind: "ask", round: 1 };
const GATE: Effect = { name: name("r1.gate"), kind: "gate", calls: [] };
const SETTLE: Effect = { name: name("r1.settle"), kind: "settle", results: [] };
const EXEC: Effect = { name: name("r1.exec"), kind: "exec", cell: { language: "ts", code: "", acceptFinish: false } };
const KEY = asWaitKey("a-key-that-nobody-guesses");
const OTHER_KEY = asWaitKey("another-such-key");

function call(at: number): EffectOf<"call"> {
  const position = name(`r1.call.${at}`);
  const tool = { id: asCallId(`call_${at}`), name: "search", input: {} };
  return { name: position, kind: "call", at: String(at), call: tool, attempt: 1, position };
}
const [FIRST, SECOND, THIRD] = [call(0), call(1), call(2)] as const;

const sleep = (until: number): Effect => ({ name: name("r1.call.0.b1"), kind: "sleep", until });
const grace = (until: number): Effect => ({ name: GRACE, kind: "sleep", until });
const wait = (until: number, key: WaitKey = KEY): Effect => ({ name: name(`wait.${key}`), kind: "wait", key, until });

const CANCEL: CancelRequest = { requestId: "can_1", reason: "Enough.", at: 1 };

/** An answer that fits the effect. */
function answerTo(effect: Effect, at: number, words: string): Answer {
  const about = { at, effect: effect.name };
  switch (effect.kind) {
    case "prepare":
      return { ...about, kind: "prepared" };
    case "ask":
      return {
        ...about,
        kind: "replied",
        reply: { parts: [text(words)], finish: "stop", usage: NO_USAGE, route: "law/model" },
      };
    case "gate":
      return { ...about, kind: "gated", verdicts: [] };
    case "settle":
      return { ...about, kind: "settled", results: [] };
    case "exec":
      return { ...about, kind: "executed", output: { state: "done", parts: [text(words)] } };
    default:
      return { ...about, kind: "returned", output: { kind: "value", value: words } };
  }
}

const opening: Opening = (input) => ({
  kind: "opened",
  at: input.at,
  sessionId: input.sessionId,
  turnId: input.turnId,
  inputId: input.id,
  input: input.message,
  step: 1,
  protocol: { id: "law/protocol", version: 1 },
  host: "law",
  plugins: [],
  limits: DEFAULT_LIMITS,
  config: { model: "law/model" },
});

/** A store, a clock, and the turns that play on them. */
class Stage {
  readonly world: LawWorld;
  /** The store itself; a host is given one that is watched. */
  readonly store: Store;
  /** Sleeps that a host began and nothing has ended. */
  asleep = 0;
  readonly #fixture: HostFixture;
  readonly #turns: Played[] = [];
  #inputs = 0;

  constructor(fixture: HostFixture, store: Store) {
    this.#fixture = fixture;
    this.store = store;
    const world = fixture.world?.() ?? simulatedWorld();
    this.world = {
      ...world,
      sleep: (ms, signal) => {
        this.asleep++;
        return world.sleep(ms, signal).finally(() => this.asleep--);
      },
    };
  }

  /** A turn of a session of its own. */
  async begin(session = "alice"): Promise<Played> {
    const at = this.world.now();
    await this.store.create({ id: asSessionId(session), config: { model: "law/model" }, at });
    const receipt = await this.store.accept(this.input(session, "turn"), ann, opening, 100);
    if (receipt.kind !== "opened") return assert.fail(`The store did not open the turn: ${receipt.kind}.`);
    return this.play(receipt.lease, [receipt.opened], await this.#fixture.host());
  }

  input(session: string, place: NewInput["place"]): NewInput {
    const id = `${session}-${++this.#inputs}`;
    return {
      id: asInputId(`inp_${id}`),
      turnId: asTurnId(`trn_${id}`),
      sessionId: asSessionId(session),
      message: { role: "user", parts: [text("Hello.")] },
      place,
      hash: id,
      at: this.world.now(),
    };
  }

  async play(lease: Lease, journal: readonly TurnEvent[], host: EffectHost): Promise<Played> {
    const turn = new Played(this, lease, journal[0] as Opened, host);
    this.#turns.push(turn);
    await turn.open(journal);
    return turn;
  }

  /** What a worker finds who opens the session now. */
  async find(turn: Played): Promise<{ readonly lease: Lease; readonly journal: readonly TurnEvent[] }> {
    const found = await this.store.open(turn.lease.sessionId, ben, this.world.now(), opening);
    return found.kind === "resumed" ? found : assert.fail(`Nothing to resume: ${found.kind}.`);
  }

  /** Another worker has the session from now on, and the one who played the turn has not been told. */
  async takeOver(turn: Played): Promise<Lease> {
    await this.store.release(turn.lease);
    return (await this.find(turn)).lease;
  }

  /** The turn goes on elsewhere, as after a crash. */
  async resume(turn: Played): Promise<Played> {
    await turn.run.leave();
    const { lease, journal } = await this.find(turn);
    return this.play(lease, journal, await this.#fixture.host());
  }

  /** Time passes here as on any clock a host may look at. */
  async elapse(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= TICK_MS) {
      await this.world.advance(Math.min(left, TICK_MS));
      await pause(Math.min(left, TICK_MS));
    }
  }

  async strike(): Promise<void> {
    for (const turn of this.#turns) await turn.run.leave();
    await this.store.close();
  }
}

const TICK_MS = 50;
const SECOND_MS = 1_000;
/** Enough for whatever is under way without a clock. */
const SETTLE_MS = 20;
/** A law that waits in vain for an event fails after this. */
const PATIENCE_MS = 5_000;

/** One turn on a host, the performer of its effects, and what was seen of both. */
class Played {
  readonly stage: Stage;
  readonly lease: Lease;
  readonly opened: Opened;
  run!: TurnRun;
  /** In order. */
  readonly performed: EffectName[] = [];
  readonly traced: string[] = [];
  /** What the host did to the store, by the method's name. */
  readonly writes: string[] = [];
  /** Events that the store has confirmed. */
  written = 0;
  readonly #host: EffectHost;
  readonly #scopes = new Map<EffectName, Scope>();
  readonly #answers = new Map<EffectName, PromiseWithResolvers<Answer>>();
  readonly #plays = new Map<EffectName, (effect: Effect) => Awaitable<Answer>>();
  readonly #held = new Map<string, Promise<void>>();
  #next: Promise<TurnEvent> | undefined;

  constructor(stage: Stage, lease: Lease, opened: Opened, host: EffectHost) {
    this.stage = stage;
    this.lease = lease;
    this.opened = opened;
    this.#host = host;
  }

  async open(journal: readonly TurnEvent[]): Promise<void> {
    const store = watched(this.stage.store, (method, args, go) => this.#watch(method, args, go));
    const trace = (event: string): number => this.traced.push(event);
    this.run = await this.#host.open({ lease: this.lease, journal }, this.#perform, {
      store,
      world: this.stage.world,
      trace,
    });
  }

  async #watch(method: string, args: readonly unknown[], go: () => unknown): Promise<unknown> {
    await this.#held.get(method);
    const answer = await go();
    if (method === "append") this.written += (args[2] as readonly TurnEvent[]).length;
    return answer;
  }

  readonly #perform: Perform = (effect, scope) => {
    this.performed.push(effect.name);
    this.#scopes.set(effect.name, scope);
    const play = this.#plays.get(effect.name);
    return play === undefined ? this.#answerOf(effect.name).promise : play(effect);
  };

  #answerOf(effect: EffectName): PromiseWithResolvers<Answer> {
    const known = this.#answers.get(effect) ?? Promise.withResolvers<Answer>();
    this.#answers.set(effect, known);
    return known;
  }

  start(...effects: readonly Effect[]): void {
    this.run.start(effects, []);
  }

  drop(...effects: readonly Effect[]): void {
    this.run.start(
      [],
      effects.map((effect) => effect.name),
    );
  }

  /** How this effect is performed; without it, it waits for `answer`. */
  plays(effect: Effect, play: () => Awaitable<Answer>): void {
    this.#plays.set(effect.name, play);
  }

  says(effect: Effect, words = "Done."): Answer {
    return answerTo(effect, this.stage.world.now(), words);
  }

  /** Answers an effect, and gives whatever follows from that the time to happen. */
  async answer(effect: Effect, words?: string): Promise<Answer> {
    const answer = this.says(effect, words);
    this.#answerOf(effect.name).resolve(answer);
    await pause(SETTLE_MS);
    return answer;
  }

  isAborted(effect: Effect): boolean {
    const scope = this.#scopes.get(effect.name) ?? assert.fail(`${effect.name} was never performed.`);
    assert.equal(scope.signal.aborted, scope.isAborted);
    return scope.isAborted;
  }

  /** The next event that is not about how the turn is kept. */
  async next(): Promise<TurnEvent> {
    const patience = new AbortController();
    const late = pause(PATIENCE_MS, undefined, { signal: patience.signal, ref: false });
    try {
      return await Promise.race([this.#pull(), late.then(() => assert.fail("No event came."))]);
    } finally {
      this.#next = undefined;
      patience.abort();
      late.catch(() => {});
    }
  }

  #pull(): Promise<TurnEvent> {
    if (this.#next === undefined) {
      this.#next = this.#pullOne();
      this.#next.catch(() => {}); // A law may have stopped waiting for it.
    }
    return this.#next;
  }

  async #pullOne(): Promise<TurnEvent> {
    for (;;) {
      const event = await this.run.next();
      if (event.kind !== "resumed") return event;
    }
  }

  /** The next event is this one. */
  async hears(expected: TurnEvent): Promise<void> {
    assert.deepEqual(await this.next(), expected);
  }

  /** The next event answers a wait with this. */
  async hearsOf(effect: Effect, answer: WaitAnswer): Promise<void> {
    const event = await this.next();
    assert.ok(event.kind === "resolved", `${event.kind} came.`);
    assert.equal(event.effect, effect.name);
    assert.deepEqual(event.answer, answer);
  }

  /** Nothing is handed out, in the time that whatever is under way needs, or in this much. */
  async hearsNothing(ms?: number): Promise<void> {
    const heard = this.#pull().then(
      (event) => event.kind,
      (error: unknown) => `the error ${String(error)}`,
    );
    const silence = (ms === undefined ? pause(SETTLE_MS) : this.stage.elapse(ms)).then(() => "nothing");
    assert.equal(await Promise.race([heard, silence]), "nothing");
  }

  /** It comes within a second, although nobody but the clock moves. */
  async hearsWithinASecond(): Promise<TurnEvent> {
    let outcome: { readonly event: TurnEvent } | { readonly error: unknown } | undefined;
    this.next().then(
      (event) => {
        outcome = { event };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    for (let passed = 0; passed < SECOND_MS && outcome === undefined; passed += TICK_MS)
      await this.stage.elapse(TICK_MS);
    if (outcome === undefined) return assert.fail("Nothing came within a second.");
    if ("error" in outcome) throw outcome.error;
    return outcome.event;
  }

  async cancels(): Promise<void> {
    const answer = await this.stage.store.cancel(this.opened.turnId, CANCEL);
    assert.equal(answer.kind, "requested");
  }

  async commit(ended: Partial<EndedTurn> = {}): ReturnType<TurnRun["commit"]> {
    return this.run.commit({ ...this.ended(), ...ended });
  }

  ended(): EndedTurn {
    const { turnId, inputId } = this.opened;
    return {
      turnId,
      at: this.stage.world.now(),
      outcome: { kind: "stopped", by: "limit", code: "limit.rounds", reason: "Enough.", text: "" },
      entries: [],
      plugins: {},
      usage: NO_USAGE,
      inputs: [inputId],
    };
  }

  async isCommitted(): Promise<boolean> {
    return (await this.stage.store.terminal(this.opened.turnId)) !== undefined;
  }

  /** Calls of the host to this method wait from now on, until the answer is called. */
  hold(method: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(method, promise);
    return () => {
      this.#held.delete(method);
      resolve();
    };
  }
}
