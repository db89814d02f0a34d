// The heap that every guest begins with: a new VM in which the prelude has run. It has the same bytes in every thread and
// process, so images are told against it and nobody keeps it.

import { QuickJS } from "quickjs-wasi";
import { optionsOf, type WasmModule } from "./engine.ts";
import type { Heap } from "./image.ts";
import { BRANDS, ENTRIES, type Entry, PRELUDE, PRELUDE_FILE } from "./prelude.ts";

export interface Baseline {
  readonly wasm: WasmModule;
  readonly heap: Heap;
  /** Where the prelude's functions lie in this heap, and so in all that came of it. */
  readonly entries: { readonly [entry in Entry]: number };
  /** Where `undefined` lies, and the numbers that the host answers with: to make them anew would grow the heap. */
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
