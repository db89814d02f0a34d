import { EffectHost } from "../hosts/host.js";
/**
 * The journal host, without a memory of its own: what was recorded of a resumed turn it reads from the store when the
 * turn is opened, and hands it out event by event. Whatever else knows of the past must have it from those events, as on
 * hosts that keep their own history. For tests, mostly with the crash kit.
 */
declare function amnesiac(): EffectHost;
export { amnesiac };
