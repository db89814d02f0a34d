import { EffectHost } from "../shared/hosts/host.js";
/**
 * A host that runs effects in this process and stores every event before an outward effect follows from it. So the next
 * process that opens the turn folds the same events and continues. The default for durable stores.
 */
declare function journal(): EffectHost;
export { journal };
