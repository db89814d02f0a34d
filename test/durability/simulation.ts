import {
  defer,
  definePlugin,
  defineTool,
  hasCode,
  type Message,
  type Runtime,
  RuntimeError,
  retryable,
  type Session,
  type Store,
  type Tool,
  type ToolContext,
} from "bowline";
import { journal } from "bowline/hosts/journal";
import { answer, ask, type ToolSpec } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { type SimulatedWorld, simulatedWorld } from "bowline/testing";
import { vi } from "vitest";
import { z } from "zod";
import type { InputId, SessionId, TurnId, WaitKey } from "../../src/model/ids.ts";
import { hasOpenCalls, pairingProblem } from "../../src/model/pairing.ts";
import { addUsage, NO_USAGE } from "../../src/model/usage.ts";
import type { Provider } from "../../src/provider.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import type { Change, NewWait } from "../../src/stores/store.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { outline } from "../kit/reading.ts";
import { keyOf } from "./witness.ts";

/**
 * Stories that chance tells: clients, faults and crashes on one store, in simulated time. The same number tells the same
 * story. What must hold is looked at while it goes on (when a tool begins) and when everything has come to rest.
 */
export interface Story {
  readonly seed: number;
  /** What is broken, in words; none when the story is sound. */
  readonly problems: readonly string[];
  /** What happened, for whoever looks for the cause. */
  readonly log: readonly string[];
  readonly counts: { readonly [what: string]: number };
}

class Chance {
  #state: number;
  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
  }
  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  below(max: number): number {
    return Math.floor(this.next() * max);
  }
  is(percent: number): boolean {
    return this.next() * 100 < percent;
  }
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}

/** In percent of the store's calls, or of the model's. */
interface Faults {
  readonly fails: number;
  readonly lost: number;
  readonly slow: number;
  readonly crash: number;
  readonly model: number;
  readonly bomb: number;
}

function faultsOf(chance: Chance): Faults {
  const some = (percent: number): number => (chance.is(50) ? chance.next() * percent : 0);
  return { fails: some(5), lost: some(5), slow: some(30), crash: some(4), model: some(30), bomb: some(15) };
}

interface Process {
  readonly name: string;
  readonly world: SimulatedWorld;
  readonly runtime: Runtime;
  isAlive: boolean;
  /** Stopped (SIGSTOP): nothing happens in it until it is continued, and then its clock has jumped. */
  stopped: PromiseWithResolvers<void> | undefined;
}

const NEVER = new Promise<never>(() => {});
const ANYTHING = z.looseObject({});

/** Writes down which calls it saw, before and after; a call that is written down twice was counted twice. */
const scribe = definePlugin({
  id: "acme/scribe",
  version: "1",
  state: z.object({
    before: z.array(z.string()).default([]),
    after: z.array(z.string()).default([]),
    ends: z.array(z.string()).default([]),
    adds: z.number().default(0),
  }),
  setup: ({ command }) => ({
    beforeToolCall: ({ call, state }) => {
      state.update((now) => ({ ...now, before: [...now.before, call.id] }));
      return call.name === "asks" ? ask("Somebody should know.") : undefined;
    },
    afterToolCall: ({ call, state }) => state.update((now) => ({ ...now, after: [...now.after, call.id] })),
    afterTurn: ({ state, turnId }) => state.update((now) => ({ ...now, ends: [...now.ends, turnId ?? ""] })),
    operations: {
      add: command({ run: ({ state }) => state.update((now) => ({ ...now, adds: now.adds + 1 })) }),
    },
  }),
});

/** Writes down that it heard an input, and answers every eleventh itself. */
const desk = definePlugin({
  id: "acme/desk",
  version: "1",
  setup: () => ({
    input: ({ input }) => input.parts.map((part) => (part.kind === "text" ? `${part.text} ${HEARD}` : "")).join(""),
    beforeTurn: ({ input }) => {
      const [part] = input.parts;
      const [number] = part?.kind === "text" ? (/\d+/.exec(part.text) ?? []) : [];
      return Number(number) % 11 === 0 ? answer("The desk knows.") : undefined;
    },
  }),
});
const HEARD = "(heard)";

const TOOLS = ["quick", "slow", "flaky", "fails", "asks", "later", "once"] as const;
const SESSIONS = ["a", "b"];
/** Takes all that waits into its next turn. */
const MERGING = "b";

class Telling {
  readonly seed: number;
  readonly chance: Chance;
  /** What really is kept; nothing that a process does to its own view of it fails here. */
  readonly truth: Store = memory();
  readonly faults: Faults;
  readonly problems: string[] = [];
  readonly log: string[] = [];
  readonly counts: { [what: string]: number } = {};
  readonly processes: Process[] = [];
  /** Turns and inputs that the store has accepted, whoever was told of it. */
  readonly accepted = new Map<InputId, { readonly turnId: TurnId; readonly sessionId: SessionId }>();
  /** Inputs that were taken back before they had their turn. */
  readonly withdrawn = new Set<InputId>();
  /** What somebody is asked for, by key: whether it is a decision, or a result. */
  readonly waits = new Map<WaitKey, "decision" | "result">();
  readonly turns: { readonly session: string; readonly id: TurnId }[] = [];
  /** Turns whose cancel the store has taken. */
  readonly cancelled = new Set<TurnId>();
  readonly sessions = new Set<string>(SESSIONS);
  readonly performed = new Map<string, number>();
  /** Commands by session: asked for, and known to be done. */
  readonly adds = new Map<string, { asked: number; done: number }>();
  /** Client calls under way. */
  open = 0;
  now = 1_767_225_600_000;
  calls = 0;
  inputs = 0;
  isCalm = false;

  constructor(seed: number) {
    this.seed = seed;
    this.chance = new Chance(seed);
    this.faults = faultsOf(this.chance);
  }

  note(what: string): void {
    this.log.push(`${this.now - 1_767_225_600_000} ${what}`);
  }
  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
  problem(what: string): void {
    if (!this.problems.includes(what)) this.problems.push(what);
  }

  // ── The store as a process sees it ────────────────────────────────────────────────────────────────────────────────

  storeOf(process: () => Process | undefined, world: SimulatedWorld): Store {
    const of = (target: object, path: string): object =>
      new Proxy(target, {
        get: (_, key) => {
          if (key === "isDurable") return true;
          if (key === "close") return () => {};
          const found: unknown = Reflect.get(target, key);
          if (typeof found === "object" && found !== null) return of(found, `${path}${String(key)}.`);
          if (typeof found !== "function") return found;
          const call = (...given: readonly unknown[]): unknown =>
            this.#watched(`${path}${String(key)}`, () => found.apply(target, given), given);
          return (...given: readonly unknown[]): unknown =>
            this.#faulty(`${path}${String(key)}`, () => call(...given), process(), world);
        },
      });
    return of(this.truth, "") as Store;
  }

  /** What the store itself says, before anything happens to the answer. */
  #watched(method: string, call: () => unknown, given: readonly unknown[]): unknown {
    const answer = call();
    if (method === "accept") {
      const receipt = answer as { kind: string; inputId: InputId; turnId: TurnId };
      const { sessionId } = given[0] as { sessionId: SessionId };
      if (receipt.kind !== "known") this.accepted.set(receipt.inputId, { turnId: receipt.turnId, sessionId });
    }
    if (method === "cancel" && (answer as { kind: string }).kind === "requested")
      this.cancelled.add(given[0] as TurnId);
    if (method === "inputs.withdraw")
      for (const { inputId, answer: became } of answer as Awaited<ReturnType<Store["inputs"]["withdraw"]>>)
        if (became === "withdrawn" && this.accepted.delete(inputId)) this.withdrawn.add(inputId);
    const writes = [
      "accept",
      "append",
      "commit",
      "apply",
      "open",
      "park",
      "release",
      "cancel",
      "inputs.claim",
      "inputs.withdraw",
    ];
    if (writes.includes(method))
      this.note(`  ${method} ${described(given)} -> ${(answer as { kind?: string })?.kind ?? "done"}`);
    if (method === "append")
      for (const { key, about } of (given[4] ?? []) as readonly NewWait[])
        this.waits.set(key, about.kind === "result" ? "result" : "decision");
    if (method === "park" && (answer as { kind: string }).kind === "parked") this.count("parks");
    return answer;
  }

  #faulty(method: string, call: () => unknown, process: Process | undefined, world: SimulatedWorld): unknown {
    if (process?.isAlive === false) return NEVER;
    if (process?.stopped !== undefined)
      return process.stopped.promise
        .then(() => new Promise((resolve) => setImmediate(resolve))) // Answers that were on their way come first.
        .then(() => this.#faulty(method, call, process, world));
    if (this.isCalm || process === undefined) return call();
    const { chance, faults } = this;
    if (chance.is(faults.crash)) {
      const isAfter = chance.is(50);
      if (isAfter) call();
      this.note(`${process.name} dies ${isAfter ? "after" : "before"} ${method}`);
      this.kill(process);
      return NEVER;
    }
    if (chance.is(faults.fails)) {
      this.note(`${process.name} ${method} fails`);
      this.count("store failures");
      const error = chance.is(50)
        ? new RuntimeError("store.locked", { path: "x", ms: 1 })
        : new RuntimeError("store.full", { path: "x" } as never);
      if (chance.is(50)) throw error;
      return Promise.reject(error);
    }
    if (chance.is(faults.lost)) {
      call();
      this.note(`${process.name} ${method} is done, and its answer lost`);
      this.count("lost answers");
      return Promise.reject(new RuntimeError("store.failed", { path: "x", problem: "the line is dead" } as never));
    }
    if (method === "commit" && chance.is(5)) this.#cancelLate();
    if (!chance.is(faults.slow)) return call();
    const [before, after] = [chance.below(40), chance.below(40)];
    return world
      .sleep(before)
      .then(() => (process.isAlive ? call() : NEVER))
      .then((answer) => {
        if (process.isAlive && chance.is(4)) process.stopped ??= Promise.withResolvers(); // With the answer on its way.
        const arrived = process.stopped?.promise ?? world.sleep(after);
        return arrived.then(() => (process.isAlive ? answer : NEVER));
      });
  }

  /** Somebody cancels what is about to be committed: the store is asked, and nobody else is told. */
  #cancelLate(): void {
    for (const { id } of this.turns.slice(-3)) {
      const request = { requestId: `late_${id}`, reason: "At the last moment.", at: this.now };
      const answer = this.truth.cancel(id, request);
      if (!("then" in answer) && answer.kind === "requested") this.cancelled.add(id);
    }
  }

  // ── Processes ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async start(): Promise<Process> {
    const name = `p${this.counts.processes ?? 0}`;
    this.count("processes");
    const simulated = simulatedWorld({ now: this.now, name });
    const world: SimulatedWorld = { ...simulated, now: () => Math.max(simulated.now(), this.now), asleep: 0 };
    let process: Process | undefined;
    const store = this.storeOf(() => process, world);
    const bomb = (): void => {
      if (process === undefined || !process.isAlive) return;
      this.note(`${name} is blown up by a tool`);
      this.kill(process);
    };
    const runtime = await openRuntime(
      {
        store,
        model: this.#model(world),
        plugins: [scribe, desk],
        tools: this.#tools(world, bomb, () => process?.isAlive !== false),
        limits: { cancelGraceMs: 200, resumesMax: 8, parkAfterMs: 150 },
        recover: "auto",
      },
      { host: () => journal(), protocol: toolCalls, adapt: (model) => model as Provider, world },
    );
    process = { name, world, runtime, isAlive: true, stopped: undefined };
    this.processes.push(process);
    this.note(`${name} starts`);
    return process;
  }

  kill(process: Process): void {
    this.count("kills");
    process.isAlive = false;
    this.processes.splice(this.processes.indexOf(process), 1);
  }

  async pass(ms: number): Promise<void> {
    const running = this.processes.filter(({ stopped }) => stopped === undefined);
    const end = this.now + ms;
    await Promise.all(running.map(({ world }) => world.advance(ms)));
    this.now = end;
    vi.advanceTimersByTime(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  // ── Model and tools ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Says what chance says, until it has said enough since somebody last spoke. */
  #model(world: SimulatedWorld): Provider {
    const finish = (reason: "stop" | "calls"): ModelPart => ({
      kind: "finish",
      reason,
      usage: { ...NO_USAGE, input: 10, output: 5 },
    });
    const telling = this;
    return {
      id: "chance",
      modelId: "test",
      async *stream({ messages }, { signal }) {
        telling.requirePaired(messages, "a request");
        const { chance, faults, isCalm } = telling;
        telling.count("model calls");
        if (!isCalm && chance.is(faults.model)) {
          telling.count("model faults");
          const kind = chance.below(4);
          if (kind === 0) throw new ProviderFailure({ class: "rate-limit", message: "Later.", retryAfterMs: 50 });
          if (kind === 1) {
            yield { kind: "text", delta: "It breaks" };
            throw new ProviderFailure({ class: "stream", message: "Cut." });
          }
          if (kind === 2) throw new ProviderFailure({ class: "auth", message: "No." });
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
          throw new ProviderFailure({ class: "cancelled", message: "Aborted." });
        }
        if (chance.is(40)) await world.sleep(chance.below(100), signal);
        const since = messages.length - messages.findLastIndex(({ role }) => role === "user");
        if (isCalm || since > 6 || chance.is(35)) {
          yield { kind: "text", delta: `Said ${telling.counts["model calls"]}.` };
          yield finish("stop");
          return;
        }
        const count = 1 + chance.below(3);
        for (let index = 0; index < count; index++)
          yield { kind: "call", callId: `c${++telling.calls}` as never, name: chance.pick(TOOLS), input: {} };
        yield finish("calls");
      },
    };
  }

  #tools(world: SimulatedWorld, bomb: () => void, isAlive: () => boolean): readonly Tool[] {
    const make = (
      name: (typeof TOOLS)[number],
      run: (context: ToolContext) => unknown,
      more: Partial<ToolSpec<typeof ANYTHING, unknown>> = {},
    ): Tool =>
      defineTool({
        name,
        description: name,
        input: ANYTHING,
        ...more,
        execute: async (_, context) => {
          if (!isAlive()) return NEVER;
          this.#begun(name, context);
          if (!this.isCalm && this.chance.is(this.faults.bomb)) {
            bomb();
            return NEVER;
          }
          const value = await run(context);
          return isAlive() ? (value as string) : NEVER;
        },
      });
    return [
      make("quick", () => "Quick."),
      make("slow", ({ signal }) => world.sleep(20 + this.chance.below(300), signal).then(() => "Slow.")),
      make(
        "flaky",
        ({ attempt }) => {
          if (attempt === 1) throw retryable(new Error("Not yet."));
          return "Flaky.";
        },
        { retry: { policy: "safe", attempts: 3, baseMs: 100 } },
      ),
      make("fails", ({ signal }) => world.sleep(this.chance.below(100), signal).then(() => "Once."), {
        onInterrupt: "fail",
      }),
      make("asks", () => "Asked.", { onInterrupt: "ask" }),
      make("later", () => defer()),
      make("once", ({ once }) => once("n", () => ++this.calls), { isSerial: true }),
    ];
  }

  /** A tool begins: what released it is on record, its result is not, and its turn has not ended. */
  #begun(name: string, { idempotencyKey: key, attempt, turnId }: ToolContext): void {
    this.count("tool calls");
    const events = this.truth.journal(turnId, 0) as readonly TurnEvent[];
    const of = (event: TurnEvent): boolean => {
      if (!("effect" in event)) return false;
      const [, position = "", number = "1"] = /^(.*?)(?:\.a(\d+))?$/.exec(event.effect) ?? [];
      return Number(number) === attempt && keyOf(turnId, position) === key;
    };
    const recorded = events.find((event) => (event.kind === "returned" || event.kind === "interrupted") && of(event));
    if (recorded !== undefined) this.problem(`${name} runs again though its ${recorded.kind} is on record`);
    if (this.truth.terminal(turnId) !== undefined) this.problem(`${name} runs in a turn that has ended`);
    else if (!events.some(({ kind }) => kind === "replied")) this.problem(`${name} runs before the reply is on record`);
    else if (events.some(({ kind }) => kind === "cancelled"))
      this.problem(`${name} begins though the cancel of its turn is on record`);
    const place = `${key}#${attempt}`;
    const times = (this.performed.get(place) ?? 0) + 1;
    this.performed.set(place, times);
    if (times > 1) this.count("reruns");
    if (times > 1 && name === "fails") this.problem("a tool that says `fail` ran twice in one attempt");
    if (times > 1 && name === "asks") this.problem("a tool that says `ask` ran twice in one attempt");
  }

  // ── Clients ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Something that a client does; whatever comes of it, nobody waits for it here. */
  act(process: Process): void {
    const { chance } = this;
    const id = chance.pick([...this.sessions]);
    const kind = chance.below(20);
    const run = async (act: (session: Session) => Promise<unknown>): Promise<void> => {
      const session = await process.runtime.session(id, id === MERGING ? { config: { mergesInputs: true } } : {});
      try {
        await act(session);
      } finally {
        await session.close();
      }
    };
    const words = (): string => `Input ${++this.inputs}.`;
    this.open++;
    const done = (error?: unknown): void => {
      this.open--;
      if (error instanceof Error && !(error instanceof RuntimeError)) this.problem(`a client met ${error.stack}`);
    };
    const doing = ((): Promise<unknown> => {
      if (kind < 8)
        return run(async (session) => {
          const turn = session.turn(words(), chance.is(50) ? { key: `k${this.inputs}` } : {});
          const turnId = await turn.id;
          this.turns.push({ session: id, id: turnId });
          await turn.result();
        });
      if (kind < 11) return run((session) => session.send(words(), { at: chance.is(70) ? "boundary" : "next-turn" }));
      if (kind < 14) {
        const turn = this.turns.length === 0 ? undefined : chance.pick(this.turns.slice(-4));
        if (turn === undefined) return Promise.resolve();
        return process.runtime
          .session(turn.session)
          .then((session) => session.cancel(turn.id).finally(() => session.close()));
      }
      if (kind < 16) {
        const key = [...this.waits.keys()].at(-1);
        if (key === undefined) return Promise.resolve();
        return this.#answer(process.runtime, key, chance.is(70));
      }
      if (kind < 18)
        return run(async (session) => {
          const adds = this.adds.get(id) ?? { asked: 0, done: 0 };
          this.adds.set(id, adds);
          adds.asked++;
          await session.command(scribe, "add");
          adds.done++;
        });
      if (kind === 18 && this.sessions.size < 4)
        return run(async (session) => {
          const fork = await session.fork();
          this.sessions.add(fork.id);
          await fork.close();
        });
      if (chance.is(35)) return run((session) => this.#takeBack(session));
      const turn = this.turns.length === 0 ? undefined : chance.pick(this.turns.slice(-6));
      if (turn !== undefined && chance.is(50))
        return process.runtime.session(turn.session).then((session) =>
          session
            .follow(turn.id)
            .result()
            .finally(() => session.close()),
        );
      return run((session) => session.read());
    })();
    doing.then(() => done(), done);
  }

  /** The newest input that waits, or all from the oldest on. */
  async #takeBack(session: Session): Promise<void> {
    const waiting = await session.inputs.list();
    const [oldest, newest] = [waiting[0], waiting.at(-1)];
    if (oldest === undefined || newest === undefined) return;
    await session.inputs.cancel(this.chance.is(70) ? { id: newest.id } : { from: oldest.id });
  }

  /** Somebody's decision; it is asked for again when the store did not take it. */
  async #answer(runtime: Runtime, key: WaitKey, approved: boolean): Promise<void> {
    try {
      await runtime.waits.resolve(key, this.waits.get(key) === "result" ? { value: "Later." } : { approved });
    } catch (error) {
      if (!hasCode(error, "wait.unknown")) throw error;
    }
    this.waits.delete(key);
  }

  // ── What must hold ────────────────────────────────────────────────────────────────────────────────────────────────

  requirePaired(messages: readonly Message[], where: string): void {
    let before: Message | undefined;
    for (const message of messages) {
      const problem = pairingProblem(before, message);
      if (problem !== undefined) this.problem(`${where} is not paired: ${problem}`);
      before = message;
    }
    if (hasOpenCalls(before)) this.problem(`${where} ends with a call without a result`);
  }

  async check(runtime: Runtime): Promise<void> {
    for (const [inputId, { turnId, sessionId }] of this.accepted)
      if (this.truth.terminal(turnId) === undefined) this.problem(`input ${inputId} of ${sessionId} never ended`);
    const told = this.truth.changes(undefined, { max: 100_000 }) as readonly Change[];
    const facts = told.flatMap((fact) =>
      fact.kind === "waiting" || fact.kind === "resolved" ? [`${fact.wait} ${fact.kind}`] : [],
    );
    if (new Set(facts).size !== facts.length) this.problem("a wait, or its answer, was told twice");
    for (const fact of facts)
      if (!facts.includes(fact.replace("resolved", "waiting"))) this.problem("a wait was answered before it was told");
    if ((this.truth.waits.list({ max: 10 }) as readonly unknown[]).length > 0) this.problem("a wait is left over");
    for (const turnId of this.cancelled) {
      const terminal = this.truth.terminal(turnId);
      if (terminal === undefined || "then" in terminal) continue;
      const { outcome } = terminal;
      const isCancelled = outcome.kind === "stopped" && outcome.code === "turn.cancelled";
      const isBroken = outcome.kind === "failed" && outcome.by === "runtime";
      if (!isCancelled && !isBroken) this.problem(`a turn that was cancelled before its commit ended ${outcome.kind}`);
    }
    for (const id of this.sessions) {
      const stored = this.truth.load(id as SessionId);
      if (stored === undefined || "then" in stored) continue;
      const segments = [...(this.truth.view(stored.id) as Awaited<ReturnType<Store["view"]>>)].reverse();
      const entries = segments.flatMap((segment) => segment.entries);
      const messages = entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
      this.requirePaired(messages, `the history of ${id}`);

      // Every accepted input once; forks share what was there before them.
      const seen = messages.flatMap(({ origin }) => (origin?.kind === "input" ? [origin.inputId] : []));
      for (const [inputId, { sessionId }] of this.accepted) {
        const times = seen.filter((each) => each === inputId).length;
        if (sessionId === id && times !== 1) this.problem(`input ${inputId} is ${times} times in the history of ${id}`);
        if (times > 1) this.problem(`an input is ${times} times in the history of ${id}`);
      }
      for (const { origin, parts } of messages) {
        const words = origin?.kind === "input" && parts[0]?.kind === "text" ? parts[0].text : HEARD;
        if (words.split(HEARD).length !== 2) this.problem(`an input of ${id} was not heard once: ${words}`);
      }
      for (const inputId of this.withdrawn)
        if (seen.includes(inputId)) this.problem(`an input that was taken back is in the history of ${id}`);
      if ((this.truth.inputs.list(stored.id) as readonly unknown[]).length > 0) this.problem(`inputs wait in ${id}`);

      // What the plugin wrote down is what happened.
      const state = (stored.plugins["acme/scribe"]?.state ?? { before: [], after: [], ends: [], adds: 0 }) as {
        before: string[];
        after: string[];
        ends: string[];
        adds: number;
      };
      for (const [what, marks] of Object.entries({ before: state.before, after: state.after, ends: state.ends }))
        if (new Set(marks).size !== marks.length) this.problem(`something was written down twice ${what} in ${id}`);
      const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "toolResult"));
      for (const result of results) {
        const callId: string = result.callId;
        if (result.status === "ok" && !state.after.includes(callId))
          this.problem(`a result that is shown was not seen after its call in ${id}`);
        if (result.status === "ok" && !state.before.includes(callId))
          this.problem(`a result that is shown was not seen before its call in ${id}`);
      }
      const called = new Set(results.map(({ callId }) => callId as string));
      for (const mark of [...state.before, ...state.after])
        if (!called.has(mark)) this.problem(`a call was written down that is not in the history of ${id}`);
      const adds = this.adds.get(id) ?? { asked: 0, done: 0 };
      if (SESSIONS.includes(id) && (state.adds < adds.done || state.adds > adds.asked))
        this.problem(`${state.adds} commands count in ${id}; ${adds.done} were answered and ${adds.asked} asked for`);
      const total = stored.ledger.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
      if (JSON.stringify(total) !== JSON.stringify(stored.usage))
        this.problem(
          `the ledger of ${id} is not its usage: ${JSON.stringify(total)} / ${JSON.stringify(stored.usage)}`,
        );

      // The same in memory as for whoever opens it next.
      const session = await runtime.session(id);
      const view = await session.read();
      const frames = entries.findLastIndex(({ kind }) => kind === "frame");
      const active = entries.slice(frames + 1).flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
      if (JSON.stringify(view.messages) !== JSON.stringify(active))
        this.problem(`${id} is another conversation in memory: ${outline(view.messages)} / ${outline(active)}`);
      if (view.turns !== stored.turns)
        this.problem(`${id} has ${view.turns} turns in memory and ${stored.turns} stored`);
    }
  }

  async tell(): Promise<void> {
    const { chance } = this;
    await this.start();
    const steps = 15 + chance.below(25);
    for (let step = 0; step < steps; step++) {
      if (this.processes.length === 0 || (this.processes.length === 1 && chance.is(4))) {
        if (this.processes.length === 0 && chance.is(50)) this.now += 31_000;
        await this.start();
      }
      const process = chance.pick(this.processes);
      if (chance.is(3)) {
        this.note(`${process.name} is killed`);
        this.kill(process);
        continue;
      }
      if (chance.is(2)) {
        this.note(`${process.name} is closed`);
        this.count("closes");
        void process.runtime.close().catch((error) => this.problem(`close failed: ${error}`));
        await this.pass(6_000);
        process.isAlive = false;
        this.processes.splice(this.processes.indexOf(process), 1);
        continue;
      }
      for (const each of [...this.processes]) if (each.stopped !== undefined) await this.#stop(each);
      if (chance.is(4) && process.isAlive) await this.#stop(process);
      if (!process.isAlive) continue;
      const actions = chance.below(4);
      for (let action = 0; action < actions; action++) this.act(process);
      await this.pass(chance.is(5) ? 35_000 : chance.below(400));
    }
    await this.#rest();
  }

  /** For longer than a lease holds, or nearly so; another process may be there meanwhile. */
  async #stop(process: Process): Promise<void> {
    const ms = this.chance.pick([5_000, 29_000, 31_000, 70_000]);
    this.note(`${process.name} is stopped for ${ms} ms`);
    this.count("stops");
    process.stopped ??= Promise.withResolvers();
    const other = this.processes.find((each) => each !== process) ?? (await this.start());
    for (let passed = 0; passed < ms; passed += ms / 4) {
      if (other.isAlive) this.act(other);
      await this.pass(ms / 4);
    }
    this.note(`${process.name} is continued`);
    process.stopped?.resolve();
    process.stopped = undefined;
    if (process.isAlive) await process.world.advance(ms);
  }

  /** No more faults: everything comes to an end. */
  async #rest(): Promise<void> {
    this.note("calm");
    this.isCalm = true;
    for (const process of [...this.processes]) this.kill(process);
    this.now += 31_000;
    const last = await this.start();
    for (let tries = 0; tries < 60; tries++) {
      for (const key of this.waits.keys()) await this.#answer(last.runtime, key, true).catch(() => {});
      await this.pass(tries < 20 ? 500 : 10_000);
      const isDone = [...this.accepted.values()].every(({ turnId }) => this.truth.terminal(turnId) !== undefined);
      if (isDone && tries > 2) break;
    }
    await this.check(last.runtime);
    const states = JSON.stringify(this.truth.list());
    this.kill(last);
    const next = await this.start();
    await this.check(next.runtime);
    await this.pass(1_000);
    if (JSON.stringify(this.truth.list()) !== states) this.problem("opening the sessions again changed them");
    for (const [, { turnId }] of this.accepted) {
      const terminal = this.truth.terminal(turnId);
      if (terminal === undefined || "then" in terminal) continue;
      const { outcome } = terminal;
      this.count(`ended ${outcome.kind}${"code" in outcome ? ` ${outcome.code}` : ""}`);
    }
    this.kill(next);
  }
}

/** The beginning of what a store was asked, in short. */
const described = (given: readonly unknown[]): string =>
  given
    .map((each) => {
      if (typeof each !== "object" || each === null) return String(each);
      if (Array.isArray(each)) return each.map((event) => (event as { kind?: string }).kind ?? "").join("+");
      const { turnId, generation, operation, sessionId, plugins } = each as { [field: string]: unknown };
      const adds = (plugins as { "acme/scribe"?: { state: { adds: number } } } | undefined)?.["acme/scribe"]?.state
        .adds;
      return [sessionId, turnId, generation, operation, adds === undefined ? undefined : `adds=${adds}`]
        .filter((field) => field !== undefined)
        .join("/");
    })
    .join(" ");

export async function story(seed: number): Promise<Story> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
  const telling = new Telling(seed);
  try {
    await telling.tell();
  } catch (error) {
    telling.problem(`the story broke off: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    vi.useRealTimers();
  }
  return { seed, problems: telling.problems, log: telling.log, counts: telling.counts };
}

/** Many stories, and what they were about. */
export async function stories(from: number, count: number) {
  const broken: string[] = [];
  const totals: { [what: string]: number } = {};
  for (let seed = from; seed < from + count; seed++) {
    const { problems, counts } = await story(seed);
    for (const [what, times] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + times;
    for (const problem of problems) broken.push(`story ${seed}: ${problem}`);
  }
  return { broken, totals };
}
