// Builds the package and runs the benchmarks against it, one after the other so that none disturbs another.
// Arguments pick some by name: `npm run bench -- import`.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const wanted = process.argv.slice(2);
const files = globSync("bench/*.bench.ts")
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.includes(name)))
  .sort();

run("node_modules/tsdown/dist/run.mjs", "--log-level", "error");
for (const file of files) {
  console.log(`\n${file}`);
  run("--disable-warning=ExperimentalWarning", file);
}

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
