import { defineConfig } from "vitest/config";

export default defineConfig(({ mode }) => ({
  // `bowline` and `bowline/*` mean the sources here, by the same paths the type checker follows.
  resolve: { tsconfigPaths: true },
  test:
    mode === "long"
      ? { include: ["test/long/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 }
      : {
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["test/long/**"],
          maxWorkers: "100%", // Unless told it leaves a core unused, which is half of two.
        },
}));
