import { Awaitable } from "../model/json.js";
import { EffectHost } from "../hosts/host.js";
import { Store } from "../stores/store.js";
import { World } from "../model/world.js";
/** What the laws need to try a host. Each law asks for its own. */
interface HostFixture {
  /** Asked more than once by laws in which another worker goes on with a turn. */
  host(): Awaitable<EffectHost>;
  /** An empty store; the law closes it. */
  store(): Awaitable<Store>;
  /** For a host that keeps its own time, such as an engine; without it time is simulated. No law moves it by more than 5 s. */
  world?(): LawWorld;
}
type LawWorld = World & {
  advance(ms: number): Awaitable<void>;
};
/** What every host promises. `check` throws when the promise is broken. */
interface HostLaw {
  readonly law: string;
  /** Only for hosts that keep a turn's events in the store's journal. */
  readonly needs?: "journal";
  check(fixture: HostFixture): Promise<void>;
}
declare const hostLaws: readonly HostLaw[];
export { HostFixture, HostLaw, LawWorld, hostLaws };
