// Records what a real process does to its database, with a shim between it and the C library.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mark } from "./agent.ts";
import type { Orders } from "./child.ts";
import type { Image, Operation } from "./disk.ts";

/** One step of a recording: a change of the disk, or something that the process was told. */
export type Step = { readonly change: Operation } | { readonly mark: Mark };

export interface Recording {
  /** The files as the process found them, and left them. */
  readonly found: Image;
  readonly left: Image;
  readonly steps: readonly Step[];
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Compiles the shim into a folder, or says why that cannot be done. */
export function compileShim(folder: string): { readonly shim: string } | { readonly problem: string } {
  if (process.platform !== "linux") return { problem: "LD_PRELOAD needs Linux" };
  const shim = join(folder, "shim.so");
  const { error, status, stderr } = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", shim, file("./shim.c"), "-ldl"]);
  if (error !== undefined) return { problem: `there is no C compiler (${error.message})` };
  return status === 0 ? { shim } : { problem: `the shim does not compile: ${stderr}` };
}

/** Runs the process in a folder of its own, on the files that it is to find there. */
export async function record(
  shim: string,
  folder: string,
  ask: Omit<Orders, "path">,
  found: Image = new Map(),
): Promise<Recording> {
  const orders: Orders = { ...ask, path: lay(found, folder) };
  const log = `${orders.path}.log`;
  const env = { ...process.env, LD_PRELOAD: shim, SHIM_DATABASE: orders.path, SHIM_LOG: log };
  const args = ["--disable-warning=ExperimentalWarning", file("./child.ts"), JSON.stringify(orders)];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "inherit", "inherit"] });
  const [code, signal] = await once(child, "close");
  if (signal !== "SIGKILL") throw new Error(`The recorded process ended with ${code ?? signal}.`);
  const steps = stepsIn(readFileSync(log));
  const left = NAMES.flatMap((name) =>
    existsSync(orders.path + name) ? [[name, readFileSync(orders.path + name)] as const] : [],
  );
  return { found, left: new Map(left), steps };
}

const NAMES = ["", "-wal", "-journal"];

/** Puts the files of an image into an empty folder, and answers the path of the database. */
export function lay(image: Image, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "agent.db");
  for (const [name, bytes] of image) writeFileSync(path + name, bytes);
  // Shared memory is anything after a cut, and must not be believed.
  if (image.size > 0) writeFileSync(`${path}-shm`, new Uint8Array(32_768).fill(0x5a));
  return path;
}

const HEADER = 32;
const MARKS = "-marks";

function stepsIn(log: Buffer): readonly Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < log.length; ) {
    const kind = String.fromCharCode(log[at]!);
    const name = log.toString("latin1", at + 1, at + 16).replace(/\0.*$/s, "");
    const [offset, length] = [Number(log.readBigUInt64LE(at + 16)), Number(log.readBigUInt64LE(at + 24))];
    const data = log.subarray(at + HEADER, at + HEADER + length);
    at += HEADER + length;
    if (name !== MARKS) steps.push({ change: operation(kind, name, offset, data) });
    else if (kind === "W") steps.push({ mark: JSON.parse(data.toString()) as Mark });
  }
  return steps;
}

function operation(kind: string, name: string, offset: number, data: Uint8Array): Operation {
  switch (kind) {
    case "C":
      return { kind: "create", name };
    case "W":
      return { kind: "write", name, offset, data };
    case "T":
      return { kind: "truncate", name, size: offset };
    case "S":
      return { kind: "sync", name };
    case "F":
      return { kind: "sync-folder" };
    case "U":
      return { kind: "unlink", name };
    default:
      throw new Error(`The shim has no record of the kind ${kind}.`);
  }
}
