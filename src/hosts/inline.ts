import { after } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { EffectName, WaitKey } from "../model/ids.ts";
import { type Awaitable, describeThrown, isThenable } from "../model/json.ts";
import { LazyScope } from "../model/scope.ts";
import type { Committed, EndedTurn, Mail } from "../stores/store.ts";
import { type Effect, GRACE } from "../turn/effect.ts";
import type { Answer, TurnEvent } from "../turn/event.ts";
import type { EffectHost, HostContext, Perform, TurnRef, TurnRun } from "./host.ts";

/** Effects run here and now, and events live in memory only: for tests, and for stores that keep nothing anyway. */
export function inline(): EffectHost {
  const runs = new Set<InlineRun>();
  let timer: NodeJS.Timeout | undefined;
  const watch = (run: InlineRun): void => {
    runs.add(run);
    timer ??= setInterval(() => {
      if (runs.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      for (const each of runs) void each.poke();
    }, LOOK_MS).unref();
  };
  return {
    kind: "inline",
    open(turn, perform, context) {
      const run = new InlineRun(turn, perform, context, () => runs.delete(run));
      watch(run);
      return run;
    },
  };
}

/** How often a turn looks for mail that nobody told it of: a cancel by another runtime on the same store. */
const LOOK_MS = 500;

/** An effect under way, and its cancellation. */
class Held extends LazyScope {
  readonly effect: Effect;
  constructor(effect: Effect) {
    super();
    this.effect = effect;
  }
}

class InlineRun implements TurnRun {
  readonly #turn: TurnRef;
  readonly #perform: Perform;
  readonly #context: HostContext;
  readonly #left: () => void;
  /** Few at a time, so a list. */
  readonly #open: Held[] = [];
  /** Arrived and not yet handed out; the recorded ones come first. */
  readonly #queue: TurnEvent[];
  #waits: Map<WaitKey, EffectName> | undefined;
  #head = 0;
  #waiter: { resolve(event: TurnEvent): void; reject(error: unknown): void } | undefined;
  #lost: unknown;
  #cancelSeen = false;
  #isOver = false;

  constructor(turn: TurnRef, perform: Perform, context: HostContext, left: () => void) {
    this.#turn = turn;
    this.#perform = perform;
    this.#context = context;
    this.#left = left;
    this.#queue = turn.journal.slice(1);
    if (this.#queue.length > 0) this.#cancelSeen = this.#queue.some((event) => event.kind === "cancelled");
  }

  start(effects: readonly Effect[], dropped: readonly EffectName[]): void {
    if (this.#isOver) return; // An event was on its way to whoever starts these when the turn was let go.
    for (const name of dropped) this.#close(name)?.abort();
    for (const effect of effects) this.#begin(effect);
    for (const effect of effects) if (effect.name === GRACE) this.#abortWork();
  }

  #begin(effect: Effect): void {
    const scope = new Held(effect);
    this.#open.push(scope);
    if (effect.kind === "sleep") return this.#sleep(effect.name, effect.until, scope);
    if (effect.kind === "wait") return void this.#wait(effect.name, effect.key, effect.until, scope);
    let answer: Awaitable<Answer>;
    try {
      answer = this.#perform(effect, scope);
    } catch (error) {
      return this.#arrive(this.#failed(effect, error));
    }
    if (!isThenable(answer)) return this.#arrive(answer);
    answer.then(
      (event) => this.#arrive(event),
      (error: unknown) => this.#arrive(this.#failed(effect, error)),
    );
  }

  #close(name: EffectName): Held | undefined {
    const open = this.#open;
    for (let index = 0; index < open.length; index++) {
      const held = open[index] as Held;
      if (held.effect.name !== name) continue;
      const last = open.pop() as Held;
      if (last !== held) open[index] = last;
      return held;
    }
    return undefined;
  }

  #failed(effect: Effect, error: unknown): Answer {
    const code = error instanceof RuntimeError ? error.code : "protocol.failed";
    return {
      kind: "failed",
      at: this.#context.world.now(),
      effect: effect.name,
      error: { class: "runtime", code, message: describeThrown(error) },
    };
  }

  /** The wait for the end of a grace or a backoff; a dropped one ends early and is not heard. */
  #sleep(effect: EffectName, until: number, scope: LazyScope): void {
    const { world } = this.#context;
    void world.sleep(Math.max(0, until - world.now()), scope.signal).then(() => {
      if (!scope.isAborted) this.#arrive({ kind: "slept", at: world.now(), effect });
    });
  }

  async #wait(effect: EffectName, key: WaitKey, until: number, scope: LazyScope): Promise<void> {
    const { world, store } = this.#context;
    this.#waits ??= new Map();
    this.#waits.set(key, effect);
    try {
      this.#read(await store.append(this.#turn.lease, 0, [], world.now(), [{ key, until }]));
      this.#context.waiting(key);
      await world.sleep(Math.max(0, until - world.now()), scope.signal);
      if (scope.isAborted || !this.#waits.has(key)) return;
      await store.waits.resolve(key, { kind: "timeout" }); // First writer wins, also against the clock.
      this.poke();
    } catch (error) {
      this.#lose(error);
    }
  }

  #abortWork(): void {
    for (const held of [...this.#open]) if (held.effect.kind !== "sleep" && held.effect.kind !== "wait") held.abort();
  }

  #arrive(event: TurnEvent): void {
    if (this.#isOver) return this.#context.trace("host.late", { event: event.kind });
    const waiter = this.#waiter;
    if (waiter === undefined) {
      this.#queue.push(event);
      return;
    }
    if (!this.#hand(event)) return;
    this.#waiter = undefined;
    waiter.resolve(event);
  }

  /** Whether an answer is still wanted is asked now, not when it came: the event before it may have dropped its effect. */
  #hand(event: TurnEvent): boolean {
    if (!("effect" in event) || event.kind === "called") return true;
    const held = this.#close(event.effect);
    if (held !== undefined) {
      if (event.kind === "resolved") held.abort(); // Nobody needs its clock any more.
      return true;
    }
    this.#context.trace("host.late", { event: event.kind, effect: event.effect });
    return false;
  }

  next(): Awaitable<TurnEvent> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    while (this.#head < this.#queue.length) {
      const event = this.#take();
      if (this.#hand(event)) return event;
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  #take(): TurnEvent {
    const queue = this.#queue;
    if (queue.length === 1) return queue.pop() as TurnEvent;
    const event = queue[this.#head++] as TurnEvent;
    if (this.#head === queue.length) {
      queue.length = 0;
      this.#head = 0;
    }
    return event;
  }

  commit(ended: EndedTurn): Awaitable<Committed | { readonly reopen: readonly TurnEvent[] }> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return after(this.#context.store.commit(this.#turn.lease, ended), (answer) => {
      if (answer.kind === "reopen") {
        this.#cancelSeen = true;
        const inLine = this.#queue.findIndex((event, index) => index >= this.#head && event.kind === "cancelled");
        if (inLine >= 0) this.#queue.splice(inLine, 1); // Mail had brought it too.
        return { reopen: [{ kind: "cancelled", ...answer.cancel }] };
      }
      this.#end();
      return answer;
    });
  }

  poke(): Awaitable<void> {
    if (this.#isOver) return;
    try {
      const mail = this.#context.store.renew(this.#turn.lease, this.#context.world.now());
      if (!isThenable(mail)) return this.#read(mail);
      return mail.then(
        (found) => this.#read(found),
        (error: unknown) => this.#lose(error),
      );
    } catch (error) {
      this.#lose(error);
    }
  }

  #read(mail: Mail): void {
    if (mail.cancel !== undefined && !this.#cancelSeen) {
      this.#cancelSeen = true;
      this.#arrive({ kind: "cancelled", ...mail.cancel });
    }
    for (const { key, answer } of mail.resolved ?? []) {
      const effect = this.#waits?.get(key);
      if (effect === undefined || this.#waits?.delete(key) !== true) continue;
      this.#arrive({ kind: "resolved", at: this.#context.world.now(), effect, answer });
    }
  }

  /** Another worker holds the session: nothing more is written, and whoever waits is told. */
  #lose(error: unknown): void {
    if (this.#isOver) return;
    this.#context.trace("host.lost", { problem: describeThrown(error) });
    this.#letGo(error);
  }

  #letGo(error: unknown): void {
    this.#lost = error;
    this.#end();
    this.#waiter?.reject(error);
    this.#waiter = undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#left();
    for (const held of this.#open.splice(0)) held.abort();
  }

  async leave(): Promise<void> {
    if (this.#isOver) return;
    this.#letGo(new RuntimeError("runtime.closed", {}));
    await this.#context.store.release(this.#turn.lease);
  }
}
