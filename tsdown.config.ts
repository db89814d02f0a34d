import { join } from "node:path";
import { defineConfig } from "tsdown";
import { buildEntries } from "./scripts/entries.mjs";
import { plainPrivates } from "./scripts/plain-privates.mjs";
import { buildStudio } from "./scripts/studio.mjs";

export default defineConfig({
  entry: buildEntries,
  format: "esm",
  platform: "node",
  target: "node22.19",
  // It sets fields in constructors: an initialiser would be one more function for every class on the path of a turn.
  tsconfig: "tsconfig.build.json",
  plugins: [plainPrivates()],
  fixedExtension: false, // `.js`, as package.json says
  // Comments are a fifth of the code. What users read is in the types.
  // The group requires it. It adds no export to an entry, because no entry has code that another file imports.
  inputOptions: { preserveEntrySignatures: "allow-extension" },
  outputOptions: {
    chunkFileNames: "shared/[name]-[hash].js",
    comments: false,
    // The entries share the files of each group in different ways. Without a group they are a chunk each, and every turn
    // loads all of them.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: "authoring", test: /src\/kernel\/(?:directive|extension|point)\.ts$/ },
        { name: "turn", test: /src\/turn\/(?:effect|state|step|move|cell|work|log|retry)\.ts$/ },
        { name: "words", test: /src\/model\/(?:awaitable|ids|known|message|pairing|request|scope|wait)\.ts$/ },
      ],
    },
  },
  hooks: { "build:done": ({ options }) => buildStudio(join(options.outDir, "studio")) },
  dts: true,
  checks: { bundlerTimings: false }, // A renaming of private names is most of what plugins do here.
  logLevel: "warn",
  failOnWarn: true,
  suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
});
