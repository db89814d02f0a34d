// Installs Chromium for the browser tests of `npm run test:full` if it is missing, in CI or with
// BOWLINE_CHROMIUM=required. This works as root on Debian and systems based on it. Without Chromium those tests are
// skipped, or fail if it is required.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { CHROMIUM_ABSENT, findChromium } from "../test/kit/chromium.ts";

const LOCK_SECONDS = 120; // Another apt-get may be running.
const APT_MS = 300_000;

const isRequired = process.env.BOWLINE_CHROMIUM === "required";
const isCi = !["", "0", "false"].includes(process.env.CI ?? "");
const canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

if (findChromium() === undefined && canInstall && (isRequired || isCi)) {
  console.error("bowline: installing Chromium, for the tests");
  const failure = install();
  if (failure !== undefined) console.error(`bowline: the tests do without, as apt-get failed:\n${failure}`);
}
if (findChromium() === undefined) {
  console.error(
    `bowline: ${isRequired ? "BOWLINE_CHROMIUM=required, but" : "browser tests are skipped:"} ${CHROMIUM_ABSENT}`,
  );
  if (isRequired) process.exitCode = 1;
}

/** Installs the packages. Returns the error output of apt-get if it failed. */
function install() {
  const packages = ["install", "-y", "--no-install-recommends", "chromium"];
  // The package lists of an image can be missing or older than the mirror.
  if (aptGet(...packages) === undefined) return undefined;
  return aptGet("update") ?? aptGet(...packages);
}

function aptGet(...args) {
  const options = ["-o", `DPkg::Lock::Timeout=${LOCK_SECONDS}`];
  const { status, error, stdout, stderr } = spawnSync("apt-get", [...options, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    timeout: APT_MS,
  });
  return status === 0 ? undefined : (error?.message ?? `${stdout}${stderr}`.trimEnd());
}
