import { EffectHost } from "../hosts/host.js";
/**
 * The journal host without a memory: it reads the recorded events of a resumed turn from the store when the turn is
 * opened, and returns them one by one. So all other code must read the past from those events, as with hosts that have
 * a separate history. For tests, mostly with the crash kit.
 */
declare function amnesiac(): EffectHost;
export { amnesiac };
