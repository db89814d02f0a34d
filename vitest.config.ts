import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Tests that get a process of their own: they start programs, replace a module, or measure what a process holds. All
 * others share one process for each core, as to start one and to load the sources takes longer than most files do.
 */
const ALONE = [
  "test/{cli,crash,kit,monitors,power}/**/*.test.ts",
  "test/postgres/{cluster,network,starved}.test.ts",
  "test/triggers/processes.test.ts",
  "test/path.test.ts",
  "test/sessions/handles.test.ts",
  "test/turn/turns.test.ts",
  "src/plugins/{mcp,workspace}/**/*.test.ts",
  "src/providers/ai-sdk/installed.test.ts",
  "src/sandbox/quickjs/{quickjs,escapes}.test.ts",
  "src/stores/sqlite/processes.test.ts",
  "src/testing/{line,trigger}-laws.test.ts",
  "src/tools/validator.test.ts",
];

/** The slowest tests are alone. They go first: at the end one of them would leave the other cores idle. */
class AloneFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isAlone = (file: TestSpecification): boolean => file.project.name === "alone";
    return [...sorted.filter(isAlone), ...sorted.filter((file) => !isAlone(file))];
  }
}

export default defineConfig(({ mode }) => ({
  // `bowline` and `bowline/*` mean the sources here, by the same paths the type checker follows.
  resolve: { tsconfigPaths: true },
  test: {
    setupFiles: ["test/kit/setup.ts"],
    globalSetup: ["test/kit/global-setup.ts"],
    // For the processes that tests start: reading the sources takes such a process longer than what it is started for.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") },
    ...(mode === "long"
      ? { include: ["test/long/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 }
      : {
          maxWorkers: "100%", // Unless told it leaves a core unused, which is half of two.
          sequence: { sequencer: AloneFirst },
          projects: [
            { extends: true, test: { name: "alone", include: ALONE } },
            {
              extends: true,
              test: {
                name: "together",
                include: ["src/**/*.test.ts", "test/**/*.test.ts"],
                exclude: ["test/long/**", ...ALONE],
                isolate: false,
              },
            },
          ],
        }),
  },
}));
