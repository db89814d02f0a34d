// What decides about the bytes of a heap: the engine's build, its limits, and what its guests can see of the world. All
// of it goes into the engine's id; a heap is only understood by the engine that made it.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Intrinsics, type QuickJSOptions } from "quickjs-wasi";
import { PRELUDE } from "./prelude.ts";

/**
 * Raise it when the same segments give other bytes although engine, prelude and limits are the same: when guest.ts does
 * other things to a VM, when compile.ts makes other code of a cell, or when image.ts writes another format.
 */
const HEAP_VERSION = 1;

/** What lives in the heap, and so cannot follow the bounds of a cell: a replay may have other bounds. */
export const LIMITS = {
  /** The heap asks for up to 2.4 times as much linear memory: about 230 MB. */
  memoryLimit: 96 * 1024 * 1024,
  /** Deeper recursion is a RangeError in the guest. More than this can overflow the stack of the thread, a trap. */
  maxStackSize: 256 * 1024,
};

/** A compiled module. Neither Node's types nor the language's know of WebAssembly, so what is used of it is said here. */
export type WasmModule = object;
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WasmModule> };

export interface Engine {
  readonly id: string;
  /** Compiled once in a process: threads share its code. */
  readonly wasm: WasmModule;
}

let loaded: Promise<Engine> | undefined;

export const engine = (): Promise<Engine> => (loaded ??= load());

async function load(): Promise<Engine> {
  const bytes = await readFile(createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm"));
  const hash = createHash("sha256")
    .update(bytes)
    .update(PRELUDE)
    .update(JSON.stringify([HEAP_VERSION, LIMITS]));
  return { id: hash.digest("hex"), wasm: await WebAssembly.compile(bytes) };
}

/** What a VM needs of its host while it runs. */
export interface Callbacks {
  /** The time in the guest, in milliseconds. */
  now(): number;
  /** About every ten thousand operations. What it throws ends what runs: no guest code can catch it. */
  tick(): void;
  rejected: NonNullable<QuickJSOptions["onUnhandledRejection"]>;
}

/** The same options make and restore every VM: each of them writes into the heap. */
export const optionsOf = (wasm: WasmModule, callbacks: Callbacks): QuickJSOptions => ({
  wasm,
  ...LIMITS,
  // When garbage is collected, and how long things take, would show.
  intrinsics: Intrinsics.ALL & ~(Intrinsics.PERFORMANCE | Intrinsics.WEAK_REF),
  timezoneOffset: 0,
  // The engine has errors of its own that code cannot catch, but the constructor of Promise does. What is thrown here
  // leaves the VM through all of its frames at once; it cannot be used afterwards.
  interruptHandler: () => {
    callbacks.tick();
    return false;
  },
  onUnhandledRejection: (promise, reason, isHandled) => callbacks.rejected(promise, reason, isHandled),
  wasi: (memory) => ({
    clock_time_get: (_clock: number, _precision: bigint, result: number) => {
      new DataView(memory.buffer).setBigUint64(result, BigInt(Math.trunc(callbacks.now())) * 1_000_000n, true);
      return DONE;
    },
    random_get: (at: number, length: number) => {
      new Uint8Array(memory.buffer, at, length).fill(1);
      return DONE;
    },
    // The engine writes its own notes here. The library would pass them on to the process.
    fd_write: (_file: number, vectors: number, count: number, result: number) => {
      const view = new DataView(memory.buffer);
      let written = 0;
      for (let index = 0; index < count; index++) written += view.getUint32(vectors + index * 8 + 4, true);
      view.setUint32(result, written, true);
      return DONE;
    },
    fd_close: () => NOT_THERE,
    fd_fdstat_get: () => NOT_THERE,
    fd_seek: () => NOT_THERE,
  }),
});

const DONE = 0;
const NOT_THERE = 52;
