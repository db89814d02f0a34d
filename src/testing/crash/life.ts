import { setTimeout as sleep } from "node:timers/promises";
import type { EffectHost } from "../../hosts/host.ts";
import { describeThrown } from "../../model/json.ts";
import type { Store } from "../../stores/store.ts";
import type { TrialResources } from "./backends/backend.ts";
import { openBackend } from "./backends.ts";
import { type Watch, watchedHost, watchedStore } from "./boundaries.ts";
import { addLine, readLines } from "./ledger.ts";
import { STOPPABLE } from "./plan.ts";

/** What a scenario gets in every process ("life") of a trial. All lives share one store and one ledger. */
export interface CrashWorld {
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
  act(what: string, of?: { readonly job: string; readonly step: string }): void;
}

/** The instructions for one process of a trial. */
export interface Orders {
  /** The name or the URL of the place, and the trial's data there. */
  readonly place: string;
  readonly at: TrialResources;
  /** The scenario's folder. */
  readonly folder: string;
  readonly ledger: string;
  readonly life: number;
  readonly worker: number;
  /** Kills the process at the n-th boundary, or at the first one of this name (and turn). */
  readonly killAt?: number | { readonly place: string; readonly turn?: string };
  /** Suspends the process at the n-th boundary, until it is continued from outside. */
  readonly stopAt?: number;
  /** Waits until this many processes are ready, so that they run concurrently. */
  readonly together?: number;
  /** Makes the clock run faster from this moment on, so that leases expire sooner; the same in all lives of a trial. */
  readonly clock?: { readonly from: number; readonly speed: number };
  /** The URL of a module that wraps the store and the host. */
  readonly around?: string;
}

export interface Around {
  store?(store: Store): Store;
  host?(host: EffectHost): EffectHost;
}

/** Runs one process of a scenario until it ends or is killed. */
export async function live(run: (world: CrashWorld) => Promise<unknown>, orders: Orders): Promise<void> {
  const { folder, ledger, life, worker, killAt, stopAt, clock, together = 1 } = orders;
  if (clock !== undefined) hasten(clock);
  const around = orders.around === undefined ? {} : ((await import(orders.around)) as Around);
  const places: string[] = [];
  let wasStopped = false;
  const watch: Watch = {
    record: (told) => addLine(ledger, { life, ...told }),
    at(place, turn) {
      const at = places.push(place);
      if (typeof killAt === "object" ? isThere(killAt, place, turn) : killAt === at) {
        watch.record({ kind: "killed", at, place, ...(turn === undefined ? {} : { turn }) });
        process.kill(process.pid, "SIGKILL");
      }
      // Boundaries may come in another order than in the rehearsal, so this waits for the next one that allows a stop.
      if (!wasStopped && stopAt !== undefined && at >= stopAt && STOPPABLE.test(place)) {
        wasStopped = true;
        watch.record({ kind: "stopped", at, place });
        process.kill(process.pid, "SIGSTOP");
        watch.record({ kind: "continued" });
      }
    },
  };
  try {
    const { store, host } = await openBackend(orders.place, orders.at);
    const watched = {
      store: watchedStore(around.store?.(store) ?? store, watch),
      host: watchedHost(around.host?.(host) ?? host, watch),
    };
    const unused = new Set<string>(["store", "host"]);
    const use = <K extends keyof typeof watched>(part: K): (typeof watched)[K] => {
      unused.delete(part);
      return watched[part];
    };
    const world: CrashWorld = {
      get store() {
        return use("store");
      },
      get host() {
        return use("host");
      },
      life,
      worker,
      folder,
      act: (what, of) =>
        watch.record({ kind: "act", what, ...(of === undefined ? {} : { step: `${of.job} ${of.step}` }) }),
    };
    watch.record({ kind: "ready" });
    const isReady = (): boolean => readLines(ledger).filter(({ kind }) => kind === "ready").length >= together;
    while (!isReady()) await sleep(2);
    await run(world);
    // Its boundaries would be missing, so fewer kills would pass.
    for (const part of unused) throw new TypeError(`The scenario must pass the world's \`${part}\` to createRuntime.`);
    watch.record({ kind: "done", places });
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const problem = error instanceof Error ? shortStack(error) : describeThrown(error);
    watch.record({ kind: "failed", problem, ...(typeof code === "string" ? { code } : {}) });
  }
  process.exit(0); // The scenario may have left something running.
}

const shortStack = ({ stack, message }: Error): string => (stack ?? message).split("\n").slice(0, 5).join("\n");

const isThere = (wanted: { readonly place: string; readonly turn?: string }, place: string, turn?: string): boolean =>
  wanted.place === place && (wanted.turn === undefined || wanted.turn === turn);

function hasten({ from, speed }: NonNullable<Orders["clock"]>): void {
  const { now } = Date;
  Date.now = () => Math.round(from + (now() - from) * speed);
}
