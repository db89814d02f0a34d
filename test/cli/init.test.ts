import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { builtPackage } from "../kit/built.ts";
import { inProcess } from "./in-process.ts";
import { bowline, folder } from "./program.ts";

vi.setConfig({ testTimeout: 60_000 });

const FILES = [
  ...[".dockerignore", ".gitignore", "Dockerfile", "README.md", "agent.test.ts", "agent.ts", "package.json"],
  "tsconfig.json",
];
const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
const kept = Object.entries(process.env).filter(([name]) => !/^BOWLINE_|_API_KEY$|^npm_|^NODE_|^VITEST/.test(name));
const env = { ...Object.fromEntries(kept), PATH, NO_COLOR: "1", npm_config_update_notifier: "false" };
const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("npm", args, { cwd, env, encoding: "utf8" });

/** Installs the packed package in a project as npm does, with links to other packages in place of a network. */
async function install(project: string): Promise<void> {
  const built = await builtPackage();
  const away = folder();
  npm(built, "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", away);
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  const [tarball = ""] = readdirSync(away);
  execFileSync("tar", ["-xzf", join(away, tarball), "-C", modules]);
  execFileSync("mv", [join(modules, "package"), join(modules, "bowline")]);
  symlinkSync("../bowline/dist/cli/main.js", join(modules, ".bin", "bowline"));
  execFileSync("chmod", ["+x", join(modules, "bowline/dist/cli/main.js")]);
  const { dependencies } = JSON.parse(readFileSync(join(built, "package.json"), "utf8")) as { dependencies: object };
  for (const name of [...Object.keys(dependencies), "zod", "@types/node"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve("node_modules", name), join(modules, name), "dir");
  }
}

const groups = new Set<number>();
afterAll(() => {
  for (const group of groups) process.kill(-group, "SIGKILL");
});

/** `npm start` in a separate group of processes: npm puts a shell around what it starts. */
function npmStart(cwd: string) {
  const child = spawn("npm", ["start", "--", "--port", "0", "--json"], { cwd, env, detached: true, stdio: "pipe" });
  const group = child.pid!;
  groups.add(group);
  let seen = "";
  for (const output of [child.stdout, child.stderr]) output.setEncoding("utf8").on("data", (text) => (seen += text));
  const ended = new Promise<number | null>((end) =>
    child.on("close", (code) => {
      groups.delete(group);
      end(code);
    }),
  );
  return { group, seen: () => seen, ended };
}

test("E2 E6 what bowline init writes passes its test, its types are right, npm start answers a chat without a key, and SIGTERM to npm alone stops it", async () => {
  const cwd = folder();
  const { code, stdout, stderr } = await bowline(["init", "my-agent"], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^Wrote an agent to my-agent:\n/);
  expect(stdout).toMatch(/\nNext:\n {2}cd my-agent\n {2}npm install\n {2}npm start .*\n {2}npm test .*\n$/);
  const project = join(cwd, "my-agent");
  expect(readdirSync(project).sort()).toEqual(FILES);
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(JSON.parse(readFileSync(join(project, "package.json"), "utf8"))).toMatchObject({
    name: "my-agent",
    dependencies: { bowline: `^${version}` },
  });
  await install(project);

  expect(npm(project, "test")).toMatch(/pass 2\n.*fail 0\n/s);

  const started = npmStart(project);
  const served = await vi.waitFor(
    () => JSON.parse(/^\{.*\}$/m.exec(started.seen())![0]) as { url: string; token: string; db: string },
    { timeout: 20_000, interval: 50 },
  );
  expect(served.db).toBe(".bowline/agent.db");
  const headers = { authorization: `Bearer ${served.token}`, "content-type": "application/json" };
  const post = async (path: string, body: object) =>
    (await (
      await fetch(`${served.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    ).json()) as { turnId: string };
  await post("/sessions", { id: "s" });
  const { turnId } = await post("/sessions/s/inputs", { text: "Remember the milk. What time is it?" });
  const turn = await vi.waitFor(
    async () => {
      const found = (await (await fetch(`${served.url}/v1/turns/${turnId}`, { headers })).json()) as {
        state: string;
        outcome: { text: string };
      };
      expect(found.state).toBe("ended");
      return found;
    },
    { timeout: 20_000, interval: 50 },
  );
  expect(turn.outcome.text).toMatch(/^I noted that as number 1: the milk\. The clock says .* UTC\.$/);
  process.kill(started.group, "SIGTERM");
  await started.ended;
  expect((await bowline(["sessions"], { cwd: project })).stdout).toMatch(/^s {2}1 turn /);
});

test("E2 the types of what bowline init writes are right", async () => {
  const cwd = folder();
  await inProcess(["init", "."], "", { cwd });
  mkdirSync(join(cwd, "node_modules/@types"), { recursive: true });
  for (const name of ["zod", "@types/node"])
    symlinkSync(resolve("node_modules", name), join(cwd, "node_modules", name), "dir");
  // The tests build the package without types: those of the sources are the same.
  const paths = { bowline: [resolve("src/index.ts")], "bowline/*": [resolve("src/*.ts"), resolve("src/*/index.ts")] };
  const config = { extends: "./tsconfig.json", compilerOptions: { paths }, include: ["*.ts"] };
  writeFileSync(join(cwd, "check.json"), JSON.stringify(config));
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const { stdout } = await new Promise<{ stdout: string }>((end) => {
    const child = spawn(process.execPath, [tsc, "-p", "check.json"], { cwd, env });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.on("close", () => end({ stdout }));
  });
  expect(stdout.split("\n").filter((line) => line.startsWith("agent"))).toEqual([]);
});

test("E2 bowline init writes into this folder, and into one that is only a repository", async () => {
  const cwd = folder();
  mkdirSync(join(cwd, "a b!/.git"), { recursive: true });
  const { code, stdout } = await inProcess(["init", "a b!"], "", { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain("\n  cd 'a b!'\n");
  expect(JSON.parse(readFileSync(join(cwd, "a b!", "package.json"), "utf8")).name).toBe("a-b");
  const here = folder();
  const dot = await inProcess(["init", "."], "", { cwd: here });
  expect(dot.stdout).toMatch(/^Wrote an agent to this folder:\n/);
  expect(dot.stdout).not.toContain("  cd ");
  expect(readdirSync(here).sort()).toEqual(FILES);
});

test.each([
  ["has a file", "work", "The folder work is not empty: it has notes.txt."],
  ["has a hidden file", "hidden", "The folder hidden is not empty: it has .env."],
  ["is a file", "file", "file is a file."],
])("E2 bowline init refuses a folder that %s, and changes nothing", async (_, name, says) => {
  const cwd = folder();
  for (const each of ["work", "hidden"]) mkdirSync(join(cwd, each));
  writeFileSync(join(cwd, "work/notes.txt"), "mine");
  writeFileSync(join(cwd, "hidden/.env"), "mine");
  writeFileSync(join(cwd, "file"), "mine");
  const { code, stdout, stderr } = await inProcess(["init", name], "", { cwd });
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: `bowline: ${says} Name a new folder.\n` });
  expect(readdirSync(cwd, { recursive: true })).toHaveLength(5);
});

test("E2 bowline init that cannot write is one line", async () => {
  const cwd = folder();
  writeFileSync(join(cwd, "file"), "");
  const { code, stderr } = await inProcess(["init", "file/agent"], "", { cwd });
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/^bowline: .+\n$/);
});

test.each([
  [["init"], "init takes one folder."],
  [["init", "a", "b"], "init takes one folder."],
  [["init", "a", "--app", "agent.ts"], "--app is for chat, run, serve, acp, studio and worker."],
  [["init", "a", "--db", "a.db"], "--db is not for init."],
  [["init", "a", "--port", "1"], "--port is for serve and studio."],
])("E2 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});
