import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("the benchmarks explain themselves without being built: every option is in their help", () => {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/bench.mjs", "--help"], { encoding: "utf8" });
  const options = Array.from(
    readFileSync("bench/main.ts", "utf8").matchAll(/^ {4}(\w+): \{ type: /gm),
    ([, name]) => name,
  );
  expect(status).toBe(0);
  expect(options).toContain("workloads");
  expect(options.filter((name) => !stdout.includes(`--${name}`))).toEqual([]);
});
