import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqlite } from "bowline/stores/sqlite";
import { afterAll, expect, test } from "vitest";
import { asSessionId } from "../../src/model/ids.ts";
import { builtArgv } from "../kit/built.ts";

const README = readFileSync("README.md", "utf8");
const programs = Array.from(README.matchAll(/```ts\n([\s\S]*?)```/g), ([, program]) => program!);
const folder = mkdtempSync(join(tmpdir(), "bowline-readme-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program of the README, and kills it when `until` settles. Returns what it has printed. */
async function run(program: string, until?: () => Promise<void>): Promise<string> {
  const file = join(folder, "agent.ts");
  writeFileSync(file, program);
  const args = [...(await builtArgv()), "--disable-warning=ExperimentalWarning", file];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const closed = new Promise((resolve) => child.on("close", resolve));
  await until?.().finally(() => child.kill("SIGKILL"));
  await closed;
  return output;
}

test("the README has a first program and a durable one", () => expect(programs).toHaveLength(2));

test("the first program of the README runs offline and prints an answer", async () => {
  expect(await run(programs[0]!)).toMatch(/^The clock says \d{4}-/);
});

test("D2 the durable program of the README is killed and started again, and saves its note once", async () => {
  const program = programs[1]!;
  const isNoteRecorded = async (): Promise<boolean> => {
    const store = sqlite(join(folder, "agent.db"));
    try {
      const open = (await store.load(asSessionId("trip")))?.openTurn;
      const journal = open === undefined ? [] : await store.journal(open, 0);
      return journal.some(({ kind }) => kind === "returned");
    } finally {
      await store.close();
    }
  };
  const killed = await run(program, () => expect.poll(isNoteRecorded, { timeout: 20_000 }).toBe(true));
  expect(killed).toBe("saved a note\n");
  const answer = await run(program);
  expect(answer).toMatch(/^I noted that/);
  expect(await run(program)).toBe(answer);
}, 30_000);

test("the README has at most 900 words", () => {
  expect(README.split(/\s+/).length).toBeLessThanOrEqual(900);
});
