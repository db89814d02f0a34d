// long: one list of laws
// The promises of every host, as data: run them with any test runner.
import assert from "node:assert/strict";
import { setImmediate as immediate, setTimeout as pause } from "node:timers/promises";
import type { EffectHost, Perform, TurnRun } from "../hosts/host.ts";
import { type Awaitable, andThen } from "../model/awaitable.ts";
import { type Code, hasCode, RuntimeError } from "../model/errors.ts";
import { asCallId, asSessionId, asWaitKey, type EffectName, type WaitKey } from "../model/ids.ts";
import type { NewJob } from "../model/job.ts";
import type { Json } from "../model/json.ts";
import { text } from "../model/message.ts";
import type { Scope } from "../model/scope.ts";
import { NO_USAGE } from "../model/usage.ts";
import { type WaitAnswer, waitIdOf } from "../model/wait.ts";
import type { World } from "../model/world.ts";
import type { CancelRequest, EndedTurn, Lease, NewInput, ParkedTurn, Store } from "../stores/store.ts";
import { type Effect, type EffectOf, GRACE, name } from "../turn/effect.ts";
import type { Answer, Applied, Opened, TurnEvent } from "../turn/event.ts";
import { ann, approval, ben, ended, newInput, newSession, opening } from "./cast.ts";
import { jobId, newJob } from "./job-cast.ts";
import { simulatedWorld } from "./world.ts";

/** What the laws need to test a host. Each law asks for a new one. */
export interface HostFixture {
  /** Creates a host. Called more than once by laws in which another worker continues a turn. */
  host(): Awaitable<EffectHost>;
  /** Creates an empty store. The law closes it. */
  store(): Awaitable<Store>;
  /**
   * For a host whose timers do not use the world of its context. Default: time is simulated. No law advances it by more
   * than 5 seconds.
   */
  world?(): LawWorld;
}
export type LawWorld = World & { advance(ms: number): Awaitable<void> };

/** A promise of every host. `check` throws when it is broken. */
export interface HostLaw {
  readonly law: string;
  /**
   * `journal`: the law is only for hosts that store a turn's events in the store's journal. `parking`: only for those
   * that also park turns.
   */
  readonly needs?: "journal" | "parking";
  check(fixture: HostFixture): Promise<void>;
}

type Check = (turn: PlayedTurn, stage: Stage) => Awaitable<unknown>;

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
const parkingLaw = (title: string, check: Check): HostLaw => ({ ...law(title, check), needs: "parking" });

// `step` does not drive the turns of these laws: each law starts, drops and answers effects itself.

const PREPARE: Effect = { name: name("r1.prepare"), kind: "prepare", round: 1 };
const ASK: Effect = { name: name("r1.ask"), kind: "ask", round: 1 };
const GATE: Effect = { name: name("r1.gate"), kind: "gate", calls: [] };
const SETTLE: Effect = { name: name("r1.settle"), kind: "settle", results: [] };
const EXEC: Effect = {
  name: name("r1.exec"),
  kind: "exec",
  cell: { language: "ts", code: "", acceptFinish: false },
  time: 0,
};
const KEY = asWaitKey("a-key-that-nobody-guesses");
const OTHER_KEY = asWaitKey("another-such-key");

function call(at: number): EffectOf<"call"> {
  const position = name(`r1.call.${at}`);
  const tool = { id: asCallId(`call_${at}`), name: "search", input: {} };
  return { name: position, kind: "call", at: String(at), call: tool, attempt: 1, position };
}
const [FIRST, SECOND, THIRD] = [call(0), call(1), call(2)] as const;

const sleep = (until: number): Effect => ({ name: name("r1.call.0.b1"), kind: "sleep", at: 0, until });
const grace = (until: number): Effect => ({ name: GRACE, kind: "sleep", at: 0, until });
const wait = (until: number, key: WaitKey = KEY): EffectOf<"wait"> => ({
  name: name(`wait.${key}`),
  kind: "wait",
  key,
  at: 1,
  until,
  about: approval,
});

const APPLIED: Applied = {
  kind: "applied",
  at: 2,
  operation: "opr_1",
  changes: { "acme/notes": { state: { lines: 1 } } },
};
const CANCEL: CancelRequest = { requestId: "can_1", reason: "Enough.", at: 1 };

/** Returns an answer of the right kind for the effect. */
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

/** A store, a clock, and the turns of one law. */
class Stage {
  readonly world: LawWorld;
  /** The real store. Hosts get a watched one. */
  readonly store: Store;
  /** The number of sleeping timers of hosts. */
  asleep = 0;
  readonly #fixture: HostFixture;
  readonly #turns: PlayedTurn[] = [];
  #inputs = 0;

  constructor(fixture: HostFixture, store: Store) {
    this.#fixture = fixture;
    this.store = store;
    const world = fixture.world?.() ?? simulatedWorld();
    this.world = {
      now: () => world.now(),
      id: (prefix) => world.id(prefix),
      secret: () => world.secret(),
      advance: (ms) => world.advance(ms),
      sleep: (ms, signal) => {
        this.asleep++;
        return world.sleep(ms, signal).finally(() => this.asleep--);
      },
      rest: (ms, signal) => world.rest(ms, signal),
    };
  }

  /** Starts a turn in a new session; with `beside`, on the host of that turn. */
  async begin(session = "alice", beside?: PlayedTurn): Promise<PlayedTurn> {
    await this.store.create({ ...newSession(asSessionId(session)), at: this.world.now() });
    const receipt = await this.store.accept(this.input(session, "turn"), ann, opening, 100);
    if (receipt.kind !== "opened") return assert.fail(`The store did not open the turn: ${receipt.kind}.`);
    return this.play(receipt.lease, [receipt.opened], beside?.host ?? (await this.#fixture.host()));
  }

  input(session: string, place: NewInput["place"]): NewInput {
    return newInput(`${session}-${++this.#inputs}`, { to: asSessionId(session), place, at: this.world.now() });
  }

  async play(lease: Lease, journal: readonly TurnEvent[], host: EffectHost, isResumed?: true): Promise<PlayedTurn> {
    const turn = new PlayedTurn(this, lease, journal[0] as Opened, host);
    await turn.open(journal, isResumed);
    this.#turns.push(turn);
    return turn;
  }

  /** Opens the session as another worker. */
  async find(turn: PlayedTurn): Promise<{ readonly lease: Lease; readonly journal: readonly TurnEvent[] }> {
    const found = await this.store.open(turn.lease.sessionId, ben, this.world.now(), opening);
    return found.kind === "resumed" ? found : assert.fail(`Nothing to resume: ${found.kind}.`);
  }

  /** Gives the session to another worker without notifying the first one. */
  async takeOver(turn: PlayedTurn): Promise<Lease> {
    await this.store.release(turn.lease);
    return (await this.find(turn)).lease;
  }

  /** Continues the turn on another host, as after a crash. */
  async resume(turn: PlayedTurn): Promise<PlayedTurn> {
    await turn.run.leave();
    return this.goOn(turn);
  }

  /** Continues an unheld turn on another host. */
  async goOn(turn: PlayedTurn): Promise<PlayedTurn> {
    const { lease, journal } = await this.find(turn);
    return this.play(lease, journal, await this.#fixture.host(), true);
  }

  /** Answers a wait, and returns the store's verdict. */
  async resolve(key: WaitKey, value: Json): Promise<string> {
    return (await this.store.waits.resolve(key, { kind: "value", value }, this.world.now())).said;
  }

  /** Returns the names of all jobs. */
  async jobs(): Promise<readonly string[]> {
    return (await this.store.jobs.list({ max: 100 })).map(({ record }) => record.label.replace("to ", ""));
  }

  /** Advances time in ticks, so that the work of one tick is done before the next. */
  async elapse(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= TICK_MS) await this.world.advance(Math.min(left, TICK_MS));
    await settle();
  }

  async strike(): Promise<void> {
    for (const turn of this.#turns) await turn.run.leave();
    await this.store.close();
  }
}

type Parked = Awaited<ReturnType<TurnRun["park"]>>;

const TICK_MS = 50;
const SECOND_MS = 1_000;
/** The time after which a law that waits for an event fails. */
const PATIENCE_MS = 3_000;

/** Waits long enough for all work that needs no clock, even on a busy machine. */
async function settle(): Promise<void> {
  await pause(20);
  for (let times = 0; times < 20; times++) await immediate();
}

/** One turn on a host. It performs the turn's effects and records what the host did. */
class PlayedTurn {
  readonly stage: Stage;
  readonly lease: Lease;
  readonly opened: Opened;
  readonly host: EffectHost;
  run!: TurnRun;
  /** Effects in the order in which the host performed them. */
  readonly performed: EffectName[] = [];
  readonly traced: string[] = [];
  /** The host's writes to the store, by the method's name. */
  readonly writes: string[] = [];
  /** The waits that the host announced as answerable. */
  readonly asked: WaitKey[] = [];
  readonly begun: string[] = [];
  readonly #scopes = new Map<EffectName, Scope>();
  readonly #answers = new Map<EffectName, PromiseWithResolvers<Answer>>();
  readonly #plays = new Map<EffectName, (effect: Effect) => Awaitable<Answer>>();
  readonly #held = new Map<string, Promise<void>>();
  readonly #faults = new Map<string, RuntimeError>();
  #next: Promise<TurnEvent> | undefined;

  constructor(stage: Stage, lease: Lease, opened: Opened, host: EffectHost) {
    this.stage = stage;
    this.lease = lease;
    this.opened = opened;
    this.host = host;
  }

  async open(journal: readonly TurnEvent[], isResumed?: true): Promise<void> {
    const { lease, stage } = this;
    const store = watched(stage.store, (method, go) => {
      if (!READS.has(method)) this.writes.push(method);
      const fault = this.#faults.get(method);
      if (fault !== undefined) return this.#broken(method, fault);
      return andThen(this.#held.get(method), go);
    });
    const trace = (event: string): number => this.traced.push(event);
    const until = stage.world.now() + lease.heldMs; // The clock does not move between taking a lease and this line.
    const turn = isResumed === true ? { lease, until, journal, isResumed } : { lease, until, journal };
    this.run = await this.host.open(turn, this.#perform, {
      store,
      world: stage.world,
      waiting: (key) => void this.asked.push(key),
      spawned: (jobs) => void this.begun.push(...jobs.map(({ id }) => id)),
      pending: () => {},
      followed: () => {},
      trace,
    });
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

  /** Starts effects, and waits for the consequences. */
  async start(...effects: readonly Effect[]): Promise<void> {
    this.run.start(effects, []);
    await settle();
  }

  async drop(...effects: readonly Effect[]): Promise<void> {
    const names = effects.map((effect) => effect.name);
    this.run.start([], names);
    await settle();
  }

  /** Defines how an effect is performed. Without it, the effect waits for `answer`. */
  plays(effect: Effect, play: () => Awaitable<Answer>): void {
    this.#plays.set(effect.name, play);
  }

  says(effect: Effect, words = "Done."): Answer {
    return answerTo(effect, this.stage.world.now(), words);
  }

  /** Answers an effect, and waits for the consequences. */
  async answer(effect: Effect, words?: string): Promise<Answer> {
    const answer = this.says(effect, words);
    this.#answerOf(effect.name).resolve(answer);
    await settle();
    return answer;
  }

  /** Answers an effect with jobs that start with the answer. */
  async begins(effect: Effect, ...spawns: readonly NewJob[]): Promise<Answer> {
    const answer: Answer = { ...this.says(effect), spawns };
    this.#answerOf(effect.name).resolve(answer);
    await settle();
    return answer;
  }

  isAborted(effect: Effect): boolean {
    const scope = this.#scopes.get(effect.name) ?? assert.fail(`${effect.name} was never performed.`);
    assert.equal(scope.signal.aborted, scope.isAborted);
    return scope.isAborted;
  }

  /** Returns the next event, except `resumed`, which is not an answer. */
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
      this.#next.catch(() => {}); // The law may have stopped waiting.
    }
    return this.#next;
  }

  async #pullOne(): Promise<TurnEvent> {
    for (;;) {
      const event = await this.run.next();
      if (event.kind !== "resumed") return event;
    }
  }

  /** Returns the next event, except `resumed`; undefined if none came for `ms`. */
  async quiet(ms: number): Promise<TurnEvent | undefined> {
    for (;;) {
      const event = await this.run.next(ms);
      if (event?.kind !== "resumed") return event;
    }
  }

  /** Asserts that this is the next event. */
  async hears(expected: TurnEvent): Promise<void> {
    assert.deepEqual(await this.next(), expected);
  }

  /** Asserts that the next event answers this wait. */
  async hearsOf(effect: Effect, answer: WaitAnswer): Promise<void> {
    const event = await this.next();
    assert.ok(event.kind === "resolved", `${event.kind} came.`);
    assert.equal(event.effect, effect.name);
    assert.deepEqual(event.answer, answer);
  }

  /** Asserts that no event comes for `ms`, or for as long as work without a clock may take. */
  async hearsNothing(ms?: number): Promise<void> {
    const heard = this.#pull().then(
      (event) => event.kind,
      (error: unknown) => `the error ${String(error)}`,
    );
    const silence = (ms === undefined ? settle() : this.stage.elapse(ms)).then(() => "nothing");
    assert.equal(await Promise.race([heard, silence]), "nothing");
  }

  /** Asserts that an event comes within a second, although only the clock moves. */
  async hearsWithinASecond(): Promise<TurnEvent> {
    const heard = this.next();
    heard.catch(() => {}); // Time advances before it is awaited.
    await this.stage.elapse(SECOND_MS);
    return heard; // The store may take real time to answer the last read.
  }

  async cancels(): Promise<void> {
    const answer = await this.stage.store.cancel(this.opened.turnId, CANCEL);
    assert.equal(answer.kind, "requested");
  }

  /** Parks the turn with these waits. */
  async park(waits: readonly EffectOf<"wait">[], more: Partial<ParkedTurn> = {}): Promise<Parked> {
    const wakeAt = Math.min(...waits.map(({ until }) => until));
    return this.run.park({ turnId: this.opened.turnId, wakeAt, waits: waits.map(({ key }) => key), ...more });
  }

  /** Asserts that it was not parked, and returns what came first: it is in the answer, or `next` returns it at once. */
  async cameFirst(answer: Parked): Promise<TurnEvent> {
    if (!("reopen" in answer)) return assert.fail("It was parked.");
    const [event, ...more] = answer.reopen;
    assert.deepEqual(more, []);
    return event ?? (await this.quiet(0)) ?? assert.fail("Nothing came first.");
  }

  async commit(ending: Partial<EndedTurn> = {}): Promise<Awaited<ReturnType<TurnRun["commit"]>>> {
    return this.run.commit({ ...this.ended(), ...ending });
  }

  ended(): EndedTurn {
    return ended(this.opened, { says: [], at: this.stage.world.now(), inputs: [this.opened.inputId] });
  }

  async isCommitted(): Promise<boolean> {
    return (await this.stage.store.terminal(this.opened.turnId)) !== undefined;
  }

  /** Makes the host's next call of this method fail, like a store that is unreachable for a moment. */
  fails(method: string): void {
    this.#faults.set(method, new RuntimeError("store.locked", { path: "law", ms: 1 }));
  }
  #broken(method: string, fault: RuntimeError): never {
    this.#faults.delete(method);
    throw fault;
  }

  /** Makes the host's calls of this method wait until the returned function is called. */
  hold(method: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(method, promise);
    return () => {
      this.#held.delete(method);
      resolve();
    };
  }
}

const READS: ReadonlySet<string> = new Set([
  "load",
  "has",
  "list",
  "view",
  "journal",
  "terminal",
  "inputs.list",
  "waits.list",
  "waits.get",
]);

/** Wraps a store. `seen` gets each call before it is made, and makes it with `go`. */
function watched<T extends object>(target: T, seen: (method: string, go: () => unknown) => unknown, path = ""): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key); // The proxy has no private fields.
      const at = `${path}${String(key)}`;
      if (typeof value === "function") return (...args: unknown[]) => seen(at, () => value.apply(target, args));
      return typeof value === "object" && value !== null ? watched(value, seen, `${at}.`) : value;
    },
  });
}

const failsWith = (code: Code) => (error: unknown) => hasCode(error, code);

export const hostLaws: readonly HostLaw[] = [
  // ── Order of events ────────────────────────────────────────────────────────────────────────────────────────────────

  law("H1 a commit answers when the store has the whole turn, and not before", async (turn) => {
    const letGo = turn.hold("commit");
    let isAnswered = false;
    const committing = turn.commit().finally(() => {
      isAnswered = true;
    });
    await settle();
    assert.deepEqual([isAnswered, await turn.isCommitted()], [false, false]);
    letGo();
    const done = await committing;
    assert.ok("kind" in done && done.kind === "committed");
    assert.deepEqual((await turn.stage.store.terminal(turn.opened.turnId))?.outcome, turn.ended().outcome);
  }),

  law("H2 events are handed out in the order in which they came", async (turn) => {
    await turn.start(FIRST, SECOND, THIRD);
    const answers = [await turn.answer(THIRD), await turn.answer(FIRST), await turn.answer(SECOND)];
    for (const answer of answers) await turn.hears(answer);
  }),

  law("H2 events are handed out in the order in which they came, also to one who waits already", async (turn) => {
    await turn.start(FIRST, SECOND);
    const heard = turn.next();
    const answers = [await turn.answer(SECOND), await turn.answer(FIRST)];
    assert.deepEqual(await heard, answers[0]);
    await turn.hears(answers[1]!);
  }),

  law("H2 an answer in line is dropped and traced when the event before it drops its effect", async (turn) => {
    await turn.start(FIRST, SECOND);
    const answer = await turn.answer(FIRST);
    await turn.answer(SECOND);
    await turn.hears(answer);
    await turn.drop(SECOND);
    await turn.hearsNothing();
    assert.ok(turn.traced.length > 0);
    await turn.start(THIRD);
    const later = await turn.answer(THIRD);
    await turn.hears(later);
  }),

  law("H2 the answer of a dropped effect is dropped and traced, and its signal aborts", async (turn) => {
    await turn.start(ASK, FIRST);
    assert.deepEqual([turn.isAborted(ASK), turn.isAborted(FIRST)], [false, false]);
    await turn.drop(FIRST);
    assert.deepEqual([turn.isAborted(ASK), turn.isAborted(FIRST)], [false, true]);
    await turn.answer(FIRST);
    await turn.hearsNothing();
    assert.ok(turn.traced.length > 0);
  }),

  law("H2 the turns of one host do not disturb each other", async (turn, stage) => {
    const other = await stage.begin("bob", turn);
    for (const each of [turn, other]) await each.start(ASK);
    await other.cancels();
    const answer = await turn.answer(ASK, "For alice.");
    await turn.hears(answer);
    await turn.start(FIRST);
    await other.run.leave();
    assert.deepEqual([turn.isAborted(FIRST), other.isAborted(ASK)], [false, true]);
    await turn.hearsNothing();
  }),

  journalLaw("H2 what is recorded comes first, and is not performed again", async (turn, stage) => {
    await turn.start(PREPARE);
    const prepared = await turn.answer(PREPARE);
    await turn.hears(prepared);
    await turn.start(ASK);
    const replied = await turn.answer(ASK);
    await turn.hears(replied);
    await turn.start(FIRST, SECOND);
    const returned = await turn.answer(SECOND);
    await turn.hears(returned);
    await turn.start(THIRD); // An outward effect: the host stores all earlier events first.

    const resumed = await stage.resume(turn);
    // Answers at once, but its event must come after the recorded events.
    resumed.plays(FIRST, () => resumed.says(FIRST));
    await resumed.start(PREPARE);
    await resumed.hears(prepared);
    await resumed.start(ASK);
    await resumed.hears(replied);
    await resumed.start(FIRST, SECOND);
    await resumed.hears(returned);
    const next = await resumed.next();
    assert.deepEqual([next.kind, resumed.performed], ["returned", [FIRST.name]]);
  }),

  journalLaw("H2 what a recorded event drops later on is not performed at all", async (turn, stage) => {
    await turn.start(FIRST, SECOND);
    const returned = await turn.answer(FIRST);
    await turn.hears(returned);
    turn.run.start([THIRD], [SECOND.name]);
    await settle();

    const resumed = await stage.resume(turn);
    await resumed.start(FIRST, SECOND);
    await resumed.hears(returned);
    resumed.run.start([THIRD], [SECOND.name]);
    const answer = resumed.answer(THIRD);
    await resumed.hears(await answer);
    assert.deepEqual(resumed.performed, [THIRD.name]);
  }),

  law("H3 an effect is performed when `start` asks for it, and once", async (turn) => {
    await turn.hearsNothing();
    assert.deepEqual(turn.performed, []);
    await turn.start(PREPARE);
    const prepared = await turn.answer(PREPARE);
    await turn.hears(prepared);
    turn.run.poke();
    await settle();
    assert.deepEqual(turn.performed, [PREPARE.name]);
    await turn.start(FIRST, SECOND);
    turn.run.poke();
    await settle();
    assert.deepEqual(turn.performed, [PREPARE.name, FIRST.name, SECOND.name]);
  }),

  journalLaw("H3 what goes outward is held until the event that released it is written", async (turn, stage) => {
    await turn.start(PREPARE);
    const prepared = await turn.answer(PREPARE);
    await turn.hears(prepared);
    const letGo = turn.hold("append");
    await turn.start(ASK, FIRST, EXEC);
    assert.deepEqual(turn.performed, [PREPARE.name]);
    letGo();
    await settle();
    assert.deepEqual(turn.performed, [PREPARE.name, ASK.name, FIRST.name, EXEC.name]);
    assert.deepEqual(await stage.store.journal(turn.opened.turnId, 1), [prepared]);
  }),

  law("H4 an effect has one answer: a second is dropped and traced", async (turn) => {
    turn.plays(SECOND, () => turn.says(FIRST, "Again."));
    await turn.start(FIRST);
    const answer = await turn.answer(FIRST);
    await turn.start(SECOND);
    await turn.hears(answer);
    await turn.hearsNothing();
    assert.ok(turn.traced.length > 0);
  }),

  // ── Events from outside ────────────────────────────────────────────────────────────────────────────────────────────

  law("H6 a cancel is returned within a second without a hint", async (turn) => {
    await turn.start(ASK);
    await turn.cancels();
    const { kind, requestId, reason } = (await turn.hearsWithinASecond()) as Extract<TurnEvent, { kind: "cancelled" }>;
    assert.deepEqual([kind, requestId, reason], ["cancelled", CANCEL.requestId, CANCEL.reason]);
  }),

  journalLaw("H6 a cancel is heard within a second, though the turn never waits", async (turn, stage) => {
    await turn.cancels();
    for (let at = 0; at < SECOND_MS; at += SECOND_MS / 10) {
      const effect = call(at);
      turn.plays(effect, () => turn.says(effect));
      await turn.start(effect);
      if ((await turn.next()).kind === "cancelled") return;
      await stage.world.advance(SECOND_MS / 10);
    }
    assert.fail("It was not heard.");
  }),

  law("H6 a cancel is heard at once after a poke, and once", async (turn) => {
    await turn.start(ASK);
    await turn.cancels();
    for (let times = 0; times < 3; times++) turn.run.poke();
    await settle();
    assert.equal((await turn.next()).kind, "cancelled");
    turn.run.poke();
    await turn.hearsNothing(SECOND_MS + 2 * TICK_MS);
  }),

  law("H6 a commit that finds a new cancel returns it and stores nothing", async (turn) => {
    await turn.cancels();
    const reopened = await turn.commit();
    if (!("reopen" in reopened)) return assert.fail("It was committed.");
    const [event, ...more] = reopened.reopen;
    assert.ok(event?.kind === "cancelled" && event.requestId === CANCEL.requestId && more.length === 0);
    assert.equal(await turn.isCommitted(), false);
    turn.run.poke();
    await turn.hearsNothing();
    const done = await turn.commit({ cancel: CANCEL.requestId });
    assert.ok("kind" in done && (await turn.isCommitted()));
  }),

  law("H6 a cancel that a commit has answered with is not handed out as well", async (turn) => {
    await turn.cancels();
    turn.run.poke();
    await settle(); // The cancel now waits to be returned.
    assert.ok("reopen" in (await turn.commit()));
    turn.run.poke();
    await turn.hearsNothing();
    await turn.start(FIRST);
    const answer = await turn.answer(FIRST);
    await turn.hears(answer);
  }),

  journalLaw("H6 a recorded cancel is not handed out again", async (turn, stage) => {
    await turn.start(FIRST);
    await turn.cancels();
    turn.run.poke();
    const cancelled = await turn.next();
    await turn.start(SECOND);
    const resumed = await stage.resume(turn);
    await resumed.start(FIRST);
    await resumed.hears(cancelled);
    resumed.run.poke();
    await resumed.hearsNothing();
  }),

  law("H7 inputs are not pushed: they wait for the turn to ask", async (turn, stage) => {
    const { sessionId } = turn.lease;
    await turn.start(ASK);
    const receipt = await stage.store.accept(stage.input(sessionId, "boundary"), ann, opening, 100);
    assert.equal(receipt.kind, "queued");
    turn.run.poke();
    await turn.hearsNothing(SECOND_MS);
    assert.equal((await stage.store.inputs.list(sessionId)).length, 1);
  }),

  law(
    "H8 a lost lease makes `next` reject, though nothing finishes; signals abort and it is traced",
    async (turn, stage) => {
      await turn.start(ASK, GATE);
      await stage.takeOver(turn);
      await assert.rejects(turn.hearsWithinASecond(), failsWith("lease.lost"));
      assert.deepEqual([turn.isAborted(ASK), turn.isAborted(GATE)], [true, true]);
      assert.ok(turn.traced.length > 0);
      await assert.rejects(turn.next(), failsWith("lease.lost"));
    },
  ),

  law("H8 a lost lease makes `next` reject, even with queued events", async (turn, stage) => {
    await turn.start(FIRST);
    await turn.answer(FIRST);
    await turn.cancels();
    turn.run.poke();
    await settle();
    await stage.takeOver(turn);
    turn.run.poke();
    await settle();
    await assert.rejects(turn.next(), failsWith("lease.lost"));
  }),

  law("H8 a wait that begins on a lost lease makes `next` reject", async (turn, stage) => {
    await stage.takeOver(turn);
    await turn.start(wait(stage.world.now() + 200));
    await assert.rejects(turn.next(), failsWith("lease.lost"));
  }),

  law("H8 once a lease is lost nothing starts and nothing is written", async (turn, stage) => {
    await turn.start(FIRST, wait(stage.world.now() + 200), sleep(stage.world.now() + 200));
    const lease = await stage.takeOver(turn);
    turn.run.poke();
    await assert.rejects(turn.next(), failsWith("lease.lost"));
    turn.writes.length = 0;
    await turn.answer(FIRST);
    await turn.start(SECOND, wait(stage.world.now() + 100, OTHER_KEY));
    turn.run.poke();
    await stage.world.advance(500);
    await assert.rejects(turn.commit(), failsWith("lease.lost"));
    await turn.run.leave();
    assert.deepEqual(turn.writes, []);
    assert.deepEqual(turn.performed, [FIRST.name]);
    assert.equal(await turn.isCommitted(), false);
    await stage.store.renew(lease, stage.world.now());
  }),

  law("H8 a commit on a lost lease rejects, and keeps nothing", async (turn, stage) => {
    await turn.start(ASK);
    await stage.takeOver(turn);
    await assert.rejects(turn.commit(), failsWith("lease.lost"));
    assert.equal(await turn.isCommitted(), false);
    await assert.rejects(turn.hearsWithinASecond(), failsWith("lease.lost"));
    assert.equal(turn.isAborted(ASK), true);
  }),

  // ── Effects ────────────────────────────────────────────────────────────────────────────────────────────────────────

  law("H9 an effect that throws or rejects is a failed event, and the turn continues", async (turn) => {
    const boom = async (): Promise<never> => {
      throw new Error("boom");
    };
    const failures: readonly (readonly [Effect, () => Awaitable<Answer>, string])[] = [
      [PREPARE, thrower(new Error("boom")), "boom"],
      [FIRST, thrower("only words"), "only words"],
      [SECOND, boom, "boom"],
      [ASK, () => Promise.reject(undefined), ""],
    ];
    for (const [effect, play, words] of failures) {
      turn.plays(effect, play);
      await turn.start(effect);
      const event = await turn.next();
      assert.ok(event.kind === "failed" && event.effect === effect.name, `${event.kind} came.`);
      assert.equal(event.error.class, "runtime");
      assert.ok(event.error.message.includes(words));
    }
    await turn.start(THIRD);
    const answer = await turn.answer(THIRD);
    await turn.hears(answer);
  }),

  law("H9 a failed event keeps the code of the error that was thrown", async (turn) => {
    turn.plays(ASK, thrower(new RuntimeError("service.unavailable", { service: "jobs", plugin: "a/b" })));
    await turn.start(ASK);
    const event = await turn.next();
    assert.ok(event.kind === "failed" && event.error.code === "service.unavailable");
  }),

  law("H10 answers given at once come in the order of their effects, before any that is waited for", async (turn) => {
    const later = turn.says(GATE);
    turn.plays(GATE, async () => later);
    for (const effect of [PREPARE, SETTLE]) turn.plays(effect, () => turn.says(effect));
    await turn.start(GATE, PREPARE, SETTLE);
    const kinds = [await turn.next(), await turn.next(), await turn.next()].map((event) => event.kind);
    assert.deepEqual(kinds, ["prepared", "settled", "gated"]);
  }),

  // ── Sleeps and waits ──────────────────────────────────────────────────────────────────────────────────────────────

  law("sleep: it answers when its time has come, and not before", async (turn, stage) => {
    const until = stage.world.now() + 2_000;
    await turn.start(sleep(until));
    await stage.world.advance(1_000);
    await turn.hearsNothing();
    await stage.world.advance(1_000);
    const event = await turn.next();
    assert.ok(event.kind === "slept" && event.at >= until);
    await stage.world.advance(1_000);
    await turn.hearsNothing();
  }),

  law("sleep: one whose time has passed answers at once", async (turn, stage) => {
    await turn.start(sleep(stage.world.now() - 1_000));
    assert.equal((await turn.next()).kind, "slept");
  }),

  law("sleep: a dropped one is never heard", async (turn, stage) => {
    const dropped = sleep(stage.world.now() + 200);
    await turn.start(dropped, FIRST);
    await turn.drop(dropped);
    await stage.world.advance(500);
    await turn.hearsNothing();
  }),

  law("wait: it is answered with the value, after a poke", async (turn, stage) => {
    const first = wait(stage.world.now() + 5_000);
    const second = wait(stage.world.now() + 5_000, OTHER_KEY);
    await turn.start(first, second);
    await turn.hearsNothing();
    assert.equal(await stage.resolve(OTHER_KEY, 2), "accepted");
    turn.run.poke();
    await turn.hearsOf(second, { kind: "value", value: 2 });
    assert.equal(await stage.resolve(KEY, { approved: true }), "accepted");
    turn.run.poke();
    await turn.hearsOf(first, { kind: "value", value: { approved: true } });
    const before = turn.traced.length;
    turn.run.poke();
    await turn.hearsNothing();
    assert.equal(turn.traced.length, before); // The store contains the same answers, and the host must not return them twice.
  }),

  law("wait: an answer is returned within a second without a hint", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    await stage.resolve(KEY, "yes");
    const event = await turn.hearsWithinASecond();
    assert.ok(event.kind === "resolved" && event.answer.kind === "value");
  }),

  law("wait: it times out at its end, and not before", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 2_000);
    await turn.start(waiting);
    await stage.world.advance(1_000);
    await turn.hearsNothing();
    await stage.world.advance(1_000);
    await turn.hearsOf(waiting, { kind: "timeout" });
    assert.equal(await stage.resolve(KEY, "late"), "already-resolved");
    turn.run.poke();
    await turn.hearsNothing();
  }),

  law("wait: one whose time has passed is answered at once", async (turn, stage) => {
    const waiting = wait(stage.world.now() - 1_000);
    await turn.start(waiting);
    await turn.hearsOf(waiting, { kind: "timeout" });
  }),

  law("wait: a value that came before the timeout wins, even if it was not read", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 200);
    await turn.start(waiting);
    await stage.resolve(KEY, "in time");
    await stage.world.advance(200);
    await turn.hearsOf(waiting, { kind: "value", value: "in time" });
    await stage.world.advance(500);
    await turn.hearsNothing();
  }),

  law("wait: a revoked wait resolves as revoked", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await stage.store.waits.resolve(KEY, { kind: "revoked", by: "ann" }, stage.world.now());
    turn.run.poke();
    await turn.hearsOf(waiting, { kind: "revoked", by: "ann" });
  }),

  law("wait: a dropped one is never heard", async (turn, stage) => {
    const [answered, unanswered] = [wait(stage.world.now() + 200), wait(stage.world.now() + 200, OTHER_KEY)];
    await turn.start(answered, unanswered, FIRST);
    await turn.drop(answered, unanswered);
    await stage.resolve(KEY, "late");
    turn.run.poke();
    await stage.world.advance(500);
    await turn.hearsNothing();
  }),

  law("wait: the next worker receives an answer that came in between", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await turn.run.leave();
    await stage.resolve(KEY, "meanwhile");
    const resumed = await stage.resume(turn);
    await resumed.start(waiting);
    await resumed.hearsOf(waiting, { kind: "value", value: "meanwhile" });
  }),

  law("wait: readers are notified once it can be answered, and not before", async (turn, stage) => {
    const letGo = turn.hold("append");
    await turn.start(wait(stage.world.now() + 5_000));
    assert.deepEqual(turn.asked, []);
    letGo();
    await settle();
    assert.deepEqual(turn.asked, [KEY]);
    assert.notEqual(await stage.store.waits.get(waitIdOf(KEY)), undefined);
  }),

  // ── Quiet ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  law("quiet: `next` answers undefined when nothing came for so long, and not before", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    let heard: TurnEvent | undefined | "nothing yet" = "nothing yet";
    const quiet = turn.quiet(1_000).then((event) => {
      heard = event;
    });
    await settle();
    await stage.world.advance(900);
    await settle();
    assert.equal(heard, "nothing yet");
    await stage.world.advance(100);
    await quiet;
    assert.equal(heard, undefined);
    await stage.resolve(KEY, "later");
    await turn.run.poke();
    await turn.hearsOf(waiting, { kind: "value", value: "later" });
  }),

  law("quiet: what came first is handed out, however short the quiet, and once", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await stage.resolve(KEY, "yes");
    await turn.run.poke();
    await settle();
    const event = await turn.quiet(0);
    assert.ok(event?.kind === "resolved" && event.effect === waiting.name);
    await turn.start(wait(stage.world.now() + 5_000, OTHER_KEY));
    assert.equal(await turn.quiet(0), undefined);
  }),

  law("quiet: one that an event or `hurry` ended does not end the next", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    const hurried = turn.quiet(300);
    await settle();
    turn.run.hurry();
    assert.equal(await hurried, undefined);
    const cancelled = turn.quiet(300);
    await settle();
    await turn.cancels();
    await turn.run.poke();
    assert.equal((await cancelled)?.kind, "cancelled");
    let isOver = false;
    const quiet = turn.quiet(2_000).then(() => {
      isOver = true;
    });
    await stage.elapse(1_000);
    await settle();
    assert.equal(isOver, false);
    turn.run.hurry();
    await quiet;
  }),

  law("quiet: `hurry` ends it, one that has no end too", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    for (const ms of [SECOND_MS, Infinity]) {
      const quiet = turn.quiet(ms);
      await settle();
      turn.run.hurry();
      assert.equal(await quiet, undefined);
    }
  }),

  law("quiet: `hurry` does nothing and is forgotten if no `next` waits for quiet", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    turn.run.hurry();
    let isOver = false;
    const quiet = turn.quiet(Infinity).then((event) => {
      isOver = true;
      return event;
    });
    await settle();
    assert.equal(isOver, false);
    turn.run.hurry();
    assert.equal(await quiet, undefined);
    const plain = turn.hearsNothing();
    turn.run.hurry();
    await plain;
  }),

  law("quiet: a lost lease makes it reject", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    const quiet = assert.rejects(turn.quiet(Infinity), failsWith("lease.lost"));
    await settle();
    await stage.takeOver(turn);
    await turn.run.poke();
    await quiet;
  }),

  // ── Events of the caller ───────────────────────────────────────────────────────────────────────────────────────────

  journalLaw(
    "record: it answers when the event is durable, after all that was handed out before",
    async (turn, stage) => {
      await turn.start(FIRST, wait(stage.world.now() + 5_000));
      const returned = await turn.answer(FIRST);
      await turn.hears(returned);
      const letGo = turn.hold("append");
      let isAnswered = false;
      const recorded = Promise.resolve(turn.run.record(APPLIED)).then(() => {
        isAnswered = true;
      });
      await settle();
      assert.equal(isAnswered, false);
      letGo();
      await recorded;
      assert.deepEqual(await stage.store.journal(turn.opened.turnId, 1), [returned, APPLIED]);
    },
  ),

  journalLaw("record: the next worker is handed it in its place", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(FIRST, waiting);
    const returned = await turn.answer(FIRST);
    await turn.hears(returned);
    await turn.run.record(APPLIED);
    await stage.resolve(KEY, "yes");
    await turn.run.poke();
    await turn.hearsOf(waiting, { kind: "value", value: "yes" });
    await turn.start(SECOND);

    const resumed = await stage.resume(turn);
    await resumed.start(FIRST, waiting);
    await resumed.hears(returned);
    await resumed.hears(APPLIED);
    await resumed.hearsOf(waiting, { kind: "value", value: "yes" });
    assert.deepEqual(resumed.performed, []);
  }),

  journalLaw("record: a lost lease makes it reject, and nothing is written", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    const lease = await stage.takeOver(turn);
    const before = await stage.store.journal(turn.opened.turnId, 0);
    await assert.rejects(async () => turn.run.record(APPLIED), failsWith("lease.lost"));
    assert.deepEqual(await stage.store.journal(turn.opened.turnId, 0), before);
    await stage.store.renew(lease, stage.world.now());
  }),

  journalLaw("record: once the store failed, it rejects, and nothing more is written", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    turn.fails("append");
    await assert.rejects(async () => turn.run.record(APPLIED), failsWith("store.locked"));
    turn.writes.length = 0;
    await assert.rejects(async () => turn.run.record(APPLIED), failsWith("store.locked"));
    await assert.rejects(turn.next());
    await settle();
    assert.ok(!turn.writes.includes("append"));
  }),

  // ── Parking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  parkingLaw(
    "park: delivered events are durable before the lease is released, and the next worker folds them",
    async (turn, stage) => {
      const waiting = wait(stage.world.now() + 5_000);
      await turn.start(FIRST, waiting);
      const returned = await turn.answer(FIRST);
      await turn.hears(returned);
      const letGo = turn.hold("append");
      let isAnswered = false;
      const parking = turn.park([waiting]).then((answer) => {
        isAnswered = true;
        return answer;
      });
      await settle();
      assert.equal(isAnswered, false);
      letGo();
      assert.deepEqual(await parking, { kind: "parked" });
      assert.deepEqual(await stage.store.journal(turn.opened.turnId, 1), [returned]);

      const { sessionId } = turn.lease;
      const found = await stage.store.open(sessionId, ben, stage.world.now(), opening);
      assert.equal(found.kind, "parked");
      await stage.resolve(KEY, "at last");
      const resumed = await stage.goOn(turn);
      await resumed.start(FIRST, waiting);
      await resumed.hears(returned);
      await resumed.hearsOf(waiting, { kind: "value", value: "at last" });
      assert.deepEqual(resumed.performed, []);
    },
  ),

  parkingLaw("park: what the caller recorded is folded by the next, in its place", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await turn.run.record(APPLIED);
    assert.deepEqual(await turn.park([waiting]), { kind: "parked" });
    await stage.resolve(KEY, "yes");
    const resumed = await stage.goOn(turn);
    await resumed.start(waiting);
    await resumed.hears(APPLIED);
    await resumed.hearsOf(waiting, { kind: "value", value: "yes" });
  }),

  parkingLaw("park: its time wakes a turn as an answer does", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 2_000);
    await turn.start(waiting);
    assert.deepEqual(await turn.park([waiting]), { kind: "parked" });
    await stage.world.advance(2_000);
    const resumed = await stage.goOn(turn);
    await resumed.start(waiting);
    await resumed.hearsOf(waiting, { kind: "timeout" });
  }),

  parkingLaw("park: refused when an answer came first, which is heard once", async (turn, stage) => {
    const [waiting, other] = [wait(stage.world.now() + 5_000), wait(stage.world.now() + 5_000, OTHER_KEY)];
    await turn.start(waiting, other);
    await stage.resolve(KEY, "first");
    const event = await turn.cameFirst(await turn.park([waiting, other]));
    assert.ok(event.kind === "resolved" && event.effect === waiting.name);
    await turn.run.poke();
    assert.equal(await turn.quiet(0), undefined);
    assert.deepEqual(await turn.park([other]), { kind: "parked" }); // A folded answer is no longer mail.
  }),

  parkingLaw("park: refused when a cancel came first, which is heard once", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await turn.cancels();
    const event = await turn.cameFirst(await turn.park([waiting]));
    assert.ok(event.kind === "cancelled" && event.requestId === CANCEL.requestId);
    await turn.run.poke();
    assert.equal(await turn.quiet(0), undefined);
    assert.deepEqual(await turn.park([waiting], { cancel: CANCEL.requestId }), { kind: "parked" });
  }),

  parkingLaw("park: refused when something is in line, which is heard once", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    await stage.resolve(KEY, "in line");
    await turn.run.poke();
    await settle();
    const event = await turn.cameFirst(await turn.park([waiting]));
    assert.ok(event.kind === "resolved" && event.effect === waiting.name);
    await turn.run.poke();
    await turn.hearsNothing();
  }),

  parkingLaw("park: refused when a sleep is over, which is heard", async (turn, stage) => {
    const [waiting, backoff] = [wait(stage.world.now() + 5_000), sleep(stage.world.now() + 1_000)];
    await turn.start(waiting, backoff);
    await stage.world.advance(1_000);
    await settle();
    assert.equal((await turn.cameFirst(await turn.park([waiting]))).kind, "slept");
  }),

  parkingLaw("park: what comes while it is under way is lost by nobody, and heard once", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    const letGo = turn.hold("park");
    const parking = turn.park([waiting]);
    await settle();
    await stage.resolve(KEY, "meanwhile");
    await turn.cancels();
    await turn.run.poke(); // The answer and the cancel are in the queue and in the store.
    letGo();
    const heard = [await turn.cameFirst(await parking), await turn.next()].map(({ kind }) => kind);
    assert.deepEqual(heard.sort(), ["cancelled", "resolved"]);
    await turn.run.poke();
    await turn.hearsNothing();
  }),

  parkingLaw("park: after it nothing begins, nothing is written, and nobody is asleep", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 1_000);
    const backoff = sleep(stage.world.now() + 1_000);
    await turn.start(waiting, backoff);
    assert.deepEqual(await turn.park([waiting]), { kind: "parked" });
    await settle();
    assert.equal(stage.asleep, 0);
    turn.writes.length = 0;
    await turn.start(FIRST, wait(stage.world.now() + 500, OTHER_KEY));
    turn.run.hurry();
    await turn.run.poke();
    await stage.elapse(1_200);
    await turn.run.leave();
    assert.deepEqual([turn.writes, turn.performed], [[], []]);
    await stage.goOn(turn); // The turn is due, and no process holds it.
  }),

  parkingLaw("park: a lost lease makes it reject, and the other keeps the turn", async (turn, stage) => {
    const waiting = wait(stage.world.now() + 5_000);
    await turn.start(waiting);
    const lease = await stage.takeOver(turn);
    await assert.rejects(turn.park([waiting]), failsWith("lease.lost"));
    await stage.store.renew(lease, stage.world.now());
  }),

  // ── Endings ───────────────────────────────────────────────────────────────────────────────────────────────────────

  law(
    "grace: its start aborts the signals of all open effects; later answers count until the grace ends",
    async (turn, stage) => {
      await turn.start(ASK, EXEC, FIRST, SECOND, SETTLE);
      await turn.start(grace(stage.world.now() + 200));
      assert.deepEqual(
        [ASK, EXEC, FIRST, SECOND, SETTLE].map((effect) => turn.isAborted(effect)),
        [true, true, true, true, true],
      );
      const answer = await turn.answer(FIRST, "Just in time.");
      await turn.hears(answer);
      await stage.world.advance(200);
      const event = await turn.next();
      assert.ok(event.kind === "slept" && event.effect === GRACE);
    },
  ),

  law("leave: a waiting `next` rejects, signals abort, and another worker may resume at once", async (turn, stage) => {
    await turn.start(ASK);
    const waiting = turn.next();
    await settle();
    await Promise.all([assert.rejects(waiting), turn.run.leave()]);
    assert.equal(turn.isAborted(ASK), true);
    const { lease, journal } = await stage.find(turn);
    assert.ok(lease.generation > turn.lease.generation);
    assert.deepEqual(journal[0], turn.opened);
    await turn.run.leave(); // A second `leave` is harmless.
    await stage.store.renew(lease, stage.world.now());
  }),

  law(
    "leave: after it nothing starts, nothing is written, and what still answers is dropped and traced",
    async (turn, stage) => {
      await turn.start(FIRST, SECOND, wait(stage.world.now() + 200));
      await turn.answer(FIRST);
      await turn.cancels();
      turn.run.poke();
      await settle(); // An answer and a cancel now wait to be returned.
      await turn.run.leave();
      turn.writes.length = 0;
      await assert.rejects(turn.next());
      await turn.answer(SECOND);
      assert.ok(turn.traced.length > 0);
      await turn.start(THIRD, wait(stage.world.now() + 100, OTHER_KEY));
      turn.run.poke();
      await stage.world.advance(500);
      await assert.rejects(turn.commit({ cancel: CANCEL.requestId }));
      await assert.rejects(turn.next());
      assert.deepEqual(turn.writes, []);
      assert.deepEqual(turn.performed, [FIRST.name, SECOND.name]);
      assert.equal(await turn.isCommitted(), false);
    },
  ),

  law("jobs: jobs of an answer are reported once, after they are stored", async (turn, stage) => {
    await turn.start(FIRST);
    const answer = await turn.begins(FIRST, newJob("one"), newJob("two", BOUND));
    await turn.hears(answer);
    await turn.start(SECOND); // The next effect is outward, so the answer must be durable.
    assert.deepEqual(turn.begun, [jobId("one"), jobId("two")]);
    assert.deepEqual(await stage.jobs(), ["one", "two"]);
    const bound = await stage.store.jobs.load(jobId("two"));
    assert.deepEqual([bound?.record.starts, bound?.seq], [1, 2]); // Its owner holds the bound job from the start.
    await turn.hears(await turn.answer(SECOND));
    await turn.commit();
    assert.deepEqual(turn.begun, [jobId("one"), jobId("two")]);
  }),

  law("jobs: those of the last answers begin with the commit at the latest", async (turn, stage) => {
    await turn.start(FIRST);
    await turn.hears(await turn.begins(FIRST, newJob("kept"), newJob("ended", { ...BOUND, onParentEnd: "cancel" })));
    assert.equal("reopen" in (await turn.commit()), false);
    assert.deepEqual(await stage.jobs(), ["kept", "ended"]);
    assert.ok(turn.begun.includes(jobId("kept")));
  }),

  law("jobs: those of an answer that is dropped never begin", async (turn, stage) => {
    await turn.start(FIRST, SECOND);
    await turn.drop(FIRST);
    await turn.begins(FIRST, newJob("one"));
    await turn.hears(await turn.answer(SECOND));
    await turn.commit();
    assert.deepEqual([turn.begun, await stage.jobs()], [[], []]);
  }),

  law("jobs: a commit that is answered with a cancel begins them with the next one", async (turn, stage) => {
    await turn.start(FIRST);
    await turn.hears(await turn.begins(FIRST, newJob("one")));
    await turn.cancels();
    assert.ok("reopen" in (await turn.commit()));
    await turn.commit({ cancel: CANCEL.requestId });
    assert.deepEqual([turn.begun, await stage.jobs()], [[jobId("one")], ["one"]]);
  }),

  journalLaw("jobs: those of an answer that was not written are not there for the next worker", async (turn, stage) => {
    await turn.start(FIRST);
    turn.fails("append");
    const either = (): Promise<unknown> => Promise.race([turn.next(), settle()]).catch(() => {});
    await turn.begins(FIRST, newJob("one"));
    await either(); // A host may fail at the write, or return the answer and fail later.
    await turn.start(SECOND);
    await either();
    assert.deepEqual([turn.begun, await stage.jobs()], [[], []]);
    assert.deepEqual(await stage.store.journal(turn.opened.turnId, 1), []);
  }),

  journalLaw("jobs: a recorded answer does not begin them again", async (turn, stage) => {
    await turn.start(FIRST);
    const answer = await turn.begins(FIRST, newJob("one"));
    await turn.hears(answer);
    await turn.start(SECOND);
    const resumed = await stage.resume(turn);
    await resumed.start(FIRST);
    await resumed.hears(answer);
    await resumed.start(SECOND);
    assert.deepEqual([resumed.begun, await stage.jobs()], [[], ["one"]]);
  }),

  law("jobs: an operation in a turn that only waits begins its own, too", async (turn, stage) => {
    await turn.start(wait(stage.world.now() + 5_000));
    await turn.run.record({ ...APPLIED, spawns: [newJob("one")] });
    assert.deepEqual([turn.begun, await stage.jobs()], [[jobId("one")], ["one"]]);
  }),

  law("end: an ended turn leaves no timer", async (turn, stage) => {
    const other = await stage.begin("bob");
    for (const [each, key] of [[turn, KEY] as const, [other, OTHER_KEY] as const]) {
      const waiting = wait(stage.world.now() + 5_000, key);
      await each.start(waiting, sleep(stage.world.now() + 5_000));
      await stage.resolve(key, "yes");
      each.run.poke();
      await each.hearsOf(waiting, { kind: "value", value: "yes" });
    }
    await turn.commit();
    await other.run.leave();
    await settle();
    assert.equal(stage.asleep, 0);
  }),
];

/** A job that is bound to its process. */
const BOUND = { recovery: "owner-bound" } as const;

function thrower(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}
