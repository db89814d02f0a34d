import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type CrashWorld, live, type Orders } from "./crash/life.ts";
import type { Picture } from "./crash/picture.ts";
import { type Amounts, planned, type Trial } from "./crash/plan.ts";
import { CrashReport, type CrashRow, type Violation } from "./crash/report.ts";
import { type Setting, Stage, type Tried } from "./crash/trial.ts";

export type { ViolationKind } from "./crash/judge.ts";
export type { CrashWorld } from "./crash/life.ts";
export type { Picture } from "./crash/picture.ts";
export type { Trial } from "./crash/plan.ts";
export { recited } from "./crash/recited.ts";
export { CrashReport, type CrashRow, type Violation } from "./crash/report.ts";

/** An app to be killed. The default export of a module of its own, since it runs in processes of its own. */
export interface Scenario {
  /**
   * Does all of it, from the top, in every life: opens the runtime on the world's store and host, sends every input with
   * a key, and waits until all is answered. After a kill the same keys join the turns that are already there.
   */
  run(world: CrashWorld): Promise<unknown>;
  /** Throws when the end is not right. Without it the end must be that of the run without a kill. */
  check?(final: Picture, told: { readonly clean: Picture; readonly acts: readonly string[] }): unknown;
}
export interface DefinedScenario extends Scenario {
  /** One process of it: the kit's own. */
  live(orders: Orders): Promise<void>;
}

export const defineScenario = (scenario: Scenario): DefinedScenario => ({
  ...scenario,
  live: (orders) => live((world) => scenario.run(world), orders),
});

export interface CrashOptions extends Partial<Amounts> {
  /** Of what is chosen by chance: the same one chooses the same. */
  readonly seed?: number;
  /** Exactly these, and nothing else: for one that went wrong. */
  readonly trials?: readonly Trial[];
  /** Processes at a time. */
  readonly parallel?: number;
  /** A process that takes longer is stuck. */
  readonly timeoutMs?: number;
  /** For node, before the program: a loader, for example. */
  readonly execArgv?: readonly string[];
  /** Told after each trial, with what went wrong in it. */
  readonly onTrial?: (told: TrialTold) => void;
  /** A module that exports `store(store)` or `host(host)`: they stand between the scenario and the real ones. */
  readonly around?: URL;
}

export interface TrialTold {
  readonly scenario: string;
  readonly trial: Trial;
  readonly violations: readonly Violation[];
  /** How many are done, of how many. */
  readonly done: number;
  readonly of: number;
}

/**
 * Kills a scenario with SIGKILL at each of its boundaries in turn, starts it again, and compares what is left with a run
 * that nobody killed. Real processes and a real file; nothing is simulated.
 */
export async function crashTest(scenarios: URL | readonly URL[], options: CrashOptions = {}): Promise<CrashReport> {
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
  readonly #violations: Violation[] = [];
  #stages = 0;

  constructor(folder: string, options: CrashOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  async test(scenarios: readonly URL[]): Promise<CrashReport> {
    const { parallel = 2, onTrial } = this.#options;
    const cast = await pool(scenarios, parallel, async (url) => this.#rehearsed(url));
    const trials = cast.flatMap((actor) => actor.trials.map((trial) => ({ actor, trial })));
    let done = 0;
    await pool(trials, parallel, async ({ actor, trial }) => {
      const { kills, stops, violations } = await this.#play(actor, trial);
      actor.kills += kills;
      actor.stops += stops;
      onTrial?.({ scenario: actor.name, trial, violations, done: ++done, of: trials.length });
    });
    const rows = cast.map(
      ({ name, places, kills, stops, trials: all, ms }): CrashRow => ({
        scenario: name,
        boundaries: places.length,
        trials: all.length,
        kills,
        stops,
        ms,
      }),
    );
    return new CrashReport(rows, this.#violations);
  }

  /** Runs it once without a kill: that counts its boundaries and shows how it should end. */
  async #rehearsed(url: URL): Promise<Actor> {
    const { seed = 1, execArgv = [], timeoutMs = 30_000, around, trials } = this.#options;
    const { default: scenario } = (await import(url.href)) as { readonly default?: Partial<DefinedScenario> };
    if (typeof scenario?.live !== "function")
      throw new TypeError(`${url.href} has no scenario: its default export must be made with defineScenario.`);
    const setting: Setting = {
      scenario: url,
      execArgv,
      timeoutMs,
      ...(around === undefined ? {} : { around }),
      ...(scenario.check === undefined ? {} : { check: scenario.check }),
    };
    const name = basename(url.pathname).replace(/\.\w+$/, "");
    const actor: Actor = { name, setting, places: [], trials: [], clean: undefined, kills: 0, stops: 0, ms: 0 };
    const { clean } = await this.#play(actor, undefined);
    actor.clean = clean?.picture;
    actor.places = clean?.places ?? [];
    actor.trials = trials ?? planned(actor.places, amountsOf(this.#options), seed);
    return actor;
  }

  async #play(actor: Actor, trial: Trial | undefined): Promise<Tried & { readonly violations: readonly Violation[] }> {
    const started = performance.now();
    const folder = mkdtempSync(join(this.#folder, `${++this.#stages}-`));
    const tried = await new Stage(actor.setting, folder).play(trial, actor.clean);
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
  places: readonly string[];
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

/** All of them, so many at a time, in order. */
async function pool<T, R>(items: readonly T[], width: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await run(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, width) }, worker));
  return results;
}
