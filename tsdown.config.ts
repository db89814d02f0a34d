import { defineConfig } from "tsdown";
import { buildEntries } from "./scripts/entries.mjs";
import { plainPrivates } from "./scripts/plain-privates.mjs";

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
  outputOptions: { chunkFileNames: "shared/[name]-[hash].js", comments: false },
  dts: true,
  checks: { bundlerTimings: false }, // A renaming of private names is most of what plugins do here.
  logLevel: "warn",
  failOnWarn: true,
  suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
});
