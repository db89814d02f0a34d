// The process group of a command: finds its processes and ends them. After a crash another process can do that, because
// the name of the first process and a mark in the environment of all processes identify the group.
import { readdirSync, readFileSync } from "node:fs";
import type { Json } from "../../model/json.ts";
import { processName } from "../world.ts";

/** A group as it is recorded before its command begins. */
export interface Group {
  /** `processName` of the first process. Its pid is the number of the group. */
  readonly leader: string;
  /** The value of `BOWLINE_MONITOR` in the environment of the command and of all that it starts. */
  readonly mark: string;
}

export const MARK = "BOWLINE_MONITOR";
/** How long a group can take to end after SIGTERM before it is killed. */
const GRACE_MS = 200;
const KILLED_MS = 2_000;
const LOOK_MS = 10;

export const groupIn = (value: Json): Group | undefined => {
  const { leader, mark } = (value ?? {}) as { readonly leader?: unknown; readonly mark?: unknown };
  return typeof leader === "string" && typeof mark === "string" ? { leader, mark } : undefined;
};

/** Groups of this process that can still run. They end with the process, even if it does not close its runtime. */
const live = new Set<number>();
const endLive = (): void => {
  for (const pid of live) signal(pid, "SIGKILL");
};
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** An app with its own listener closes its runtime itself. Without one the process ends, as by default. */
const onSignal = (name: (typeof SIGNALS)[number]): void => {
  if (process.listenerCount(name) > 1) return;
  endLive();
  attend("off");
  process.kill(process.pid, name);
};
function attend(how: "on" | "off"): void {
  process[how]("exit", endLive);
  for (const name of SIGNALS) process[how](name, onSignal);
}
export function started(pid: number): void {
  if (live.size === 0) attend("on");
  live.add(pid);
}
function ended(pid: number): void {
  if (live.delete(pid) && live.size === 0) attend("off");
}

/**
 * Ends all processes of a group and settles when none is left: sends SIGTERM, and SIGKILL after 200 ms. On Linux it
 * also ends processes with the mark that have left the group, for example children of `timeout`. It ignores groups of
 * another machine or an earlier boot, and group numbers that belong to other processes now.
 */
export async function endGroup(group: Group, isOwn = false): Promise<void> {
  const pid = pidOf(group.leader);
  if (pid === undefined || !isHere(group.leader)) return;
  for (const name of ["SIGTERM", "SIGKILL", "SIGKILL"] as const) {
    let found = find(pid, group, isOwn);
    if (isNone(found)) {
      latest = undefined; // Something may have been started since others looked.
      found = find(pid, group, isOwn);
      if (isNone(found)) break;
    }
    if (found.hasGroup) signal(pid, name);
    for (const stray of found.strays) end(stray, name);
    await areGone(found, name === "SIGTERM" ? GRACE_MS : KILLED_MS);
  }
  ended(pid);
}

/** The processes of a group that still run. */
interface FoundGroup {
  /** Whether a process is in the group by its number. */
  readonly hasGroup: boolean;
  /** All its processes, inside and outside of the group. Empty on other systems than Linux. */
  readonly processes: readonly number[];
  /** Those of them that are in other groups. */
  readonly strays: readonly number[];
  readonly pid: number;
}

const isNone = ({ hasGroup, strays }: FoundGroup): boolean => !hasGroup && strays.length === 0;

function find(pid: number, { leader, mark }: Group, isOwn: boolean): FoundGroup {
  if (process.platform !== "linux") return { hasGroup: signal(pid, 0), processes: [], strays: [], pid };
  const now = statOf(pid);
  // The system does not reuse the number of a group for a new process while a process of the group lives.
  const isReused = now !== undefined && processName(pid) !== leader;
  const isCertain = isOwn || (now !== undefined && !now.isZombie && !isReused);
  const all = processes();
  const inside = isReused ? [] : all.filter((each) => each.group === pid && (isCertain || each.mark === mark));
  const strays = all.filter((each) => each.group !== pid && each.id !== process.pid && each.mark === mark);
  const ids = (list: readonly ListedProcess[]): readonly number[] => list.map(({ id }) => id);
  return { hasGroup: inside.length > 0, processes: ids([...inside, ...strays]), strays: ids(strays), pid };
}

interface ListedProcess {
  readonly id: number;
  readonly group: number;
  /** Undefined if the environment cannot be read or has no mark. */
  readonly mark: string | undefined;
}
let latest: { readonly at: number; readonly all: readonly ListedProcess[] } | undefined;
const SAME_MS = 5;

/** All living processes. The list is reused for a moment, because many groups can end at the same time. */
function processes(): readonly ListedProcess[] {
  const now = performance.now();
  if (latest !== undefined && now - latest.at < SAME_MS) return latest.all;
  const all = readdirSync("/proc").flatMap((name): readonly ListedProcess[] => {
    const stat = /^\d+$/.test(name) ? statOf(name) : undefined;
    if (stat === undefined || stat.isZombie) return [];
    const mark = read(`/proc/${name}/environ`)
      .split("\0")
      .find((each) => each.startsWith(`${MARK}=`));
    return [{ id: Number(name), group: stat.group, mark: mark?.slice(MARK.length + 1) }];
  });
  latest = { at: performance.now(), all };
  return all;
}

function pidOf(leader: string): number | undefined {
  const pid = Number(leader.split("/").at(-2));
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

const placeOf = (name: string): string => name.split("/").slice(0, -2).join("/");
const isHere = (leader: string): boolean => placeOf(leader) === placeOf(processName());

async function areGone({ hasGroup, processes, pid }: FoundGroup, ms: number): Promise<void> {
  const isLeft = (): boolean =>
    process.platform === "linux" ? processes.some((id) => statOf(id)?.isZombie === false) : hasGroup && signal(pid, 0);
  for (const end = performance.now() + ms; isLeft() && performance.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

interface Stat {
  readonly isZombie: boolean;
  readonly group: number;
}
function statOf(pid: number | string): Stat | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The name in brackets may contain anything; the state is the first field after it, the group the third.
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { isZombie: state === "Z" || state === "X", group: Number(group) };
}

function end(id: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(id, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** Sends a signal to a whole group, and returns whether the group exists. */
function signal(pid: number, name: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, name);
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== "ESRCH";
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
