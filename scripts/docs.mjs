// Writes the generated pages of docs/. A test compares each page with a new one.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { page as defaults } from "./defaults-doc.mjs";
import { page as errors } from "./errors-doc.mjs";
import { page as hooks } from "./hooks-doc.mjs";
import { page as server } from "./server-doc.mjs";

writeFileSync("docs/hooks.md", hooks());
writeFileSync("docs/defaults.md", defaults());
writeFileSync("docs/errors.md", errors());
writeFileSync("docs/server.md", server());
// This page contains real requests of the runtime, so the test that makes them writes the page.
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "test/docs/model-texts.test.ts", "-u"],
  { stdio: "inherit" },
);
process.exit(status ?? 1);
