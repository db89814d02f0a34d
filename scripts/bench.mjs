// Builds the package and runs the benchmarks against it. Standard output contains only their results.
import { spawnSync } from "node:child_process";

const HELP = `Usage: npm run bench -- [options]

Builds the package and compares it with a hand-written floor. The sides alternate, each in a fresh process; what is
reported are medians of the rounds, and ratios. Workloads whose names begin with PG start a PostgreSQL server of their own;
without its programs (15 or later) they are left out.

  --workloads <ids>   only these, for example W1,K-idle; an id that is not known lists those that are
  --cold, --warm      only workloads after a short warm-up, or only after a long one
  --rounds <number>   how often each side runs; else 7
  --quick             2 rounds
  --long              more turns in the durable and the parked workloads and in PG-size
  --count <what>      counts calls, promises or kb instead of measuring time; 1 round
  --json              the report as JSON
  --help`;

if (process.argv.slice(2).some((arg) => arg === "--help" || arg === "-h")) {
  console.log(HELP);
  process.exit(0);
}

run(["ignore", 2, 2], "node_modules/tsdown/dist/run.mjs", "--log-level", "error");
run("inherit", "--disable-warning=ExperimentalWarning", "bench/main.ts", ...process.argv.slice(2));

function run(stdio, ...args) {
  const { status } = spawnSync(process.execPath, args, { stdio });
  if (status !== 0) process.exit(status ?? 1);
}
