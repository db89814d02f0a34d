import { EffectHost } from "../shared/hosts/host.js";
/**
 * A host that runs effects in this process and keeps events in memory only. For tests, and for stores that are not
 * durable.
 */
declare function inline(): EffectHost;
export { inline };
