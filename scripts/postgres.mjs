// Installs PostgreSQL and PgBouncer for the tests where they are absent and can be had: on Debian and its kin, as root.
// The tests start servers of their own: none is left running here. Elsewhere they are skipped, or fail when
// BOWLINE_POSTGRES=required. Who sets BOWLINE_PG_BIN looks after the programs, too, and nothing is installed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { findPgbouncer } from "../test/kit/pgbouncer.ts";
import { findPostgres } from "../test/kit/postgres.ts";

const LOCK_SECONDS = 120; // Another apt-get may be at work.
const APT_MS = 300_000;

/** What keeps the packages from starting servers, while they are installed: of PostgreSQL, and of all others. */
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

/** Answers what apt-get said, if it failed. */
function install() {
  const placed = GUARDS.filter(({ file }) => !existsSync(file));
  for (const { file, text } of placed) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o755 });
  }
  try {
    const packages = ["install", "-y", "--no-install-recommends", "postgresql", "pgbouncer"];
    // The lists of an image may be absent or older than what the mirror has; to fetch them takes longer than the rest.
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
