// Writes the pages of docs/ that are generated. A test compares each with what would be written.
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
// This page is what a runtime really sends, so the test that makes it writes it too.
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "test/docs/model-texts.test.ts", "-u"],
  { stdio: "inherit" },
);
process.exit(status ?? 1);
