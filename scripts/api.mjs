// Keeps the public surface under `api/`, so that the review of a change shows its effect on the surface. Each entry of
// the package has a file. Under `api/shared/`, each source file whose types an entry uses has a file too. A file has
// the name of its source and contains only the used types, in the order of the source, so internal edits do not change
// it. Compares by default; `--write` updates the files.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "tsdown";
import { publicEntries } from "./entries.mjs";

const LINE_MAX = 120;

const surface = await rollUp();
if (process.argv.includes("--write")) write();
else compare();

async function rollUp() {
  const entry = Object.fromEntries(publicEntries.map(({ subpath, output }) => [subpath, `src/${output}.ts`]));
  const entries = new Set(publicEntries.map(({ output }) => output));
  const sourceOf = (id) => relative("src", id.replace(/(\.d)?\.ts$/, "")).replaceAll("\\", "/");
  const [{ chunks }] = await build({
    config: false,
    entry,
    tsconfig: "tsconfig.build.json",
    clean: false,
    write: false,
    dts: { emitDtsOnly: true },
    fixedExtension: false,
    logLevel: "warn",
    checks: { bundlerTimings: false },
    suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
    // Lets the bundler add exports to an entry. It adds none, because files import only exported names from an entry.
    inputOptions: { preserveEntrySignatures: "allow-extension" },
    outputOptions: {
      // An entry that another entry imports is a chunk too. The bundler would name it only after the last part of its
      // path.
      chunkFileNames: ({ name, moduleIds }) =>
        `shared/${/^index(\.d)?$/.test(name) ? sourceOf(moduleIds.at(-1)) : name}.d.ts`,
      minifyInternalExports: false,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ debugName: "sources", name: (id) => (entries.has(sourceOf(id)) ? null : sourceOf(id)) }],
      },
    },
  });
  // An entry that only re-exports can leave an empty chunk, which other entries import without need.
  const isFilled = ({ isEntry, exports, moduleIds }) =>
    isEntry || exports.length > 0 || !moduleIds.every((id) => entries.has(sourceOf(id)));
  const empty = chunks.filter((chunk) => !isFilled(chunk)).map(({ name }) => `/${name}.js";`);
  const isNeeded = (line) => !(line.startsWith('import "') && empty.some((end) => line.endsWith(end)));
  return new Map(
    chunks
      .filter(isFilled)
      .map(({ fileName, code }) => [fileName, laidOut(code.split("\n").filter(isNeeded).join("\n"))]),
  );
}

/**
 * Sorts imports, so that their order does not depend on the order of reading. Writes long lists with one name per line,
 * so that a new name changes only one line.
 */
function laidOut(code) {
  const isImport = (line) => line.startsWith("import ");
  const lines = code.trim().split("\n");
  const sorted = [...lines.filter(isImport).sort(), ...lines.filter((line) => !isImport(line))];
  return `${sorted.map(broken).join("\n")}\n`;
}

function broken(line) {
  const [, start, names, end] = /^((?:im|ex)port \{) (.*) (\}.*)$/.exec(line) ?? [];
  if (names === undefined || line.length <= LINE_MAX) return line;
  return `${start}\n  ${names.replaceAll(", ", ",\n  ")},\n${end}`;
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
