// Runs everything that must pass before a change is kept. With arguments it runs vitest alone, with those: `npm test --
// src/turn`.
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EXAMPLE_MS = 60_000;

const vitest = (...args) => node(["node_modules/vitest/vitest.mjs", "run", ...args], { stdio: "inherit" });

// The steps of a stage run side by side. The tests have the machine to themselves, as some of them look at the time.
const stages = [
  {
    "format and lint": () => node(["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings"]),
    types: () => node(["node_modules/typescript/bin/tsc", "--noEmit"]),
    "types, as most projects check theirs": () =>
      node(["node_modules/typescript/bin/tsc", "-p", "tsconfig.plain.json"]),
    build: () => node(["node_modules/tsdown/dist/run.mjs"]),
    "public surface": () => node(["scripts/api.mjs"]),
  },
  { tests: () => vitest() },
  {
    "unused code": () => node(["node_modules/knip/bin/knip.js", "--no-config-hints"]),
    package: checkPackage,
    examples: runExamples,
  },
];

const chosen = process.argv.slice(2);
if (chosen.length > 0) {
  const { ok } = await vitest(...chosen);
  process.exit(ok ? 0 : 1);
}

const { ok: isSetUp } = await node(["--disable-warning=ExperimentalWarning", "scripts/postgres.mjs"], {
  stdio: "inherit",
});
if (!isSetUp) process.exit(1);

for (const stage of stages) {
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

// Runs the examples with plain node and no alias, so that `bowline` is what package.json exports, as an embedder gets
// it.
async function runExamples() {
  const waiting = globSync(["examples/*.ts", "examples/*/*.ts"]).sort();
  const failures = [];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const env = { ...process.env, BOWLINE_QUICK: "1" }; // For those that would take a minute.
      const { ok, output } = await node(["--disable-warning=ExperimentalWarning", file], { timeout: EXAMPLE_MS, env });
      if (!ok) failures.push(`${file} failed, or took more than ${EXAMPLE_MS / 1000} s:\n${output}`);
    }
  };
  await Promise.all([worker(), worker()]);
  return { ok: failures.length === 0, output: failures.join("\n") };
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
