/** The package, built from the sources: a process loads it in a third of the time that the sources take. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { shared } from "./broker.ts";

const LOADER = "dist/names.mjs";

/** Builds the package into a new folder, with `package.json` and `dist` as npm installs them. */
export async function buildPackage(): Promise<string> {
  const cache = resolve("node_modules/.cache"); // Inside the project: what is built finds its dependencies there.
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "tests-"));
  const tsdown = resolve("node_modules/tsdown/dist/run.mjs");
  await promisify(execFile)(process.execPath, [tsdown, "--no-dts", "--out-dir", join(folder, "dist")]);
  copyFileSync("package.json", join(folder, "package.json"));
  writeFileSync(join(folder, LOADER), NAMES);
  return folder;
}

/** The folder of the package, which all test files share. */
export const builtPackage = (): Promise<string> => shared("build");

/** The arguments of Node with which a process finds the built package under the name `bowline`. */
export async function builtArgv(): Promise<readonly string[]> {
  return ["--import", pathToFileURL(join(await builtPackage(), LOADER)).href];
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
