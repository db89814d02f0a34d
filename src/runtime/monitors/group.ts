// The process group of a command: who is in it, and how it is ended. Another process than the one that started it can do
// that too, after a crash: a group is known by the name of its first process and by a mark in the environment of all.
import { readdirSync, readFileSync } from "node:fs";
import type { Json } from "../../model/json.ts";
import { processName } from "../world.ts";

/** A group as it is recorded before its command begins. */
export interface Group {
  /** The first process, as `processName` names it; its pid is the number of the group. */
  readonly leader: string;
  /** The value of `BOWLINE_MONITOR` in the environment of the command and of all that it starts. */
  readonly mark: string;
}

export const MARK = "BOWLINE_MONITOR";
/** How long a group may take to end after it was asked to, before it is killed. */
const GRACE_MS = 200;
const KILLED_MS = 2_000;
const LOOK_MS = 10;

export const groupIn = (value: Json): Group | undefined => {
  const { leader, mark } = (value ?? {}) as { readonly leader?: unknown; readonly mark?: unknown };
  return typeof leader === "string" && typeof mark === "string" ? { leader, mark } : undefined;
};

/** Groups of this process that may still run: they end with it, also when it ends without closing its runtime. */
const live = new Set<number>();
const endLive = (): void => {
  for (const pid of live) signal(pid, "SIGKILL");
};
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** An app that listens to the signal closes its runtime itself; for any other the process ends, as it would have. */
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
 * Ends all processes of a group and settles when none is left: asks them first, and kills them after 200 ms. On Linux also
 * those that have left it and still bear its mark, as `timeout` lets its command do. A group of another machine, or of an
 * earlier start of this one, is not here, and a number that other processes have now is left alone.
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

/** What is left of a group. */
interface Left {
  /** Some process is in it by its number. */
  readonly hasGroup: boolean;
  /** Processes of it, in the group or not: outside of Linux they cannot be found out. */
  readonly processes: readonly number[];
  /** Those of them that are in other groups. */
  readonly strays: readonly number[];
  readonly pid: number;
}

const isNone = ({ hasGroup, strays }: Left): boolean => !hasGroup && strays.length === 0;

function find(pid: number, { leader, mark }: Group, isOwn: boolean): Left {
  if (process.platform !== "linux") return { hasGroup: signal(pid, 0), processes: [], strays: [], pid };
  const now = statOf(pid);
  // The number of a group is not given to a new process before the whole group is gone.
  const isReused = now !== undefined && processName(pid) !== leader;
  const isCertain = isOwn || (now !== undefined && !now.isZombie && !isReused);
  const all = processes();
  const inside = isReused ? [] : all.filter((each) => each.group === pid && (isCertain || each.mark === mark));
  const strays = all.filter((each) => each.group !== pid && each.id !== process.pid && each.mark === mark);
  const ids = (list: readonly Found[]): readonly number[] => list.map(({ id }) => id);
  return { hasGroup: inside.length > 0, processes: ids([...inside, ...strays]), strays: ids(strays), pid };
}

interface Found {
  readonly id: number;
  readonly group: number;
  /** Left out where its environment cannot be read, or says nothing. */
  readonly mark: string | undefined;
}
let latest: { readonly at: number; readonly all: readonly Found[] } | undefined;
const SAME_MS = 5;

/** All processes that live. Many groups may end at the same time: one look serves them. */
function processes(): readonly Found[] {
  const now = performance.now();
  if (latest !== undefined && now - latest.at < SAME_MS) return latest.all;
  const all = readdirSync("/proc").flatMap((name): readonly Found[] => {
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

async function areGone({ hasGroup, processes, pid }: Left, ms: number): Promise<void> {
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

/** Sends a signal to a whole group, and answers whether there is one. */
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
