import { existsSync, readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

/**
 * The entries that package.json exports and whose sources exist: `{ subpath: "testing", output: "testing/index" }`, …
 */
export const publicEntries = Object.entries(manifest.exports)
  .map(([subpath, file]) => ({ subpath: subpath === "." ? "index" : subpath.slice(2), output: outputOf(file) }))
  .filter(isWritten);

const commands = Object.values(manifest.bin)
  .map((file) => ({ output: outputOf(file) }))
  .filter(isWritten);

/** Threads load these files by path, next to the code that starts the thread. Several entries share that code. */
const workers = { "shared/quickjs-worker": "src/sandbox/quickjs/worker.ts" };

/** For the build: names under `dist/` without extension, and the source of each. */
export const buildEntries = {
  ...Object.fromEntries([...publicEntries, ...commands].map(({ output }) => [output, `src/${output}.ts`])),
  ...workers,
};

function outputOf(file) {
  return /dist\/(.*)\.js$/.exec(file)?.[1];
}

function isWritten({ output }) {
  return output !== undefined && existsSync(new URL(`src/${output}.ts`, root));
}
