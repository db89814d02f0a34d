// `npm test`: all checks that a change must pass, in small samples. `npm run test:full` (`--full`): larger samples,
// slow tests, and the core on the oldest Node that `engines` allows. Other arguments are vitest's: `npm test --
// src/turn` and `npm run test:full -- src/turn` run those tests and nothing else.
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EXAMPLE_MS = 60_000;
/** The oldest version that `engines` allows. */
const OLDEST_NODE = "22.19.0";
const CORE = ["test/sessions", "test/durability", "test/jobs", "test/tools", "test/cli"];
/** Examples that start and kill processes. */
const LONG_EXAMPLES = ["examples/cluster/main.ts"];

const vitest = (...args) => node(["node_modules/vitest/vitest.mjs", "run", ...args], { stdio: "inherit" });

// The steps of a stage run in parallel. The tests run alone, because some of them measure time.
const quick = [
  {
    "format and lint": () => node(["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings"]),
    types: () => node(["node_modules/typescript/bin/tsc", "--noEmit"]),
    "types, as most projects check theirs": () =>
      node(["node_modules/typescript/bin/tsc", "-p", "tsconfig.plain.json"]),
    "types of the studio": () => node(["node_modules/typescript/bin/tsc", "-p", "src/studio", "--noEmit"]),
    build: () => node(["node_modules/tsdown/dist/run.mjs"]),
    "public surface": () => node(["scripts/api.mjs"]),
  },
  { tests: () => vitest() },
  { examples: () => runExamples((file) => !LONG_EXAMPLES.includes(file)) },
];
const full = [
  { tests: () => vitest("--mode", "full") },
  {
    "unused code": () => node(["node_modules/knip/bin/knip.js", "--no-config-hints"]),
    build: () => node(["node_modules/tsdown/dist/run.mjs"]),
  },
  { package: checkPackage, examples: () => runExamples((file) => LONG_EXAMPLES.includes(file)) },
  { [`tests on Node ${OLDEST_NODE}`]: testOldest },
];

const isFull = process.argv[2] === "--full";
const chosen = process.argv.slice(isFull ? 3 : 2);
if (chosen.length > 0) {
  const { ok } = await vitest(...(isFull ? ["--mode", "full"] : []), ...chosen);
  process.exit(ok ? 0 : 1);
}

const { ok: isSetUp } = await node(["--disable-warning=ExperimentalWarning", "scripts/postgres.mjs"], {
  stdio: "inherit",
});
if (!isSetUp) process.exit(1);
if (isFull) {
  const { ok } = await node(["--disable-warning=ExperimentalWarning", "scripts/chromium.mjs"], { stdio: "inherit" });
  if (!ok) process.exit(1);
}

for (const stage of isFull ? full : quick) {
  const passed = await Promise.all(Object.entries(stage).map(([name, check]) => passes(name, check)));
  if (passed.includes(false)) process.exit(1);
}

async function passes(name, check) {
  const started = performance.now();
  const { ok, output } = await check();
  if (!ok && output) console.error(output.trimEnd());
  if (ok) console.log(`✓ ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  else console.error(`✗ ${name}`);
  return ok;
}

async function checkPackage() {
  const folder = mkdtempSync(join(tmpdir(), "bowline-pack-"));
  try {
    const packed = await run("npm", ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder]);
    if (!packed.ok) return packed;
    const tarball = join(folder, globSync("*.tgz", { cwd: folder })[0]);
    const linted = await node(["node_modules/publint/src/cli.js", tarball, "--strict"]);
    if (!linted.ok) return linted;
    return await node(["node_modules/@arethetypeswrong/cli/dist/index.js", tarball, "--profile", "esm-only"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// Runs the examples with plain node and no alias, so that they import the built package, as an app does.
async function runExamples(isChosen) {
  const waiting = globSync(["examples/*.ts", "examples/*/*.ts"]).filter(isChosen).sort();
  const failures = [];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const env = { ...process.env, BOWLINE_QUICK: "1" }; // For examples that would take a minute.
      const { ok, output } = await node(["--disable-warning=ExperimentalWarning", file], { timeout: EXAMPLE_MS, env });
      if (!ok) failures.push(`${file} failed, or took more than ${EXAMPLE_MS / 1000} s:\n${output}`);
    }
  };
  await Promise.all([worker(), worker()]);
  return { ok: failures.length === 0, output: failures.join("\n") };
}

function testOldest() {
  const env = { ...process.env, BOWLINE_NODE: OLDEST_NODE };
  return node(["scripts/with-node.mjs", "node_modules/vitest/vitest.mjs", "run", ...CORE], { stdio: "inherit", env });
}

function node(args, options) {
  return run(process.execPath, args, options);
}

function run(command, args, options) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ok: false, output: error.message }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}
