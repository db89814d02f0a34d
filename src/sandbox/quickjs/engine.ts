// Everything that determines the bytes of a heap: the engine's build, its limits, and the external values that guests
// can read. All of it is part of the engine's id, because a heap is only readable by the engine that made it.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Intrinsics, type QuickJSOptions } from "quickjs-wasi";
import { PRELUDE } from "./prelude.ts";

/**
 * Increase it when the same segments give other bytes although engine, prelude and limits are the same: when guest.ts
 * treats a VM differently, compile.ts generates other code, or image.ts writes another format.
 */
const HEAP_VERSION = 1;

/** Limits inside the heap. They cannot follow the bounds of a cell, because a replay may have other bounds. */
export const LIMITS = {
  /** The heap needs up to 2.4 times as much linear memory: about 230 MB. */
  memoryLimit: 96 * 1024 * 1024,
  /** Deeper recursion is a RangeError in the guest. A higher limit can overflow the thread's stack, which is a trap. */
  maxStackSize: 256 * 1024,
};

/** A compiled module. Neither Node's types nor TypeScript's contain WebAssembly, so the used part is declared here. */
export type WasmModule = object;
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WasmModule> };

export interface Engine {
  readonly id: string;
  /** Compiled once per process. Threads share it. */
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

/** What a running VM needs from its host. */
export interface Callbacks {
  /** The time in the guest, in ms. */
  now(): number;
  /** Called about every ten thousand operations. A throw ends the running code: no guest code can catch it. */
  tick(): void;
  rejected: NonNullable<QuickJSOptions["onUnhandledRejection"]>;
}

/** Every VM is created and restored with the same options, because each of them writes into the heap. */
export const optionsOf = (wasm: WasmModule, callbacks: Callbacks): QuickJSOptions => ({
  wasm,
  ...LIMITS,
  // Excludes these two, because they would show the time of garbage collection and the duration of code.
  intrinsics: Intrinsics.ALL & ~(Intrinsics.PERFORMANCE | Intrinsics.WEAK_REF),
  timezoneOffset: 0,
  // The engine has uncatchable errors, but the constructor of Promise catches them. A throw here leaves the VM through
  // all its frames at once. The VM cannot be used afterwards.
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
    // The engine writes diagnostics here. The library would pass them to the process.
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
