import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * This process as no other ever is: `host/boot@table/pid/start`. With it a store on the same machine can prove that a
 * holder is dead. What cannot be found out, outside of Linux, is left empty.
 */
export function processName(): string {
  const boot = read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  // In another container the same number is another process.
  const table = read(() => readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""));
  const stat = read(() => readFileSync("/proc/self/stat", "utf8"));
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""; // The name in brackets may contain anything.
  return `${hostname()}/${boot === "" ? "" : `${boot}@${table}`}/${process.pid}/${start}`;
}

function read(from: () => string): string {
  try {
    return from();
  } catch {
    return "";
  }
}
