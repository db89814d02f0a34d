import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { World } from "../model/world.ts";

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

function base32(value: number, length: number): string {
  let text = "";
  for (let left = value; text.length < length; left = Math.floor(left / 32)) text = DIGITS[left % 32] + text;
  return text;
}

/**
 * The real world. Ids sort by time: 10 digits of time, 4 of a counter within the millisecond, and 10 of this process.
 */
export function realWorld(): World {
  const tag = Array.from(randomBytes(10), (byte) => DIGITS[byte % 32]).join("");
  let last = 0;
  let stamp = "";
  let count = 0;
  return {
    now: Date.now,
    sleep,
    rest,
    id(prefix) {
      const now = Math.max(Date.now(), last);
      if (now !== last || count >= 32 ** 4) {
        last = now === last ? now + 1 : now;
        stamp = base32(last, 10);
        count = 0;
      }
      return `${prefix}_${stamp}${base32(count++, 4)}${tag}`;
    },
    secret: () => randomBytes(16).toString("base64url"),
  };
}

/** The longest delay of a timer. A longer sleep uses several timers. */
const TIMER_MAX_MS = 2_147_483_647;

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && signal?.aborted !== true; left -= TIMER_MAX_MS)
    await nap(Math.min(left, TIMER_MAX_MS), signal);
}

const rest: World["rest"] = (ms, signal) => nap(Math.min(ms, TIMER_MAX_MS), signal, true);

export type Clock = Pick<World, "now" | "sleep" | "rest">;

/** For polls for readers, because readers live in real time also in a simulated world. */
export const REAL_CLOCK: Clock = { now: () => performance.now(), sleep, rest };

function nap(ms: number, signal?: AbortSignal, isUnref = false): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (isUnref) timer.unref();
    signal?.addEventListener("abort", done, { once: true });
  });
}

/**
 * The unique name of a process: `host/boot@table/pid/start`. With it a store on the same machine can prove that the holder
 * of a lease is dead. Parts that cannot be read, for example outside Linux, are empty.
 */
export function processName(pid = process.pid): string {
  const boot = read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  // The namespace of process ids: in another container the same pid is another process.
  const table = read(() => readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""));
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name in brackets can contain brackets and spaces.
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  return `${hostname()}/${boot === "" ? "" : `${boot}@${table}`}/${pid}/${start}`;
}

function read(from: () => string): string {
  try {
    return from();
  } catch {
    return "";
  }
}
