// Builds the package and runs the benchmarks against it. Their results are all that is written to standard output.
import { spawnSync } from "node:child_process";

run(["ignore", 2, 2], "node_modules/tsdown/dist/run.mjs", "--log-level", "error");
run("inherit", "--disable-warning=ExperimentalWarning", "bench/main.ts", ...process.argv.slice(2));

function run(stdio, ...args) {
  const { status } = spawnSync(process.execPath, args, { stdio });
  if (status !== 0) process.exit(status ?? 1);
}
