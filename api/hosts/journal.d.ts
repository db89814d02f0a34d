import { EffectHost } from "../shared/hosts/host.js";
/**
 * A host that runs effects in this process and writes every event to the store before anything outward follows from it.
 * So whoever opens the turn next folds the same events and goes on. The default for durable stores.
 */
declare function journal(): EffectHost;
export { journal };
