import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { Capture } from "./capture.ts";
import { Commands, type ShellInput, type ShellSettings, shell } from "./shell.ts";

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bowline-shell-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const SETTINGS: ShellSettings = { timeoutMs: 20_000, timeoutMsMax: 60_000, graceMs: 300, env: {} };
const { signal: never } = new AbortController();
const unread = (): void => {};
const run = async (
  command: string,
  {
    settings = {},
    signal = never,
    commands = new Commands(),
    bytesMax = 262_144,
    output = unread,
    ...input
  }: More = {},
) =>
  shell({ command, ...input }, { root, bytesMax, shell: { ...SETTINGS, ...settings } }, commands, { signal, output });
interface More extends Omit<ShellInput, "command"> {
  readonly settings?: Partial<ShellSettings>;
  readonly signal?: AbortSignal;
  readonly commands?: Commands;
  readonly bytesMax?: number;
  readonly output?: (chunk: string) => void;
}

/** Whether a process runs. A zombie does not. */
function isRunning(pid: number): boolean {
  if (!existsSync("/proc/self/stat")) {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
const pidIn = async (name: string): Promise<number> => Number(await readFile(join(root, name), "utf8"));

/** Waits until a command has written a file of this name, all of it: commands move it into place. */
async function written(name: string): Promise<void> {
  const watcher = watch(root);
  while (!existsSync(join(root, name))) await once(watcher, "change");
  watcher.close();
}

test("E3: what a command writes is shown while it runs, in whole characters, of both streams as it comes", async () => {
  const shown: string[] = [];
  // Each waits for the file that the test writes once the piece before it was shown.
  const wait = (n: number) => `while [ ! -e ${n} ]; do sleep 0.01; done`;
  const pieces = [
    "printf 'one \\303'",
    wait(1),
    "printf '\\251 two' >&2",
    wait(2),
    "printf '\\251'",
    wait(3),
    "printf '\\342\\202'",
  ];
  let seen = 0;
  const output = (chunk: string): void => {
    shown.push(chunk);
    if (chunk !== "" && seen < 3) writeFileSync(join(root, String(++seen)), "");
  };
  const { stdout } = await run(pieces.join("; "), { output });
  // The two bytes of é came in two pieces of stdout, with stderr between them; the last character is cut short.
  assert.deepEqual(
    shown.filter((chunk) => chunk !== ""),
    ["one ", "\ufffd two", "é", "\ufffd"],
  );
  assert.equal(stdout, "one é\ufffd");
});

test("E3: how a command ends is data", async () => {
  assert.deepEqual(await run("echo out; echo err >&2"), { exitCode: 0, stdout: "out\n", stderr: "err\n" });
  assert.deepEqual(await run("echo no >&2; exit 3"), { exitCode: 3, stdout: "", stderr: "no\n" });
  assert.equal((await run("nothing-of-this-name")).exitCode, 127);
  assert.deepEqual(await run("kill -USR1 $$"), { exitCode: null, signal: "SIGUSR1", stdout: "", stderr: "" });
  assert.equal((await run("sh -c 'kill -9 $$'; echo $?")).stdout, "137\n");
});

test("E3: it has no terminal, and its input is at its end", async () => {
  const { stdout } = await run(
    "cat; test -t 0 || test -t 1 || test -t 2 || echo none; (: </dev/tty) 2>/dev/null || echo no tty",
  );
  assert.equal(stdout, "none\nno tty\n");
});

test("E3: it starts in the root or in a folder of it", async () => {
  await mkdir(join(root, "sub"));
  assert.equal((await run("pwd")).stdout, `${root}\n`);
  assert.equal((await run("pwd", { cwd: "sub" })).stdout, `${root}/sub\n`);
  await assert.rejects(run("pwd", { cwd: ".." }), { code: "workspace.outside" });
  await assert.rejects(run("pwd", { cwd: "none" }), { code: "workspace.missing" });
});

test("E3: it is given no variable of the process but a few harmless ones, and those of the options", async () => {
  process.env.BOWLINE_TEST_KEY = "sk-secret";
  try {
    const { stdout } = await run("env", { settings: { env: { CI: "1", LANG: "C" } } });
    assert.doesNotMatch(stdout, /sk-secret/);
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0] ?? "");
    const expected = [
      "PATH",
      "HOME",
      "USER",
      "LANG",
      "LC_ALL",
      "TMPDIR",
      "TZ",
      "PWD",
      "OLDPWD",
      "SHLVL",
      "_",
      "CI",
      "BOWLINE_COMMAND",
    ];
    assert.deepEqual(
      names.filter((name) => !expected.includes(name)),
      [],
    );
    assert.match(stdout, /^CI=1$/m);
    assert.match(stdout, /^LANG=C$/m);
  } finally {
    delete process.env.BOWLINE_TEST_KEY;
  }
});

test("E3: an allowed command is one that a pattern covers as a whole", async () => {
  const settings = { allow: [/git (status|diff)/, /^echo \w+$/m] };
  assert.equal((await run("echo hi", { settings })).stdout, "hi\n");
  for (const command of ["echo hi; id", "echo hi\nid", "id\necho hi", "git status && id", "xgit diff", "id"])
    await assert.rejects(run(command, { settings }), { code: "workspace.command" });
});

test("E3: NUL and an endless command are refused in words", async () => {
  await assert.rejects(run("echo \0"), { code: "workspace.command" });
  await assert.rejects(run(`: ${"x".repeat(3_000_000)}`), {
    code: "workspace.command",
    message: /could not be started: .*E2BIG/,
  });
});

test("T7: after its time a command and its grandchildren are gone, though they ignore the asking", async () => {
  const command = `trap '' TERM; (trap '' TERM; sh -c 'trap "" TERM; echo $$ > inner; while :; do sleep 1000; done') & wait; while :; do sleep 1; done`;
  const result = await run(command, { timeoutMs: 700 });
  assert.deepEqual(result, {
    exitCode: null,
    signal: "SIGKILL",
    stopped: "It took more than 700 ms.",
    stdout: "",
    stderr: "",
  });
  assert.equal(isRunning(await pidIn("inner")), false);
});

test("T7: a command that is asked to end may clean up", async () => {
  const controller = new AbortController();
  const running = run("trap 'echo cleaned; exit 7' TERM; touch ready; while :; do sleep 0.05; done", {
    signal: controller.signal,
    settings: { graceMs: 10_000 },
  });
  await written("ready");
  controller.abort();
  const { exitCode, stdout } = await running;
  assert.deepEqual([exitCode, stdout], [7, "cleaned\n"]);
});

test("T7: the model cannot ask for more time than the options allow", async () => {
  const { stopped } = await run("sleep 1000", { timeoutMs: 50_000, settings: { timeoutMsMax: 200 } });
  assert.equal(stopped, "It took more than 200 ms.");
});

test("E3: what is left in the background neither holds the call nor outlives it", async () => {
  const started = performance.now();
  const result = await run("sleep 1000 & echo $! > pid; echo done");
  assert.deepEqual(result, { exitCode: 0, stdout: "done\n", stderr: "" });
  assert.ok(performance.now() - started < 5_000);
  assert.equal(isRunning(await pidIn("pid")), false);
});

test.skipIf(process.platform !== "linux").each([
  ["with job control", "set -m; sleep 1000 & echo $! > pid"],
  [
    "as a separate session",
    "setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000' & while [ ! -e pid ]; do sleep 0.01; done",
  ],
  [
    "as a daemon, its output elsewhere",
    "(setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000' </dev/null >/dev/null 2>&1 &); while [ ! -e pid ]; do sleep 0.01; done",
  ],
  [
    "deaf to being asked",
    "nohup sh -c 'trap \"\" TERM HUP; echo $$ > pid.tmp; mv pid.tmp pid; while :; do sleep 1000; done' & while [ ! -e pid ]; do sleep 0.01; done",
  ],
])("E3: nothing outlives the call that left it %s", async (_, command) => {
  assert.equal((await run(command)).exitCode, 0);
  assert.equal(isRunning(await pidIn("pid")), false);
});

test("E3: one that hides completely holds no call either", async () => {
  const { stdout } = await run(
    "env -i setsid sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000' & while [ ! -e pid ]; do sleep 0.01; done; echo done",
  );
  assert.equal(stdout, "done\n");
  const pid = await pidIn("pid");
  if (isRunning(pid)) process.kill(pid, "SIGKILL"); // The plugin does not promise to end it; the test must leave nothing behind.
});

test("T7: a cancelled command is gone with all it started, and what it said is kept", async () => {
  const controller = new AbortController();
  const running = run("echo begun; (sleep 1000 & echo $! > pid.tmp; mv pid.tmp pid; wait)", {
    signal: controller.signal,
  });
  await written("pid");
  controller.abort();
  assert.deepEqual(await running, {
    exitCode: null,
    signal: "SIGTERM",
    stopped: "The call was cancelled.",
    stdout: "begun\n",
    stderr: "",
  });
  assert.equal(isRunning(await pidIn("pid")), false);
});

test("T7: a command is not begun after the cancel", async () => {
  await assert.rejects(run("touch ran", { signal: AbortSignal.abort(new Error("Enough.")) }), { message: "Enough." });
  assert.equal(existsSync(join(root, "ran")), false);
});

test("T7: closing ends what runs", async () => {
  const commands = new Commands();
  const running = run("echo $$ > pid.tmp; mv pid.tmp pid; trap '' TERM; while :; do sleep 1; done", { commands });
  await written("pid");
  await commands.close();
  assert.equal(isRunning(await pidIn("pid")), false);
  assert.equal((await running).signal, "SIGKILL");
});

test("E3: a process that exits without closing takes its commands along", async () => {
  const script = `
    import { Commands, shell } from ${JSON.stringify(new URL("./shell.ts", import.meta.url).pathname)};
    import { existsSync, watch } from "node:fs";
    const [root] = process.argv.slice(2);
    watch(root, () => existsSync(root + "/pid") && process.exit(0));
    await shell({ command: "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000" },
      { root, bytesMax: 1024, shell: ${JSON.stringify(SETTINGS)} }, new Commands(), { signal: new AbortController().signal, output: () => {} });`;
  const file = join(root, "exits.ts");
  await writeFile(file, script);
  execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", file, root], { timeout: 30_000 });
  assert.equal(isRunning(await pidIn("pid")), false);
}, 40_000);

test("E3: a flood of output is kept at both ends, in bounded memory", async () => {
  const before = process.memoryUsage().rss;
  const { exitCode, stdout } = await run(
    "echo first; yes | head -c 60000000; echo last; yes >&2 & sleep 0.2; kill $!",
    {
      bytesMax: 65_536,
    },
  );
  assert.ok(process.memoryUsage().rss - before < 40_000_000);
  assert.equal(exitCode, 0);
  assert.ok(stdout.length < 33_000);
  assert.match(stdout, /^first\ny\ny\n/);
  assert.match(stdout, /y\n+\[… 599\d{5} bytes left out …\]\n/);
  assert.match(stdout, /\ny\ny\nlast\n$/);
}, 30_000);

test("E3: what is kept of a stream is its head and its tail, whatever the pieces", () => {
  const text = Array.from({ length: 2_000 }, (_, n) => `${n} é🪢名`).join("\n");
  const bytes = Buffer.from(text);
  for (const size of [1, 3, 7, 100, 1_000, 4_096, 100_000]) {
    const capture = new Capture(1_000);
    for (let at = 0; at < bytes.length; at += size) capture.add(bytes.subarray(at, at + size));
    const [head = "", cut = "", tail = ""] = capture.text().split(/\n\[… (\d+) bytes left out …\]\n/);
    assert.ok(text.startsWith(head) && text.endsWith(tail), `Pieces of ${size}`);
    assert.ok(!`${head}${tail}`.includes("\ufffd"));
    assert.equal(Buffer.byteLength(head) + Number(cut) + Buffer.byteLength(tail), bytes.length);
    assert.ok(Buffer.byteLength(head) > 490 && Buffer.byteLength(tail) > 490);
  }
  for (const length of [0, 1, 499, 500, 501, 999, 1_000]) {
    const capture = new Capture(1_000);
    for (const byte of "x".repeat(length)) capture.add(Buffer.from(byte));
    assert.equal(capture.text(), "x".repeat(length));
  }
});
