// Installs PostgreSQL and PgBouncer for the tests if they are missing. This works as root on Debian and systems based
// on it. It leaves no server running, because the tests start their own. Without the programs the tests are skipped, or
// fail with BOWLINE_POSTGRES=required. If BOWLINE_PG_BIN is set, this installs nothing.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { findPgbouncer } from "../test/kit/pgbouncer.ts";
import { findPostgres } from "../test/kit/postgres.ts";

const LOCK_SECONDS = 120; // Another apt-get may be running.
const APT_MS = 300_000;

/** Prevents the packages from starting servers during the installation: PostgreSQL's, and all others. */
const GUARDS = [
  { file: "/etc/postgresql-common/createcluster.d/bowline.conf", text: "create_main_cluster = false\n" },
  { file: "/usr/sbin/policy-rc.d", text: "#!/bin/sh\nexit 101\n" },
];

const isComplete = () => findPostgres() !== undefined && findPgbouncer() !== undefined;
const canInstall = process.getuid?.() === 0 && ["/usr/bin/apt-get", "/usr/bin/dpkg"].every((file) => existsSync(file));

if (!isComplete() && canInstall && !process.env.BOWLINE_PG_BIN) {
  console.error("bowline: installing PostgreSQL and PgBouncer, for the tests");
  const failure = install();
  if (failure !== undefined) console.error(`bowline: the tests do without, as apt-get failed:\n${failure}`);
}
if (!isComplete() && process.env.BOWLINE_POSTGRES === "required") {
  console.error("bowline: BOWLINE_POSTGRES=required, but PostgreSQL 15 or later and PgBouncer are not there.");
  process.exitCode = 1;
}

/** Installs the packages. Returns the error output of apt-get if it failed. */
function install() {
  const placed = GUARDS.filter(({ file }) => !existsSync(file));
  for (const { file, text } of placed) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o755 });
  }
  try {
    const packages = ["install", "-y", "--no-install-recommends", "postgresql", "pgbouncer"];
    // The package lists of an image can be missing or older than the mirror. Loading them takes longer than the rest.
    if (aptGet(...packages) === undefined) return undefined;
    return aptGet("update") ?? aptGet(...packages);
  } finally {
    for (const { file } of placed) rmSync(file, { force: true });
    if (existsSync("/run/systemd/system")) spawnSync("systemctl", ["disable", "--quiet", "pgbouncer"]);
  }
}

function aptGet(...args) {
  const { status, error, stdout, stderr } = spawnSync(
    "apt-get",
    ["-o", `DPkg::Lock::Timeout=${LOCK_SECONDS}`, ...args],
    {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
      timeout: APT_MS,
    },
  );
  return status === 0 ? undefined : (error?.message ?? `${stdout}${stderr}`.trimEnd());
}
