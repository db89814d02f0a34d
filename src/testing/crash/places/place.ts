import type { EffectHost } from "../../../hosts/host.ts";
import type { Awaitable } from "../../../model/awaitable.ts";
import type { Store } from "../../../stores/store.ts";

/**
 * Where the processes of a trial keep what they do: a store, and the host that runs turns on it. One of your own is the
 * default export of a module, because every process of a trial loads it for itself.
 */
export interface Place {
  /** Opens the place in one process of a trial, the first or a later one. Nobody closes it: the process is killed. */
  open(at: TrialPlace): Awaitable<OpenedPlace>;
  /**
   * Gives `read` a store with all that is durable now, closes it, and answers what `read` answered. The kit looks after
   * each kill, from its own process, and the next process must find all as the dead one left it: what opening would
   * repair is looked at in a copy. When a place is `shared`, other processes write to it meanwhile; when it is `still`,
   * none does. A trial of which nothing was written yet is an empty store. Only in the last look may `read` write.
   */
  look<T>(at: TrialPlace, read: (store: Store) => Promise<T>, during: "still" | "shared"): Promise<T>;
  /**
   * Deletes what a trial kept outside of its folder, which the kit deletes. All processes of the trial have ended; it may
   * be one that failed before it kept anything.
   */
  drop?(at: TrialPlace): Awaitable<void>;
}

/** What one trial has for itself. All its processes get the same. */
export interface TrialPlace {
  /** A folder for the place alone. It is empty when the trial begins. */
  readonly folder: string;
  /** For what lies elsewhere, such as a database of a server. No other trial has it; small letters, digits and `_`. */
  readonly name: string;
  /**
   * The clock of the trial's processes runs faster, so that leases lapse sooner. A store that tells the time of leases by
   * the clock of a server must go by the caller's here, or the trial would wait for what is over for its processes.
   */
  readonly isHastened?: true;
}

export interface OpenedPlace {
  readonly store: Store;
  readonly host: EffectHost;
}
