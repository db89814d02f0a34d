import { defineConfig } from "tsdown";
import { buildEntries } from "./scripts/entries.mjs";

export default defineConfig({
  entry: buildEntries,
  format: "esm",
  platform: "node",
  target: "node22.19",
  tsconfig: "tsconfig.build.json",
  fixedExtension: false, // `.js`, as package.json says
  outputOptions: { chunkFileNames: "shared/[name]-[hash].js" },
  dts: true,
  logLevel: "warn",
  failOnWarn: true,
  suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
});
