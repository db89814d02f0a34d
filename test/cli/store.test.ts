import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createRuntime } from "bowline";
import { demo } from "bowline/providers/demo";
import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { inProcess } from "./in-process.ts";
import { folder } from "./program.ts";

const DB = join(".bowline", "agent.db");

/** A folder with a conversation in it. */
async function kept(): Promise<string> {
  const cwd = folder();
  await inProcess(["run", "--session", "s", "What is 21*2?"], "", { cwd });
  return cwd;
}

function change(cwd: string, sql: string): void {
  const db = new DatabaseSync(join(cwd, DB));
  db.exec(sql);
  db.close();
}

test.each<[string, (cwd: string) => readonly string[], string]>([
  ["a folder that is not there", () => ["--db", "nowhere/agent.db"], "there is no folder"],
  ["a folder instead of the file", () => ["--db", "."], "it is a folder"],
  ["no name", () => ["--db", ""], "the path is empty"],
  [
    "a file instead of the folder",
    (cwd) => {
      writeFileSync(join(cwd, ".bowline"), "");
      return [];
    },
    "is not a folder",
  ],
  [
    "another program's file",
    (cwd) => {
      mkdirSync(join(cwd, ".bowline"));
      change(cwd, "CREATE TABLE mine (a)");
      return [];
    },
    "is a database of another program. Use another path",
  ],
  [
    "no database at all",
    (cwd) => {
      writeFileSync(join(cwd, "notes.txt"), "Nothing that SQLite would understand, and long enough to be looked at.");
      return ["--db", "notes.txt"];
    },
    "it is not a SQLite database. Restore the database",
  ],
])("E6 %s is one line with what to do, and exit 1", async (_, prepare, says) => {
  const cwd = folder();
  const { code, stdout, stderr } = await inProcess(["run", ...prepare(cwd), "hello"], "", { cwd });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});

test("E6 every command refuses a file of a later version", async () => {
  const cwd = await kept();
  change(cwd, "PRAGMA user_version = 99");
  for (const args of [["run", "hello"], ["chat"], ["sessions"], ["doctor"]]) {
    const { code, stderr } = await inProcess(args, "", { cwd });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^bowline: .*has schema version 99.* Update bowline, .*\n$/),
    });
  }
});

test("E6 a file that another program has locked is reported after some seconds", { timeout: 20_000 }, async () => {
  const cwd = await kept();
  const other = new DatabaseSync(join(cwd, DB));
  other.exec("BEGIN IMMEDIATE");
  const { code, stderr } = await inProcess(["run", "hello"], "", { cwd });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^bowline: .*was locked by another connection.*\n$/),
  });
  other.exec("COMMIT");
  other.close();
  expect((await inProcess(["run", "hello"], "", { cwd })).code).toBe(0);
});

test.skipIf(process.platform === "win32")("E6 the default folder and its files are for their owner alone", async () => {
  const cwd = await kept();
  const modeOf = (name: string): string => (statSync(join(cwd, ".bowline", name)).mode & 0o777).toString(8);
  expect(modeOf(".")).toBe("700");
  const modes = readdirSync(join(cwd, ".bowline")).map((name) => [name, modeOf(name)]);
  expect(modes).toEqual([
    [".gitignore", "600"],
    ["agent.db", "600"],
  ]);
});

test.skipIf(process.getuid?.() === 0)("E6 a folder that cannot be written is one line", async () => {
  const cwd = folder();
  mkdirSync(join(cwd, "closed"), { mode: 0o500 });
  const { code, stderr } = await inProcess(["run", "hello"], "", { cwd: join(cwd, "closed") });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^bowline: .*cannot be written\..*\n$/),
  });
});

test("E6 the doctor prints sizes and schema, finds damage and changes nothing", async () => {
  const cwd = await kept();
  const well = await inProcess(["doctor"], "", { cwd });
  expect(well).toMatchObject({ code: 0, stderr: "" });
  expect(well.stdout).toMatch(/agent\.db: schema \d+, \d+ kB.*, 1 session, 1 turn\nNo damage was found\.\n$/);
  change(cwd, "UPDATE segment SET entries = replace(entries, '42', '43')");
  copyFileSync(join(cwd, DB), join(cwd, "copy.db"));
  const ill = await inProcess(["doctor", "--db", "copy.db"], "", { cwd });
  expect(ill.code).toBe(1);
  expect(ill.stdout).toMatch(/^The segment of \S+: .*\n(.*\n)*\d+ findings?\. Nothing was changed\.\n$/m);
  const json = await inProcess(["doctor", "--json"], "", { cwd });
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    sessions: 1,
    findings: [{ item: expect.stringContaining("segment") }],
  });
});

test("E6 the doctor finds a letter of an id that changed, in its row and in each index of it", async () => {
  const cwd = await kept();
  const whole = readFileSync(join(cwd, DB));
  let places = 0;
  for (let at = whole.indexOf("trn_"); at >= 0; at = whole.indexOf("trn_", at + 1), places++) {
    const damaged = Buffer.from(whole);
    damaged[at + 6]! ^= 1;
    writeFileSync(join(cwd, "damaged.db"), damaged);
    expect((await inProcess(["doctor", "--db", "damaged.db"], "", { cwd })).code, `at ${at}`).toBe(1);
  }
  expect(places).toBeGreaterThan(2);
});

test("E6 sessions are listed with their last answers, the latest first, and looking makes no file", async () => {
  const cwd = await kept();
  await inProcess(["run", "--session", "t", "hello"], "", { cwd });
  const { stdout } = await inProcess(["sessions"], "", { cwd });
  expect(stdout).toMatch(/^t {2}1 turn {2}just now {2}Hello! .{50,60}…\ns {2}1 turn {2}just now {2}21\*2 = 42\.\n$/);
  const json = JSON.parse((await inProcess(["sessions", "--json"], "", { cwd })).stdout);
  expect(json.map(({ id }: { id: string }) => id)).toEqual(["t", "s"]);
  expect(json[1]).toMatchObject({ turns: 1, state: "idle", lastAnswer: "21*2 = 42." });
  for (const name of ["sessions", "doctor"]) {
    const missing = await inProcess([name, "--db", "missing.db"], "", { cwd });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no file missing.db.") });
  }
});

test("E6 nothing is kept where only help was asked for, or wrongly", async () => {
  const cwd = folder();
  for (const args of [["--help"], ["dance"], ["run"], ["run", "--model", "nonsense", "hi"], ["sessions"]])
    await inProcess(args, "", { cwd });
  expect((await inProcess(["sessions", "--db", DB], "", { cwd })).stderr).toContain("There is no file ");
});

test("S2 E6 an injected message is not an unfinished turn: the next question takes it", async () => {
  const cwd = await kept();
  const store = sqlite(join(cwd, DB));
  const runtime = await createRuntime({ store, model: demo(), recover: "manual" });
  await runtime.sessions.inject("s", "Mind the dog.");
  await runtime.close();
  const { stdout } = await inProcess(["doctor"], "", { cwd });
  expect(stdout).not.toContain("Mind the dog.");
  const asked = await inProcess(["run", "--session", "s", "What is 4*5?"], "", { cwd });
  expect(asked).toMatchObject({ code: 0, stderr: "" });
});
