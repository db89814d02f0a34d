import { Answer, TurnEvent } from "../turn/event.js";
import { Awaitable } from "../model/awaitable.js";
import { Committed, EndedTurn, Lease, Store } from "../stores/store.js";
import { Effect } from "../turn/effect.js";
import { EffectName, WaitKey } from "../model/ids.js";
import { Scope } from "../model/scope.js";
import { World } from "../model/world.js";
/**
 * Does one effect and gives its answer. It never throws for what the effect met (that is a `failed` answer); a
 * synchronous answer joins the write of the event that released it.
 */
type Perform = (effect: Effect, scope: Scope) => Awaitable<Answer>;
interface TurnRef {
  readonly lease: Lease;
  /** What is recorded already: `opened`, and all that followed when the turn is resumed. */
  readonly journal: readonly TurnEvent[];
  /** Another run had it before. */
  readonly isResumed?: true;
}
/** What a host needs from the runtime; the runtime's own. */
interface HostContext {
  readonly store: Store;
  readonly world: World;
  /** A wait can be answered from now on: its row is there. Readers are told of its key no sooner. */
  waiting(key: WaitKey): void;
  /** Something a maintainer should see: a late answer dropped, a second answer, a lost lease. */
  trace(name: string, about: {
    readonly [key: string]: string | number;
  }): void;
}
/** Where effects run: inline (tests, memory), journal (the default), an engine. Laws: `hostLaws` in `bowline/testing`. */
interface EffectHost {
  /** Kept with the turn; another kind refuses it. */
  readonly kind: string;
  open(turn: TurnRef, perform: Perform, context: HostContext): Awaitable<TurnRun>;
}
interface TurnRun {
  /** Starts effects; outward ones are held until what released them is durable. Forgets dropped ones: signal aborted, a late answer dropped and traced. */
  start(effects: readonly Effect[], dropped: readonly EffectName[]): void;
  /** The next event, recorded ones first, in one order that every later run repeats. One at a time: it may close the effect that the following one answers. */
  next(): Awaitable<TurnEvent>;
  /** Ends the turn, or answers with events that must be folded first (a cancel that came before). */
  commit(turn: EndedTurn): Awaitable<Committed | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /** The store may have mail for this turn: look now; answers when it has looked. A hint: a host looks by itself within a second. */
  poke(): Awaitable<void>;
  /** Lets go without ending the turn: signals abort, nothing more is written, another worker may resume it. */
  leave(): Awaitable<void>;
}
export { EffectHost };
