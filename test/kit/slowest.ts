import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

const COUNT = 10;
const REASON_MAX = 1_000;

/**
 * Prints the seed of the run, and at its end the ten slowest files, which are the first places to look when the suite is
 * slow, and the tests that passed only at their second attempt: each is a defect of the test or of the sources.
 */
export class SlowestFiles implements Reporter {
  #vitest: Vitest | undefined;
  readonly #flaky: string[] = [];

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    console.log(`Seed of the order of files: ${vitest.config.sequence.seed}`);
  }

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const why = (test.result().errors ?? []).map(({ message }) => message.slice(0, REASON_MAX)).join("\n    ");
    this.#flaky.push(`${test.module.relativeModuleId} > ${test.fullName}\n    ${why}`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const root = this.#vitest?.config.root ?? "";
    if (this.#flaky.length > 0) console.log(`Passed only at the second attempt:\n  ${this.#flaky.join("\n  ")}`);
    const files = modules.map((module) => ({ file: relative(root, module.moduleId), ms: msOf(module) }));
    if (files.length <= 1) return;
    const slowest = files.sort((one, other) => other.ms - one.ms).slice(0, COUNT);
    console.log("Slowest files:");
    for (const { file, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
  }
}

function msOf(module: TestModule): number {
  const { duration, setupDuration, collectDuration } = module.diagnostic();
  return duration + setupDuration + collectDuration;
}
