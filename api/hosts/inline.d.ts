import { EffectHost } from "../shared/hosts/host.js";
/** Effects run here and now, and events live in memory only: for tests, and for stores that keep nothing anyway. */
declare function inline(): EffectHost;
export { inline };
