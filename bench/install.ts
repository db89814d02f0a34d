import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The package as a user gets it: packed, then installed into an empty folder without the optional peers. */
export interface Installation extends Disposable {
  readonly folder: string;
  readonly megabytes: number;
  readonly packages: number;
}

export function install(): Installation {
  const folder = mkdtempSync(join(tmpdir(), "bowline-bench-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const root = join(import.meta.dirname, "..");
    npm(root, "pack", "--ignore-scripts", "--pack-destination", folder);
    writeFileSync(join(folder, "package.json"), "{}");
    npm(folder, "install", "--ignore-scripts", "--no-audit", "--no-fund", globSync("*.tgz", { cwd: folder })[0]!);
    const modules = join(folder, "node_modules");
    const bytes = globSync("**/*", { cwd: modules, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    return {
      folder,
      megabytes: bytes / 1e6,
      packages: Object.keys(packages).length,
      [Symbol.dispose]: remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function npm(cwd: string, ...args: readonly string[]): void {
  run("npm", [...args, "--loglevel=error"], cwd);
}

/** Milliseconds that a fresh process needs to import the package. */
export const importMs = (specifier: string, folder: string): number =>
  msOf(`await import(${JSON.stringify(specifier)});`, folder);

/** Milliseconds from nothing loaded to the end of the first turn, in memory with a scripted model. */
export const firstTurnMs = (folder: string): number =>
  msOf(
    `const { createRuntime } = await import("bowline");
    const { memory } = await import("bowline/stores/memory");
    const { says, scripted } = await import("bowline/providers/scripted");
    const runtime = await createRuntime({ store: memory(), model: scripted(says("Hello.")) });
    await (await runtime.session()).turn("Hi").result();`,
    folder,
  );

function msOf(code: string, folder: string): number {
  const timed = `const before = performance.now(); ${code} console.log(performance.now() - before);`;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", timed];
  return Number(run(process.execPath, args, folder));
}

/** Milliseconds that a whole process takes. */
export function processMs(args: readonly string[], folder: string): number {
  const before = performance.now();
  run(process.execPath, args, folder);
  return performance.now() - before;
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw error ?? new Error(`${command} ${args[0]} failed:\n${stderr}`);
  return stdout;
}
