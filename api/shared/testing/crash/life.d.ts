import { EffectHost } from "../../hosts/host.js";
import { Store } from "../../stores/store.js";
import { TrialPlace } from "./places/place.js";
/** What a scenario gets in every process ("life") of a trial. All lives share one store and one ledger. */
interface CrashWorld {
  /** Give both to `createRuntime`: the process is killed at their boundaries. */
  readonly store: Store;
  readonly host: EffectHost;
  /** 1 in the first process, 2 after the first kill, and so on. */
  readonly life: number;
  /** 0; 1 in a second process that runs beside the first. */
  readonly worker: number;
  /** A folder that this trial alone has, in all its lives: for what the scenario itself keeps. */
  readonly folder: string;
  /**
   * Records something that was done in the outer world. `check` gets the records of all lives. What a step of a job does
   * says so: `{ job: job.id, step: "pay" }` inside of `once("pay", …)`. Once that is recorded it must not run again.
   */
  act(what: string, of?: {
    readonly job: string;
    readonly step: string;
  }): void;
}
/** What one process of a trial is to do. */
interface Orders {
  /** The name or the address of the place, and what the trial has there. */
  readonly place: string;
  readonly at: TrialPlace;
  /** What the scenario has for itself. */
  readonly folder: string;
  readonly ledger: string;
  readonly life: number;
  readonly worker: number;
  /** Kills the process at the n-th boundary, or at the first one of this name (and turn). */
  readonly killAt?: number | {
    readonly place: string;
    readonly turn?: string;
  };
  /** Stops the process at the n-th boundary, until it is continued from outside. */
  readonly stopAt?: number;
  /** Begins when this many processes are ready, so that they run beside each other. */
  readonly together?: number;
  /** Makes the clock run faster from this moment on, so that leases lapse sooner; the same in all lives of a trial. */
  readonly clock?: {
    readonly from: number;
    readonly speed: number;
  };
  /** The address of a module that wraps the store and the host. */
  readonly around?: string;
}
export { CrashWorld, Orders };
