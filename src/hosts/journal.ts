import { type Awaitable, andThen, isThenable } from "../model/awaitable.ts";
import { asWaitKey, type EffectName, type WaitKey } from "../model/ids.ts";
import type { Mail, NewWait } from "../stores/store.ts";
import { type Effect, OUTWARD } from "../turn/effect.ts";
import type { TurnEvent } from "../turn/event.ts";
import { STEP_VERSION } from "../turn/state.ts";
import type { EffectHost, HostContext, Perform, TurnRef } from "./host.ts";
import { type Held, LocalRun } from "./local/run.ts";
import { LOOK_MS, Runs } from "./local/runs.ts";

/**
 * Effects run here, and every event is in the store before anything outward follows from it: whoever opens the turn
 * next folds the same events and goes on. The default for stores that keep things.
 */
export function journal(): EffectHost {
  const runs = new Runs();
  return {
    kind: "journal",
    open: (turn, perform, context) => new JournalRun(turn, perform, context, runs),
  };
}

/** What is recorded is handed out by `next` here, before anything is begun. */
const NOTHING_RECORDED: readonly TurnEvent[] = [];
const WEEK_MS = 7 * 24 * 3_600_000;

class JournalRun extends LocalRun {
  /** Recorded by whoever ran this turn before, and not handed out yet. */
  readonly #replay: TurnEvent[];
  #replayed = 0;
  /** It was run before: that it goes on is recorded before anything is done. */
  #isToResume: boolean;
  /** Until what was recorded is handed out, and that it goes on is too. */
  #isFolding: boolean;
  /** Handed out and not yet written. */
  #unwritten: TurnEvent[] = [];
  #newWaits: NewWait[] = [];
  /** Not begun: what released them is not durable yet, or the turn is still being folded. */
  #held: Held[] = [];
  #seq: number;
  /** Of the lease, by our own clock from before it was asked for: past it another worker may be at this turn. */
  #until: number;
  /** How long the lease held when mail was last looked for. */
  #looked: number;
  #writing: PromiseLike<void> | undefined;
  /** The last event that was handed out has been folded. */
  #isStepped = true;
  #isLeaving = false;

  constructor(turn: TurnRef, perform: Perform, context: HostContext, runs: Runs) {
    super(turn, perform, context, runs, NOTHING_RECORDED);
    this.#replay = turn.journal.slice(1);
    this.#seq = turn.journal.length;
    this.#isToResume = turn.isResumed === true;
    this.#isFolding = this.#replay.length > 0 || this.#isToResume;
    this.#until = this.#looked = turn.lease.until;
  }

  override start(effects: readonly Effect[], dropped: readonly EffectName[]): void {
    this.#isStepped = true;
    if (dropped.length > 0) this.#held = this.#held.filter(({ effect }) => !dropped.includes(effect.name));
    super.start(effects, dropped);
    if (this.#held.length > 0 && !this.#isFolding) queueMicrotask(this.#soon); // Unless `next` was sooner.
  }
  readonly #soon = (): void => {
    if (this.#held.length > 0) void this.#write();
  };

  protected override begin(held: Held): void {
    const { effect } = held;
    if (!this.#isFolding && !OUTWARD.has(effect.kind)) return super.begin(held);
    if (effect.kind === "wait" && !this.#isFolding) this.#newWaits.push({ key: effect.key, until: effect.until });
    this.#held.push(held);
  }

  protected override hand(event: TurnEvent): boolean {
    if (!super.hand(event)) return false;
    this.#answered(event);
    this.#unwritten.push(event);
    this.#isStepped = false;
    return true;
  }

  #answered(event: TurnEvent): void {
    if (this.#held.length > 0 && "effect" in event)
      this.#held = this.#held.filter(({ effect }) => effect.name !== event.effect);
  }

  override next(): Awaitable<TurnEvent> {
    this.#isStepped = true;
    if (this.#replayed < this.#replay.length) {
      const event = this.#replay[this.#replayed++] as TurnEvent;
      this.#isFolding = this.#replayed < this.#replay.length || this.#isToResume;
      super.hand(event);
      this.#answered(event);
      return event;
    }
    if (this.#isToResume) return this.#resume();
    for (;;) {
      const ready = this.ready();
      if (ready !== undefined) return ready;
      const writing = this.#write();
      if (writing !== undefined) return writing.then(() => this.next());
      if (!this.hasArrivals || this.isOver) return this.arrival();
    }
  }

  /** Written at once: a turn that crashes its process before anything else is counted too. */
  #resume(): Awaitable<TurnEvent> {
    const { world } = this.context;
    this.#isToResume = this.#isFolding = false;
    for (const held of this.#held) {
      held.isResumed = true;
      // Whoever had it may have died between the event and the row.
      const { effect } = held;
      if (effect.kind === "wait") this.#newWaits.push({ key: effect.key, until: effect.until });
    }
    const resumed: TurnEvent = {
      kind: "resumed",
      at: world.now(),
      step: STEP_VERSION,
      generation: this.turn.lease.generation,
    };
    this.#unwritten.push(resumed);
    return andThen(this.#append(), () => resumed);
  }

  /** Writes what was handed out, then begins what waited for it. Nothing when there is nothing to wait for. */
  #write(): PromiseLike<void> | undefined {
    if (this.#writing !== undefined) return this.#writing;
    if (this.isOver || this.#isLeaving) return undefined;
    const isNothingNew = this.#unwritten.length === 0 && this.#newWaits.length === 0;
    if (isNothingNew && this.#held.length === 0) return undefined;
    const written = isNothingNew && this.context.world.now() < this.#until ? undefined : this.#append();
    if (written === undefined) return void this.#beginHeld();
    this.#writing = written.then(() => {
      this.#writing = undefined;
      // The process may have been stopped meanwhile, for longer than the lease holds.
      if (this.context.world.now() >= this.#until) return this.#write();
      this.#beginHeld();
      return undefined;
    });
    return this.#writing;
  }

  #append(): PromiseLike<void> | undefined {
    const { store, world } = this.context;
    const events = this.#unwritten;
    const waits = this.#newWaits;
    this.#unwritten = [];
    if (waits.length > 0) this.#newWaits = [];
    try {
      const until = store.append(this.turn.lease, this.#seq, events, world.now(), waits);
      if (!isThenable(until)) return void this.#appended(events, waits, until);
      return until
        .then((found) => this.#appended(events, waits, found))
        .then(undefined, (error: unknown) => this.lose(error));
    } catch (error) {
      this.lose(error);
      return undefined;
    }
  }

  #appended(events: readonly TurnEvent[], waits: readonly NewWait[], until: number): void {
    this.#seq += events.length;
    this.#until = until;
    for (const { key } of waits) this.context.waiting(key);
    if (until - this.#looked < LOOK_MS) return;
    this.#looked = until;
    void this.poke(); // A turn that never waits lets no timer look for it.
  }

  /** What has arrived meanwhile comes first: a cancel may give up what is held. */
  #beginHeld(): void {
    if (this.#held.length === 0 || this.hasArrivals || this.isOver || this.#isLeaving) return;
    const held = this.#held;
    this.#held = [];
    for (let index = 0; index < held.length; index++) {
      const each = held[index] as Held;
      // The process may have been stopped, here too, for longer than the lease holds.
      if (this.context.world.now() >= this.#until) {
        this.#held = [...held.slice(index), ...this.#held];
        return void this.#write();
      }
      if (each.isAborted) {
        this.#given(each);
        continue;
      }
      const { effect, isResumed } = each;
      if (isResumed && effect.kind === "call" && effect.onInterrupt !== undefined) this.#interrupted(effect);
      else super.begin(each);
      if (isResumed && effect.kind === "wait") this.context.waiting(effect.key); // Whoever looks now is told anew.
    }
    if (held.some(({ effect }) => effect.kind === "wait")) void this.poke(); // It may be answered already.
  }

  /** The turn was stopped before it was begun here: it is not begun any more. */
  #given({ effect, isResumed }: Held): void {
    const at = this.context.world.now();
    const { name } = effect;
    const reason = "The turn was stopped.";
    if (effect.kind !== "call")
      return this.arrive({
        kind: "failed",
        at,
        effect: name,
        error: { class: "cancelled", code: "turn.cancelled", message: reason },
      });
    // It may have run, and is given up when the grace is over, as it would have been.
    if (!isResumed) this.arrive({ kind: "returned", at, effect: name, output: { kind: "cancelled", reason } });
  }

  /** It may have run, and its tool does not want it to run again. */
  #interrupted({ name, onInterrupt }: Extract<Effect, { kind: "call" }>): void {
    const { world } = this.context;
    const at = world.now();
    const asks = onInterrupt === "ask" ? { key: asWaitKey(world.secret()), until: at + WEEK_MS } : {};
    this.arrive({ kind: "interrupted", at, effect: name, ...asks });
  }

  /** Its row was written with the event that made it. */
  protected override async announce(_key: WaitKey): Promise<void> {}

  protected override reopened(event: TurnEvent): TurnEvent {
    this.#unwritten.push(event);
    return event;
  }

  protected override read(mail: Mail): void {
    this.#until = Math.max(this.#until, mail.until);
    this.#looked = mail.until;
    super.read(mail);
  }

  /** What was handed out and folded is recorded first, as far as that is possible. */
  override async leave(): Promise<void> {
    if (!this.isOver && !this.#isLeaving) {
      this.#isLeaving = true;
      await this.#writing;
      if (!this.#isStepped) this.#unwritten.pop(); // What follows from it is not known: it is done again.
      if (this.#unwritten.length > 0) await this.#append();
    }
    await super.leave();
  }
}
