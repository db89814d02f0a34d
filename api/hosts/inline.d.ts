import { EffectHost } from "../shared/hosts/host.js";
/**
 * A host that runs effects in this process and keeps events in memory only. For tests, and for stores that keep
 * nothing.
 */
declare function inline(): EffectHost;
export { inline };
