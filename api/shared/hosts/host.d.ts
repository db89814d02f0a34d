import { Answer, Applied, TurnEvent } from "../turn/event.js";
import { Awaitable } from "../model/awaitable.js";
import { Committed, EndedTurn, Lease, ParkedTurn, Store } from "../stores/store.js";
import { Effect } from "../turn/effect.js";
import { EffectName, WaitKey } from "../model/ids.js";
import { NewJob } from "../model/job.js";
import { Scope } from "../model/scope.js";
import { World } from "../model/world.js";
/**
 * Performs one effect and returns its answer. What the effect runs into becomes a `failed` answer; a throw means a
 * fault of the store or a bug. A synchronous answer is written together with the event that released the effect.
 */
type Perform = (effect: Effect, scope: Scope) => Awaitable<Answer>;
/** A turn to be run, and what is recorded of it. */
interface TurnRef {
  readonly lease: Lease;
  /** When that lapses unless it is renewed, by this process's clock: counted from before it was asked for. */
  readonly until: number;
  /** The recorded events: `opened`, and when the turn is resumed all that followed. */
  readonly journal: readonly TurnEvent[];
  /** Another run held the turn before this one. */
  readonly isResumed?: true;
  /** That run was in this process, and ended because the store failed. */
  readonly isFault?: true;
}
/** What the runtime gives to a host. */
interface HostContext {
  readonly store: Store;
  readonly world: World;
  /**
   * Call this once the row of a wait is in the store. Only then may readers learn the key, since an answer would be
   * refused before.
   */
  waiting(key: WaitKey): void;
  /** Call this once jobs that an answer began are in the store. Only then may their work begin. */
  spawned(jobs: readonly NewJob[]): void;
  /**
   * Call this with what the store answered about inputs that wait for a boundary, and when the call was sent: what was
   * accepted here since may not be counted in it.
   */
  pending(is: boolean, sent: number): void;
  /** Call this with what mail says of those who follow the turn from other processes: it is shown to them meanwhile. */
  followed(is: boolean): void;
  /** Reports what belongs to no result: a late or second answer that was dropped, a lost lease. */
  trace(name: string, about: {
    readonly [key: string]: string | number;
  }): void;
}
/**
 * Where effects run, and in which order their answers are handed out. Members: `inline` (tests, memory store),
 * `journal` (the default). Its promises are tested by `hostLaws` in `bowline/testing`.
 */
interface EffectHost {
  /** Recorded with the turn. A host of another kind refuses to resume it (`turn.host`). */
  readonly kind: string;
  /** Whether its turns can be parked. */
  readonly parks: boolean;
  open(turn: TurnRef, perform: Perform, context: HostContext): Awaitable<TurnRun>;
}
/** One turn on a host. */
interface TurnRun {
  /**
   * Starts effects; outward ones are held until the events that released them are durable. Forgets dropped effects:
   * aborts their signals, and drops and traces their late answers.
   */
  start(effects: readonly Effect[], dropped: readonly EffectName[]): void;
  /**
   * The next event: recorded ones first, then new ones in an order that every later run repeats. Fold each before
   * asking for the next, since it may close the effect that the following one answers.
   *
   * With `quietMs`, which is given only while all open effects are waits or sleeps: undefined when nothing came for so
   * long, or `hurry` was called.
   */
  next(): Awaitable<TurnEvent>;
  next(quietMs: number | undefined): Awaitable<TurnEvent | undefined>;
  /** Ends the quiet that `next` is waiting for, if it is. */
  hurry(): void;
  /** Makes an event of the caller's durable; the caller folds it then. Only while all open effects are waits or sleeps. */
  record(event: Applied): Awaitable<void>;
  /**
   * Gives the turn up until it has mail, or returns what came first: events that must be folded, and others that `next`
   * will hand out. Only while all open effects are waits or sleeps.
   */
  park(turn: ParkedTurn): Awaitable<{
    readonly kind: "parked";
  } | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /** Ends the turn, or returns events that must be folded first (a cancel that came before the commit). */
  commit(turn: EndedTurn): Awaitable<Committed | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /**
   * Hints that the store may have mail for this turn: looks now, and answers once it has looked. Without the hint a
   * host looks by itself within a second.
   */
  poke(): Awaitable<void>;
  /** Lets the turn go without ending it: signals abort, nothing more is written, and another worker may resume it. */
  leave(): Awaitable<void>;
}
export { EffectHost };
