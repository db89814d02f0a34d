// What the hooks and tools of one open effect have requested. It becomes durable with the effect's answer. An effect that
// fails or is abandoned drops it.
// draft-1 The answer waits for `storing`: the bytes and sessions that it refers to exist before it is recorded.
// draft-2 All attempts of a call have one place, and each attempt has a separate draft, so that the requests of a failed
//         attempt are not made twice.
import type { EffectName, InputId, WaitKey } from "../../model/ids.ts";
import type { Deferral } from "../../model/tool.ts";
import type { Spent } from "../../model/usage.ts";
import type { Effect } from "../../turn/effect.ts";
import type { Appending } from "../../turn/event.ts";
import type { Spawning } from "../jobs/job-starts.ts";

/** Nodes to append; `from` is their index in the turn's log, if it is known. */
export type DraftAppend = Appending & { readonly from?: number };

export interface NewWait {
  readonly key: WaitKey;
  readonly until: number;
}

export class EffectDraft {
  appends: DraftAppend[] = [];
  /** Jobs that begin with the answer. */
  spawns: Spawning[] = [];
  /** Inputs whose nodes are among the appends. */
  taken: InputId[] = [];
  /** Spending of others during the turn, from inputs that the effect takes. */
  spent: Spent[] = [];
  /** The wait that the call is about to begin: at most one per attempt. It has a key after it was made answerable. */
  deferral: { readonly deferral: Deferral; readonly wait?: NewWait } | undefined = undefined;
  #claims = 0;
  #storing: PromiseLike<void>[] | undefined;

  /** The number of the next claim of inputs: a rerun of the effect claims the same ones under the same number. */
  nextClaim(): number {
    return this.#claims++;
  }

  /** draft-1: an attachment that is being stored, or a session that is being created. */
  store(stored: PromiseLike<void>): void {
    stored.then(undefined, () => {}); // No code awaits it if the effect fails before its answer.
    this.#storing ??= [];
    this.#storing.push(stored);
  }

  /** Settles when everything is stored; undefined if there is nothing to store. */
  get stored(): Promise<unknown> | undefined {
    return this.#storing && Promise.all(this.#storing);
  }

  /** The tool failed: nothing is appended or begun. Its output may still refer to values that are being stored. */
  withdraw(): void {
    this.appends = [];
    this.spawns = [];
    this.taken = [];
    this.spent = [];
  }
}

/** draft-2 */
export const placeOf = (effect: Effect): EffectName => (effect.kind === "call" ? effect.position : effect.name);
