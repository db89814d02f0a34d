import { EffectHost } from "../shared/hosts/host.js";
/**
 * Effects run here, and every event is in the store before anything outward follows from it: whoever opens the turn
 * next folds the same events and goes on. The default for stores that keep things.
 */
declare function journal(): EffectHost;
export { journal };
