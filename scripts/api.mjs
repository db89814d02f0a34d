// Keeps the public surface under `api/`: for each entry of the package, its types rolled up in one file, so that a change
// to the surface is a change in the review. Compares by default; `--write` renews the files. Reads what is in `dist/`.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "tsdown";
import { publicEntries } from "./entries.mjs";

const surface = await rollUp();
if (process.argv.includes("--write")) write();
else compare();

async function rollUp() {
  const outDir = mkdtempSync(join(tmpdir(), "bowline-api-"));
  const rolledUp = new Map();
  for (const { subpath, output } of publicEntries) {
    // One build for each entry: built together they would share chunks with hashed names.
    const entry = { rolled: `dist/${output}.d.ts` };
    await build({
      config: false,
      entry,
      outDir,
      dts: { dtsInput: true, oxc: true },
      fixedExtension: false,
      logLevel: "warn",
    });
    rolledUp.set(`${subpath}.d.ts`, `${readFileSync(join(outDir, "rolled.d.ts"), "utf8").trim()}\n`);
  }
  rmSync(outDir, { recursive: true });
  return rolledUp;
}

function write() {
  rmSync("api", { recursive: true, force: true });
  for (const [name, text] of surface) {
    mkdirSync(dirname(join("api", name)), { recursive: true });
    writeFileSync(join("api", name), text);
  }
}

function compare() {
  const names = new Set([...surface.keys(), ...globSync("**/*.d.ts", { cwd: "api" })]);
  const changed = [...names].filter((name) => surface.get(name) !== kept(name));
  if (changed.length === 0) return;
  console.error(`The public surface changed (${changed.join(", ")}): run \`npm run api\` and review the diff of api/.`);
  process.exitCode = 1;
}

function kept(name) {
  const file = join("api", name);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
