/** A disk so small that a test can fill it. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAtEnd } from "./programs.ts";

export interface SmallDisk extends Disposable {
  /** Where it is mounted. */
  readonly folder: string;
  /** Takes all the room that is left, but for some bytes. */
  fill(leaveBytes?: number): void;
  /** Gives back what `fill` took. */
  free(): void;
  /** Whatever is on it is lost; programs that have files open there keep those. */
  unmount(): void;
}

let mounts: boolean | undefined;

/** Whether this process may mount a disk: `test.skipIf(!canMount())`. */
export function canMount(): boolean {
  if (mounts !== undefined) return mounts;
  try {
    smallDisk("size=4k").unmount();
    mounts = true;
  } catch {
    mounts = false;
  }
  return mounts;
}

/** Mounts a disk of so many megabytes, or by options of `mount` such as `size=40k,nr_inodes=2`. Needs `canMount()`. */
export function smallDisk(size: number | string): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "bowline-disk-"));
  const options = typeof size === "number" ? `size=${size}m` : size;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "none", folder]).status !== 0) {
    rmdirSync(folder);
    throw new Error("This process may not mount a disk.");
  }
  const filler = join(folder, "filler");
  const unmount = (): void => {
    atEnd.forget();
    spawnSync("umount", ["--lazy", folder]);
    rmdirSync(folder);
  };
  const atEnd = stopAtEnd(async () => unmount());
  return {
    folder,
    fill: (leaveBytes = 0) => fill(filler, leaveBytes),
    free: () => rmSync(filler, { force: true }),
    unmount,
    [Symbol.dispose]: unmount,
  };
}

function fill(filler: string, leaveBytes: number): void {
  const reserve = `${filler}-reserve`;
  try {
    if (leaveBytes > 0) grow(reserve, leaveBytes);
    grow(filler, Number.POSITIVE_INFINITY);
  } finally {
    rmSync(reserve, { force: true });
  }
}

/** Writes pages, as a disk counts in them. */
function grow(file: string, bytes: number): void {
  const page = Buffer.alloc(4096);
  const open = openSync(file, "a");
  try {
    for (let written = 0; written < bytes; written += page.length) writeSync(open, page);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(open);
  }
}
