import { Answer, Applied, TurnEvent } from "../turn/event.js";
import { Awaitable } from "../model/awaitable.js";
import { Committed, EndedTurn, Lease, ParkedTurn, Store } from "../stores/store.js";
import { Effect } from "../turn/effect.js";
import { EffectName, WaitKey } from "../model/ids.js";
import { NewJob } from "../model/job.js";
import { Scope } from "../model/scope.js";
import { World } from "../model/world.js";
/**
 * Performs one effect and returns its answer. A failure of the effect is a `failed` answer; a throw means a fault of
 * the store or a bug. A synchronous answer is written together with the event that released the effect.
 */
type Perform = (effect: Effect, scope: Scope) => Awaitable<Answer>;
/** A turn to run, and its recorded events. */
interface TurnRef {
  readonly lease: Lease;
  /** The end of the lease by this process's clock, counted from before the request. */
  readonly until: number;
  /** The recorded events: `opened`, and for a resumed turn all later ones. */
  readonly journal: readonly TurnEvent[];
  /** An earlier run had the turn. */
  readonly isResumed?: true;
  /** The earlier run was in this process. It ended because the store failed. */
  readonly isFault?: true;
}
/** What the runtime passes to a host. */
interface HostContext {
  readonly store: Store;
  readonly world: World;
  /**
   * Call it once the row of a wait is stored. Only then may readers see the key, because an answer would be refused
   * before.
   */
  waiting(key: WaitKey): void;
  /** Call it once the jobs of an answer are stored. Only then may they start. */
  spawned(jobs: readonly NewJob[]): void;
  /**
   * Call it with the store's answer about inputs that wait for a boundary, and with the time of the call. The answer
   * can miss inputs that this process accepted after that time.
   */
  pending(is: boolean, sent: number): void;
  /** Call it with the mail's answer whether other processes follow the turn. If so, previews are written for them. */
  followed(is: boolean): void;
  /** Reports diagnostics that belong to no result: a dropped late or second answer, a lost lease. */
  trace(name: string, about: {
    readonly [key: string]: string | number;
  }): void;
}
/**
 * Runs effects and decides the order in which their answers are returned. Members: `inline` (tests, memory store),
 * `journal` (the default). `hostLaws` in `bowline/testing` tests its promises.
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
   * Starts effects. Outward ones wait until the events that released them are durable. Dropped effects are forgotten:
   * their signals abort, and their late answers are dropped and traced.
   */
  start(effects: readonly Effect[], dropped: readonly EffectName[]): void;
  /**
   * Returns the next event: recorded ones first, then new ones in an order that every later run repeats. Fold each
   * event before you call `next` again, because it may close the effect that the following event answers.
   *
   * `quietMs` is only passed while all open effects are waits or sleeps. Then it returns undefined if no event came for
   * that time, or `hurry` was called.
   */
  next(): Awaitable<TurnEvent>;
  next(quietMs: number | undefined): Awaitable<TurnEvent | undefined>;
  /** Makes a `next` that waits with `quietMs` return undefined now. */
  hurry(): void;
  /**
   * Stores an event of the caller, before the caller folds it. Allowed only while all open effects are waits or sleeps.
   */
  record(event: Applied): Awaitable<void>;
  /**
   * Parks the turn until it has mail. If mail came first, returns events that must be folded; `next` returns the
   * others. Allowed only while all open effects are waits or sleeps.
   */
  park(turn: ParkedTurn): Awaitable<{
    readonly kind: "parked";
  } | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /** Commits the turn, or returns events that must be folded first: a cancel that came before the commit. */
  commit(turn: EndedTurn): Awaitable<Committed | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /**
   * A hint that the store may have mail for this turn. The host reads it now and resolves after that. Without the hint
   * it reads within a second.
   */
  poke(): Awaitable<void>;
  /** Abandons the turn without ending it: signals abort, nothing more is written, and another worker may resume it. */
  leave(): Awaitable<void>;
}
export { EffectHost };
