// `runtime.status` and `runtime.check`: how the store and the workers are.
import { hasCode } from "../model/errors.ts";
import type { Known } from "../model/known.ts";
import type { CheckOptions, Finding } from "../stores/rules/check/check.ts";
import type { Overview, Store } from "../stores/store.ts";
import { requireOptions } from "./checks.ts";
import type { Core } from "./core.ts";

/** How much work there is, and who does it. Numbers stop at about 1,000. */
export interface RuntimeStatus extends Omit<Overview, "workers"> {
  /** The time of this process. */
  readonly now: number;
  /** The kind of the store. */
  readonly store: string;
  /** Processes that run turns or jobs now. */
  readonly workers: readonly {
    /** `host/pid`, or all that is known of the process. */
    readonly name: string;
    readonly turns: number;
    readonly jobs: number;
    /** When its earliest lease ends unless it is renewed. Omitted for a store in memory. */
    readonly until?: number;
  }[];
}

const COUNTED_MAX = 1_000;

export async function statusOf({ store, world }: Core): Promise<RuntimeStatus> {
  const now = world.now();
  // No process but this one uses a store in memory, so no lease lapses there.
  const { workers, ...counts } = await store.overview(COUNTED_MAX, store.isDurable ? now : undefined);
  const byName = new Map<string, RuntimeStatus["workers"][number]>();
  for (const { owner, forMs, ...held } of workers) {
    const name = nameOf(owner.process);
    const { turns, jobs, until = Infinity } = byName.get(name) ?? { turns: 0, jobs: 0 };
    const ends = forMs === undefined ? {} : { until: Math.min(until, now + forMs) };
    byName.set(name, { name, turns: turns + held.turns, jobs: jobs + held.jobs, ...ends });
  }
  return { now, store: store.kind, ...counts, workers: [...byName.values()] };
}

/** The host and the process id in the name of a process, such as `host/boot/pid/start`. */
function nameOf(process: string): string {
  const [, host, pid] = /^(.*?)\/(?:[^/]*\/)?(\d+)(?:\/[^/]*)?$/.exec(process) ?? [];
  return host === undefined ? process : `${host}/${pid}`;
}

const CHECK: Known<CheckOptions> = { max: true, deep: true };

export async function checkOf({ store }: Core, options: CheckOptions): Promise<readonly Finding[]> {
  requireOptions("check", options, CHECK);
  const { check } = store as Store & { check?(options: CheckOptions): readonly Finding[] };
  try {
    return check === undefined ? [] : check(options);
  } catch (error) {
    // A file so damaged that the check itself cannot read it.
    if (!hasCode(error, "store.corrupt")) throw error;
    const { item, problem } = error.details;
    return [{ item, problem }];
  }
}
