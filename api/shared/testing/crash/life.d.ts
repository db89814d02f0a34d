import { EffectHost } from "../../hosts/host.js";
import { Store } from "../../stores/store.js";
/** What a scenario is given: the same file in every life, and the ledger that outlives them all. */
interface CrashWorld {
  /** Hand both to `createRuntime`: their boundaries are where the process is killed. */
  readonly store: Store;
  readonly host: EffectHost;
  /** 1 in the first process, 2 in the one after the first kill, and so on. */
  readonly life: number;
  /** 0, or 1 in a second process that runs beside the first. */
  readonly worker: number;
  /** Keeps a line of what was done in the outer world; `check` is given those of all lives. */
  act(what: string): void;
}
/** What one process is to do. */
interface Orders {
  readonly database: string;
  readonly ledger: string;
  readonly life: number;
  readonly worker: number;
  /** Ends the process with SIGKILL at the n-th boundary, or when it comes to this place, of this turn if one is named. */
  readonly killAt?: number | {
    readonly place: string;
    readonly turn?: string;
  };
  /** Stops it there, until it is continued from outside. */
  readonly stopAt?: number;
  /** Begins when so many processes are ready: they are to run beside each other. */
  readonly together?: number;
  /** A clock that runs faster from this moment on: leases lapse sooner. All processes of a run have the same. */
  readonly clock?: {
    readonly from: number;
    readonly speed: number;
  };
  /** A module with `store` and `host`: what stands between the scenario and the real ones. */
  readonly around?: string;
}
export { CrashWorld, Orders };
