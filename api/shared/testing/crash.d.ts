import { Amounts, Trial } from "./crash/plan.js";
import { CrashReport, Violation } from "./crash/report.js";
import { CrashWorld, Orders } from "./crash/life.js";
import { Picture } from "./crash/picture.js";
/** An app to be killed. The default export of a module of its own, since it runs in processes of its own. */
interface Scenario {
  /**
   * Does all of it, from the top, in every life: opens the runtime on the world's store and host, sends every input with
   * a key, and waits until all is answered. After a kill the same keys join the turns that are already there.
   */
  run(world: CrashWorld): Promise<unknown>;
  /** Throws when the end is not right. Without it the end must be that of the run without a kill. */
  check?(final: Picture, told: {
    readonly clean: Picture;
    readonly acts: readonly string[];
  }): unknown;
}
interface DefinedScenario extends Scenario {
  /** One process of it: the kit's own. */
  live(orders: Orders): Promise<void>;
}
declare const defineScenario: (scenario: Scenario) => DefinedScenario;
interface CrashOptions extends Partial<Amounts> {
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
interface TrialTold {
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
declare function crashTest(scenarios: URL | readonly URL[], options?: CrashOptions): Promise<CrashReport>;
export { CrashOptions, DefinedScenario, Scenario, crashTest, defineScenario };
