import { EffectHost } from "../../hosts/host.js";
import { Store } from "../../stores/store.js";
import { TrialResources } from "./backends/backend.js";
/** What a scenario gets in every process ("life") of a trial. All lives share one store and one ledger. */
interface CrashWorld {
  /** Pass both to `createRuntime`: the process is killed at their boundaries. */
  readonly store: Store;
  readonly host: EffectHost;
  /** 1 in the first process, 2 after the first kill, and so on. */
  readonly life: number;
  /** 0; 1 in a second, concurrent process. */
  readonly worker: number;
  /** A folder of this trial, the same in all its lives, for data of the scenario. */
  readonly folder: string;
  /**
   * Records an act on the outer world. `check` gets the records of all lives. An act of a job's step passes `{ job:
   * job.id, step: "pay" }` inside `once("pay", …)`. Once that step is recorded the act must not repeat.
   */
  act(what: string, of?: {
    readonly job: string;
    readonly step: string;
  }): void;
}
/** The instructions for one process of a trial. */
interface Orders {
  /** The name or the URL of the place, and the trial's data there. */
  readonly place: string;
  readonly at: TrialResources;
  /** The scenario's folder. */
  readonly folder: string;
  readonly ledger: string;
  readonly life: number;
  readonly worker: number;
  /** Kills the process at the n-th boundary, or at the first one of this name (and turn). */
  readonly killAt?: number | {
    readonly place: string;
    readonly turn?: string;
  };
  /** Suspends the process at the n-th boundary, until it is continued from outside. */
  readonly stopAt?: number;
  /** Waits until this many processes are ready, so that they run concurrently. */
  readonly together?: number;
  /** Makes the clock run faster from this moment on, so that leases expire sooner; the same in all lives of a trial. */
  readonly clock?: {
    readonly from: number;
    readonly speed: number;
  };
  /** The URL of a module that wraps the store and the host. */
  readonly around?: string;
}
export { CrashWorld, Orders };
