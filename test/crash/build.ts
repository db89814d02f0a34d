import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = new URL("./scenarios/", import.meta.url);

export const scenario = (name: string): URL => new URL(`${name}.ts`, folder);

export const scenarios: readonly URL[] = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .sort()
  .map((file) => new URL(file, folder));

/** The sources as one process after the other loads them soonest: built, and under the name `bowline`. */
export interface Built extends Disposable {
  readonly execArgv: readonly string[];
}

export function build(): Built {
  const places = join(root, "node_modules", ".cache"); // Inside: what is built still finds its dependencies.
  mkdirSync(places, { recursive: true });
  const out = mkdtempSync(join(places, "crash-"));
  const tsdown = join(root, "node_modules", "tsdown", "dist", "run.mjs");
  execFileSync(process.execPath, [tsdown, "--no-dts", "--out-dir", out], { cwd: root, stdio: "pipe" });
  const loader = join(out, "names.mjs");
  writeFileSync(loader, NAMES);
  return {
    execArgv: ["--import", pathToFileURL(loader).href],
    [Symbol.dispose]: () => rmSync(out, { recursive: true, force: true }),
  };
}

const NAMES = `
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (!/^bowline(\\/|$)/.test(specifier)) return next(specifier, context);
    const path = specifier.slice(8);
    const places = (path === "" ? ["index.js"] : [path + ".js", path + "/index.js"]).map((each) => new URL(each, import.meta.url));
    return next((places.find((each) => existsSync(each)) ?? places[0]).href, context);
  },
});
`;
