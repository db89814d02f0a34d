import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * The process of a lease holder, written `host/boot/pid/start`: its machine, the machine's boot and process table, its
 * pid, and its start time. An unknown field is empty. The form `host/pid` is accepted too.
 */
interface Process {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  readonly start: string;
}

function parse(text: string): Process | undefined {
  const match = /^(.*?)\/(?:([^/]*)\/)?(\d+)(?:\/([^/]*))?$/.exec(text);
  const [, host, boot = "", pid, start = ""] = match ?? [];
  return host === undefined || pid === undefined ? undefined : { host, boot, pid: Number(pid), start };
}

/**
 * Returns whether a lease can be taken over before it expires: only if the process is of this machine and certainly
 * gone.
 */
export function isProvenDead(text: string): boolean {
  const other = parse(text);
  if (other === undefined || other.pid <= 0 || other.host !== hostname()) return false;
  const [theirs, ours] = [other.boot.split("@"), bootOf().split("@")];
  if (theirs[0] !== "" && ours[0] !== "" && theirs[0] !== ours[0]) return true; // The machine was restarted since.
  if (theirs[1] !== undefined && theirs[1] !== ours[1]) return false; // The process runs in another container, where pids have another meaning.
  if (other.pid === process.pid) return other.start !== "" && other.start !== startOf(process.pid)?.start;
  if (!exists(other.pid)) return true;
  const found = startOf(other.pid);
  if (found === undefined) return false;
  return found.isZombie || (other.start !== "" && found.start !== other.start);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== "ESRCH";
  }
}

let boot: string | undefined;
/** Returns the machine's boot and the id of the process table. In another container the same pid is another process. */
function bootOf(): string {
  if (boot === undefined) {
    const id = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    const table = attempt(() => readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""));
    boot = id === "" ? "" : `${id}@${table}`;
  }
  return boot;
}

/** Returns when a process started, in ticks since boot. A reused pid has another start. */
function startOf(pid: number): { readonly start: string; readonly isZombie: boolean } | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The process name in brackets may contain anything. The state is the first field after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, start] = [fields[0], fields[19]];
  return start === undefined ? undefined : { start, isZombie: state === "Z" || state === "X" };
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/** Identifies this process in the form that `isProvenDead` reads. */
export const thisProcess = (): string =>
  `${hostname()}/${bootOf()}/${process.pid}/${startOf(process.pid)?.start ?? ""}`;
