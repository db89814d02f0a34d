import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Known, type Optional, requireKnown } from "../model/known.ts";
import { backendAt, type CrashBackendName } from "./crash/backends.ts";
import { type CrashWorld, live, type Orders } from "./crash/life.ts";
import type { Picture } from "./crash/picture.ts";
import { type Amounts, planned, type Trial } from "./crash/plan.ts";
import { CrashReport, type CrashRow, type Violation } from "./crash/report.ts";
import { type Setting, Stage, type Tried } from "./crash/trial.ts";

export type { CrashBackend, OpenedBackend, TrialResources } from "./crash/backends/backend.ts";
export { postgresBackend } from "./crash/backends/postgres.ts";
export { crashBackends } from "./crash/backends.ts";
export type { ViolationKind } from "./crash/judge.ts";
export type { CrashWorld } from "./crash/life.ts";
export type { Picture } from "./crash/picture.ts";
export type { Trial } from "./crash/plan.ts";
export { recited } from "./crash/recited.ts";
export { CrashReport, type CrashRow, type Violation } from "./crash/report.ts";

/** An app to be killed. It must be the default export of a separate module, which runs in child processes. */
export interface Scenario {
  /**
   * Runs from the beginning in every process: opens a runtime on the world's store and host, sends every input with a
   * key, and waits until all are answered. After a kill, the same keys join the existing turns.
   */
  run(world: CrashWorld): Promise<unknown>;
  /** Throws if the final store is wrong. Default: it must equal that of the run without a kill. */
  readonly check?:
    | ((final: Picture, told: { readonly clean: Picture; readonly acts: readonly string[] }) => unknown)
    | undefined;
}
export interface DefinedScenario extends Scenario {
  /** Runs one process of the scenario. Only the kit calls it. */
  live(orders: Orders): Promise<void>;
}

const SCENARIO: Known<Scenario> = { run: true, check: true };

export function defineScenario(scenario: Scenario): DefinedScenario {
  requireKnown("defineScenario", scenario, SCENARIO);
  return { ...scenario, live: (orders) => live((world) => scenario.run(world), orders) };
}

export interface CrashOptions extends Optional<Amounts> {
  /** Seed of the random choice of trials: equal seeds choose equal trials. Default: 1. */
  readonly seed?: number | undefined;
  /** Runs exactly these trials, for example one that found a violation. */
  readonly trials?: readonly Trial[] | undefined;
  /** How many trials run at a time. Default: 2. */
  readonly parallel?: number | undefined;
  /** The time in milliseconds after which a process counts as stuck. Default: 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Arguments for `node` before the program, for example a loader. */
  readonly execArgv?: readonly string[] | undefined;
  /** Called after each trial with its violations. */
  readonly onTrial?: ((told: TrialResult) => void) | undefined;
  /** Where the scenarios run: a crash backend of the kit by name, or the URL of a module with one. Default: `sqlite`. */
  readonly place?: CrashBackendName | URL | undefined;
  /**
   * A module that exports `store(store)` or `host(host)`, which wrap those of the backend: to test the kit with broken
   * ones.
   */
  readonly around?: URL | undefined;
}

export interface TrialResult {
  readonly scenario: string;
  readonly trial: Trial;
  readonly violations: readonly Violation[];
  /** The number of finished trials. */
  readonly done: number;
  /** The number of all trials. */
  readonly of: number;
}

const OPTIONS: Known<CrashOptions> = {
  kills: true,
  doubles: true,
  triples: true,
  loops: true,
  stops: true,
  pairs: true,
  seed: true,
  trials: true,
  parallel: true,
  timeoutMs: true,
  execArgv: true,
  onTrial: true,
  place: true,
  around: true,
};

/**
 * Kills a scenario with SIGKILL at each of its boundaries in turn, starts it again, and compares the final store with
 * that of a run without a kill. Processes and stores are real; nothing is simulated.
 */
export async function crashTest(scenarios: URL | readonly URL[], options: CrashOptions = {}): Promise<CrashReport> {
  requireKnown("crashTest", options, OPTIONS);
  const list = scenarios instanceof URL ? [scenarios] : scenarios;
  const folder = mkdtempSync(join(tmpdir(), "bowline-crash-"));
  try {
    return await new Kit(folder, options).test(list);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Kit {
  readonly #folder: string;
  readonly #options: CrashOptions;
  /** The name of each trial begins with it, because other kits may use the same database. */
  readonly #name = `crash_${randomUUID().slice(-12)}`;
  readonly #violations: Violation[] = [];
  #stages = 0;

  constructor(folder: string, options: CrashOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  async test(scenarios: readonly URL[]): Promise<CrashReport> {
    const { parallel = 2, onTrial, place = "sqlite" } = this.#options;
    const where = place instanceof URL ? place.href : place;
    const found = { where, place: await backendAt(where) };
    const cast = await pool(scenarios, parallel, async (url) => this.#rehearsed(url, found));
    const trials = cast.flatMap((actor) => actor.trials.map((trial) => ({ actor, trial })));
    let done = 0;
    await pool(trials, parallel, async ({ actor, trial }) => {
      const { kills, stops, violations } = await this.#play(actor, trial);
      actor.kills += kills;
      actor.stops += stops;
      onTrial?.({ scenario: actor.name, trial, violations, done: ++done, of: trials.length });
    });
    const rows = cast.map(
      ({ name, boundaries, kills, stops, trials: all, ms }): CrashRow => ({
        scenario: name,
        boundaries: boundaries.length,
        trials: all.length,
        kills,
        stops,
        ms,
      }),
    );
    return new CrashReport(rows, this.#violations);
  }

  /** Runs the scenario once without a kill, to count its boundaries and record its correct end. */
  async #rehearsed(url: URL, found: Pick<Setting, "place" | "where">): Promise<Actor> {
    const { seed = 1, execArgv = [], timeoutMs = 30_000, around, trials } = this.#options;
    const { default: scenario } = (await import(url.href)) as { readonly default?: Partial<DefinedScenario> };
    if (typeof scenario?.live !== "function")
      throw new TypeError(`${url.href} has no scenario: its default export must be made with defineScenario.`);
    const setting: Setting = {
      ...found,
      scenario: url,
      execArgv,
      timeoutMs,
      ...(around === undefined ? {} : { around }),
      ...(scenario.check === undefined ? {} : { check: scenario.check }),
    };
    const name = basename(url.pathname).replace(/\.\w+$/, "");
    const actor: Actor = { name, setting, boundaries: [], trials: [], clean: undefined, kills: 0, stops: 0, ms: 0 };
    const { clean } = await this.#play(actor, undefined);
    actor.clean = clean?.picture;
    actor.boundaries = clean?.places ?? [];
    actor.trials = trials ?? planned(actor.boundaries, amountsOf(this.#options), seed);
    return actor;
  }

  async #play(actor: Actor, trial: Trial | undefined): Promise<Tried & { readonly violations: readonly Violation[] }> {
    const started = performance.now();
    const nth = ++this.#stages;
    const folder = join(this.#folder, String(nth));
    const tried = await new Stage(actor.setting, { folder, name: `${this.#name}_${nth}` }).play(trial, actor.clean);
    rmSync(folder, { recursive: true, force: true });
    const about = { scenario: actor.name, places: tried.places, ...(trial === undefined ? {} : { trial }) };
    const violations = tried.wrong.map((wrong): Violation => ({ ...about, ...wrong }));
    this.#violations.push(...violations);
    actor.ms += performance.now() - started;
    return { ...tried, violations };
  }
}

interface Actor {
  readonly name: string;
  readonly setting: Setting;
  clean: Picture | undefined;
  boundaries: readonly string[];
  trials: readonly Trial[];
  kills: number;
  stops: number;
  ms: number;
}

const amountsOf = ({
  kills = "all",
  doubles = 0,
  triples = 0,
  loops = 0,
  stops = 0,
  pairs = 0,
}: CrashOptions): Amounts => ({
  kills,
  doubles,
  triples,
  loops,
  stops,
  pairs,
});

/**
 * Runs all items, `width` at a time. Results are in the order of the items. After an error it starts no more items, and
 * throws when the running ones are done.
 */
async function pool<T, R>(items: readonly T[], width: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = [...items.entries()];
  const worker = async (): Promise<void> => {
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        results[next[0]] = await run(next[1]);
    } finally {
      waiting.length = 0;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.max(1, width) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return results;
}
