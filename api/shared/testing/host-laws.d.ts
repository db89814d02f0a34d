import { Awaitable } from "../model/awaitable.js";
import { EffectHost } from "../hosts/host.js";
import { Store } from "../stores/store.js";
import { World } from "../model/world.js";
/** What the laws need to test a host. Each law asks for a new one. */
interface HostFixture {
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
type LawWorld = World & {
  advance(ms: number): Awaitable<void>;
};
/** A promise of every host. `check` throws when it is broken. */
interface HostLaw {
  readonly law: string;
  /**
   * `journal`: the law is only for hosts that store a turn's events in the store's journal. `parking`: only for those
   * that also park turns.
   */
  readonly needs?: "journal" | "parking";
  check(fixture: HostFixture): Promise<void>;
}
declare const hostLaws: readonly HostLaw[];
export { HostFixture, HostLaw, LawWorld, hostLaws };
