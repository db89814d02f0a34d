import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const CARELESS = fileURLToPath(new URL("./careless.ts", import.meta.url));

test("K18 what a tool or a hook asks for and does not await ends no process, in its turn, after it, and after the close; awaited, the error is there", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--disable-warning=ExperimentalWarning",
    "--unhandled-rejections=strict",
    CARELESS,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    outcome: "answered",
    told: [{ name: "careless", parts: [{ text: "session.unknown" }] }],
  });
}, 30_000);
