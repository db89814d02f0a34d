// Runs `node <arguments>` for the npm scripts, so that a fresh clone needs no manual setup. If the running Node is
// older than `engines` allows, it fetches a newer one. If packages of the lock file are missing, it installs them.
// `BOWLINE_NODE=22.19.0` selects that version.
// This file and what it imports must run on any Node that npm runs on.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";

const NODE_VERSION = process.env.BOWLINE_NODE || "24.21.0";
const PARENT_CHECK_MS = 200;

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const cache = join(root, ".node");
const windows = process.platform === "win32";

const isWanted = process.env.BOWLINE_NODE ? process.versions.node === NODE_VERSION : isNewEnough(process.versions.node);
const node = isWanted ? process.execPath : fetchedNode();
const lockKey = `${process.platform}-${process.arch} ${hashOf("package-lock.json")}`;
process.env.PATH = dirname(node) + delimiter + process.env.PATH; // npm then uses this Node too.

const missing = [];
if (!existsSync(node)) missing.push({ name: `Node ${NODE_VERSION}`, make: fetchNode });
if (installedKey() !== lockKey) missing.push({ name: "npm packages", make: installPackages });
if (missing.length > 0) setUp();
run();

function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const [majorMin, minorMin] = engines.node.replace(">=", "").split(".").map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

// Fetches the package of this platform and not `node`, because `node` selects the platform in an install script, which
// npm may refuse to run.
function nodePackage() {
  const prefix = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${windows ? "win" : process.platform}-${process.arch}`;
}

function fetchedNode(folder = join(cache, NODE_VERSION)) {
  return join(folder, "node_modules", nodePackage(), "bin", windows ? "node.exe" : "node");
}

function installedKey() {
  const stamp = join(root, "node_modules", ".installed");
  return existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
}

function hashOf(file) {
  return createHash("sha256")
    .update(readFileSync(join(root, file)))
    .digest("hex");
}

// Makes each part in a folder of this process and then renames it. So a parallel or killed setup never leaves an
// incomplete part in the final place.
function setUp() {
  process.stderr.write(`bowline: fetching ${missing.map((part) => part.name).join(" and ")} into this folder, once\n`);
  removeLeftovers();
  const workshop = join(cache, `making-${process.pid}`);
  try {
    for (const { make } of missing) {
      mkdirSync(workshop, { recursive: true });
      make(workshop);
      rmSync(workshop, { recursive: true, force: true });
    }
  } catch (error) {
    rmSync(workshop, { recursive: true, force: true });
    process.stderr.write(`bowline: the set-up failed; run it again once this is mended.\n${error.message}\n`);
    process.exit(1);
  }
}

function fetchNode(workshop) {
  writeFileSync(join(workshop, "package.json"), "{}");
  npm(["install", "--no-save", `${nodePackage()}@${NODE_VERSION}`], workshop);
  const tried = spawnSync(fetchedNode(workshop), ["--version"], { encoding: "utf8" });
  if (tried.stdout?.trim() !== `v${NODE_VERSION}`) {
    throw new Error(`The fetched Node does not run here. Install Node ${NODE_VERSION} yourself.`);
  }
  moveUnlessThere(workshop, join(cache, NODE_VERSION));
}

function installPackages(workshop) {
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(root, file), join(workshop, file));
  npm(["ci", "--include=dev"], workshop);
  writeFileSync(join(workshop, "node_modules", ".installed"), lockKey);
  if (installedKey() === lockKey) return;
  const place = join(root, "node_modules");
  if (existsSync(place)) moveUnlessThere(place, join(workshop, "replaced"));
  moveUnlessThere(join(workshop, "node_modules"), place);
}

function npm(command, folder) {
  const args = [...command, "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const ran = spawnSync("npm", args, {
    cwd: folder,
    shell: windows,
    // Does not read the command's standard input, and does not mix npm's output with the command's.
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  });
  if (ran.status !== 0) throw ran.error ?? new Error(ran.stderr);
}

function moveUnlessThere(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    // Another process was faster; its result is the same.
    if (!["EEXIST", "ENOTEMPTY", "ENOENT"].includes(error.code) || !existsSync(to)) throw error;
  }
}

function removeLeftovers() {
  if (!existsSync(cache)) return;
  for (const name of readdirSync(cache)) {
    const pid = /^making-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

function run() {
  const child = spawn(node, process.argv.slice(2), { stdio: "inherit" });
  // A terminal sends Ctrl-C to the child too, and npm repeats it to this process. Passing it on would count as a second
  // Ctrl-C.
  const inTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => inTerminal || child.kill(signal));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // Watches the parent, because npm starts this process through a shell, and a signal ends the shell without reaching
  // this process.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, PARENT_CHECK_MS);
  child.on("error", (error) => {
    process.stderr.write(`bowline: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
