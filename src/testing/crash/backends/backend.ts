import type { EffectHost } from "../../../hosts/host.ts";
import type { Awaitable } from "../../../model/awaitable.ts";
import type { Store } from "../../../stores/store.ts";

/**
 * The store of a trial's processes, and the host that runs turns on it. Your own backend must be the default export of a
 * module, because every process of a trial loads it.
 */
export interface CrashBackend {
  /**
   * Opens the backend in one process of a trial, the first or a later one. It is never closed, because the process is
   * killed.
   */
  open(at: TrialResources): Awaitable<OpenedBackend>;
  /**
   * Calls `read` with a store of everything that is durable now, closes it, and returns the answer. The kit does this
   * after each kill, from its own process. The next process must find everything as the dead one left it, so read a
   * copy if opening would repair something. If the backend is `shared`, other processes write to it meanwhile; if it is
   * `still`, none does. A trial without a write is an empty store. `read` may write only in the last look.
   */
  look<T>(at: TrialResources, read: (store: Store) => Promise<T>, during: "still" | "shared"): Promise<T>;
  /**
   * Deletes what a trial stored outside its folder, which the kit deletes. All processes of the trial have ended. The
   * trial may have failed before it stored anything.
   */
  drop?(at: TrialResources): Awaitable<void>;
}

/** The resources of one trial. All its processes get the same. */
export interface TrialResources {
  /** A folder for this trial only. It is empty when the trial starts. */
  readonly folder: string;
  /** A unique name for data elsewhere, such as a database of a server: small letters, digits and `_`. */
  readonly name: string;
  /**
   * The clock of the trial's processes runs faster, so that leases expire sooner. A store whose leases use a server's
   * clock must use the caller's here, because otherwise the trial waits for leases that have expired for its processes.
   */
  readonly isHastened?: true;
}

export interface OpenedBackend {
  readonly store: Store;
  readonly host: EffectHost;
}
