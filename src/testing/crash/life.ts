import { setTimeout as sleep } from "node:timers/promises";
import type { EffectHost } from "../../hosts/host.ts";
import { journal } from "../../hosts/journal.ts";
import { describeThrown } from "../../model/json.ts";
import { sqlite } from "../../stores/sqlite.ts";
import type { Store } from "../../stores/store.ts";
import { type Watch, watchedHost, watchedStore } from "./boundaries.ts";
import { addLine, readLines } from "./ledger.ts";
import { STOPPABLE } from "./plan.ts";

/** What a scenario is given: the same file in every life, and the ledger that outlives them all. */
export interface CrashWorld {
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
export interface Orders {
  readonly database: string;
  readonly ledger: string;
  readonly life: number;
  readonly worker: number;
  /** Ends the process with SIGKILL at the n-th boundary, or when it comes to this place, of this turn if one is named. */
  readonly killAt?: number | { readonly place: string; readonly turn?: string };
  /** Stops it there, until it is continued from outside. */
  readonly stopAt?: number;
  /** Begins when so many processes are ready: they are to run beside each other. */
  readonly together?: number;
  /** A clock that runs faster from this moment on: leases lapse sooner. All processes of a run have the same. */
  readonly clock?: { readonly from: number; readonly speed: number };
  /** A module with `store` and `host`: what stands between the scenario and the real ones. */
  readonly around?: string;
}

export interface Around {
  store?(store: Store): Store;
  host?(host: EffectHost): EffectHost;
}

/** One process of a scenario, from its start to its end or its death. */
export async function live(run: (world: CrashWorld) => Promise<unknown>, orders: Orders): Promise<void> {
  const { database, ledger, life, worker, killAt, stopAt, clock, together = 1 } = orders;
  if (clock !== undefined) hasten(clock);
  const around = orders.around === undefined ? {} : ((await import(orders.around)) as Around);
  const places: string[] = [];
  let wasStopped = false;
  const watch: Watch = {
    tell: (told) => addLine(ledger, { life, ...told }),
    at(place, turn) {
      const at = places.push(place);
      if (typeof killAt === "object" ? isThere(killAt, place, turn) : killAt === at) {
        watch.tell({ kind: "killed", at, place, ...(turn === undefined ? {} : { turn }) });
        process.kill(process.pid, "SIGKILL");
      }
      // Places may come in another order than they were counted in.
      if (!wasStopped && stopAt !== undefined && at >= stopAt && STOPPABLE.test(place)) {
        wasStopped = true;
        watch.tell({ kind: "stopped", at, place });
        process.kill(process.pid, "SIGSTOP");
        watch.tell({ kind: "continued" });
      }
    },
  };
  const real = sqlite(database);
  const host = journal();
  const world: CrashWorld = {
    store: watchedStore(around.store?.(real) ?? real, watch),
    host: watchedHost(around.host?.(host) ?? host, watch),
    life,
    worker,
    act: (what) => watch.tell({ kind: "act", what }),
  };
  watch.tell({ kind: "ready" });
  const isReady = (): boolean => readLines(ledger).filter(({ kind }) => kind === "ready").length >= together;
  while (!isReady()) await sleep(2);
  try {
    await run(world);
    watch.tell({ kind: "done", places });
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const problem = error instanceof Error ? shortStack(error) : describeThrown(error);
    watch.tell({ kind: "failed", problem, ...(typeof code === "string" ? { code } : {}) });
  }
  process.exit(0); // Also when something of the scenario still runs.
}

const shortStack = ({ stack, message }: Error): string => (stack ?? message).split("\n").slice(0, 5).join("\n");

const isThere = (wanted: { readonly place: string; readonly turn?: string }, place: string, turn?: string): boolean =>
  wanted.place === place && (wanted.turn === undefined || wanted.turn === turn);

function hasten({ from, speed }: NonNullable<Orders["clock"]>): void {
  const { now } = Date;
  Date.now = () => Math.round(from + (now() - from) * speed);
}
