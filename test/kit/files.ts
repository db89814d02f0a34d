/** Database files for tests. `setup.ts` removes those of a test file at its end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let folder: string | undefined;
let files = 0;

/** A database that is not there yet. */
export function file(): string {
  folder ??= mkdtempSync(join(tmpdir(), "bowline-test-"));
  return join(folder, `${++files}.db`);
}

export function removeFiles(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}
