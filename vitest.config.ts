import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { SharedInRandomOrder } from "./test/kit/order.ts";
import { SlowestFiles } from "./test/kit/slowest.ts";

/**
 * Tests that get their own process: they start programs, replace a module or all timers, or measure what a process holds. All others
 * share one process for each core, as to start one and to load the sources takes longer than most files do.
 */
const ALONE = [
  "test/{cli,crash,full,kit,monitors,power}/**/*.test.ts",
  "test/postgres/{cluster,network,starved}.test.ts",
  "test/triggers/processes.test.ts",
  "test/durability/{simulation,worker}.test.ts",
  "test/records/feed-processes.test.ts",
  "test/code/escapes.test.ts",
  "test/path.test.ts",
  "test/server/streams.test.ts",
  "test/sessions/handles.test.ts",
  "test/turn/turns.test.ts",
  "src/plugins/{mcp,workspace}/**/*.test.ts",
  "src/providers/ai-sdk/installed.test.ts",
  "src/sandbox/quickjs/quickjs.test.ts",
  "src/stores/sqlite/processes.test.ts",
  "src/testing/store-laws/{lines,triggers}.test.ts",
  "src/tools/validator.test.ts",
];
const ALL = ["src/**/*.test.ts", "test/**/*.test.ts"];

/** `npm run test:full` runs what `npm test` does not: its own files, and those that have a larger sample to try. */
const isLarger = (file: string): boolean =>
  file.startsWith("test/full/") || readFileSync(file, "utf8").includes("kit/size.ts");

const SIZES = {
  quick: { include: ALL, exclude: ["test/full/**", "test/long/**"] },
  full: { include: globSync(ALL).filter(isLarger), exclude: ["test/long/**"] },
};

export default defineConfig(({ mode }) => ({
  // `bowline` and `bowline/*` mean the sources here, by the same paths the type checker follows.
  resolve: { tsconfigPaths: true },
  test: {
    setupFiles: ["test/kit/setup.ts"],
    globalSetup: ["test/kit/global-setup.ts"],
    reporters: ["default", new SlowestFiles()],
    env: {
      // For the processes that tests start: reading the sources takes such a process longer than what it is started for.
      NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
      ...(mode === "full" ? { BOWLINE_TESTS: "full" } : {}),
    },
    ...(mode === "long"
      ? { include: ["test/long/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 }
      : {
          // Long enough for a busy machine. A test that fails in time has its own, shorter limits.
          testTimeout: mode === "full" ? 120_000 : 30_000,
          hookTimeout: mode === "full" ? 120_000 : 30_000,
          // In CI a test that other work on the machine has slowed down must not stop a change. The run lists such tests.
          retry: process.env.BOWLINE_RETRY === undefined ? 0 : 1,
          maxWorkers: "100%", // The default leaves a core unused, which is half of two.
          sequence: { sequencer: SharedInRandomOrder },
          projects: projects(mode === "full" ? SIZES.full : SIZES.quick),
        }),
  },
}));

function projects({ include, exclude }: { readonly include: string[]; readonly exclude: string[] }) {
  const isAlone = globSync(ALONE);
  const [alone, shared] = [true, false].map((is) =>
    globSync(include, { exclude }).filter((file) => isAlone.includes(file) === is),
  ) as [string[], string[]];
  return [
    { extends: true as const, test: { name: "alone", include: alone } },
    { extends: true as const, test: { name: "shared", include: shared, isolate: false } },
  ];
}
