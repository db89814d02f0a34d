import type { KnipConfig } from "knip";
import { buildEntries } from "./scripts/entries.mjs";

const programs = [
  "scripts/*.mjs",
  "examples/**/*.ts",
  "bench/**/*.ts",
  "test/mcp/{server,raw}.ts",
  "test/crash/{scenarios,mutants,places,mistakes}/*.ts",
  "test/power/child.ts",
  "test/postgres/worker.ts",
  "test/telemetry/writer.ts",
];

const config: KnipConfig = {
  entry: [...Object.values(buildEntries), "src/studio/main.tsx", ...programs],
  project: ["src/**/*.{ts,tsx}", "test/**/*.ts", ...programs],
  ignoreExportsUsedInFile: true,
  paths: { "bowline/client": ["./src/client/index.ts"] },

  ignoreBinaries: ["apt-get", "cc", "mkfifo", "mount", "strace", "umount"], // of the system, in tests
  ignoreDependencies: ["@arethetypeswrong/cli", "@biomejs/biome", "axe-core"], // used by their paths in scripts/ and test/
};

export default config;
