import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files with their own process run first, the largest first: at the end a slow one would leave the other cores idle.
 * Files that share a process follow in a random order, so that no test relies on what another file leaves behind.
 * `SlowestFiles` prints the seed; `npm test -- --sequence.seed=1 --maxWorkers=1` repeats an order exactly.
 */
export class SharedInRandomOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShared = ({ project }: TestSpecification): boolean => project.name === "shared";
    const alone = await super.sort(files.filter((file) => !isShared(file)));
    return [...alone, ...shuffled(files.filter(isShared), this.ctx.config.sequence.seed)];
  }
}

function shuffled<T>(values: readonly T[], seed: number): T[] {
  const found = [...values];
  let state = seed >>> 0;
  for (let last = found.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; // A linear congruential generator: the same on every machine.
    const other = Math.floor((state / 2 ** 32) * (last + 1));
    [found[last], found[other]] = [found[other]!, found[last]!];
  }
  return found;
}
