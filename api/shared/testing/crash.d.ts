import { Amounts, Trial } from "./crash/plan.js";
import { CrashBackendName } from "./crash/backends.js";
import { CrashReport, Violation } from "./crash/report.js";
import { CrashWorld, Orders } from "./crash/life.js";
import { Optional } from "../model/known.js";
import { Picture } from "./crash/picture.js";
/** An app to be killed. It must be the default export of a separate module, which runs in child processes. */
interface Scenario {
  /**
   * Runs from the beginning in every process: opens a runtime on the world's store and host, sends every input with a
   * key, and waits until all are answered. After a kill, the same keys join the existing turns.
   */
  run(world: CrashWorld): Promise<unknown>;
  /** Throws if the final store is wrong. Default: it must equal that of the run without a kill. */
  readonly check?: ((final: Picture, told: {
    readonly clean: Picture;
    readonly acts: readonly string[];
  }) => unknown) | undefined;
}
interface DefinedScenario extends Scenario {
  /** Runs one process of the scenario. Only the kit calls it. */
  live(orders: Orders): Promise<void>;
}
declare function defineScenario(scenario: Scenario): DefinedScenario;
interface CrashOptions extends Optional<Amounts> {
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
interface TrialResult {
  readonly scenario: string;
  readonly trial: Trial;
  readonly violations: readonly Violation[];
  /** The number of finished trials. */
  readonly done: number;
  /** The number of all trials. */
  readonly of: number;
}
/**
 * Kills a scenario with SIGKILL at each of its boundaries in turn, starts it again, and compares the final store with
 * that of a run without a kill. Processes and stores are real; nothing is simulated.
 */
declare function crashTest(scenarios: URL | readonly URL[], options?: CrashOptions): Promise<CrashReport>;
export { CrashOptions, DefinedScenario, Scenario, crashTest, defineScenario };
