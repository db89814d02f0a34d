// The heap that every guest starts with: a new VM after the prelude has run. Its bytes are the same in every thread and
// process, so images are differences from it and it is never stored.

import { QuickJS } from "quickjs-wasi";
import { optionsOf, type WasmModule } from "./engine.ts";
import type { Heap } from "./image.ts";
import { BRANDS, ENTRIES, type Entry, PRELUDE, PRELUDE_FILE } from "./prelude.ts";

export interface Baseline {
  readonly wasm: WasmModule;
  readonly heap: Heap;
  /** The addresses of the prelude's functions in this heap and in every heap made from it. */
  readonly entries: { readonly [entry in Entry]: number };
  /** The addresses of `undefined` and of the numbers that the host returns. New ones would grow the heap. */
  readonly nothing: number;
  readonly numbers: readonly number[];
}

export async function makeBaseline(wasm: WasmModule): Promise<Baseline> {
  const vm = await QuickJS.create(optionsOf(wasm, { now: () => 0, tick: () => {}, rejected: () => {} }));
  const numbers = BRANDS.map((_, index) => vm.exportHandle(vm.newNumber(index)));
  const host = vm.newFunction("host", () => vm.undefined);
  const prelude = vm.evalCode(PRELUDE, PRELUDE_FILE);
  const made = vm.callFunction(prelude, vm.undefined, host);
  const entries = Object.fromEntries(ENTRIES.map((entry) => [entry, vm.exportHandle(made.getProp(entry))]));
  const nothing = vm.undefined.ptr;
  for (const handle of [host, prelude, made]) handle.dispose();
  const { extensions: _, ...heap } = vm.snapshot();
  vm.dispose();
  return {
    wasm,
    heap,
    entries: entries as { [entry in Entry]: number },
    nothing,
    numbers,
  };
}
